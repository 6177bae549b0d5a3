// The boundary automaton of one regular expression.
//
// 1. Naively, the pieces of a text are found by the scanner: from each position, the match that the backtracking
//    matcher prefers, or none; the next one is looked for at its end, or at the next character. The characters between
//    two matches are a piece too. Whether a piece ends here may depend on text that is not written yet: in `\s+(?!\S)`,
//    whether a space belongs to the run before it depends on the next character.
// 2. So guess for each character: a match starts, or no match starts (between two matches), or the match goes on. If it
//    goes on, the threads of higher priority than a match remain, since they could still win. If it does not, the match
//    is the result: all threads of higher priority must never match. They become *obligations*, which the state carries
//    on. If no match starts here, all threads from here are obligations.
// 3. A state is (threads of the match by priority, or between two matches; obligations). It dies if an obligation
//    matches, or if a match is guessed to end where no thread matches. What a thread does between two characters
//    (assertions, jumps, the match) is computed when the next character is known, so that assertions about it are
//    exact.
// 4. By construction each text has exactly one accepted sequence of guesses.
#include "bpe/split_level.h"

#include <algorithm>
#include <map>
#include <tuple>

#include "base/error.h"

namespace detent {

SplitLevel::SplitLevel(std::vector<SplitInstruction> program, unsigned class_count)
    : program_(std::move(program)), class_count_(class_count) {
  build_scanner();
  build_boundaries();
}

// The instructions at which threads wait before a character of that class, by priority: sets and matches.
SplitLevel::Threads SplitLevel::closure(const Threads& threads, unsigned of_class) const {
  Threads leaves;
  std::vector<bool> seen(program_.size());
  Threads stack;
  for (std::uint16_t thread : threads) {
    stack.push_back(thread);
    while (!stack.empty()) {
      const std::uint16_t at = stack.back();
      stack.pop_back();
      if (seen[at]) continue;
      seen[at] = true;
      const SplitInstruction& each = program_[at];
      switch (each.op) {
        case SplitOp::match:
        case SplitOp::set: leaves.push_back(at); break;
        case SplitOp::look:
          if (each.set >> of_class & 1) stack.push_back(static_cast<std::uint16_t>(each.to));
          break;
        case SplitOp::jump: stack.push_back(static_cast<std::uint16_t>(each.to)); break;
        case SplitOp::fork:
          stack.push_back(static_cast<std::uint16_t>(each.or_to));
          stack.push_back(static_cast<std::uint16_t>(each.to));
          break;
      }
    }
  }
  return leaves;
}

// The threads after a character of that class.
SplitLevel::Threads SplitLevel::after(const Threads& leaves, unsigned of_class) const {
  Threads next;
  for (std::uint16_t leaf : leaves) {
    const SplitInstruction& each = program_[leaf];
    if (each.op != SplitOp::set || !(each.set >> of_class & 1)) continue;
    const auto to = static_cast<std::uint16_t>(each.to);
    if (std::ranges::find(next, to) == next.end()) next.push_back(to);
  }
  return next;
}

// The position of the first match, or the size if there is none.
std::size_t SplitLevel::match_in(const Threads& leaves) const {
  return static_cast<std::size_t>(
      std::ranges::find_if(leaves, [this](std::uint16_t leaf) { return program_[leaf].op == SplitOp::match; }) -
      leaves.begin());
}

void SplitLevel::build_scanner() {
  std::map<Threads, std::uint16_t> known{{{0}, 0}};
  std::vector<Threads> threads{{0}};
  for (std::size_t i = 0; i < threads.size(); ++i) {
    if (threads.size() > kMaxStates) throw Error(ErrorKind::unsupported, "split_states", kMaxStates, kMaxStates);
    ScannerState scan{std::vector<std::uint16_t>(class_count_, kDead), std::vector<bool>(class_count_ + 1)};
    for (unsigned c = 0; c <= class_count_; ++c) {
      Threads leaves = closure(threads[i], c == class_count_ ? kEnd : c);
      const std::size_t match = match_in(leaves);
      scan.ends[c] = match < leaves.size();
      leaves.resize(match);
      if (c == class_count_) continue;
      Threads next = after(leaves, c);
      if (next.empty()) continue;
      const auto [entry, is_new] = known.try_emplace(next, static_cast<std::uint16_t>(threads.size()));
      if (is_new) threads.push_back(std::move(next));
      scan.next[c] = entry->second;
    }
    scanner_.push_back(std::move(scan));
  }
}

// The end of the match that begins at `begin`, or `begin` if there is none.
std::size_t SplitLevel::match_end(const std::vector<std::uint8_t>& classes, std::size_t begin, std::size_t end) const {
  std::size_t found = begin;
  std::uint16_t state = 0;
  for (std::size_t i = begin; state != kDead; ++i) {
    const std::size_t c = i < end ? classes[i] : class_count_;
    if (scanner_[state].ends[c]) found = i;
    state = i < end ? scanner_[state].next[c] : kDead;
  }
  return found;
}

void SplitLevel::split(const std::vector<std::uint8_t>& classes, std::size_t begin, std::size_t end,
                       std::vector<std::size_t>& ends) const {
  std::size_t piece = begin;
  for (std::size_t i = begin; i < end;) {
    const std::size_t to = match_end(classes, i, end);
    if (to == i) {
      ++i;
      continue;
    }
    if (piece < i) ends.push_back(i);
    ends.push_back(piece = i = to);
  }
  if (piece < end) ends.push_back(end);
}

void SplitLevel::build_boundaries() {
  enum class At : std::uint8_t { text_start, between_matches, in_match };
  using Key = std::tuple<At, Threads, Threads>;  // with the threads of the match by priority; obligations, ascending
  std::map<Key, State> known;
  std::vector<Key> keys{{At::text_start, {}, {}}};
  states_.emplace_back();
  const auto add = [&](At at, Threads threads, Threads obligations) {
    std::ranges::sort(obligations);
    obligations.erase(std::unique(obligations.begin(), obligations.end()), obligations.end());
    Key key{at, std::move(threads), std::move(obligations)};
    const auto [entry, is_new] = known.try_emplace(key, static_cast<State>(keys.size()));
    if (is_new) {
      if (keys.size() >= kMaxStates) throw Error(ErrorKind::unsupported, "split_states", kMaxStates, kMaxStates);
      keys.push_back(std::move(key));
      states_.emplace_back();
    }
    return entry->second;
  };
  for (std::size_t i = 0; i < keys.size(); ++i) {
    const auto [at, threads, obliged] = keys[i];
    BoundaryState state;
    for (auto& next : state.next) next.resize(class_count_);
    for (unsigned c = 0; c <= class_count_; ++c) {
      const unsigned next_class = c == class_count_ ? kEnd : c;
      const Threads obligations = closure(obliged, next_class);
      if (match_in(obligations) < obligations.size()) continue;
      Threads leaves = closure(threads, next_class);
      const std::size_t match = match_in(leaves);
      const bool may_stop = at != At::in_match || match < leaves.size();
      leaves.resize(match);
      if (next_class == kEnd) {
        state.may_end = may_stop;
        continue;
      }
      const Threads continued = after(leaves, c), still_obliged = after(obligations, c);
      if (!continued.empty()) state.next[0][c].push_back(add(At::in_match, continued, still_obliged));
      const Threads first = closure({0}, c);
      if (!may_stop || match_in(first) < first.size()) continue;  // no empty matches
      const Threads started = after(first, c);
      Threads all_obligations = still_obliged;
      all_obligations.insert(all_obligations.end(), continued.begin(), continued.end());
      if (!started.empty()) state.next[1][c].push_back(add(At::in_match, started, all_obligations));
      all_obligations.insert(all_obligations.end(), started.begin(), started.end());
      const bool starts_piece = at != At::between_matches;
      state.next[starts_piece][c].push_back(add(At::between_matches, {}, all_obligations));
    }
    states_[i] = std::move(state);
  }
}

}  // namespace detent

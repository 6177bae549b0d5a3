// The boundary automaton.
//
// 1. Naively, the pre-tokens of a text are found by the scanner: from each start, the match that the backtracking
// matcher
//    prefers; the next pre-token starts at its end. Whether a pre-token ends here may depend on text that is not
//    written yet: in `\s+(?!\S)`, whether a space belongs to the run before it depends on the next character.
// 2. So guess: a state reads for each character whether it starts a pre-token. Without a start the matcher goes on with
//    the threads of higher priority than a match, since they could still win. With a start, the match is the result:
//    all threads of higher priority must never match. They become *obligations*, which the state carries on.
// 3. A state is (threads of the pre-token by priority, obligations). It dies if an obligation matches, or if a start is
//    guessed where no thread matches. What a thread does between two characters (assertions, jumps, the match) is
//    computed when the next character is known, so that assertions about it are exact.
// 4. By construction each text has exactly one accepted sequence of guesses. States are determinised by construction,
//    without dead states (drop_dead), and minimised (Moore 1956): 14 to 20 states for the known splits.
// 5. A state is unconstrained if every text may follow: determinise over the guesses, and look whether a set without a
//    final state can be reached.
#include "bpe/pretokenizer.h"

#include <algorithm>
#include <map>
#include <utility>

#include "base/error.h"

namespace detent {
namespace {

constexpr std::size_t kMaxStates = 4096;

}  // namespace

PreTokenizer::PreTokenizer(std::vector<Instruction> program, unsigned class_count)
    : program_(std::move(program)), class_count_(class_count) {
  const auto size = program_.size();
  if (size == 0 || size >= kDead || class_count_ >= kEnd) {
    throw Error(ErrorKind::unsupported, "split_states", static_cast<std::int64_t>(size), kMaxStates);
  }
  for (const Instruction& each : program_) {
    if (each.to >= size || each.or_to >= size) throw Error(ErrorKind::argument, "split_program");
  }
  build_scanner();
  build_boundaries();
  drop_dead();
  minimise();
  find_unconstrained();
  if (!states_[kTextStart].unconstrained) throw Error(ErrorKind::unsupported, "split_gap");
}

// The instructions at which threads wait before a character of that class, by priority: sets and matches.
PreTokenizer::Threads PreTokenizer::closure(const Threads& threads, unsigned of_class) const {
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
      const Instruction& each = program_[at];
      switch (each.op) {
        case Op::match:
        case Op::set: leaves.push_back(at); break;
        case Op::look:
          if (each.set >> of_class & 1) stack.push_back(static_cast<std::uint16_t>(each.to));
          break;
        case Op::jump: stack.push_back(static_cast<std::uint16_t>(each.to)); break;
        case Op::fork:
          stack.push_back(static_cast<std::uint16_t>(each.or_to));
          stack.push_back(static_cast<std::uint16_t>(each.to));
          break;
      }
    }
  }
  return leaves;
}

// The threads after a character of that class.
PreTokenizer::Threads PreTokenizer::after(const Threads& leaves, unsigned of_class) const {
  Threads next;
  for (std::uint16_t leaf : leaves) {
    const Instruction& each = program_[leaf];
    if (each.op != Op::set || !(each.set >> of_class & 1)) continue;
    const auto to = static_cast<std::uint16_t>(each.to);
    if (std::ranges::find(next, to) == next.end()) next.push_back(to);
  }
  return next;
}

// The position of the first match, or the size if there is none.
std::size_t PreTokenizer::match_in(const Threads& leaves) const {
  return static_cast<std::size_t>(
      std::ranges::find_if(leaves, [this](std::uint16_t leaf) { return program_[leaf].op == Op::match; }) -
      leaves.begin());
}

void PreTokenizer::build_scanner() {
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

std::size_t PreTokenizer::pretoken_end(const std::vector<std::uint8_t>& classes, std::size_t from) const {
  std::size_t end = from;
  std::uint16_t state = 0;
  for (std::size_t i = from; state != kDead; ++i) {
    const std::size_t c = i < classes.size() ? classes[i] : class_count_;
    if (scanner_[state].ends[c]) end = i;
    state = i < classes.size() ? scanner_[state].next[c] : kDead;
  }
  return end;
}

void PreTokenizer::build_boundaries() {
  using Key = std::pair<Threads, Threads>;  // threads by priority; obligations, ascending
  std::map<Key, std::uint16_t> known;
  std::vector<Key> keys{{{}, {}}};
  states_.emplace_back();
  const auto add = [&](Threads threads, Threads obligations) {
    std::ranges::sort(obligations);
    obligations.erase(std::unique(obligations.begin(), obligations.end()), obligations.end());
    Key key{std::move(threads), std::move(obligations)};
    const auto [entry, is_new] = known.try_emplace(key, static_cast<std::uint16_t>(keys.size()));
    if (is_new) {
      if (keys.size() >= kMaxStates) throw Error(ErrorKind::unsupported, "split_states", kMaxStates, kMaxStates);
      keys.push_back(std::move(key));
      states_.emplace_back();
    }
    return entry->second;
  };
  for (std::size_t i = 0; i < keys.size(); ++i) {
    const Key key = keys[i];
    BoundaryState state;
    for (auto& next : state.next) next.assign(class_count_, kDead);
    for (unsigned c = 0; c <= class_count_; ++c) {
      const unsigned next_class = c == class_count_ ? kEnd : c;
      const Threads obligations = closure(key.second, next_class);
      if (match_in(obligations) < obligations.size()) continue;
      Threads leaves = closure(key.first, next_class);
      const std::size_t match = match_in(leaves);
      const bool may_start = i == kTextStart || match < leaves.size();
      leaves.resize(match);
      if (next_class == kEnd) {
        state.may_end = may_start;
        continue;
      }
      const Threads continued = after(leaves, c), still_obliged = after(obligations, c);
      if (!continued.empty()) state.next[0][c] = add(continued, still_obliged);
      if (!may_start) continue;
      const Threads first = closure({0}, c);
      const Threads started = match_in(first) < first.size() ? Threads{} : after(first, c);  // no empty pre-tokens
      if (started.empty()) continue;
      Threads all_obligations = still_obliged;
      all_obligations.insert(all_obligations.end(), continued.begin(), continued.end());
      state.next[1][c] = add(started, std::move(all_obligations));
    }
    states_[i] = std::move(state);
  }
}

// Removes the steps to states from which the text can never end.
void PreTokenizer::drop_dead() {
  std::vector<bool> live(states_.size());
  for (bool changed = true; changed;) {
    changed = false;
    for (std::size_t i = 0; i < states_.size(); ++i) {
      if (live[i]) continue;
      bool is_live = states_[i].may_end;
      for (const auto& next : states_[i].next) {
        for (std::uint16_t to : next) is_live |= to != kDead && live[to];
      }
      changed |= live[i] = is_live;
    }
  }
  for (BoundaryState& state : states_) {
    for (auto& next : state.next) {
      for (std::uint16_t& to : next) {
        if (to != kDead && !live[to]) to = kDead;
      }
    }
  }
}

// Moore's refinement. The text start keeps number 0; states that cannot be reached are dropped.
void PreTokenizer::minimise() {
  std::vector<std::uint16_t> block(states_.size());
  for (std::size_t i = 0; i < states_.size(); ++i) block[i] = states_[i].may_end;
  for (std::size_t count = 0;;) {
    std::map<std::vector<std::uint16_t>, std::uint16_t> known;
    std::vector<std::uint16_t> refined;
    for (std::size_t i = 0; i < states_.size(); ++i) {
      std::vector<std::uint16_t> key{block[i]};
      for (const auto& next : states_[i].next) {
        for (std::uint16_t to : next) key.push_back(to == kDead ? kDead : block[to]);
      }
      refined.push_back(known.try_emplace(std::move(key), static_cast<std::uint16_t>(known.size())).first->second);
    }
    block = std::move(refined);
    if (known.size() == count) break;
    count = known.size();
  }
  std::vector<std::uint16_t> number(states_.size(), kDead);  // of a block
  std::vector<std::size_t> representatives{0};
  number[block[0]] = 0;
  for (std::size_t k = 0; k < representatives.size(); ++k) {
    for (const auto& next : states_[representatives[k]].next) {
      for (std::uint16_t to : next) {
        if (to == kDead || number[block[to]] != kDead) continue;
        number[block[to]] = static_cast<std::uint16_t>(representatives.size());
        representatives.push_back(to);
      }
    }
  }
  std::vector<BoundaryState> merged;
  for (std::size_t i : representatives) {
    BoundaryState state = states_[i];
    for (auto& next : state.next) {
      for (std::uint16_t& to : next) {
        if (to != kDead) to = number[block[to]];
      }
    }
    merged.push_back(std::move(state));
  }
  states_ = std::move(merged);
}

// A state is unconstrained if, after any text and over all guesses, some state that may end is reached.
void PreTokenizer::find_unconstrained() {
  std::map<Threads, std::size_t> known;
  std::vector<Threads> sets;
  std::vector<std::vector<std::size_t>> predecessors;
  std::vector<bool> bad;
  const auto add = [&](Threads set) {
    std::ranges::sort(set);
    set.erase(std::unique(set.begin(), set.end()), set.end());
    const auto [entry, is_new] = known.try_emplace(set, sets.size());
    if (is_new) {
      if (sets.size() >= kMaxStates * 4)
        throw Error(ErrorKind::unsupported, "split_states", kMaxStates * 4, kMaxStates * 4);
      bad.push_back(std::ranges::none_of(set, [this](std::uint16_t s) { return states_[s].may_end; }));
      predecessors.emplace_back();
      sets.push_back(std::move(set));
    }
    return entry->second;
  };
  for (std::size_t s = 0; s < states_.size(); ++s) add({static_cast<std::uint16_t>(s)});
  for (std::size_t i = 0; i < sets.size(); ++i) {
    const Threads set = sets[i];
    for (unsigned c = 0; c < class_count_; ++c) {
      Threads next;
      for (std::uint16_t s : set) {
        for (const auto& row : states_[s].next) {
          if (row[c] != kDead) next.push_back(row[c]);
        }
      }
      predecessors[add(std::move(next))].push_back(i);
    }
  }
  std::vector<std::size_t> work;
  for (std::size_t i = 0; i < sets.size(); ++i) {
    if (bad[i]) work.push_back(i);
  }
  while (!work.empty()) {
    const std::size_t i = work.back();
    work.pop_back();
    for (std::size_t from : predecessors[i]) {
      if (!bad[from]) {
        bad[from] = true;
        work.push_back(from);
      }
    }
  }
  for (std::size_t s = 0; s < states_.size(); ++s) {
    states_[s].unconstrained = !bad[known.at({static_cast<std::uint16_t>(s)})];
  }
}

}  // namespace detent

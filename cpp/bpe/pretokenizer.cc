#include "bpe/pretokenizer.h"

#include <algorithm>
#include <map>
#include <utility>

#include "base/error.h"

namespace detent {
namespace {

constexpr std::size_t kMostStates = 4096;

}  // namespace

PreTokenizer::PreTokenizer(std::vector<Instruction> program, unsigned class_count)
    : program_(std::move(program)), class_count_(class_count) {
  const auto size = program_.size();
  if (size == 0 || size >= kDead || class_count_ >= kEnd) {
    throw Error(ErrorKind::unsupported, "split_states", static_cast<std::int64_t>(size), kMostStates);
  }
  for (const Instruction& each : program_) {
    if (each.to >= size || each.or_to >= size) throw Error(ErrorKind::argument, "split_program");
  }
  build_scanner();
  build_marks();
  drop_dead();
  merge_equal();
  find_free();
  if (!states_[kTextStart].free) throw Error(ErrorKind::unsupported, "split_gap");
}

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

std::size_t PreTokenizer::match_in(const Threads& leaves) const {
  return static_cast<std::size_t>(
      std::ranges::find_if(leaves, [this](std::uint16_t leaf) { return program_[leaf].op == Op::match; }) -
      leaves.begin());
}

void PreTokenizer::build_scanner() {
  std::map<Threads, std::uint16_t> known{{{0}, 0}};
  std::vector<Threads> threads{{0}};
  for (std::size_t i = 0; i < threads.size(); ++i) {
    if (threads.size() > kMostStates) throw Error(ErrorKind::unsupported, "split_states", kMostStates, kMostStates);
    Scan scan{std::vector<std::uint16_t>(class_count_, kDead), std::vector<bool>(class_count_ + 1)};
    for (unsigned c = 0; c <= class_count_; ++c) {
      Threads leaves = closure(threads[i], c == class_count_ ? kEnd : c);
      const std::size_t match = match_in(leaves);
      scan.ends[c] = match < leaves.size();
      leaves.resize(match);
      if (c == class_count_) continue;
      Threads next = after(leaves, c);
      if (next.empty()) continue;
      const auto [place, is_new] = known.try_emplace(next, static_cast<std::uint16_t>(threads.size()));
      if (is_new) threads.push_back(std::move(next));
      scan.next[c] = place->second;
    }
    scanner_.push_back(std::move(scan));
  }
}

std::size_t PreTokenizer::chunk_end(const std::vector<std::uint8_t>& classes, std::size_t from) const {
  std::size_t end = from;
  std::uint16_t state = 0;
  for (std::size_t i = from; state != kDead; ++i) {
    const std::size_t c = i < classes.size() ? classes[i] : class_count_;
    if (scanner_[state].ends[c]) end = i;
    state = i < classes.size() ? scanner_[state].next[c] : kDead;
  }
  return end;
}

void PreTokenizer::build_marks() {
  using Key = std::pair<Threads, Threads>;  // of the chunk in order; those that must not match, ascending
  std::map<Key, std::uint16_t> known;
  std::vector<Key> keys{{{}, {}}};
  states_.emplace_back();
  const auto add = [&](Threads threads, Threads owed) {
    std::ranges::sort(owed);
    owed.erase(std::unique(owed.begin(), owed.end()), owed.end());
    Key key{std::move(threads), std::move(owed)};
    const auto [place, is_new] = known.try_emplace(key, static_cast<std::uint16_t>(keys.size()));
    if (is_new) {
      if (keys.size() >= kMostStates) throw Error(ErrorKind::unsupported, "split_states", kMostStates, kMostStates);
      keys.push_back(std::move(key));
      states_.emplace_back();
    }
    return place->second;
  };
  for (std::size_t i = 0; i < keys.size(); ++i) {
    const Key key = keys[i];
    const bool fresh = i == kTextStart;
    State state;
    for (auto& next : state.next) next.assign(class_count_, kDead);
    for (unsigned c = 0; c <= class_count_; ++c) {
      const unsigned next_class = c == class_count_ ? kEnd : c;
      const Threads owed = closure(key.second, next_class);
      if (match_in(owed) < owed.size()) continue;
      Threads leaves = closure(key.first, next_class);
      const std::size_t match = match_in(leaves);
      const bool ends = fresh || match < leaves.size();
      leaves.resize(match);
      if (next_class == kEnd) {
        state.may_end = ends;
        continue;
      }
      const Threads goes_on = after(leaves, c), still_owed = after(owed, c);
      if (!goes_on.empty()) state.next[0][c] = add(goes_on, still_owed);
      if (!ends) continue;
      const Threads first = closure({0}, c);
      const Threads begun = match_in(first) < first.size() ? Threads{} : after(first, c);  // no empty chunks
      if (begun.empty()) continue;
      Threads all_owed = still_owed;
      all_owed.insert(all_owed.end(), goes_on.begin(), goes_on.end());
      state.next[1][c] = add(begun, std::move(all_owed));
    }
    states_[i] = std::move(state);
  }
}

// Leaves only steps to states from which some text is possible.
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
  for (State& state : states_) {
    for (auto& next : state.next) {
      for (std::uint16_t& to : next) {
        if (to != kDead && !live[to]) to = kDead;
      }
    }
  }
}

// Moore's refinement; state 0 stays first, and states that nothing leads to go.
void PreTokenizer::merge_equal() {
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
  std::vector<std::size_t> kept{0};
  number[block[0]] = 0;
  for (std::size_t k = 0; k < kept.size(); ++k) {
    for (const auto& next : states_[kept[k]].next) {
      for (std::uint16_t to : next) {
        if (to == kDead || number[block[to]] != kDead) continue;
        number[block[to]] = static_cast<std::uint16_t>(kept.size());
        kept.push_back(to);
      }
    }
  }
  std::vector<State> merged;
  for (std::size_t i : kept) {
    State state = states_[i];
    for (auto& next : state.next) {
      for (std::uint16_t& to : next) {
        if (to != kDead) to = number[block[to]];
      }
    }
    merged.push_back(std::move(state));
  }
  states_ = std::move(merged);
}

// A state is free if the sets of states that texts lead to from it, whatever is marked, never run out of one that may
// end.
void PreTokenizer::find_free() {
  std::map<Threads, std::size_t> known;
  std::vector<Threads> sets;
  std::vector<std::vector<std::size_t>> into;  // the sets that lead to a set
  std::vector<bool> bad;
  const auto add = [&](Threads set) {
    std::ranges::sort(set);
    set.erase(std::unique(set.begin(), set.end()), set.end());
    const auto [place, is_new] = known.try_emplace(set, sets.size());
    if (is_new) {
      if (sets.size() >= kMostStates * 4)
        throw Error(ErrorKind::unsupported, "split_states", kMostStates * 4, kMostStates * 4);
      bad.push_back(std::ranges::none_of(set, [this](std::uint16_t s) { return states_[s].may_end; }));
      into.emplace_back();
      sets.push_back(std::move(set));
    }
    return place->second;
  };
  for (std::uint16_t s = 0; s < states_.size(); ++s) add({s});
  for (std::size_t i = 0; i < sets.size(); ++i) {
    const Threads set = sets[i];
    for (unsigned c = 0; c < class_count_; ++c) {
      Threads next;
      for (std::uint16_t s : set) {
        for (const auto& row : states_[s].next) {
          if (row[c] != kDead) next.push_back(row[c]);
        }
      }
      into[add(std::move(next))].push_back(i);
    }
  }
  std::vector<std::size_t> work;
  for (std::size_t i = 0; i < sets.size(); ++i) {
    if (bad[i]) work.push_back(i);
  }
  while (!work.empty()) {
    const std::size_t i = work.back();
    work.pop_back();
    for (std::size_t from : into[i]) {
      if (!bad[from]) {
        bad[from] = true;
        work.push_back(from);
      }
    }
  }
  for (std::uint16_t s = 0; s < states_.size(); ++s) states_[s].free = !bad[known.at({s})];
}

}  // namespace detent

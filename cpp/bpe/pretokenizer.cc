// The boundary automaton.
//
// 1. Without an expression, the text is one pre-token: its first character starts it, and no other one does.
// 2. An expression splits each of the pieces so far (split_pieces). A state of the product is a state of the automaton
//    so far, and one of the expression, which reads one piece: where a piece starts, the expression begins anew, and
//    its last state must be one in which a text may end. Whether a character starts a piece, and which of its next
//    states the expression takes, are guesses that the result hides: its states are sets of such pairs.
// 3. Each text has exactly one accepted sequence of guesses, as for each expression. States have no dead ends
//    (drop_dead), and are minimised (Moore 1956): 14 to 20 states for the known pre-tokenizers.
// 4. A state is unconstrained if every text may follow: determinise over the guesses, and look whether a set without a
//    final state can be reached.
#include "bpe/pretokenizer.h"

#include <algorithm>
#include <map>
#include <utility>

#include "base/error.h"

namespace detent {
namespace {

using Threads = std::vector<std::uint16_t>;  // states
constexpr std::size_t kMaxStates = SplitLevel::kMaxStates;

}  // namespace

PreTokenizer::PreTokenizer(const std::vector<SplitInstruction>& programs, unsigned class_count)
    : class_count_(class_count) {
  const auto size = programs.size();
  if (size == 0 || size >= kDead || class_count_ >= SplitLevel::kEnd) {
    throw Error(ErrorKind::unsupported, "split_states", static_cast<std::int64_t>(size), kMaxStates);
  }
  states_.resize(2);
  for (auto& next : states_[0].next) next.assign(class_count_, kDead);
  states_[1] = states_[0];
  states_[0].next[1].assign(class_count_, 1);
  states_[1].next[0].assign(class_count_, 1);
  states_[0].may_end = states_[1].may_end = true;
  for (std::size_t begin = 0; begin < size;) {
    std::size_t end = begin;
    while (end < size && programs[end].op != SplitOp::match) ++end;
    if (end == size) throw Error(ErrorKind::argument, "split_program");
    std::vector<SplitInstruction> program(programs.begin() + static_cast<std::ptrdiff_t>(begin),
                                          programs.begin() + static_cast<std::ptrdiff_t>(end) + 1);
    for (SplitInstruction& each : program) {
      if (each.op == SplitOp::match) continue;
      const std::uint32_t other = each.op == SplitOp::fork ? each.or_to : each.to;
      if (std::min(each.to, other) < begin || std::max(each.to, other) > end) {
        throw Error(ErrorKind::argument, "split_program");
      }
      each.to -= static_cast<std::uint32_t>(begin);
      each.or_to = other - static_cast<std::uint32_t>(begin);
    }
    levels_.emplace_back(std::move(program), class_count_);
    split_pieces(levels_.back());
    begin = end + 1;
  }
  find_unconstrained();
  if (!states_[kTextStart].unconstrained) throw Error(ErrorKind::unsupported, "empty_split");
}

std::vector<std::size_t> PreTokenizer::pretoken_ends(const std::vector<std::uint8_t>& classes) const {
  std::vector<std::size_t> ends, next_ends;
  if (!classes.empty()) ends.push_back(classes.size());
  for (const SplitLevel& level : levels_) {
    std::size_t begin = 0;
    next_ends.clear();
    for (std::size_t end : ends) {
      level.split(classes, begin, end, next_ends);
      begin = end;
    }
    std::swap(ends, next_ends);
  }
  return ends;
}

// Replaces the states by those of the pieces into which `level` splits the pieces so far.
void PreTokenizer::split_pieces(const SplitLevel& level) {
  using Set = std::vector<std::pair<State, SplitLevel::State>>;  // ascending
  std::map<Set, State> known{{{{kTextStart, SplitLevel::kTextStart}}, kTextStart}};
  std::vector<Set> sets{known.begin()->first};
  std::vector<BoundaryState> states(1);
  const auto add = [&](Set set) {
    if (set.empty()) return kDead;
    std::ranges::sort(set);
    set.erase(std::unique(set.begin(), set.end()), set.end());
    const auto [entry, is_new] = known.try_emplace(set, static_cast<State>(sets.size()));
    if (is_new) {
      if (sets.size() >= kMaxStates) throw Error(ErrorKind::unsupported, "split_states", kMaxStates, kMaxStates);
      sets.push_back(std::move(set));
      states.emplace_back();
    }
    return entry->second;
  };
  for (std::size_t i = 0; i < sets.size(); ++i) {
    const Set from = sets[i];
    BoundaryState state;
    for (const auto& [outer, inner] : from) {
      state.may_end = state.may_end || (states_[outer].may_end && level.may_end(inner));
    }
    for (const bool starts : {false, true}) {
      for (unsigned c = 0; c < class_count_; ++c) {
        Set next;
        const auto append = [&](State outer, const std::vector<SplitLevel::State>& inner) {
          for (SplitLevel::State each : inner) next.emplace_back(outer, each);
        };
        for (const auto& [outer, inner] : from) {
          const State inside = states_[outer].next[0][c], starting = states_[outer].next[1][c];
          if (inside != kDead) append(inside, level.after(inner, starts, c));
          if (starts && starting != kDead && level.may_end(inner)) {
            append(starting, level.after(SplitLevel::kTextStart, true, c));
          }
        }
        state.next[starts].push_back(add(std::move(next)));
      }
    }
    states[i] = std::move(state);
  }
  states_ = std::move(states);
  drop_dead();
  minimise();
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

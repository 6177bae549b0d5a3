// AlternativeSets: sets of alternatives (automaton/alternatives.h) and their successors, as a walk along a trie meets
// them: an NFA that is simulated.
//
// Lives as long as one walk. Takes the lock of the automaton at the first look at an alternative only.
#pragma once

#include <cstdint>
#include <utility>
#include <vector>

#include "automaton/automaton.h"

namespace detent {

using AlternativeSet = std::vector<AlternativeId>;  // no two are equal

class AlternativeSets {
 public:
  explicit AlternativeSets(Automaton& automaton) : automaton_(automaton) {}

  const Alternative& operator[](AlternativeId id) {
    if (id.value >= alternatives_.size()) alternatives_.resize(id.value * 3 / 2 + 64);
    const Alternative*& known = alternatives_[id.value];
    if (!known) known = &automaton_.alternative(id);
    return *known;
  }

  // The loop of an alternative for a subtree of so many ids; null where it is not known, and walking so few ids costs
  // less than to find it.
  const AlternativeLoop* loop(AlternativeId id, std::uint32_t ids) {
    constexpr std::uint32_t kWorthwhile = 32;
    if (id.value >= loops_.size()) loops_.resize(id.value * 3 / 2 + 64);
    const AlternativeLoop*& known = loops_[id.value];
    if (!known) known = automaton_.known_loop(id);
    if (!known && ids >= kWorthwhile) known = &automaton_.make_loop(id);
    return known;
  }

  // Sets `after` to the alternatives to which those of `set` lead. Cost: linear in their transitions.
  void find_successors(const AlternativeSet& set, std::uint8_t byte_class, AlternativeSet& after) {
    after.clear();
    ++set_count_;
    for (AlternativeId id : set) {
      for (AlternativeId next : (*this)[id].after(byte_class)) {
        if (next.value >= last_seen_.size()) last_seen_.resize(next.value * 3 / 2 + 64);
        if (std::exchange(last_seen_[next.value], set_count_) != set_count_) after.push_back(next);
      }
    }
  }

  // Drops alternatives whose texts are among those of another one, where the set is large. Each of many counted rounds
  // may begin at each byte of `........`: two of the sets of rounds and bytes include all others.
  void drop_included(AlternativeSet& set) {
    constexpr std::size_t kMost = 64;  // beyond, the comparisons cost more than they save
    if (set.size() <= comparable_ || set.size() > kMost) return;
    const std::size_t before = set.size();
    automaton_.drop_included(set);
    if (set.size() > before / 2) comparable_ = 2 * before;
  }

 private:
  Automaton& automaton_;
  std::vector<const Alternative*> alternatives_;  // by id; null: not asked for yet
  std::vector<const AlternativeLoop*> loops_;     // by id; null: not asked for yet
  std::vector<std::uint32_t> last_seen_;          // by id: the last set that was found to have it
  std::uint32_t set_count_ = 0;
  std::size_t comparable_ = 8;  // the size of sets that are not compared: few of larger ones had shrunk
};

}  // namespace detent

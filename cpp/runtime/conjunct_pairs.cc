// ConjunctSearch: the pairs of conjuncts of a set, one of which may show that the set has no text.
#include <algorithm>
#include <utility>
#include <vector>

#include "runtime/conjunct_search.h"

namespace detent {

// A set is dead if a pair of its conjuncts is. Pairs have few states, which many sets share.
bool ConjunctSearch::has_dead_pair(State state) {
  if (std::exchange(is_inside_pair_, true)) return false;  // the conjuncts of a pair may have several successors each
  const bool found = find_dead_pair(state);
  is_inside_pair_ = false;
  return found;
}

bool ConjunctSearch::find_dead_pair(State state) {
  for (std::size_t i = 0; i < pairs_of(state.set).size(); ++i) {
    const SetId pair = in_walk(state.set).pairs[i];
    ++work_;
    if (in_walk(pair).undecided == state.left) continue;
    const Verdict verdict = decide({pair, state.left});
    Known& known = in_walk(state.set);
    known.fewest = std::max(known.fewest, in_walk(pair).fewest);
    if (verdict == Verdict::dead) return true;
  }
  return false;
}

const std::vector<ConjunctSearch::SetId>& ConjunctSearch::pairs_of(SetId set) {
  if (!known_[set].knows_pairs) {
    std::vector<SetId> pairs = find_pairs(set);  // may move known_
    known_[set].pairs = std::move(pairs);
    known_[set].knows_pairs = true;
  }
  if (!std::exchange(in_walk(set).counted_pairs, true)) {
    for (SetId pair : known_[set].pairs) in_walk(pair);
  }
  return known_[set].pairs;
}

std::vector<ConjunctSearch::SetId> ConjunctSearch::find_pairs(SetId set) {
  constexpr std::size_t kFewest = 3, kMost = 10;  // conjuncts
  ConjunctSet others, counting;
  for (ConjunctId id : sets_[set]) (conjuncts_[id].counts() ? counting : others).push_back(id);
  if (others.size() < kFewest || others.size() > kMost) return {};
  std::vector<SetId> pairs;
  for (std::size_t i = 0; i < others.size(); ++i) {
    for (std::size_t j = 0; j < i; ++j) {
      ConjunctSet pair = counting;
      pair.insert(pair.end(), {others[j], others[i]});
      std::ranges::sort(pair);
      pairs.push_back(add(pair));
    }
  }
  return pairs;
}

}  // namespace detent

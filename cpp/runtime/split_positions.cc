#include "runtime/split_positions.h"

#include <algorithm>

#include "base/hash.h"

namespace detent {

SplitPositionSets::SplitPositionSets(PretokenTransitions& transitions, Meter& meter)
    : transitions_(transitions), meter_(meter) {
  intern({transitions.pretoken_start(PreTokenizer::kTextStart)});
}

PositionSetId SplitPositionSets::intern(Set set) {
  std::ranges::sort(set);
  set.erase(std::unique(set.begin(), set.end()), set.end());
  std::uint64_t hash = set.size();
  for (const SplitPosition& at : set) hash = mix(hash, std::uint64_t{at.position.value} << 32 | at.unsplit.value);
  std::vector<PositionSetId>& same_hash = ids_[hash];
  for (const PositionSetId id : same_hash) {
    if (sets_[id.value] == set) return id;
  }
  meter_.allocate(static_cast<std::int64_t>(set.size() * sizeof(SplitPosition)) + 64);
  same_hash.push_back({static_cast<std::uint32_t>(sets_.size())});
  sets_.push_back(std::move(set));
  return same_hash.back();
}

// Without a boundary between them, `last` and `token` must be in the adjacency relation. After a boundary every token
// may follow.
SplitPositionSets::Set SplitPositionSets::after(const Set& set, std::uint32_t last, std::uint32_t token) const {
  Set found;
  const auto add = [&](const SplitPosition& from) {
    const TransitionRow& row = transitions_.row(from.position);
    const std::uint16_t target = row.target_of(token);
    if (target == TransitionRow::kRefused) return;
    found.push_back({row.targets[target], transitions_.unsplit_after(from.unsplit, token)});
  };
  const bool adjacent = last != PretokenTransitions::kNoToken && transitions_.encoder().may_follow(last, token);
  for (const SplitPosition& at : set) {
    if (adjacent) add(at);
    if (transitions_.may_end_pretoken(at, last)) add(transitions_.pretoken_start(at.position.decoded().state));
  }
  return found;
}

}  // namespace detent

#include "runtime/recent_states.h"

#include <algorithm>
#include <utility>

#include "base/fork_guard.h"

namespace detent {

ReferenceMask RecentStates::nearest_state(ExprId state) {
  const ExprId* row = automaton_.row(state);
  const ForkGuard guard;
  const std::lock_guard lock(mutex_);
  ExprId nearest;
  std::int64_t most = 0;
  for (ExprId other : states_) {
    const std::int64_t nodes = agreement(row, automaton_.row(other));
    if (nodes <= most) continue;
    most = nodes;
    nearest = other;
  }
  if (nearest == ExprSet::kEmpty) return {};
  const Hash128 key = mask_key(automaton_.hash(nearest), kind_);
  std::shared_ptr<const Mask> mask = vocabulary_.cache().find(key, MaskCache::Kind::reference);
  if (!mask) std::erase(states_, nearest);
  return {nearest, std::move(mask)};
}

// The trie nodes below the first bytes that lead both to the same state, minus those below the other bytes that lead
// one of them to a live state.
std::int64_t RecentStates::agreement(const ExprId* row, const ExprId* other) {
  const auto near = [this](ExprId state) {
    return state == ExprSet::kEmpty ? state : automaton_.clamp_to_horizon(state, Automaton::Horizon::near);
  };
  std::int64_t sum = 0;
  for (unsigned byte = 0; byte < 256; ++byte) {
    const std::uint8_t c = automaton_.class_of()[byte];
    if (row[c] == ExprSet::kEmpty && other[c] == ExprSet::kEmpty) continue;
    const std::int64_t nodes = vocabulary_.nodes_below(static_cast<std::uint8_t>(byte));
    sum += row[c] == other[c] || near(row[c]) == near(other[c]) ? nodes : -nodes;
  }
  return sum;
}

void RecentStates::add(ExprId state) {
  const ForkGuard guard;
  const std::lock_guard lock(mutex_);
  if (std::ranges::find(states_, state) != states_.end()) return;
  if (states_.size() == kCount) states_.erase(states_.begin());
  states_.push_back(state);
}

}  // namespace detent

#include "runtime/recent_states.h"

#include <algorithm>
#include <functional>
#include <utility>

#include "base/fork_guard.h"

namespace detent {

ReferenceMask RecentStates::nearest_state(ExprId state, std::int64_t least) {
  const std::vector<ExprId> similar = similar_states(state, least);
  if (similar.empty()) return {};
  const ExprId nearest = similar.front();
  const Hash128 key = mask_key(automaton_.hash(nearest), kind_);
  std::shared_ptr<const Mask> mask = vocabulary_.cache().find(key, MaskCache::Kind::reference);
  if (!mask) {
    const ForkGuard guard;
    const std::lock_guard lock(mutex_);
    std::erase(states_, nearest);
  }
  return {nearest, std::move(mask)};
}

std::vector<ExprId> RecentStates::similar_states(ExprId state, std::int64_t least) {
  const ExprId* row = automaton_.row(state);
  std::vector<std::pair<std::int64_t, ExprId>> similar;
  {
    const ForkGuard guard;
    const std::lock_guard lock(mutex_);
    for (ExprId other : states_) {
      const std::int64_t nodes = agreement(row, automaton_.row(other));
      if (nodes > least) similar.emplace_back(nodes, other);
    }
  }
  std::ranges::stable_sort(similar, std::greater<>{}, &std::pair<std::int64_t, ExprId>::first);
  std::vector<ExprId> states;
  for (const auto& [nodes, other] : similar) states.push_back(other);
  return states;
}

// The number of trie nodes below the first bytes for which both rows have the same next state, minus the number below
// the bytes for which the rows differ.
std::int64_t RecentStates::agreement(const ExprId* row, const ExprId* other) {
  const auto near = [this](ExprId state) {
    return state == ExprSet::kEmpty ? state : automaton_.clamp_to_horizon(state, Automaton::Horizon::near);
  };
  const std::vector<std::int64_t>& nodes = nodes_by_class();
  std::int64_t sum = 0;
  for (std::uint32_t c = 0; c < automaton_.class_count(); ++c) {
    if (row[c] == ExprSet::kEmpty && other[c] == ExprSet::kEmpty) continue;
    sum += row[c] == other[c] || near(row[c]) == near(other[c]) ? nodes[c] : -nodes[c];
  }
  return sum;
}

// By byte class: the trie nodes below its bytes. Called under the lock.
const std::vector<std::int64_t>& RecentStates::nodes_by_class() {
  if (nodes_by_class_.empty()) {
    nodes_by_class_.resize(automaton_.class_count());
    for (unsigned byte = 0; byte < 256; ++byte) {
      nodes_by_class_[automaton_.class_of()[byte]] += vocabulary_.nodes_below(static_cast<std::uint8_t>(byte));
    }
  }
  return nodes_by_class_;
}

void RecentStates::add(ExprId state) {
  const ForkGuard guard;
  const std::lock_guard lock(mutex_);
  if (std::ranges::find(states_, state) != states_.end()) return;
  if (states_.size() == kCount) states_.erase(states_.begin());
  states_.push_back(state);
}

}  // namespace detent

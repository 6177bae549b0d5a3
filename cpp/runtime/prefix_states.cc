#include "runtime/prefix_states.h"

#include <algorithm>
#include <array>
#include <unordered_map>

#include "base/fork_guard.h"
#include "runtime/trie_walk.h"

namespace detent {

PrefixStates PrefixStates::of(const Vocabulary& vocabulary, Automaton& automaton, ExprId prefix, WalkLimit& limit) {
  PrefixStates found;
  found.state_of.assign(vocabulary.size(), kLeaves);
  std::unordered_map<std::uint32_t, std::uint8_t> indices;   // by state
  std::array<std::pair<ExprId, std::uint8_t>, 64> recent{};  // some of them, by the state modulo 64
  const auto add = [&](std::uint32_t token, ExprId next) {
    auto& [state, index] = recent[next.value % recent.size()];
    if (next != state) {
      const auto [entry, is_new] = indices.try_emplace(next.value, static_cast<std::uint8_t>(found.examples.size()));
      if (is_new) found.examples.push_back(token);
      state = next;
      index = entry->second;
    }
    found.state_of[token] = index;
    return found.examples.size() >= kLeaves;
  };
  walk_tokens(
      vocabulary, automaton, prefix,
      [&](std::uint32_t tokens, ExprId next) {
        bool too_many = false;
        limit.check();
        for_each_id(vocabulary, tokens, [&](std::uint32_t token) { too_many |= add(token, next); });
        return too_many;
      },
      [&](const Subtree& subtree, ExprId next) {
        return any_whole_id(vocabulary, subtree, [&](std::uint32_t token) { return add(token, next); });
      });
  if (found.examples.size() < kLeaves) return found;
  PrefixStates none;
  none.too_many = true;
  return none;
}

std::shared_ptr<const PrefixStates> RecentPrefixStates::find(const Hash128& prefix) {
  const ForkGuard guard;
  const std::lock_guard lock(mutex_);
  const auto known = std::ranges::find(known_, prefix, [](const auto& each) { return each.first; });
  return known == known_.end() ? nullptr : known->second;
}

std::shared_ptr<const PrefixStates> RecentPrefixStates::add(const Hash128& prefix, PrefixStates states) {
  auto added = std::make_shared<const PrefixStates>(std::move(states));
  const ForkGuard guard;
  const std::lock_guard lock(mutex_);
  if (known_.size() == kMost) known_.pop_front();
  known_.emplace_back(prefix, added);
  return added;
}

}  // namespace detent

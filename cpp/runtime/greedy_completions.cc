#include "runtime/greedy_completions.h"

#include <unordered_set>
#include <utility>
#include <vector>

namespace detent {

GreedyCompletions::Step GreedyCompletions::step(ExprId state) {
  if (const auto known = steps_.find(state.value); known != steps_.end()) return known->second;
  const CompletionPaths::Step first = language_.automaton.completion_step(state);
  language_.meter.step(8);
  language_.meter.allocate(48);
  return steps_[state.value] = {first.byte, first.state};
}

// Follows the steps to a state whose length is known. All states between characters on the way are remembered.
std::uint32_t GreedyCompletions::length(ExprId state) {
  std::vector<std::pair<ExprId, std::uint32_t>> path;  // with the length so far
  std::uint32_t length = 0;
  std::uint16_t node = CharacterDfa::kBorder;
  for (ExprId at = state;;) {
    if (node == CharacterDfa::kBorder) {
      const auto known = lengths_.find(at.value);
      if (known != lengths_.end()) {
        length = known->second == kInfinite ? kInfinite : length + known->second;
        break;
      }
      path.emplace_back(at, length);
      if (language_.automaton.accepting(at)) break;
    } else if (language_.automaton.accepting(at)) {
      length = kInfinite;
      break;
    }
    const auto [byte, next] = step(at);
    const CharacterDfa::Step character = language_.transitions.step_character(node, byte);
    if (character.dead) {
      length = kInfinite;
      break;
    }
    if (node != PretokenTransitions::kInSpecial) ++length;
    node = character.node;
    at = next;
  }
  language_.meter.allocate(static_cast<std::int64_t>(path.size()) * 40);
  for (const auto& [at, offset] : path) lengths_[at.value] = length == kInfinite ? kInfinite : length - offset;
  return length;
}

bool GreedyCompletions::exists(ExprId state) {
  if (language_.encoder().characters().has_every_character() && language_.automaton.is_text(state)) return true;
  if (length(state) != kInfinite) return true;
  if (const auto known = exists_.find(state.value); known != exists_.end()) return known->second;
  const auto key = [](ExprId at, std::uint16_t node) { return std::uint64_t{at.value} << 32 | node; };
  std::vector<std::pair<ExprId, std::uint16_t>> open{{state, CharacterDfa::kBorder}};
  std::unordered_set<std::uint64_t> seen{key(state, CharacterDfa::kBorder)};
  for (std::size_t i = 0; i < open.size(); ++i) {
    const auto [at, node] = open[i];
    const bool found = language_.any_byte(at, [&](std::uint8_t byte, ExprId next) {
      const CharacterDfa::Step character = language_.transitions.step_character(node, byte);
      if (character.dead) return false;
      if (character.node == CharacterDfa::kBorder && language_.automaton.accepting(next)) return true;
      if (seen.insert(key(next, character.node)).second) {
        language_.check_growth(open.size());
        open.emplace_back(next, character.node);
      }
      return false;
    });
    if (found) return exists_[state.value] = true;
  }
  language_.meter.allocate(static_cast<std::int64_t>(open.size()) * 40);
  for (const auto& [at, node] : open) {
    if (node == CharacterDfa::kBorder) exists_[at.value] = false;
  }
  return false;
}

}  // namespace detent

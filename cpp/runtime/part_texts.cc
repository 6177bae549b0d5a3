#include "runtime/part_texts.h"

#include <algorithm>
#include <utility>

#include "expr/lengths.h"

namespace detent {

// Rules show no parts: what they leave has many forms.
std::vector<ExprId> PartTexts::parts(ExprId state) {
  return automaton_.has_rule(state) ? std::vector<ExprId>{} : automaton_.completion_parts(state);
}

std::uint32_t PartTexts::part_count(ExprId state) {
  std::vector<ExprId> goals{state};  // a work list replaces recursion
  while (!goals.empty()) {
    const ExprId goal = goals.back();
    if (counts_.contains(goal.value)) {
      goals.pop_back();
      continue;
    }
    std::uint32_t count = 0;
    const std::size_t before = goals.size();
    for (ExprId part : parts(goal)) {
      const auto known = counts_.find(part.value);
      if (known == counts_.end()) {
        goals.push_back(part);
      } else {
        count = saturating_add(count, std::max(known->second, 1u));
      }
    }
    if (goals.size() == before) counts_[goal.value] = count;
  }
  return counts_.at(state.value);
}

PartTexts::Known PartTexts::of_one_part(ExprId state, std::span<const Letter> letters, std::int64_t max_steps) {
  constexpr std::uint32_t kLongest = 256;  // bytes: each state inside a long part would have a long text of its own
  if (automaton_.completion_bound(state) > kLongest) return {.is_unfit = true};
  const auto never = [](AlternativeId) { return false; };
  auto path = automaton_.descend(automaton_.nearest_alternative(state), letters, never, max_steps);
  std::string text = path ? std::move(path->text) : automaton_.some_completion(state).value();
  const auto count = static_cast<std::uint32_t>(vocabulary_.fewest_tokens(text).size());
  if (count == 0 && !text.empty()) return {.is_unfit = true};  // begins or ends inside a special token
  return {.tokens = count, .text = std::move(text)};
}

std::optional<std::uint32_t> PartTexts::token_count(ExprId state, std::span<const Letter> letters,
                                                    std::int64_t max_steps) {
  constexpr std::uint32_t kFewest = 16;  // of fewer parts, a completion is found by a path, in fewer tokens
  if (part_count(state) < kFewest) return std::nullopt;
  std::vector<ExprId> goals{state};
  while (!goals.empty()) {
    const ExprId goal = goals.back();
    if (known_.contains(goal.value)) {
      goals.pop_back();
      continue;
    }
    if (part_count(goal) == 0) {
      known_[goal.value] = of_one_part(goal, letters, max_steps);
      continue;
    }
    Known found;
    const std::size_t before = goals.size();
    for (ExprId part : parts(goal)) {
      const auto known = known_.find(part.value);
      if (known == known_.end()) {
        goals.push_back(part);
        continue;
      }
      found.tokens = saturating_add(found.tokens, known->second.tokens);
      found.is_unfit |= known->second.is_unfit;
    }
    if (goals.size() == before) known_[goal.value] = std::move(found);
  }
  const Known& known = known_.at(state.value);
  return known.is_unfit ? std::nullopt : std::optional(known.tokens);
}

std::string PartTexts::text(ExprId state) {
  std::string text;
  std::vector<ExprId> open{state};
  while (!open.empty()) {
    const ExprId at = open.back();
    open.pop_back();
    text += known_.at(at.value).text;
    if (part_count(at) == 0) continue;
    const std::vector<ExprId> parts = this->parts(at);
    open.insert(open.end(), parts.begin(), parts.end());
  }
  return text;
}

}  // namespace detent

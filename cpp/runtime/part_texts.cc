#include "runtime/part_texts.h"

#include <algorithm>
#include <iterator>
#include <utility>

#include "expr/lengths.h"

namespace detent {

// Rules show no parts: what they leave has many forms.
std::vector<ExprId> PartTexts::parts(ExprId state) {
  return automaton_.has_rule(state) ? std::vector<ExprId>{} : automaton_.completion_parts(state);
}

// Calls find(part, its parts) for `state` and each part of it that is not in `known`, the parts of one before it. A
// work list replaces recursion.
template <class Value, class Find>
const Value& PartTexts::find_by_parts(ExprId state, std::unordered_map<std::uint32_t, Value>& known, Find find) {
  std::vector<ExprId> goals{state};
  while (!goals.empty()) {
    const ExprId goal = goals.back();
    if (known.contains(goal.value)) {
      goals.pop_back();
      continue;
    }
    const std::vector<ExprId> parts = this->parts(goal);
    const std::size_t before = goals.size();
    std::ranges::copy_if(parts, std::back_inserter(goals), [&](ExprId part) { return !known.contains(part.value); });
    if (goals.size() == before) known[goal.value] = find(goal, parts);
  }
  return known.at(state.value);
}

std::uint32_t PartTexts::part_count(ExprId state) {
  return find_by_parts(state, counts_, [this](ExprId, const std::vector<ExprId>& parts) {
    std::uint32_t count = 0;
    for (ExprId part : parts) count = saturating_add(count, std::max(counts_.at(part.value), 1u));
    return count;
  });
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
  const Known& known = find_by_parts(state, known_, [&](ExprId at, const std::vector<ExprId>& parts) {
    if (parts.empty()) return of_one_part(at, letters, max_steps);
    Known found;
    for (ExprId part : parts) {
      const Known& of_part = known_.at(part.value);
      found.tokens = saturating_add(found.tokens, of_part.tokens);
      found.is_unfit |= of_part.is_unfit;
    }
    return found;
  });
  return known.is_unfit ? std::nullopt : std::optional(known.tokens);
}

std::string PartTexts::text(ExprId state) {
  std::string text;
  std::vector<ExprId> open{state};
  while (!open.empty()) {
    const ExprId at = open.back();
    open.pop_back();
    text += known_.at(at.value).text;
    const std::vector<ExprId> parts = this->parts(at);
    open.insert(open.end(), parts.begin(), parts.end());
  }
  return text;
}

}  // namespace detent

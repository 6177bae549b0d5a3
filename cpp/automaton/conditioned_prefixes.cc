// SliceAnalysis: prefixes that exclude words (ConditionedPrefix).
//
// A token that a prefix x allows, and that a condition r allows, may still be a dead end of x & r: each completion in x
// may contain an excluded word. A completion over bytes that end no word contains none. So the states of x, without r,
// decide for all states of r at once.
#include <algorithm>

#include "automaton/conditioned_slices.h"
#include "automaton/slice_analysis.h"
#include "expr/json_string.h"
#include "expr/lengths.h"
#include "expr/parts.h"

namespace detent {
namespace {

// Bytes of strings that are a character, and need no escape.
constexpr ByteSet kUnescaped = ByteSet::range('0', '9') | ByteSet::range('A', 'Z') | ByteSet::range('a', 'z');

bool is_inside_escape(const ExprSet& exprs, ExprId state) {
  const Expr& head = exprs[split_first(exprs, state).first];
  return head.op == Op::json_escaped && escape_position_of(head.escape_position()) != EscapePosition::text;
}

}  // namespace

// The completions in a string of at least `count` characters, or in one that excludes texts of fewer bytes, from those
// without that condition: the loop makes them long enough.
std::optional<SliceAnalysis::SafeCompletions> SliceAnalysis::with_loop(std::optional<SafeCompletions> found,
                                                                       std::uint32_t count) {
  if (!found || (count > 0 && !found->has_loop)) return std::nullopt;
  found->longest = saturating_add(found->longest, count);
  return found;
}

std::optional<ConditionedPrefix> SliceAnalysis::conditioned_prefix(ExprId prefix) {
  ByteSet safe;
  bool is_before_quote = false;
  const ExprId all_texts = automaton_.all_texts();
  const auto parts = automaton_.edit([&](ExprSet& exprs, Derivatives& derivatives, Liveness&) {
    auto found = split_conditions(exprs, prefix);
    if (!found) return found;
    safe = safe_bytes_.find(exprs, found->second);
    is_before_quote = !safe.empty() && is_any_string_inside(exprs, found->first, all_texts) &&
                      !(safe_bytes_.find_before(exprs, found->second, '"') & kUnescaped).empty() &&
                      resets_.find(exprs, derivatives, found->second, '"') != ExprSet::kEmpty;
    return found;
  });
  if (!parts || safe.empty()) return std::nullopt;
  if (const std::optional<SafeCompletions> found = safe_completions(parts->first, safe)) {
    return ConditionedPrefix{parts->first, parts->second, found->longest, !found->inside_escapes, false};
  }
  // Some byte of `safe`, and the quotation mark, complete each text that ends neither in a character nor in an escape.
  if (!is_before_quote) return std::nullopt;
  return ConditionedPrefix{parts->first, parts->second, 2, true, true};
}

// Whether a prefix is the rest of any JSON string, between two characters or escapes, with its quotation mark.
bool SliceAnalysis::is_any_string_inside(const ExprSet& exprs, ExprId prefix, ExprId all_texts) const {
  const auto [first, last] = split_first(exprs, prefix);
  const Expr& string = exprs[first];
  const Expr& end = exprs[last];
  return string.op == Op::json_escaped && string.part() == all_texts &&
         escape_position_of(string.escape_position()) == EscapePosition::text && end.op == Op::bytes &&
         exprs.set(end.set_index()) == ByteSet::of('"');
}

std::vector<ExprId> SliceAnalysis::exclusions(ExprId condition) {
  return automaton_.edit([&](ExprSet& exprs, Derivatives&, Liveness&) {
    return exclusions_of(exprs, condition, safe_bytes_.find_before(exprs, condition, '"') & kUnescaped);
  });
}

std::optional<SliceAnalysis::SafeCompletions> SliceAnalysis::safe_completions(ExprId prefix, const ByteSet& safe) {
  using Found = std::optional<SafeCompletions>;
  const auto key = [&safe](ExprId state) { return std::pair(state.value, safe.words()); };
  const auto known = automaton_.edit([&](ExprSet&, Derivatives&, Liveness&) -> std::optional<Found> {
    const auto entry = safe_completions_.find(key(prefix));
    if (entry == safe_completions_.end()) return std::nullopt;
    return std::optional<Found>(std::in_place, entry->second);  // known, perhaps as nothing
  });
  if (known) return *known;
  std::vector<ExprId> states;
  Found found;
  if (const std::optional<BoundedString> string = bounded_string(prefix)) {
    found = with_loop(safe_completions(string->unbounded, safe), string->minimum);
  } else if (const auto excluding = excluding_string(prefix); excluding && is_any_string(excluding->all)) {
    found = with_loop(safe_completions(excluding->all, safe), excluding->inside_bound);
  } else {
    found = find_safe_completions(prefix, safe, states);
  }
  return automaton_.edit([&](ExprSet&, Derivatives&, Liveness&) {
    if (found) {
      for (ExprId state : states) safe_completions_.try_emplace(key(state), found);
    }
    return safe_completions_[key(prefix)] = found;
  });
}

// Whether a prefix is any JSON string, perhaps after some bytes.
bool SliceAnalysis::is_any_string(ExprId prefix) {
  const ExprId all_texts = automaton_.all_texts();
  return automaton_.edit([&](ExprSet& exprs, Derivatives&, Liveness&) {
    while (exprs[prefix].op == Op::concat && exprs[exprs[prefix].first()].op != Op::json_escaped) {
      prefix = exprs[prefix].second();
    }
    const Expr& head = exprs[split_first(exprs, prefix).first];
    return head.op == Op::json_escaped && head.part() == all_texts;
  });
}

// Visits the states after `prefix`, and finds for each the shortest completion over safe bytes. Nothing where a state
// has none, unless it is inside an escape; or where the states are many. A text that ends here may be an excluded word
// itself, unless each byte that leads here is safe: otherwise the empty completion does not count.
std::optional<SliceAnalysis::SafeCompletions> SliceAnalysis::find_safe_completions(ExprId prefix, const ByteSet& safe,
                                                                                   std::vector<ExprId>& states) {
  constexpr std::size_t kMaxStates = 512;
  constexpr std::int64_t kFirstWork = 3'000, kWorkPerState = 8;
  std::vector<bool> is_safe(automaton_.class_count());
  safe.each([&](std::uint8_t byte) { is_safe[automaton_.class_of()[byte]] = true; });
  std::unordered_map<std::uint32_t, std::size_t> index_of{{prefix.value, 0}};
  std::vector<std::vector<std::size_t>> sources(1);  // by one safe byte
  std::vector<std::size_t> nearest_first;            // indices of states
  std::vector<bool> ends_word(1);                    // whether a byte that is not safe leads to a state
  bool has_loop = false;
  states = {prefix};
  const std::int64_t before = automaton_.work();
  for (std::size_t i = 0; i < states.size(); ++i) {
    const std::int64_t most_work = kFirstWork + kWorkPerState * static_cast<std::int64_t>(i);
    if (states.size() > kMaxStates || automaton_.work() - before > most_work) return std::nullopt;
    // A row of a state with large bounds may ask for long searches.
    if (drop_large_upper_bounds(states[i]).state != states[i]) return std::nullopt;
    if (automaton_.accepting(states[i])) nearest_first.push_back(i);
    const ExprId* row = automaton_.row(states[i]);
    for (std::uint32_t c = 0; c < automaton_.class_count(); ++c) {
      if (row[c] == ExprSet::kEmpty) continue;
      const auto [known, is_new] = index_of.try_emplace(row[c].value, states.size());
      if (is_new) {
        states.push_back(row[c]);
        sources.emplace_back();
        ends_word.push_back(false);
      }
      if (is_safe[c]) {
        sources[known->second].push_back(i);
      } else {
        ends_word[known->second] = true;
      }
      has_loop |= is_safe[c] && known->second == i;
    }
  }
  std::vector<std::uint32_t> lengths(states.size(), UINT32_MAX);
  for (std::size_t i : nearest_first) {
    if (!ends_word[i]) lengths[i] = 0;
  }
  std::uint32_t longest = 0;
  for (std::size_t i = 0; i < nearest_first.size(); ++i) {
    const std::size_t at = nearest_first[i];
    const std::uint32_t length = automaton_.accepting(states[at]) ? 1 : lengths[at] + 1;
    for (std::size_t source : sources[at]) {
      if (lengths[source] != UINT32_MAX) continue;
      lengths[source] = longest = length;
      if (!automaton_.accepting(states[source])) nearest_first.push_back(source);
    }
  }
  const bool is_everywhere = std::ranges::find(lengths, UINT32_MAX) == lengths.end();
  const bool is_between_escapes = is_everywhere || automaton_.edit([&](ExprSet& exprs, Derivatives&, Liveness&) {
    return !is_inside_escape(exprs, prefix) && std::ranges::all_of(index_of, [&](const auto& entry) {
      return lengths[entry.second] != UINT32_MAX || is_inside_escape(exprs, ExprId{entry.first});
    });
  });
  if (!is_between_escapes) return std::nullopt;
  // Inside an escape, the state of the prefix itself has no such completion where some state has none.
  if (!is_everywhere) std::erase_if(states, [&](ExprId each) { return lengths[index_of[each.value]] == UINT32_MAX; });
  return SafeCompletions{longest, is_everywhere, has_loop};
}

}  // namespace detent

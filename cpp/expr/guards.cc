// The constructors of operators that relate a text to another one: JSON escapes, guards on the following text, and
// lookbehinds.
#include <vector>

#include "expr/expr_set.h"
#include "expr/json_string.h"
#include "expr/lengths.h"

namespace detent {

ExprId ExprSet::json_escaped(ExprId texts, std::uint32_t position, std::uint32_t bits) {
  if (texts == kEmpty) return kEmpty;
  const bool is_in_text = escape_position_of(position) == EscapePosition::text;
  if (texts == kEpsilon && is_in_text) return kEpsilon;
  const Expr& inner = exprs_[texts.value];
  Expr expr;
  expr.op = Op::json_escaped;
  expr.nullable = is_in_text && inner.nullable;
  expr.nonempty = inner.nonempty && has_json_escapes_;
  expr.in_alphabet = true;
  expr.completes_by_bytes = expr.residuals_complete_by_bytes = has_token_escapes_;
  inherit_flags(expr, inner);
  expr.largest_count = inner.largest_count;
  expr.largest_minimum = inner.largest_minimum;
  const bool is_known = is_character_known(position, bits);
  const std::uint32_t length = is_known ? inner.min_length : inner.max_completion_bound;
  if (inner.needs_no_escapes) {
    expr.min_length = saturating_add(length, is_known ? remaining_escape_bytes(position) : kLongestEscape);
    expr.max_completion_bound = saturating_add(inner.max_completion_bound, kLongestEscape);
  } else {
    expr.min_length = saturating_add(saturating_multiply(length, kMaxEscapeLength), remaining_escape_bytes(position));
    expr.max_completion_bound = saturating_multiply(inner.max_completion_bound, kMaxEscapeLength);
  }
  expr.max_length = saturating_add(saturating_multiply(inner.max_length, kMaxEscapeLength), kLongestEscape);
  expr.a_ = texts.value;
  expr.b_ = position;
  expr.c_ = bits;
  expr.hash = mix(mix(mix(Hash128{}, static_cast<std::uint64_t>(Op::json_escaped)), inner.hash),
                  (std::uint64_t{position} << 32) | bits);
  return find_or_add(expr, {});
}

// The length bounds of a guard include its escape: the shortest text that breaks no guard may need it.
ExprId ExprSet::maximal_munch(ExprId part, ExprId munched, std::uint32_t escape) {
  if (part == kEmpty || munched == kEmpty || munched == kEpsilon) return part;
  const Expr& inner = exprs_[part.value];
  Expr expr;
  expr.op = Op::maximal_munch;
  expr.nullable = inner.nullable;
  inherit_flags(expr, inner);
  inherit_flags(expr, exprs_[munched.value]);
  expr.has_guard = true;
  expr.has_strict_guard |= escape == 0;
  expr.nonempty = inner.nonempty && !expr.has_strict_guard;
  expr.min_length = saturating_add(inner.min_length, escape);
  expr.max_completion_bound = UINT32_MAX;
  expr.a_ = part.value;
  expr.b_ = munched.value;
  expr.c_ = escape;
  expr.hash =
      mix(mix(mix(Hash128{}, static_cast<std::uint64_t>(Op::maximal_munch)), inner.hash), exprs_[munched.value].hash);
  expr.hash = mix(expr.hash, escape);
  return find_or_add(expr, {});
}

// A part with the empty string forbids every text: guards have none, but for all strings.
ExprId ExprSet::not_followed_by(ExprId part, std::uint32_t escape) {
  if (part == kEmpty) return kEpsilon;
  const Expr& inner = exprs_[part.value];
  if (inner.nullable) return kEmpty;
  Expr expr;
  expr.op = Op::not_followed_by;
  expr.nullable = true;
  inherit_flags(expr, inner);
  expr.has_guard = true;
  expr.has_strict_guard |= escape == 0;
  expr.nonempty = !expr.has_strict_guard;
  expr.min_length = escape;
  expr.max_completion_bound = UINT32_MAX;
  expr.a_ = part.value;
  expr.c_ = escape;
  expr.hash = mix(mix(mix(Hash128{}, static_cast<std::uint64_t>(Op::not_followed_by)), inner.hash), escape);
  return find_or_add(expr, {});
}

ExprId ExprSet::lookbehind_condition(std::uint32_t index) {
  Expr expr;
  expr.op = Op::lookbehind_condition;
  expr.has_lookbehind = true;
  expr.a_ = index;
  expr.hash = mix(mix(Hash128{}, static_cast<std::uint64_t>(Op::lookbehind_condition)), index);
  return find_or_add(expr, {});
}

ExprId ExprSet::lookbehind_end() {
  Expr expr;
  expr.op = Op::lookbehind_end;
  expr.has_lookbehind_end = true;
  expr.hash = mix(Hash128{}, static_cast<std::uint64_t>(Op::lookbehind_end));
  return find_or_add(expr, {});
}

ExprId ExprSet::lookbehind_context(ExprId tail, std::span<const ExprId> residuals, bool nullable) {
  if (!exprs_[tail.value].has_lookbehind) return tail;
  std::vector<ExprId> parts{tail};
  parts.insert(parts.end(), residuals.begin(), residuals.end());
  Expr expr;
  expr.op = Op::lookbehind_context;
  expr.nullable = nullable;
  expr.b_ = static_cast<std::uint32_t>(parts.size());
  expr.hash = mix(Hash128{}, static_cast<std::uint64_t>(Op::lookbehind_context));
  for (ExprId part : parts) expr.hash = mix(expr.hash, exprs_[part.value].hash);
  return find_or_add(expr, parts);
}

}  // namespace detent

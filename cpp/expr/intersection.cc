// Intersection and complement in normal form: rules 1, 2, 4, 6 and 7 of boolean.cc.
#include <algorithm>
#include <iterator>
#include <span>
#include <utility>
#include <vector>

#include "base/error.h"
#include "base/hash.h"
#include "expr/expr_set.h"
#include "expr/lengths.h"

namespace detent {

// In an intersection, x & ~(x & y) is x & ~y. Returns whether a part became shorter; the order is then to be restored.
// Of texts, all are UTF-8: so `schema - containing(word)` is `schema & without(word)`.
bool ExprSet::shorten_complements(std::vector<ExprId>& parts) {
  constexpr std::size_t kFew = 8;  // alternatives; conditions on thousands of words have none of this form
  const auto is_known = [&](ExprId id) {
    if (id == utf8_star_) return std::ranges::any_of(parts, [this](ExprId part) { return is_known_text(part); });
    return std::ranges::find(parts, id) != parts.end();
  };
  const auto shortened = [&](ExprId id) {
    if (exprs_[id.value].op != Op::intersection) return id;
    std::vector<ExprId> others;
    std::ranges::remove_copy_if(operands(id), std::back_inserter(others), is_known);
    return others.size() == operands(id).size() ? id : intersection(std::move(others));
  };
  bool is_shorter = false;
  for (std::size_t i = 0; i < parts.size(); ++i) {
    const Expr& expr = exprs_[parts[i].value];
    if (expr.op != Op::complement || expr.has_guard || expr.has_lookbehind || expr.has_lookbehind_end) continue;
    const ExprId excluded = expr.part();
    ExprId rest = shortened(excluded);
    if (exprs_[excluded.value].op == Op::union_of && operands(excluded).size() <= kFew) {
      std::vector<ExprId> alternatives(operands(excluded).begin(), operands(excluded).end());
      for (ExprId& alternative : alternatives) alternative = shortened(alternative);
      rest = union_of(std::move(alternatives));
    }
    if (rest == excluded) continue;
    parts[i] = complement(rest);
    is_shorter = true;
  }
  return is_shorter;
}

ExprId ExprSet::intersection(std::vector<ExprId> parts) {
  flatten(parts, Op::intersection);
  while (shorten_complements(parts)) flatten(parts, Op::intersection);
  std::erase(parts, sigma_star_);
  if (parts.empty()) return sigma_star_;
  if (parts.size() == 1) return parts[0];
  if (parts[0] == kEmpty) return kEmpty;
  meter_.step(static_cast<std::int64_t>(parts.size()) / 16);

  if (utf8_star_ != kEmpty) {
    const bool has_text =
        std::ranges::any_of(parts, [this](ExprId part) { return part != utf8_star_ && is_known_text(part); });
    if (has_text) std::erase(parts, utf8_star_);
    const bool is_text = has_text || std::binary_search(parts.begin(), parts.end(), utf8_star_);
    if (is_text && std::binary_search(parts.begin(), parts.end(), not_utf8_star_)) return kEmpty;
    if (parts.size() == 1) return parts[0];
  }
  if (alphabet_star_ != sigma_star_) {
    drop_alphabet(parts);
    if (parts.size() == 1) return parts[0];
  }
  ByteSet set = ByteSet::all();
  int set_count = 0;
  for (ExprId part : parts) {
    const Expr& expr = exprs_[part.value];
    if (expr.op == Op::bytes) {
      set = set & sets_[expr.set_index()];
      ++set_count;
    }
    if (expr.op == Op::complement && std::binary_search(parts.begin(), parts.end(), expr.part())) return kEmpty;
  }
  if (set_count > 1) {
    std::erase_if(parts, [this](ExprId part) { return exprs_[part.value].op == Op::bytes; });
    parts.push_back(bytes(set));
    if (parts.back() == kEmpty) return kEmpty;
    std::sort(parts.begin(), parts.end());
    if (parts.size() == 1) return parts[0];
  }
  Expr expr;
  expr.op = Op::intersection;
  expr.nullable = true;
  expr.b_ = static_cast<std::uint32_t>(parts.size());
  Hash128 total{};
  bool only_token_bytes = false;
  std::uint32_t shortest = 0, longest = UINT32_MAX;
  for (ExprId part : parts) {
    const Expr& operand = exprs_[part.value];
    if (operand.exact_length) shortest = std::max(shortest, operand.min_length);  // otherwise an upper bound
    longest = std::min(longest, operand.max_length);
    expr.nullable &= operand.nullable;
    expr.is_text |= operand.is_text;
    expr.in_alphabet |= operand.in_alphabet;
    only_token_bytes |= operand.only_token_bytes;
    expr.only_unescaped |= operand.only_unescaped;
    inherit_flags(expr, operand);
    expr.min_length = std::max(expr.min_length, operand.min_length);
    total = sum(total, mix(Hash128{}, operand.hash));
  }
  if (shortest > longest) return kEmpty;
  expr.max_length = longest;
  if (!expr.has_lookbehind && !expr.has_lookbehind_end) {  // otherwise a context decides whether the empty string is in
    if (parts[0] == kEpsilon) return expr.nullable ? kEpsilon : kEmpty;
    bound_infinite_intersection(expr, parts);
  }
  set_only_token_bytes(expr, only_token_bytes);
  expr.needs_no_escapes |= expr.only_unescaped;
  expr.hash = mix(mix(Hash128{}, static_cast<std::uint64_t>(Op::intersection)), total);
  return find_or_add(expr, parts);
}

// An infinite language minus a finite one is not empty: it contains every string that is longer than the excluded ones.
void ExprSet::bound_infinite_intersection(Expr& expr, std::span<const ExprId> parts) const {
  const Expr* infinite = nullptr;
  std::uint32_t longest = 0;  // excluded string
  for (ExprId part : parts) {
    const Expr& operand = exprs_[part.value];
    if (operand.infinite && !infinite) {
      infinite = &operand;
    } else {
      longest = std::max(longest, operand.op == Op::complement ? exprs_[operand.part().value].max_length : UINT32_MAX);
    }
  }
  if (!infinite || longest == UINT32_MAX) return;
  const std::uint32_t more = saturating_multiply(std::uint64_t{longest} + 1, infinite->loop_length);
  expr.nonempty = true;
  expr.needs_no_escapes |= infinite->needs_no_escapes;
  expr.min_length = saturating_add(infinite->min_length, more);
  expr.max_completion_bound = saturating_add(infinite->max_completion_bound, more);
}

ExprId ExprSet::complement(ExprId part) {
  if (part == kEmpty) return sigma_star_;
  if (part == sigma_star_) return kEmpty;
  const Expr& inner = exprs_[part.value];
  if (inner.op == Op::complement) return inner.part();
  Expr expr;
  expr.op = Op::complement;
  expr.nullable = !inner.nullable && !inner.has_lookbehind;
  inherit_flags(expr, inner);
  expr.a_ = part.value;
  expr.hash = mix(mix(Hash128{}, static_cast<std::uint64_t>(Op::complement)), inner.hash);
  return find_or_add(expr, {});
}

}  // namespace detent

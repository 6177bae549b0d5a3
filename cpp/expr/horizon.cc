#include "expr/horizon.h"

#include <algorithm>
#include <vector>

#include "expr/parts.h"

namespace detent {

ExprId clamp_counts(ExprSet& exprs, ExprId id, std::uint32_t horizon,
                    std::unordered_map<std::uint32_t, ExprId>& clamped) {
  const auto unchanged = [&](ExprId part) {
    return !exprs[part].nonempty || exprs[part].has_guard || exprs[part].largest_count <= horizon;
  };
  if (unchanged(id)) return id;
  std::vector<ExprId> pending{id};
  const auto clamp_part = [&](ExprId part, bool& ready) {
    if (unchanged(part)) return part;
    const auto known = clamped.find(part.value);
    if (known != clamped.end()) return known->second;
    pending.push_back(part);
    ready = false;
    return part;
  };
  while (!pending.empty()) {
    const ExprId next = pending.back();
    if (clamped.contains(next.value)) {
      pending.pop_back();
      continue;
    }
    const Expr& expr = exprs[next];
    bool ready = true;
    ExprId result = next;
    if (expr.op == Op::concat) {
      const ExprId first = clamp_part(expr.first(), ready);
      const ExprId second = clamp_part(expr.second(), ready);
      if (ready) result = exprs.concat(first, second);
    } else if (expr.op == Op::repeat) {
      const ExprId part = clamp_part(expr.part(), ready);
      const bool is_beyond = expr.maximum() > horizon;
      if (ready)
        result =
            exprs.repeat(part, std::min(expr.minimum(), horizon + 1), is_beyond ? ExprSet::kUnbounded : expr.maximum());
    } else if (expr.op == Op::json_escaped) {
      const ExprId texts = clamp_part(expr.part(), ready);
      if (ready) result = exprs.json_escaped(texts, expr.escape_position(), expr.escape_bits());
    } else if (expr.op == Op::union_of) {
      std::vector<ExprId> parts(exprs.operands(next).begin(), exprs.operands(next).end());
      for (ExprId& part : parts) part = clamp_part(part, ready);
      if (ready) result = exprs.union_of(std::move(parts));
    }
    if (!ready) continue;
    clamped[next.value] = result;
    pending.pop_back();
  }
  return clamped[id.value];
}

namespace {

// Whether an expression is `[^]{0,n}`, n >= `least`.
bool is_length_bound(const ExprSet& exprs, ExprId id, std::uint64_t least) {
  const Expr& expr = exprs[id];
  if (expr.op != Op::repeat || expr.minimum() != 0 || expr.maximum() < least) return false;
  const Expr& part = exprs[expr.part()];
  return part.op == Op::bytes && exprs.alphabet().is_subset_of(exprs.set(part.set_index()));
}

// Drops the bounds [^]{0,n} of an intersection if none of them can matter: after `horizon` bytes, the other operands
// still have a completion within n bytes.
ExprId drop_bounds_of_intersection(ExprSet& exprs, ExprId id, std::uint64_t horizon) {
  const std::vector<ExprId> operands(exprs.operands(id).begin(), exprs.operands(id).end());
  std::vector<ExprId> others = operands;
  std::erase_if(others, [&](ExprId part) { return is_length_bound(exprs, part, horizon); });
  if (others.size() == operands.size() || others.empty()) return id;
  const ExprId rest = exprs.intersection(others);
  if (rest == ExprSet::kEmpty || !exprs[rest].nonempty) return id;
  const std::uint64_t needed = horizon + exprs[rest].max_completion_bound;
  const auto may_matter = [&](ExprId part) {
    return is_length_bound(exprs, part, horizon) && !is_length_bound(exprs, part, needed);
  };
  return std::ranges::any_of(operands, may_matter) ? id : rest;
}

}  // namespace

ExprId drop_length_bounds(ExprSet& exprs, ExprId id, std::uint32_t horizon) {
  constexpr std::uint64_t kLongestCharacter = 4;  // one byte may complete a character that was escaped
  const auto [head, after_string] = split_first(exprs, id);
  const Expr string = exprs[head];
  const ExprId texts = string.op == Op::json_escaped ? string.part() : head;
  const auto [first, after_first] = split_first(exprs, texts);
  if (exprs[first].op != Op::intersection) return id;
  ExprId wide = drop_bounds_of_intersection(exprs, first, horizon + kLongestCharacter);
  if (wide == first) return id;
  wide = exprs.concat(wide, after_first);
  if (string.op == Op::json_escaped) {
    wide = exprs.json_escaped(wide, string.escape_position(), string.escape_bits());
  }
  return exprs.concat(wide, after_string);
}

}  // namespace detent

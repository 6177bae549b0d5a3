#include "expr/horizon.h"

#include <algorithm>
#include <vector>

namespace detent {

ExprId clamp_counts(ExprSet& exprs, ExprId id, std::uint32_t horizon,
                    std::unordered_map<std::uint32_t, ExprId>& clamped) {
  const auto unchanged = [&](ExprId part) { return !exprs[part].nonempty || exprs[part].largest_count <= horizon; };
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

}  // namespace detent

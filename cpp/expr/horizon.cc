#include "expr/horizon.h"

#include <algorithm>
#include <vector>

namespace detent {

ExprId clamp_counts(ExprSet& exprs, ExprId id, std::uint32_t horizon,
                    std::unordered_map<std::uint32_t, ExprId>& clamped) {
  const auto unchanged = [&](ExprId part) { return !exprs[part].plain || exprs[part].largest_count <= horizon; };
  if (unchanged(id)) return id;
  std::vector<ExprId> pending{id};
  const auto ask = [&](ExprId part, bool& ready) {
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
      const ExprId first = ask(ExprId{expr.a}, ready);
      const ExprId second = ask(ExprId{expr.b}, ready);
      if (ready) result = exprs.concat(first, second);
    } else if (expr.op == Op::repeat) {
      const ExprId part = ask(ExprId{expr.a}, ready);
      const bool far = expr.c > horizon;
      if (ready) result = exprs.repeat(part, std::min(expr.b, horizon + 1), far ? ExprSet::kUnbounded : expr.c);
    } else if (expr.op == Op::spelled) {
      const ExprId texts = ask(ExprId{expr.a}, ready);
      if (ready) result = exprs.spelled(texts, expr.b, expr.c);
    } else if (expr.op == Op::alternation) {
      std::vector<ExprId> parts(exprs.operands(next).begin(), exprs.operands(next).end());
      for (ExprId& part : parts) part = ask(part, ready);
      if (ready) result = exprs.alternation(std::move(parts));
    }
    if (!ready) continue;
    clamped[next.value] = result;
    pending.pop_back();
  }
  return clamped[id.value];
}

}  // namespace detent

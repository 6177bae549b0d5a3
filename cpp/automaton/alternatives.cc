#include "automaton/alternatives.h"

#include <algorithm>
#include <utility>

namespace detent {
namespace {

constexpr int kMaxDepth = 4;  // operators above the union

std::vector<ExprId> split(ExprSet& exprs, ExprId id, int depth) {
  const Expr expr = exprs[id];
  if (expr.op == Op::union_of) return {exprs.operands(id).begin(), exprs.operands(id).end()};
  if (depth == kMaxDepth) return {id};
  std::vector<ExprId> parts;
  switch (expr.op) {
    case Op::concat:
      parts = split(exprs, expr.first(), depth + 1);
      for (ExprId& part : parts) part = exprs.concat(part, expr.second());
      return parts;
    case Op::json_escaped:
      parts = split(exprs, expr.part(), depth + 1);
      for (ExprId& part : parts) part = exprs.json_escaped(part, expr.escape_position(), expr.escape_bits());
      return parts;
    case Op::intersection: {
      const std::vector<ExprId> operands(exprs.operands(id).begin(), exprs.operands(id).end());
      for (std::size_t i = 0; i < operands.size(); ++i) {
        parts = split(exprs, operands[i], depth + 1);
        if (parts.size() < 2 || parts.size() > kMaxAlternatives) continue;
        for (ExprId& part : parts) {
          std::vector<ExprId> others = operands;
          others[i] = part;
          part = exprs.intersection(std::move(others));
        }
        return parts;
      }
      return {id};
    }
    default: return {id};
  }
}

}  // namespace

std::vector<ExprId> alternatives_of(ExprSet& exprs, Liveness& liveness, ExprId state) {
  std::vector<ExprId> parts = split(exprs, state, 0);
  if (parts.size() < 2 || parts.size() > kMaxAlternatives) return {};
  std::erase_if(parts, [&liveness](ExprId part) { return part == ExprSet::kEmpty || !liveness.live(part); });
  return parts;
}

}  // namespace detent

// The parts of an expression: the elements of a concatenation, the operands of a union or an intersection.
#pragma once

#include <span>
#include <utility>
#include <vector>

#include "expr/expr_set.h"

namespace detent {

// The operands of an operator, or the expression itself where it has another one. They are copied, since the operands
// in the set may move when an expression is added.
inline std::vector<ExprId> operands_of(const ExprSet& exprs, ExprId id, Op op) {
  if (exprs[id].op != op) return {id};
  return {exprs.operands(id).begin(), exprs.operands(id).end()};
}

// The first element of a concatenation, and the rest; of any other expression itself, and the empty text.
inline std::pair<ExprId, ExprId> split_first(const ExprSet& exprs, ExprId id) {
  if (exprs[id].op != Op::concat) return {id, ExprSet::kEpsilon};
  return {exprs[id].first(), exprs[id].second()};
}

// The concatenation of some elements and what follows them.
inline ExprId concat_elements(ExprSet& exprs, std::span<const ExprId> elements, ExprId rest = ExprSet::kEpsilon) {
  for (std::size_t i = elements.size(); i-- > 0;) rest = exprs.concat(elements[i], rest);
  return rest;
}

}  // namespace detent

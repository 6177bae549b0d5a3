// Conjuncts: states as intersections of simpler states.
#pragma once

#include <vector>

#include "expr/expr_set.h"

namespace detent {

// Whether the language of an expression depends neither on the text around it, nor on rules, nor on earlier list items.
bool is_self_contained(const Expr& expr);

// Returns expressions whose intersection is `id`; `id` alone where it is no intersection, or has more than
// kMaxConjuncts conjuncts. ~(x | y) counts as ~x & ~y, and the JSON string of x & y as the intersection of two JSON
// strings. Cost: one constructor call for each conjunct.
std::vector<ExprId> conjuncts_of(ExprSet& exprs, ExprId id);

inline constexpr std::size_t kMaxConjuncts = 64;

}  // namespace detent

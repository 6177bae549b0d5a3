// Conjuncts: states as intersections of simpler states.
#pragma once

#include <vector>

#include "expr/expr_set.h"

namespace detent {

// Returns expressions whose intersection is `id`; `id` alone where it is none, or one of more than kMaxConjuncts. The
// complement of a union is the intersection of complements, and a JSON string of an intersection is the intersection of
// JSON strings. Cost: a constructor for each.
std::vector<ExprId> conjuncts_of(ExprSet& exprs, ExprId id);

inline constexpr std::size_t kMaxConjuncts = 64;

}  // namespace detent

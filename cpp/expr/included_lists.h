// Lists of members in any order that another list includes.
//
// The alternatives of a condition on members overlap: "no member a" and "a member b" both allow what has b and lacks a.
// Once b was read, the list without a is a part of the other one, and each transition row would still follow both.
// Case: conditions within conditions, where the alternatives of all levels multiply.
#pragma once

#include <vector>

#include "expr/expr_set.h"

namespace detent {

// Drops each operand of a union that is a list, and perhaps what follows it, and is included in another one: by their
// members, not by the values of these. Cost: linear in the members, and a comparison of two words for most pairs.
void drop_included_lists(const ExprSet& exprs, std::vector<ExprId>& parts);

}  // namespace detent

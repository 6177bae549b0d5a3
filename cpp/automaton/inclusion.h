// Inclusion: whether the form of two expressions shows that the texts of one are among those of the other.
#pragma once

#include "expr/expr_set.h"

namespace detent {

// Returns true only if every string of `small` is in `large`. False means "not shown": the operators are compared from
// the root down, to a bounded depth. Cost: a bounded number of comparisons, and linear in the operands of unions.
bool includes(const ExprSet& exprs, ExprId large, ExprId small);

}  // namespace detent

// DistinctKeys: the list of a `distinct` node: how many keys there are, and the shortest ones.
#pragma once

#include <span>

#include "automaton/liveness.h"
#include "expr/expr_set.h"
#include "expr/node.h"

namespace detent {

// Returns the list at its start. `parts` are the expressions of the node's children; those without text must be the
// empty language. Throws `unsupported` ("distinct_keys") if the node asks for more items than keys are found, and
// ("distinct_nested") if lists are nested in items of which there may be few.
ExprId make_distinct(ExprSet& exprs, Derivatives& derivatives, Liveness& liveness, Meter& meter, const Node& node,
                     std::span<const ExprId> parts);

}  // namespace detent

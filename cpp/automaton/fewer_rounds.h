// fewer_rounds: a state with lower upper bounds of its repeats, such as at most 4 words instead of 100.
//
// Each of its texts is one of the given state. So what completes a token there completes it here, too: a lower bound on
// a mask that states with different counts share (runtime/canonical_slices.h).
#pragma once

#include "expr/expr_set.h"

namespace detent {

// Lowers the upper bounds of repeats whose rounds may be long, outside complements. The state itself if it has none.
ExprId with_fewer_rounds(ExprSet& exprs, ExprId state);

}  // namespace detent

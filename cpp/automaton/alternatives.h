// Alternatives: a state as a union of simpler states.
//
// The mask of a union is the union of the masks of its operands. A state after many bytes of `.*a.{20}` is a union of
// up to 21 operands; there are 2^20 such unions, and 21 operands.
#pragma once

#include <vector>

#include "automaton/liveness.h"
#include "expr/expr_set.h"

namespace detent {

// Returns live states whose union is `state`; fewer than two where it is no union of at most kMaxAlternatives. Unions
// inside the head of a concatenation, a JSON string or an intersection are distributed.
// Cost: a constructor for each alternative.
std::vector<ExprId> alternatives_of(ExprSet& exprs, Liveness& liveness, ExprId state);

inline constexpr std::size_t kMaxAlternatives = 64;

}  // namespace detent

// UnboundedState: a state without the upper bounds of its repeats, such as `.*"` for `.{0,100}"`.
//
// The two states agree on short texts, so their masks differ in long tokens only. The mask of the unbounded state,
// which many states share, is the reference for the mask of the bounded one (docs/algorithms/slices.md).
#pragma once

#include <cstdint>
#include <optional>

#include "expr/expr_set.h"

namespace detent {

// A state without the upper bounds of its repeats. It agrees with the given state on texts of at most `rounds` bytes.
struct UnboundedState {
  ExprId state;  // the given state if it has no such bounds
  std::uint32_t rounds = UINT32_MAX;
  std::uint32_t characters = 0;  // the two states also agree on the texts of at most that many characters
  bool in_intersection = false;  // another operand may require further rounds
  bool differs_after = false;    // after the first part, too, the two states may differ
  // After any text inside the first part, the unbounded state has a completion of at most that many bytes of the part.
  // Nothing where the expression does not show it.
  std::optional<std::uint32_t> needed = std::nullopt;
};

// Drops the upper bound of the repeat that is the first part of a state or of its operands, or of operands of an
// intersection there.
UnboundedState drop_outermost_bound(ExprSet& exprs, ExprId state);
// Drops the upper bounds of all repeats that the first part may begin with, inside its unions, intersections and
// concatenations too.
UnboundedState drop_nested_bounds(ExprSet& exprs, ExprId state);
// Drops all large upper bounds in the first part, except below complements. Writes the texts of the first part without
// these bounds.
UnboundedState drop_large_bounds(ExprSet& exprs, ExprId state, ExprId& texts);

}  // namespace detent

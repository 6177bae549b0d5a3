// unbounded_reference: the mask of the unbounded repeat as reference for the mask of a bounded one.
//
// Each byte completes at most one round, since a round is not nullable. So after a token of n bytes at least `rounds -
// n` rounds are left. The bound matters only to tokens that leave fewer rounds than each completion needs. Without
// other operands, a completion needs no further round. In an intersection, another operand may require rounds: then a
// completion needs at most as many as it has bytes.
#pragma once

#include "automaton/slice_analysis.h"
#include "runtime/reference_walk.h"

namespace detent {

// Returns the reference for `state`, whose unbounded form is `wide`; no mask if it has none. mask_of(state) returns the
// mask of the unbounded state.
template <class MaskOf>
ReferenceMask unbounded_reference(const UnboundedState& wide, ExprId state, MaskOf mask_of) {
  if (wide.state == state) return {};
  ReferenceMask reference{.state = wide.state, .mask = mask_of(wide.state), .is_larger = true};
  const std::uint32_t needed = wide.in_intersection ? wide.needed.value_or(reference.mask->max_completion_bound()) : 0;
  reference.equal_below = wide.rounds > needed ? wide.rounds - needed : 0;
  reference.equal_below_characters = wide.characters > needed ? wide.characters - needed : 0;
  return reference;
}

}  // namespace detent

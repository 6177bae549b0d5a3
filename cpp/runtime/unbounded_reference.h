// The mask of a bounded repeat from the mask of the unbounded one.
//
// Each byte completes at most one round, and a round that is not nullable needs a byte. So after a token of n bytes at
// least `rounds - n` rounds are left. The bound can matter only to tokens that leave fewer rounds than some completion
// needs. In an intersection another operand can require rounds: then a completion needs at most as many as it has
// bytes.
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

// Horizon: a token is at most H bytes long, so that it cannot distinguish counts above H. Clamped counts let
// `.{0,100000}` and `.*` share one mask.
#pragma once

#include <cstdint>
#include <unordered_map>

#include "expr/expr_set.h"

namespace detent {

// Returns an expression whose strings have the same prefixes of up to `horizon` bytes: each x{m,n} with n > horizon
// becomes x{min(m, horizon + 1),}. Below complement and intersection, a count decides liveness at any distance, so that
// only expressions with `nonempty` change. `clamped` caches the results of parts.
ExprId clamp_counts(ExprSet& exprs, ExprId id, std::uint32_t horizon,
                    std::unordered_map<std::uint32_t, ExprId>& clamped);

// Returns an expression whose strings have the same prefixes of up to `horizon` bytes: an intersection at its head,
// also inside a JSON string, without the bounds of its length in bytes that no completion reaches. The local part of an
// address is such an intersection. Nothing else changes, unlike in clamp_counts.
ExprId drop_length_bounds(ExprSet& exprs, ExprId id, std::uint32_t horizon);

}  // namespace detent

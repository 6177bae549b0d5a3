// Horizon: clamps counts that no token can distinguish. A token has at most H bytes, so x{0,m} and x{0,n} with m, n > H
// allow the same tokens: `.{0,100000}` and `.*` share one mask (docs/algorithms/horizon.md).
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

// Returns an expression whose strings have the same prefixes of up to `horizon` bytes. It changes only an intersection
// at the head, or at the head of a JSON string: x & [^]{0,n} becomes x, if some completion of x after `horizon` bytes
// always fits into n bytes. Case: the local part of an e-mail address has at most 64 bytes.
ExprId drop_length_bounds(ExprSet& exprs, ExprId id, std::uint32_t horizon);

}  // namespace detent

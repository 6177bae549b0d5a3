// Horizon: a token is at most H bytes long, so counts above H look alike to it. Clamping them lets `.{0,100000}` and
// `.*` share one mask.
#pragma once

#include <cstdint>
#include <unordered_map>

#include "expr/expr_set.h"

namespace detent {

// An expression that allows the same strings of up to `horizon` bytes as prefixes: each x{m,n} with n > horizon becomes
// x{min(m, horizon + 1),}. Under complement and intersection a count may decide at any distance whether a state is
// live, so only plain expressions change. `clamped` remembers the parts: of two states most that follows is the same.
ExprId clamp_counts(ExprSet& exprs, ExprId id, std::uint32_t horizon,
                    std::unordered_map<std::uint32_t, ExprId>& clamped);

}  // namespace detent

// ByteResets: bytes that lead to one state from everywhere.
//
// A quotation mark ends each word of "all texts without some words", unless it is inside one. So what follows a JSON
// string does not depend on the string.
#pragma once

#include <cstddef>
#include <cstdint>
#include <unordered_map>

#include "expr/derivative.h"
#include "expr/expr_set.h"

namespace detent {

class ByteResets {
 public:
  // The state that accepts the empty string and to which `byte` leads from each residual of `id`, unless it is dead
  // there. The empty language where there is none. Cost: at the first visit, the rows of at most kMaxStates residuals.
  ExprId find(const ExprSet& exprs, Derivatives& derivatives, ExprId id, std::uint8_t byte);

 private:
  static constexpr std::size_t kMaxStates = 4'096;
  std::unordered_map<std::uint64_t, ExprId> known_;
};

}  // namespace detent

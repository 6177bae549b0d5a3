// FirstBytes: the bytes with which the strings of an expression may begin, as its form shows them.
#pragma once

#include <cstdint>
#include <unordered_map>

#include "base/byte_set.h"
#include "expr/expr_set.h"

namespace detent {

class FirstBytes {
 public:
  explicit FirstBytes(const ExprSet& exprs) : exprs_(exprs) {}

  // A superset of the first bytes. Cost: at the first visit, linear in the parts that a string may begin with.
  const ByteSet& of(ExprId id) { return of(id, 0); }

 private:
  const ByteSet& of(ExprId id, int depth);
  ByteSet find(ExprId id, int depth);

  const ExprSet& exprs_;
  std::unordered_map<std::uint32_t, ByteSet> known_;  // by expression
};

}  // namespace detent

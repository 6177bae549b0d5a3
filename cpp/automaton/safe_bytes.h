// SafeBytes: bytes that end no excluded word.
//
// A condition such as ~(.* words .*) dies only where a word ends. So texts over all other bytes never make it dead.
#pragma once

#include <cstdint>
#include <optional>
#include <unordered_map>

#include "base/byte_set.h"
#include "expr/expr_set.h"

namespace detent {

class SafeBytes {
 public:
  // The bytes after which each live residual of `condition`, an intersection of complements, accepts the empty string,
  // as far as its form shows them. Cost: at the first visit linear in the form of `condition`.
  ByteSet find(const ExprSet& exprs, ExprId condition);

 private:
  // The bytes that end a string of a sequence, and do not only lengthen one as the last part of `.* word .*` does.
  // Nothing where the form does not show them.
  std::optional<ByteSet> last_bytes(const ExprSet& exprs, ExprId sequence, int depth);
  std::optional<ByteSet> last_bytes_of_element(const ExprSet& exprs, ExprId element, int depth);

  std::unordered_map<std::uint32_t, std::optional<ByteSet>> known_;  // of unions, which residuals share
};

}  // namespace detent

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
  // The bytes of these after which `end` makes no live residual dead either: `end` may end a word, as a quotation mark
  // does, but not just after one of them. After a text that leaves `condition` live, a text over them is not excluded,
  // and neither is that text with `end`.
  ByteSet find_before(const ExprSet& exprs, ExprId condition, std::uint8_t end);

 private:
  // The nonempty strings of an expression that do not only lengthen another one, as `.* word .*` does.
  struct Endings {
    ByteSet last;          // their last bytes
    ByteSet before_end;    // the bytes before `end` in those that end in it
    bool has_end = false;  // whether `end` alone is one of them
  };
  // The bytes that end a string of a sequence, and do not only lengthen one as the last part of `.* word .*` does.
  // Nothing where the form does not show them.
  std::optional<ByteSet> last_bytes(const ExprSet& exprs, ExprId sequence, int depth);
  std::optional<ByteSet> last_bytes_of_element(const ExprSet& exprs, ExprId element, int depth);

  // `is_last`: nothing follows the sequence. Only there does `.*` lengthen.
  std::optional<Endings> endings(const ExprSet& exprs, ExprId sequence, std::uint8_t end, bool is_last, int depth);
  std::optional<Endings> endings_of_element(const ExprSet& exprs, ExprId element, std::uint8_t end, bool is_last,
                                            int depth);

  std::unordered_map<std::uint32_t, std::optional<ByteSet>> known_;  // of unions, which residuals share
  std::unordered_map<std::uint64_t, std::optional<Endings>> known_endings_;
};

}  // namespace detent

// TextProof: whether the form of a state shows that each of its strings is valid UTF-8.
//
// Most such expressions are marked when they are built (Expr::is_text). Derivatives are not: the rest of an object is a
// concatenation whose parts are marked. Where the tokenizer writes every character, a live state of this form has a
// completion that it writes, and no completion needs to be found: n members in any order have n! orders.
#pragma once

#include <cstdint>
#include <unordered_map>

#include "expr/expr_set.h"

namespace detent {

class TextProof {
 public:
  explicit TextProof(const ExprSet& exprs) : exprs_(exprs) {}

  // Cost: at the first visit, linear in the parts; of lists of members, a look-up for each member.
  bool is_text(ExprId id) { return is_text(id, 0); }

 private:
  bool is_text(ExprId id, int depth);
  bool find(ExprId id, int depth);

  const ExprSet& exprs_;
  std::unordered_map<std::uint32_t, bool> known_;  // by expression
};

}  // namespace detent

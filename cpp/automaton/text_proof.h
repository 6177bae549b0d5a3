// TextProof: whether the form of a state shows that each of its strings is valid UTF-8.
//
// Constructors mark most texts (Expr::is_text), but not derivatives: the remainder of an object is an unmarked
// concatenation of marked parts. Case: a tokenizer that writes every character can write a completion of any live state
// that is text. So no completion need be searched among the n! orders of n members.
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
  bool has_undefined_ = false;                     // whether the call has met a rule that is not defined yet
};

}  // namespace detent

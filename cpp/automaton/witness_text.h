// WitnessText: a text of an intersection, found without a search.
//
// A search makes a state for each combination of the operands' states, and members that may come in any order have
// 2^n sets. But the form of one operand often shows one of its texts, and to ask the other operands for this text takes
// a step for each byte.
#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <vector>

#include "expr/derivative.h"
#include "expr/expr_set.h"

namespace detent {

class WitnessText {
 public:
  WitnessText(ExprSet& exprs, Derivatives& derivatives, Meter& meter)
      : exprs_(exprs), derivatives_(derivatives), meter_(meter) {}

  // A text of the intersection `id` with at most `longest` bytes: one of the operand with the greatest least length,
  // if its form shows one and all other operands contain it. Nothing otherwise, which is no verdict. No guards and
  // lookbehinds may be inside. Cost: linear in `longest` and in the number of members.
  std::optional<std::string> find(ExprId id, std::size_t longest) { return find(id, longest, 0); }
  // A short text of any other `id`, as its form shows it.
  std::optional<std::string> shown_by(ExprId id, std::size_t longest) { return write(id, longest, 0); }

 private:
  std::optional<std::string> find(ExprId id, std::size_t longest, int depth);
  std::optional<std::string> write(ExprId id, std::size_t longest, int depth);
  // Adds the parts whose texts follow each other in a text of `id`, the last one first; false if the form shows none.
  bool add_parts(ExprId id, std::size_t longest, std::vector<ExprId>& parts) const;
  bool contains(ExprId id, const std::string& text);

  ExprSet& exprs_;
  Derivatives& derivatives_;
  Meter& meter_;
};

}  // namespace detent

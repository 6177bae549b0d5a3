// Lookaround: how the assertions of a text scope become expressions.
//
// Inside a scope every expression is kept in *tail form*: it describes all that is left of the text. Then
//   (?=R) K  is  R Σ* & K        (?!R) K  is  ~(R Σ*) & K        where K is the tail after the assertion,
// and a loop whose body holds assertions is a right-linear definition X = exit | body X. A lookbehind needs what came
// before: its residual B = u⁻¹(Σ* R ⟨hole⟩) is carried along, and `past(i)` in the tail stands for all futures if B has
// the hole just now and for none otherwise. A lookahead inside a lookbehind leaves a condition on the future beside the
// hole; `past(i)` then stands for that condition. A `context` expression holds a tail with its residuals.
#pragma once

#include <cstdint>
#include <functional>
#include <vector>

#include "expr/expr_set.h"
#include "expr/node.h"

namespace detent {

// The expression of a scope's body. `intern` builds the expression of a node without assertions.
// Work is linear in the body once its counted loops with assertions inside are unrolled.
ExprId compile_scope(ExprSet& exprs, const Node& body, const std::function<ExprId(const NodeRef&)>& intern);

// Derives one context by every class.
class ContextRow {
 public:
  using Known = std::function<const ExprId*(ExprId)>;

  // `known` gives the row of an expression that asks no lookbehind, or null where it is not computed yet.
  ContextRow(ExprSet& exprs, Meter& meter, std::uint32_t class_count, Known known)
      : exprs_(exprs), meter_(meter), class_count_(class_count), known_(std::move(known)) {}

  // Writes the derivatives of the context `id`, or returns false and leaves the rows that it needs in `missing`.
  bool derive(ExprId id, ExprId* out);
  const std::vector<ExprId>& missing() const { return missing_; }

 private:
  std::vector<ExprId> row(ExprId id, const std::vector<ExprId>& truths, int depth);

  ExprSet& exprs_;
  Meter& meter_;
  std::uint32_t class_count_;
  Known known_;
  std::vector<ExprId> missing_;
};

}  // namespace detent

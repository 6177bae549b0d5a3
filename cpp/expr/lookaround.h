// Lookaround: how the assertions of a text scope become expressions (docs/algorithms/lookaround.md).
//
//   1. Inside a scope, each expression is in tail form: it describes the whole rest of the text. With K as the tail
//      after the assertion, (?=R) K is R Σ* & K, and (?!R) K is ~(R Σ*) & K.
//   2. A loop with assertions in its body is a right-linear definition X = exit | body X.
//   3. A lookbehind (?<=R) depends on the text u before it, so a state carries the residual B = u⁻¹(Σ* R ⟨end⟩).
//      lookbehind_condition(i) in the tail stands for all futures if B is at ⟨end⟩ now, and for none otherwise.
//   4. A lookahead inside a lookbehind leaves a condition on the future at ⟨end⟩; the condition stands for that.
//   5. A lookbehind_context expression holds a tail with its residuals.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <vector>

#include "expr/expr_set.h"
#include "expr/node.h"

namespace detent {

// Returns the expression of a scope's body. `intern` returns the expression of a node without assertions.
// Cost: linear in the body, with its counted loops that contain assertions unrolled.
ExprId compile_scope(ExprSet& exprs, Meter& meter, const Node& body,
                     const std::function<ExprId(const NodeRef&)>& intern);

class Residuals;

// Computes the rows of lookbehind_context expressions. What depends on the residuals of a context alone is computed
// once for all contexts with them.
class LookbehindRows {
 public:
  using FindRow = std::function<const ExprId*(ExprId)>;

  // `find_row` returns the row of an expression without lookbehind, or null if it is not computed.
  LookbehindRows(ExprSet& exprs, Meter& meter, FindRow find_row);
  ~LookbehindRows();

  // Writes the row of `id`, of `class_count` entries, to `out`; or returns false, and `missing` names the rows that
  // must be computed first.
  bool derive(ExprId id, std::uint32_t class_count, ExprId* out);
  const std::vector<ExprId>& missing() const { return missing_; }

 private:
  std::vector<ExprId> row(ExprId id, const std::vector<ExprId>& conditions, int depth);
  Residuals& find(std::vector<ExprId> list);
  bool follow(Residuals& residuals);

  ExprSet& exprs_;
  Meter& meter_;
  std::uint32_t class_count_ = 0;
  FindRow find_row_;
  std::vector<ExprId> missing_;
  std::map<std::vector<ExprId>, std::unique_ptr<Residuals>> residuals_;
};

}  // namespace detent

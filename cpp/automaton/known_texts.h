// KnownTexts: texts that have completed some states. They are tried for other states before a search.
//
// A search makes a state for each combination of the states of an intersection's operands. Most of these differ in what
// was read, and not in what may follow: one text mostly completes hundreds of them. An operand contains a text or not,
// whatever stands beside it, and intersections share their operands.
#pragma once

#include <cstdint>
#include <memory>
#include <unordered_map>
#include <vector>

#include "expr/derivative.h"
#include "expr/expr_set.h"

namespace detent {

class KnownTexts {
 public:
  using Text = std::vector<std::uint8_t>;  // byte classes

  KnownTexts(ExprSet& exprs, Derivatives& derivatives, Meter& meter)
      : exprs_(exprs), derivatives_(derivatives), meter_(meter) {}

  void add(Text text);
  // A known text of `id`; null where none fits. Cost: at the first time, linear in the texts.
  std::shared_ptr<const Text> find(ExprId id);

 private:
  static constexpr int kMaxDepth = 4;  // operators; what lies deeper is read byte by byte
  struct Known {
    Text text;
    std::unordered_map<std::uint32_t, bool> is_in;  // by expression
  };

  // A new row may ask whether a state is live, which finds and adds texts: `known` may be dropped meanwhile.
  bool contains(Known& known, ExprId id, int depth);

  ExprSet& exprs_;
  Derivatives& derivatives_;
  Meter& meter_;
  std::vector<std::shared_ptr<Known>> texts_;  // the most recently used first
};

}  // namespace detent

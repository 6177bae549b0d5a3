// Liveness: whether a state can still accept.
//
// Known at once for most expressions: constructors drop the empty language, so that only complements, intersections,
// assertions and escapes can hide it. Sequences and choices are asked of their parts. The rest is searched, shortest rest
// first, and remembered. Where an intersection has one operand that calls rules, the search may have no end; then the
// question is decided by the pairs of states between which each part of the rules leads the regular operands: as many as
// rules times states (Bar-Hillel, Perles & Shamir 1961), tabled from the top.
#pragma once

#include <cstdint>
#include <unordered_map>
#include <vector>

#include "expr/derivative.h"
#include "expr/expr.h"

namespace detent {

class Liveness {
 public:
  Liveness(ExprSet& exprs, Derivatives& derivatives, Meter& meter)
      : exprs_(exprs), derivatives_(derivatives), meter_(meter) {}

  // A limit that is reached leaves nothing behind.
  bool live(ExprId state);

 private:
  enum class Life : std::uint8_t { unknown, live, dead };

  Life known(ExprId id) const {
    const Expr& expr = exprs_[id];
    if (expr.nullable || (expr.plain && id != ExprSet::kEmpty)) return Life::live;
    if (id == ExprSet::kEmpty) return Life::dead;
    return id.value < life_.size() ? life_[id.value] : Life::unknown;
  }
  void remember(ExprId id, bool is_live);
  // The parts whose liveness decides; false if the state must be searched.
  bool parts_of(ExprId id, std::vector<ExprId>& parts, bool& all) const;
  bool search(ExprId state);
  // Takes an intersection apart into one operand that calls rules and the rest; false if that cannot be.
  bool split(ExprId state, ExprId& part, ExprId& regular);
  // Whether some word of `part`, which calls rules, leads `regular` to acceptance.
  bool meets(ExprId part, ExprId regular);

  ExprSet& exprs_;
  Derivatives& derivatives_;
  Meter& meter_;
  std::vector<Life> life_;
};

}  // namespace detent

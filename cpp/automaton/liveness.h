// Liveness: whether a state can still accept, and how many bytes that takes at most.
//
// Known at once for most expressions: constructors drop the empty language, so that only complements, intersections,
// assertions and escapes can hide it. Sequences and choices are asked of their parts. The rest is searched, shortest
// rest first, and remembered. Where an intersection has one operand that calls rules, the search may have no end; then
// the question is decided by the pairs of states between which each part of the rules leads the regular operands: as
// many as rules times states (Bar-Hillel, Perles & Shamir 1961), tabled from the top.
#pragma once

#include <algorithm>
#include <cstdint>
#include <unordered_map>
#include <vector>

#include "expr/derivative.h"
#include "expr/expr_set.h"

namespace detent {

class Liveness {
 public:
  Liveness(ExprSet& exprs, Derivatives& derivatives, Meter& meter)
      : exprs_(exprs), derivatives_(derivatives), meter_(meter) {}

  // A limit that is reached leaves nothing behind.
  bool live(ExprId state) { return length(state) != kDead; }

  // The length of some string that leads from `state` to acceptance, or kDead. From a state of length n > 0 some byte
  // leads to one whose length is below n.
  std::uint32_t length(ExprId state);
  static constexpr std::uint32_t kDead = UINT32_MAX;

 private:
  static constexpr std::uint32_t kUnknown = UINT32_MAX - 1;
  static constexpr std::uint32_t kLongest = UINT32_MAX - 2;

  std::uint32_t known(ExprId id) const {
    const Expr& expr = exprs_[id];
    if (expr.nullable) return 0;
    if (id == ExprSet::kEmpty) return kDead;
    if (expr.nonempty) return std::min(expr.min_length, kLongest);
    return id.value < lengths_.size() ? lengths_[id.value] : kUnknown;
  }
  void remember(ExprId id, std::uint32_t length);
  // The parts that decide; false if the state must be searched.
  bool parts_of(ExprId id, std::vector<ExprId>& parts) const;
  std::uint32_t combine(ExprId id, const std::vector<ExprId>& parts) const;
  std::uint32_t with_separators(std::uint64_t length, std::uint32_t count, MemberPosition place,
                                ExprId separator) const;
  void search(ExprId state);
  // Takes an intersection apart into one operand that calls rules and the rest; false if that cannot be.
  bool split(ExprId state, ExprId& part, ExprId& regular);
  // Whether some word of `part`, which calls rules, leads `regular` to acceptance.
  bool meets(ExprId part, ExprId regular);

  ExprSet& exprs_;
  Derivatives& derivatives_;
  Meter& meter_;
  std::vector<std::uint32_t> lengths_;
};

}  // namespace detent

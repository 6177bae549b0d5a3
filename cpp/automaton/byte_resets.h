// ByteResets: bytes that lead to one state from everywhere.
//
// A quotation mark ends each word of "all texts without some words", unless it is inside one. So what follows a JSON
// string does not depend on the string.
//   1. The form of such a condition, ~(.* words .*), mostly shows it: the byte is in no word, only in the loop before
//      them. Before a whole word, the loop and a character that is no letter lead to the word and back to both.
//      Hundreds of words, each with its escaped forms, have tens of thousands of residuals.
//   2. Otherwise the residuals are visited, if they are few.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <unordered_map>
#include <vector>

#include "expr/derivative.h"
#include "expr/expr_set.h"

namespace detent {

class ByteResets {
 public:
  // The state that accepts the empty string and to which `byte` leads from each residual of `id`, unless it is dead
  // there. The empty language where there is none. Cost: at the first visit, linear in the form of `id`, or the rows of
  // at most kMaxStates residuals.
  ExprId find(ExprSet& exprs, Derivatives& derivatives, ExprId id, std::uint8_t byte);

 private:
  static constexpr std::size_t kMaxStates = 4'096;
  static constexpr std::size_t kMaxTargets = 4;
  using Targets = std::optional<std::vector<ExprId>>;  // nothing: unknown, or many

  // find(), for an `id` whose residuals are few: each of them is visited.
  ExprId visit(const ExprSet& exprs, Derivatives& derivatives, ExprId id, std::uint8_t byte);
  // find(), for an `id` of the form ~(x | y | ...) that shows the residuals.
  ExprId find_by_form(ExprSet& exprs, Derivatives& derivatives, ExprId id, std::uint8_t byte);
  // The sequences to which `byte` leads from the residuals of `id`, but those that contain all strings.
  Targets targets_of(ExprSet& exprs, ExprId id, std::uint8_t byte, int depth);
  Targets find_targets(ExprSet& exprs, ExprId id, std::uint8_t byte, int depth);
  // Whether each residual of `id` contains one that `byte` leads to `target`, as far as the form shows it.
  bool always_leads_to(ExprSet& exprs, Derivatives& derivatives, ExprId id, ExprId target, std::uint8_t byte);
  // What `byte` leads to from a part of each residual of `loop`; the empty language where there is none.
  ExprId end_of_loop(ExprSet& exprs, Derivatives& derivatives, ExprId loop, std::uint8_t byte);

  std::unordered_map<std::uint64_t, ExprId> known_;
  std::unordered_map<std::uint64_t, Targets> targets_;  // of unions, which residuals share
  std::unordered_map<std::uint64_t, ExprId> loops_;
};

}  // namespace detent

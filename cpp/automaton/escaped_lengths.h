// EscapedLengths: bounds on the shortest text of an expression, by texts that every guard lets pass.
//
// A strict guard, one without an escape, may make what follows it dead. A grammar in which one form of a comment has
// such a guard has it in each of its states. But most of these states have a text without that comment, and all other
// guards let it pass: no search is needed.
//
// The lengths are the least fixed point over the definitions of the rules.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "base/paged_array.h"
#include "expr/expr_set.h"

namespace detent {

class EscapedLengths {
 public:
  EscapedLengths(const ExprSet& exprs, Meter& meter) : exprs_(exprs), meter_(meter) {}

  // A bound on the shortest text of `id` and whatever escapes its guards need, if the form of `id` shows that it has a
  // text without a strict guard; nothing otherwise. Cost: at the first visit, linear in the parts that are new, times
  // the passes over recursive rules.
  std::optional<std::uint32_t> find(ExprId id);

 private:
  static constexpr std::uint32_t kNone = UINT32_MAX, kUnknown = UINT32_MAX - 1;

  std::uint32_t known(ExprId id) const { return lengths_[id.value]; }
  void remember(ExprId id, std::uint32_t length) { lengths_.set(id.value, length); }

  // From the lengths of the parts, as far as they are known.
  std::uint32_t length_of(ExprId id) const;
  // Adds the parts of `id` that decide its length and are not known; false if a rule has no definition yet.
  bool add_unknown_parts(ExprId id, std::vector<ExprId>& parts) const;

  const ExprSet& exprs_;
  Meter& meter_;
  // By expression with a strict guard. A hash table with an entry for each state takes 40 ms to free.
  PagedArray<std::uint32_t, kUnknown> lengths_;
};

}  // namespace detent

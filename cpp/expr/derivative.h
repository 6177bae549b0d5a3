// Derivatives: the rows of the automaton whose states are expressions.
//
// The row of an expression has, for each byte class, the derivative by that class: what may follow. Byte classes are
// the coarsest partition of the 256 bytes that no byte set of the expressions splits; they are fixed by
// `freeze_byte_classes` once the root is built, since derivatives make no new distinctions. A row is computed at once
// from the linear form of the expression (Antimirov 1996): pairs (byte set, what follows), gathered by class and
// united. Intersections, complements and contexts combine the rows of their operands class by class. A work list stands
// in for recursion. Cost of a row: about linear in the size of the linear form plus the number of classes.
#pragma once

#include <array>
#include <cstdint>
#include <functional>
#include <memory>
#include <unordered_set>
#include <utility>
#include <vector>

#include "expr/expr_set.h"

namespace detent {

class Derivatives {
 public:
  Derivatives(ExprSet& exprs, Meter& meter) : exprs_(exprs), meter_(meter) {}

  // Says whether an expression has any string; asked before escapes are told apart by what they lead to.
  void set_live(std::function<bool(ExprId)> live) { live_ = std::move(live); }

  // Fixes the byte classes; every set that the expressions use must exist.
  void freeze_byte_classes();

  std::uint32_t class_count() const { return class_count_; }
  const std::array<std::uint8_t, 256>& class_of() const { return class_of_; }

  // The derivatives of `id`, one for each class. The pointer stays valid; the owner may overwrite entries by an
  // expression of the same language.
  ExprId* row(ExprId id);

  struct Term {
    ExprId head, tail;
  };
  // What may come next of members in any order, or in theirs, then `tail`.
  void expand_ordered(std::vector<Term>& terms, ExprId id, ExprId tail);
  void expand_unordered(std::vector<Term>& terms, ExprId id, ExprId tail);

 private:
  ExprId* known(ExprId id) const { return id.value < rows_.size() ? rows_[id.value] : nullptr; }
  ExprId* allocate_row();
  // Computes the row of `id` into `out`, or returns false and names in `missing_` rows that it needs first.
  bool compute(ExprId id, ExprId* out);
  bool row_from_linear_form(ExprId id, ExprId* out);
  bool row_of_lookbehind(ExprId id, ExprId* out);
  bool row_of_json_string(ExprId id, ExprId* out);
  void prune(ExprId texts);
  // Adds what is left of `rest` when `part` matches the empty string before it: as often as its guards tell cases
  // apart.
  void skip(ExprId part, ExprId rest, std::vector<ExprId>& found, int depth);
  const std::vector<std::uint8_t>& classes_of(std::uint32_t set);

  struct Recent {  // the latest intersections of two
    ExprId first, second, result;
  };
  static constexpr unsigned kRecentShift = 22;

  ExprSet& exprs_;
  Meter& meter_;
  std::array<Recent, 1u << (32 - kRecentShift)> recent_{};
  std::uint32_t class_count_ = 0;
  std::array<std::uint8_t, 256> class_of_{};
  std::array<std::uint8_t, 256> representative_{};
  std::vector<std::vector<std::uint8_t>> set_classes_;
  std::vector<ExprId*> rows_;
  std::vector<std::unique_ptr<ExprId[]>> blocks_;
  ExprId* next_row_ = nullptr;
  std::size_t block_free_ = 0;  // entries left in the last block
  std::vector<ExprId> missing_;
  std::vector<std::pair<std::uint8_t, ExprId>> pairs_;
  std::vector<ExprId> skipped_rules_;
  std::function<bool(ExprId)> live_;
  std::unordered_set<std::uint32_t> pruned_;
  int pruning_ = 0;  // calls inside one another
};

}  // namespace detent

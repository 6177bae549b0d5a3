// Derivatives: the transition rows of the automaton whose states are expressions.
//
// The row of an expression holds its derivative by each byte class. Byte classes are the coarsest partition of the 256
// bytes that no byte set of the expressions splits; freeze_byte_classes fixes them once the root is built, since
// derivatives contain no new sets. A row is computed at once from the linear form of the expression (Antimirov 1996):
// pairs (byte set, residual), gathered by class and united. Intersections, complements and lookbehind contexts combine
// the rows of their operands class by class. A work list replaces recursion. Cost of a row: about linear in the linear
// form plus the number of classes.
#pragma once

#include <array>
#include <cstdint>
#include <functional>
#include <memory>
#include <tuple>
#include <unordered_map>
#include <unordered_set>
#include <utility>
#include <vector>

#include "base/paged_array.h"
#include "expr/expr_set.h"
#include "expr/first_bytes.h"
#include "expr/lookaround.h"

namespace detent {

class Derivatives {
 public:
  Derivatives(ExprSet& exprs, Meter& meter) : exprs_(exprs), meter_(meter) {}
  // Has the byte classes of `other`, and no rows. `exprs` is a copy of the expressions of `other`, to which others may
  // be added before the classes are frozen again.
  Derivatives(ExprSet& exprs, Meter& meter, const Derivatives& other)
      : exprs_(exprs),
        meter_(meter),
        class_count_(other.class_count_),
        frozen_sets_(other.frozen_sets_),
        class_of_(other.class_of_),
        representative_(other.representative_) {}

  // The rows of JSON escapes need these (drop_dead_characters). `is_live` decides whether an expression has a string.
  // `live_after` returns lead bytes; after any character that begins with one of them, the expression is live.
  void set_live(std::function<bool(ExprId)> is_live, std::function<ByteSet(ExprId)> live_after) {
    is_live_ = std::move(is_live);
    live_after_ = std::move(live_after);
  }

  // Fixes the byte classes. Every byte set of the expressions must exist.
  void freeze_byte_classes();

  std::uint32_t class_count() const { return class_count_; }
  const std::array<std::uint8_t, 256>& class_of() const { return class_of_; }

  std::uint8_t representative(std::uint32_t byte_class) const { return representative_[byte_class]; }

  // The derivatives of `id`, one for each class. The pointer stays valid. The caller may replace an entry by an
  // expression of the same language.
  ExprId* row(ExprId id);
  // The derivative by one class. Of a grown union this needs no row, nor those of the unions that it grew from: they
  // may be thousands.
  ExprId after(ExprId id, std::uint32_t byte_class);

  // The residuals of a state that calls rules, by class: each is the rest of a terminal, then the symbols after it (a
  // stack). The row has their unions; the single stacks are shared by more states of a grammar.
  std::vector<std::pair<std::uint8_t, ExprId>> residuals(ExprId id);

  // A term of a linear form: the texts of `head`, then those of `tail`.
  struct Term {
    ExprId head, tail;
  };
  // Adds the terms of an `ordered` or `unordered` expression that is followed by `tail`.
  void expand_ordered(std::vector<Term>& terms, ExprId id, ExprId tail);
  void expand_unordered(std::vector<Term>& terms, ExprId id, ExprId tail);
  void expand_distinct(std::vector<Term>& terms, ExprId id, ExprId tail);

 private:
  ExprId* find_row(ExprId id) const { return rows_[id.value]; }
  ExprId* allocate_row();
  const std::vector<std::uint8_t>& classes_of(std::uint32_t set);

  // These write the row of `id` to `out`, or return false and add to `missing_` the rows that must be computed first.
  bool compute_row(ExprId id, ExprId* out);
  bool row_of_complement(ExprId id, ExprId* out);
  ExprId after_grown_union(ExprId id, std::uint32_t byte_class);
  bool row_of_intersection(ExprId id, ExprId* out);
  bool row_of_json_string(ExprId id, ExprId* out);
  bool row_of_lookbehind(ExprId id, ExprId* out);
  ExprId after_decimal(ExprId id, std::uint32_t byte_class);
  bool row_from_linear_form(ExprId id, ExprId* out);
  bool is_long_choice(ExprId id) const;
  bool is_shared_union(const Term& term, std::size_t term_count) const;
  bool is_shared_rule(const Term& term);
  bool next_byte_tells(ExprId id);
  bool may_use_row(ExprId id, const Term& term) const;
  // Returns the expression "members, then tail" if its row should be computed by itself; `id` if not.
  ExprId long_list(ExprId id, const Term& term);

  // The linear form (linear_form.cc).
  void expand(std::vector<Term>& terms, const Term& term);
  void expand_concat(std::vector<Term>& terms, const Term& term);
  void expand_maximal_munch(const Term& term);
  void add_row(const ExprId* row, ExprId tail, ExprId* out, bool is_first);
  void unite_pairs(ExprId* out);
  // A call of a rule that waits until all its tails are known. A rule that may begin with it has a greater height.
  struct Call {
    std::uint32_t height;
    Term term;
    bool operator<(const Call& other) const {
      return std::tie(height, term.head, term.tail) < std::tie(other.height, other.term.head, other.term.tail);
    }
  };
  Term take_call();
  std::uint32_t left_height(ExprId id);
  // Moves the waiting terms to `terms`; the terms with one head become one term, whose tail is the union of theirs.
  void unite_tails(std::vector<Term>& waiting, std::vector<Term>& terms);
  void add_residuals(ExprId id);
  // Adds the residuals of `rest` after an empty match of `part`: one for each case that the guards of `part`
  // distinguish.
  void skip_empty_match(ExprId part, ExprId rest, std::vector<ExprId>& residuals, int depth);

  void drop_dead_characters(ExprId texts);

  struct CachedPair {
    ExprId first, second, result;
  };
  static constexpr unsigned kRecentShift = 22;

  ExprSet& exprs_;
  Meter& meter_;
  std::function<bool(ExprId)> is_live_;
  std::function<ByteSet(ExprId)> live_after_;
  std::uint32_t class_count_ = 0;
  std::uint32_t frozen_sets_ = 0;  // the byte sets that the classes respect
  std::array<std::uint8_t, 256> class_of_{};
  std::array<std::uint8_t, 256> representative_{};      // the first byte of each class
  std::vector<std::vector<std::uint8_t>> set_classes_;  // the classes of each byte set, where it was needed
  PagedArray<ExprId*, nullptr> rows_;                   // by expression
  std::vector<std::unique_ptr<ExprId[]>> blocks_;       // storage of rows
  ExprId* next_row_ = nullptr;
  std::size_t block_free_ = 0;  // entries left in the last block
  std::vector<ExprId> missing_;
  std::vector<std::pair<std::uint8_t, ExprId>> pairs_;             // (class, residual) of the linear form at hand
  std::vector<Call> calls_;                                        // a heap
  std::unordered_set<std::uint32_t> seen_;                         // heads without a tail in the linear form at hand
  std::unordered_map<std::uint32_t, std::uint32_t> left_heights_;  // by expression
  FirstBytes first_bytes_{exprs_};
  LookbehindRows lookbehind_rows_{exprs_, meter_, [this](ExprId id) { return find_row(id); }};
  std::unordered_map<std::uint32_t, bool> shared_rules_;        // is_shared_rule, of rules with a row
  std::vector<ExprId> open_rules_;                              // rules that skip_empty_match is inside
  std::array<CachedPair, 1u << (32 - kRecentShift)> recent_{};  // intersections of two
  std::unordered_set<std::uint32_t> pruned_;                    // expressions without dead characters
  int pruning_depth_ = 0;                                       // nested calls of drop_dead_characters
  std::unordered_map<std::uint64_t, ExprId> after_grown_;       // by grown union and class
};

}  // namespace detent

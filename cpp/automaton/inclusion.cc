// Inclusion by form. Every operator but the complement is monotone in each operand, so that operands are compared in
// pairs; a union contains each of its operands, and an intersection is contained in each.
#include "automaton/inclusion.h"

#include <algorithm>

namespace detent {
namespace {

constexpr int kMaxDepth = 8;
constexpr int kMaxComparisons = 2'000;

class Comparison {
 public:
  explicit Comparison(const ExprSet& exprs) : exprs_(exprs) {}

  bool includes(ExprId large, ExprId small, int depth) {
    if (large == small || small == ExprSet::kEmpty || large == exprs_.sigma_star()) return true;
    if (depth == kMaxDepth || ++comparisons_ > kMaxComparisons) return false;
    const Expr& l = exprs_[large];
    const Expr& s = exprs_[small];
    const auto all = [](auto operands, auto holds) { return std::ranges::all_of(operands, holds); };
    const auto any = [](auto operands, auto holds) { return std::ranges::any_of(operands, holds); };
    if (s.op == Op::union_of) {
      return all(exprs_.operands(small), [&](ExprId part) { return includes(large, part, depth + 1); });
    }
    if (l.op == Op::intersection) {
      return all(exprs_.operands(large), [&](ExprId part) { return includes(part, small, depth + 1); });
    }
    if (l.op == Op::union_of) {
      const auto operands = exprs_.operands(large);
      if (std::ranges::binary_search(operands, small)) return true;
      if (any(operands, [&](ExprId part) { return includes(part, small, depth + 1); })) return true;
    }
    if (s.op == Op::intersection) {
      if (std::ranges::binary_search(exprs_.operands(small), large)) return true;
      return any(exprs_.operands(small), [&](ExprId part) { return includes(large, part, depth + 1); });
    }
    return compare_operands(large, small, depth);
  }

 private:
  bool compare_operands(ExprId large, ExprId small, int depth) {
    const Expr& l = exprs_[large];
    const Expr& s = exprs_[small];
    if (l.op == Op::concat) {
      const bool is_concat = s.op == Op::concat;
      if (is_concat && includes(l.first(), s.first(), depth + 1) && includes(l.second(), s.second(), depth + 1)) {
        return true;
      }
      // A nullable head may depend on the text that follows it.
      return exprs_[l.first()].nullable && !exprs_[l.first()].has_guard && !l.has_lookbehind && !l.has_lookbehind_end &&
             includes(l.second(), small, depth + 1);
    }
    if (l.op != s.op) return false;
    switch (l.op) {
      case Op::bytes: return exprs_.set(s.set_index()).is_subset_of(exprs_.set(l.set_index()));
      case Op::repeat:
        return l.minimum() <= s.minimum() && l.maximum() >= s.maximum() && includes(l.part(), s.part(), depth + 1);
      case Op::complement: return includes(s.part(), l.part(), depth + 1);
      case Op::json_escaped:
        return l.escape_position() == s.escape_position() && l.escape_bits() == s.escape_bits() &&
               includes(l.part(), s.part(), depth + 1);
      default: return false;
    }
  }

  const ExprSet& exprs_;
  int comparisons_ = 0;
};

}  // namespace

bool includes(const ExprSet& exprs, ExprId large, ExprId small) { return Comparison(exprs).includes(large, small, 0); }

}  // namespace detent

// Inclusion by form. Every operator but the complement is monotone in each operand, so that operands are compared in
// pairs; a union contains each of its operands, and an intersection is contained in each. x* contains a sequence of
// strings that it contains.
#include "automaton/inclusion.h"

#include <algorithm>
#include <set>
#include <utility>

#include "automaton/conjuncts.h"

namespace detent {
namespace {

constexpr int kMaxDepth = 8;
constexpr int kMaxComparisons = 2'000;
constexpr int kMaxOpenRules = 8;  // inside each other

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
    return compare_operands(large, small, depth) || contains_parts(large, small, depth);
  }

 private:
  // Whether `large` is a repeat of any number of rounds, which contains each part of `small`, one after the other.
  bool contains_parts(ExprId large, ExprId small, int depth) {
    const Expr& l = exprs_[large];
    if (l.op != Op::repeat || l.minimum() > 0 || l.maximum() != ExprSet::kUnbounded) return false;
    if (!is_self_contained(l)) return false;  // nor does it call rules
    for (; exprs_[small].op == Op::concat; small = exprs_[small].second()) {
      if (!includes(large, exprs_[small].first(), depth + 1)) return false;
    }
    const Expr& last = exprs_[small];
    switch (last.op) {
      case Op::epsilon: return true;
      case Op::repeat: return includes(large, last.part(), depth + 1);
      case Op::text:
        return std::ranges::all_of(exprs_.text_of(small),
                                   [&](char byte) { return has_byte(l.part(), static_cast<std::uint8_t>(byte)); });
      case Op::union_of: return includes(large, small, depth + 1);
      case Op::rule: return contains_rule(large, small);
      default: return includes(l.part(), small, depth + 1);
    }
  }

  // The strings of a rule are sequences of the parts of its definition, and of those of the rules that it calls: inside
  // the definition, the rule counts as contained. After one that is not, no such assumption is trusted any more.
  bool contains_rule(ExprId large, ExprId rule) {
    if (refutes_rule_ || open_rules_ == kMaxOpenRules) return false;
    if (!rules_.emplace(large, rule).second) return true;
    ++open_rules_;
    const bool contains = includes(large, exprs_.definition(rule), 0);
    --open_rules_;
    if (!contains) refutes_rule_ = true;
    return contains;
  }

  // Whether the string of this byte alone is in `large`.
  bool has_byte(ExprId large, std::uint8_t byte) const {
    const auto contains = [&](ExprId each) {
      return exprs_[each].op == Op::bytes && exprs_.set(exprs_[each].set_index()).contains(byte);
    };
    return exprs_[large].op == Op::union_of ? std::ranges::any_of(exprs_.operands(large), contains) : contains(large);
  }

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
  std::set<std::pair<ExprId, ExprId>> rules_;  // unbounded repeats, and the rules that they contain or that are open
  int open_rules_ = 0;
  bool refutes_rule_ = false;
};

}  // namespace

bool includes(const ExprSet& exprs, ExprId large, ExprId small) { return Comparison(exprs).includes(large, small, 0); }

}  // namespace detent

#include "automaton/conditioned_slices.h"

#include <algorithm>
#include <set>
#include <string>
#include <vector>

#include "expr/parts.h"

namespace detent {
namespace {

// Lives for one call.
class ConditionedSlices {
 public:
  ConditionedSlices(ExprSet& exprs, Derivatives& derivatives, Liveness& liveness, ExprId condition, ByteResets& resets)
      : exprs_(exprs), derivatives_(derivatives), liveness_(liveness), condition_(condition), resets_(resets) {}

  SplitState narrow(SplitState inside) {
    for (const Slice& slice : inside.slices) {
      if (!add_slice(slice)) inside.others.push_back(exprs_.concat(slice.prefix, slice.continuation));
    }
    for (ExprId other : inside.others) add_other(other);
    return std::move(found_);
  }

 private:
  // Returns false where the condition may be in several states after the prefix.
  bool add_slice(const Slice& slice) {
    Slice narrow = slice;
    ExprId condition = after_each_text(slice.prefix);
    if (condition == ExprSet::kEmpty) {
      const std::optional<std::uint8_t> last = slice.is_value ? std::nullopt : last_byte(slice.prefix);
      if (last) condition = resets_.find(exprs_, derivatives_, condition_, *last);
      if (condition == ExprSet::kEmpty) return false;
      narrow.prefix = exprs_.intersection({slice.prefix, condition_});
    }
    narrow.continuation = exprs_.intersection({slice.continuation, condition});
    if (liveness_.live(narrow.prefix) && liveness_.live(narrow.continuation)) found_.slices.push_back(narrow);
    return true;
  }

  // The byte that ends each text of a prefix, if there is one.
  std::optional<std::uint8_t> last_byte(ExprId prefix) const {
    while (exprs_[prefix].op == Op::concat) prefix = exprs_[prefix].second();
    if (exprs_[prefix].op != Op::bytes || exprs_.set(exprs_[prefix].set_index()).has_more_than(1)) return std::nullopt;
    return exprs_.set(exprs_[prefix].set_index()).first();
  }

  // The state of the condition after each text of a prefix. The empty language where the condition excludes a text or
  // is in several states, and for prefixes with a string or a rule, which mostly have many states.
  ExprId after_each_text(ExprId prefix) {
    constexpr std::size_t kMaxStates = 256;
    using Pair = std::pair<ExprId, ExprId>;
    std::vector<Pair> states{{prefix, condition_}};
    std::set<Pair> seen{states[0]};
    ExprId found = ExprSet::kEmpty;
    for (std::size_t i = 0; i < states.size(); ++i) {
      const auto [at, condition] = states[i];
      if (states.size() > kMaxStates || exprs_[at].has_rule || has_string(at)) return ExprSet::kEmpty;
      if (exprs_[at].nullable && found != ExprSet::kEmpty && condition != found) return ExprSet::kEmpty;
      if (exprs_[at].nullable) found = condition;
      const ExprId* row = derivatives_.row(at);
      const ExprId* condition_row = derivatives_.row(condition);
      for (std::uint32_t c = 0; c < derivatives_.class_count(); ++c) {
        if (row[c] == ExprSet::kEmpty) continue;
        if (!exprs_[condition_row[c]].nullable) return ExprSet::kEmpty;
        if (seen.emplace(row[c], condition_row[c]).second) states.emplace_back(row[c], condition_row[c]);
      }
    }
    return found;
  }

  bool has_string(ExprId id) const {
    while (exprs_[id].op == Op::concat && exprs_[exprs_[id].first()].op != Op::json_escaped) id = exprs_[id].second();
    return exprs_[split_first(exprs_, id).first].op == Op::json_escaped;
  }

  void add_other(ExprId other) {
    std::string literal;
    ExprId condition = condition_;
    while (const std::optional<std::string> text = literal_of(split_first(exprs_, other).first)) {
      for (char byte : *text) {
        condition = derivatives_.row(condition)[derivatives_.class_of()[static_cast<std::uint8_t>(byte)]];
        if (condition == ExprSet::kEmpty) return;
      }
      literal += *text;
      other = split_first(exprs_, other).second;
    }
    const ExprId rest = exprs_.intersection({other, condition});
    if (rest != ExprSet::kEmpty && liveness_.live(rest)) {
      found_.others.push_back(exprs_.concat(exprs_.literal(literal), rest));
    }
  }

  std::optional<std::string> literal_of(ExprId id) const {
    const Expr& expr = exprs_[id];
    if (expr.op == Op::text) return std::string(exprs_.text_of(id));
    if (expr.op != Op::bytes || exprs_.set(expr.set_index()).has_more_than(1)) return std::nullopt;
    return std::string(1, static_cast<char>(exprs_.set(expr.set_index()).first()));
  }

  ExprSet& exprs_;
  Derivatives& derivatives_;
  Liveness& liveness_;
  ExprId condition_;
  ByteResets& resets_;
  SplitState found_;
};

// Whether any text may follow each text of a sequence.
bool goes_on(const ExprSet& exprs, ExprId sequence) {
  while (exprs[sequence].op == Op::concat) sequence = exprs[sequence].second();
  return sequence == exprs.sigma_star();
}

}  // namespace

std::optional<std::pair<ExprId, ExprId>> split_conditions(ExprSet& exprs, ExprId state) {
  if (exprs[state].op != Op::intersection) return std::nullopt;
  std::vector<ExprId> conditions(exprs.operands(state).begin(), exprs.operands(state).end());
  const auto is_main = [&exprs](ExprId operand) { return exprs[operand].op != Op::complement; };
  if (std::ranges::count_if(conditions, is_main) != 1) return std::nullopt;
  const auto main = std::ranges::find_if(conditions, is_main);
  const ExprId found = *main;
  conditions.erase(main);
  const ExprId condition = exprs.intersection(std::move(conditions));
  const Expr& expr = exprs[condition];
  if (expr.has_rule || expr.has_guard || expr.has_lookbehind || expr.has_lookbehind_end || expr.has_open_item ||
      expr.has_closed_item) {
    return std::nullopt;
  }
  return std::pair{found, condition};
}

bool is_any_text(const ExprSet& exprs, ExprId rest) { return exprs[rest].nullable && goes_on(exprs, rest); }

std::vector<ExprId> exclusions_of(const ExprSet& exprs, ExprId condition, const ByteSet& safe) {
  std::vector<ExprId> found = operands_of(exprs, condition, Op::intersection);
  const auto is_exclusion = [&](ExprId each) {
    return exprs[each].op == Op::complement &&
           (!safe.empty() || std::ranges::all_of(operands_of(exprs, exprs[each].part(), Op::union_of),
                                                 [&exprs](ExprId text) { return goes_on(exprs, text); }));
  };
  if (!std::ranges::all_of(found, is_exclusion)) found.clear();
  return found;
}

SplitState narrow_slices(ExprSet& exprs, Derivatives& derivatives, Liveness& liveness, SplitState found,
                         ExprId condition, ByteResets& resets) {
  return ConditionedSlices(exprs, derivatives, liveness, condition, resets).narrow(std::move(found));
}

}  // namespace detent

#include "automaton/fewer_rounds.h"

#include <algorithm>
#include <unordered_map>
#include <utility>
#include <vector>

#include "expr/parts.h"

namespace detent {
namespace {

// Lives for one call. It enters monotone operators only: fewer texts of a part give fewer texts of the whole.
class FewerRounds {
 public:
  explicit FewerRounds(ExprSet& exprs) : exprs_(exprs) {}

  ExprId lower(ExprId state) {
    const ExprId lowered = lower(state, 0);
    return visited_ > kMaxVisited ? state : lowered;
  }

 private:
  static constexpr std::uint32_t kRounds = 4;  // few tokens have more words
  static constexpr int kMaxDepth = 12;
  static constexpr int kMaxVisited = 200;

  ExprId lower(ExprId id, int depth) {
    const Expr expr = exprs_[id];
    if (depth == kMaxDepth || ++visited_ > kMaxVisited || expr.has_guard || expr.has_rule) return id;
    if (expr.nonempty && expr.largest_count <= kRounds) return id;
    if (const auto known = known_.find(id.value); known != known_.end()) return known->second;
    ExprId lowered = id;
    switch (expr.op) {
      case Op::concat: lowered = lower_elements(id, depth); break;
      case Op::union_of:
      case Op::intersection: {
        const std::vector<ExprId> operands(exprs_.operands(id).begin(), exprs_.operands(id).end());
        std::vector<ExprId> parts = operands;
        for (ExprId& part : parts) part = lower(part, depth + 1);
        if (parts == operands) break;
        lowered = expr.op == Op::union_of ? exprs_.union_of(std::move(parts)) : exprs_.intersection(std::move(parts));
        break;
      }
      case Op::repeat: {
        const ExprId part = lower(expr.part(), depth + 1);
        std::uint32_t maximum = expr.maximum();
        const bool is_lowered = maximum != ExprSet::kUnbounded && exprs_[expr.part()].max_length == UINT32_MAX;
        if (is_lowered) maximum = std::min(maximum, std::max(expr.minimum(), kRounds));
        if (part != expr.part() || maximum != expr.maximum()) lowered = exprs_.repeat(part, expr.minimum(), maximum);
        break;
      }
      case Op::json_escaped: {
        const ExprId texts = lower(expr.part(), depth + 1);
        if (texts != expr.part()) lowered = exprs_.json_escaped(texts, expr.escape_position(), expr.escape_bits());
        break;
      }
      default: break;
    }
    return known_[id.value] = lowered;
  }

  ExprId lower_elements(ExprId id, int depth) {
    std::vector<ExprId> elements;
    for (; exprs_[id].op == Op::concat; id = exprs_[id].second()) elements.push_back(exprs_[id].first());
    elements.push_back(id);
    for (ExprId& element : elements) element = lower(element, depth + 1);
    return concat_elements(exprs_, elements);
  }

  ExprSet& exprs_;
  std::unordered_map<std::uint32_t, ExprId> known_;
  int visited_ = 0;
};

}  // namespace

ExprId with_fewer_rounds(ExprSet& exprs, ExprId state) { return FewerRounds(exprs).lower(state); }

}  // namespace detent

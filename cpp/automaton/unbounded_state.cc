#include "automaton/unbounded_state.h"

#include <algorithm>
#include <unordered_map>
#include <utility>
#include <vector>

#include "automaton/slice_finder.h"
#include "expr/parts.h"

namespace detent {
namespace {

// Drops the upper bounds of the repeats that an expression may begin with. Lives for one call.
//
// A repeat of a part that is not nullable and its unbounded form agree on the texts of at most `maximum` bytes. Unions,
// intersections, concatenations and optional parts keep that. So the result and the expression agree on the texts of at
// most `rounds` bytes, the least bound that was dropped.
class UpperBounds {
 public:
  enum class Where : std::uint8_t {
    outermost,  // the first part of the state or of its operands, or operands of an intersection that is this part
    nested,     // inside unions, intersections, concatenations and optional parts of it, too
  };
  UpperBounds(ExprSet& exprs, Where where) : exprs_(exprs), where_(where) {}

  UnboundedState drop(ExprId state) {
    UnboundedState found{state};
    if (exprs_[state].op == Op::intersection) {
      found.in_intersection = true;
      std::vector<ExprId> operands(exprs_.operands(state).begin(), exprs_.operands(state).end());
      for (ExprId& operand : operands) {
        const ExprId wide = drop_first(operand);
        found.differs_after |= wide != operand && exprs_[split_first(exprs_, operand).first].op != Op::json_escaped;
        operand = wide;
      }
      if (rounds_ != UINT32_MAX) found.state = exprs_.intersection(std::move(operands));
    } else {
      const ExprId head = split_first(exprs_, state).first;
      const ExprId texts = exprs_[head].op == Op::json_escaped ? exprs_[head].part() : head;
      found.in_intersection =
          where_ == Where::nested ? exprs_[texts].op != Op::repeat : exprs_[texts].op == Op::intersection;
      found.state = drop_first(state);
    }
    found.rounds = rounds_;
    return found;
  }

 private:
  // Drops the bounds that the first part of `state` may begin with.
  ExprId drop_first(ExprId state) {
    const bool has_rest = exprs_[state].op == Op::concat;
    const ExprId head = has_rest ? exprs_[state].first() : state;
    const bool is_escaped = exprs_[head].op == Op::json_escaped;
    const ExprId texts = is_escaped ? exprs_[head].part() : head;
    // Few rounds: one more mask costs more than it saves, except for JSON strings, where they go if no others do.
    constexpr std::uint32_t kFewRounds = 8, kFewNestedRounds = 32;
    least_ = where_ == Where::nested ? kFewNestedRounds : is_escaped ? 1 : kFewRounds;
    ExprId wide = without_bounds(texts, 0);
    if (wide == texts && is_escaped && least_ > kLeastNested) {
      least_ = kLeastNested;
      wide = without_bounds(texts, 0);
    }
    if (wide == texts) return state;
    if (is_escaped) wide = exprs_.json_escaped(wide, exprs_[head].escape_position(), exprs_[head].escape_bits());
    return has_rest ? exprs_.concat(wide, exprs_[state].second()) : wide;
  }

  static constexpr std::uint32_t kLeastNested = 2;  // one round: an optional part
  static constexpr int kMaxDepth = 8;
  static constexpr std::size_t kMaxOperands = 8;

  ExprId without_bounds(ExprId id, int depth) {
    const Expr& expr = exprs_[id];
    if (expr.op == Op::repeat) return without_bounds_of_repeat(id, depth);
    if (expr.op == Op::intersection && (depth == 0 || may_enter(id, depth))) {
      return exprs_.intersection(operands_without_bounds(id, depth));
    }
    if (!may_enter(id, depth)) return id;
    if (expr.op == Op::union_of) return exprs_.union_of(operands_without_bounds(id, depth));
    if (expr.op != Op::concat) return id;
    const ExprId first = expr.first(), rest = expr.second();
    const ExprId wide = without_bounds(first, depth + 1);
    return wide == first ? id : exprs_.concat(wide, rest);
  }

  bool may_enter(ExprId id, int depth) const {
    const Expr& expr = exprs_[id];
    const bool is_large =
        (expr.op == Op::union_of || expr.op == Op::intersection) && exprs_.operands(id).size() > kMaxOperands;
    return where_ == Where::nested && depth < kMaxDepth && !is_large && !expr.has_guard && !expr.has_rule;
  }

  std::vector<ExprId> operands_without_bounds(ExprId id, int depth) {
    std::vector<ExprId> parts(exprs_.operands(id).begin(), exprs_.operands(id).end());
    for (ExprId& part : parts) part = without_bounds(part, depth + 1);
    return parts;
  }

  ExprId without_bounds_of_repeat(ExprId id, int depth) {
    const Expr& expr = exprs_[id];
    const ExprId part = expr.part();
    const std::uint32_t minimum = expr.minimum(), maximum = expr.maximum();
    if (maximum == 1 && may_enter(id, depth)) {
      return exprs_.repeat(without_bounds(part, depth + 1), minimum, 1);
    }
    if (maximum == ExprSet::kUnbounded || maximum < least_ || exprs_[part].nullable) return id;
    rounds_ = std::min(rounds_, maximum);
    return exprs_.repeat(part, minimum, ExprSet::kUnbounded);
  }

  ExprSet& exprs_;
  const Where where_;
  std::uint32_t least_ = 0;
  std::uint32_t rounds_ = UINT32_MAX;
};

// Drops the upper bounds of many rounds, wherever they are inside an expression but not below a complement. Lives for
// one call.
//
//   1. x{m,n} and x{m,} agree on the texts that are too short for n + 1 rounds: texts of few bytes; or of few
//      characters, if each round begins with a character.
//   2. This class enters monotone operators only, and a part of a text is no longer than the text. So the whole
//      expressions agree on these texts, too.
//   3. They agree even on the prefixes of this length, unless the bound was inside an intersection: a started round
//      ends with its own completion, and no further round is needed.
class LargeBounds {
 public:
  explicit LargeBounds(ExprSet& exprs) : exprs_(exprs) {}

  UnboundedState drop(ExprId state) {
    const bool has_rest = exprs_[state].op == Op::concat;
    const ExprId head = has_rest ? exprs_[state].first() : state;
    const bool is_escaped = exprs_[head].op == Op::json_escaped;
    UnboundedState found{state};
    const ExprId texts = is_escaped ? exprs_[head].part() : head;
    ExprId wide = without_bounds(texts, 0);
    if (wide == texts || visited_ > kMaxVisited) return found;
    // A text may be longer than the bytes that write it only at its ends: one byte may complete an escaped character,
    // and a token may end inside another one.
    found.rounds = is_escaped ? bytes_ - 2 * kLongestCharacter : bytes_;
    found.characters = is_escaped && characters_ > 2 ? characters_ - 2 : 0;
    found.in_intersection = in_intersection_;
    texts_ = wide;
    if (exprs_[wide].nonempty) found.needed = exprs_[wide].max_completion_bound;
    if (is_escaped) wide = exprs_.json_escaped(wide, exprs_[head].escape_position(), exprs_[head].escape_bits());
    found.state = has_rest ? exprs_.concat(wide, exprs_[state].second()) : wide;
    return found;
  }

  // The texts of the first part without these bounds.
  ExprId texts() const { return texts_; }

 private:
  static constexpr std::uint32_t kFewBytes = 16;  // one more mask costs more than it saves
  static constexpr std::uint32_t kLongestCharacter = 4;
  static constexpr int kMaxDepth = 12;
  static constexpr int kMaxVisited = 2'000;

  ExprId without_bounds(ExprId id, int depth) {
    const Expr expr = exprs_[id];
    if (depth == kMaxDepth || ++visited_ > kMaxVisited || expr.has_guard || expr.has_rule) return id;
    if (expr.nonempty && expr.largest_count < 2) return id;
    if (const auto known = known_.find(id.value); known != known_.end()) return known->second;
    ExprId wide = id;
    switch (expr.op) {
      case Op::concat: wide = without_bounds_of_sequence(id, depth); break;
      case Op::union_of:
      case Op::intersection: {
        const std::vector<ExprId> operands(exprs_.operands(id).begin(), exprs_.operands(id).end());
        std::vector<ExprId> parts = operands;
        for (ExprId& part : parts) part = without_bounds(part, depth + 1);
        if (parts == operands) break;
        in_intersection_ |= expr.op == Op::intersection;
        wide = expr.op == Op::union_of ? exprs_.union_of(std::move(parts)) : exprs_.intersection(std::move(parts));
        break;
      }
      case Op::repeat: {
        const std::uint64_t least = std::max<std::uint32_t>(exprs_[expr.part()].min_length, 1);
        const ExprId part = without_bounds(expr.part(), depth + 1);
        std::uint32_t maximum = expr.maximum();
        const bool is_known = exprs_[expr.part()].nonempty && !exprs_[expr.part()].nullable;
        if (is_known && maximum != ExprSet::kUnbounded && maximum * least >= kFewBytes) {
          bytes_ = static_cast<std::uint32_t>(std::min<std::uint64_t>(bytes_, maximum * least));
          characters_ = begins_character(expr.part(), 0) ? std::min(characters_, maximum) : 0;
          maximum = ExprSet::kUnbounded;
        }
        if (part != expr.part() || maximum != expr.maximum()) wide = exprs_.repeat(part, expr.minimum(), maximum);
        break;
      }
      default: break;
    }
    return known_[id.value] = wide;
  }

  ExprId without_bounds_of_sequence(ExprId id, int depth) {
    std::vector<ExprId> parts;
    for (; exprs_[id].op == Op::concat; id = exprs_[id].second()) parts.push_back(exprs_[id].first());
    parts.push_back(id);
    for (ExprId& part : parts) part = without_bounds(part, depth + 1);
    return concat_elements(exprs_, parts);
  }

  // Whether each text begins with an ASCII byte or a lead byte, as far as few expressions show it.
  bool begins_character(ExprId id, int depth) const {
    const Expr& expr = exprs_[id];
    if (depth == kMaxDepth || expr.nullable) return false;
    const auto begins = [&](ExprId part) { return begins_character(part, depth + 1); };
    switch (expr.op) {
      case Op::bytes: return (exprs_.set(expr.set_index()) & ByteSet::range(0x80, 0xBF)).empty();
      case Op::concat: return begins(expr.first());
      case Op::repeat: return begins(expr.part());
      case Op::union_of: return std::ranges::all_of(exprs_.operands(id), begins);
      default: return false;
    }
  }

  ExprSet& exprs_;
  std::unordered_map<std::uint32_t, ExprId> known_;
  std::uint32_t bytes_ = UINT32_MAX;
  std::uint32_t characters_ = UINT32_MAX;
  ExprId texts_ = ExprSet::kEmpty;
  bool in_intersection_ = false;  // some bound was dropped inside an operand of an intersection
  int visited_ = 0;
};

}  // namespace

UnboundedState drop_outermost_bound(ExprSet& exprs, ExprId state) {
  return UpperBounds(exprs, UpperBounds::Where::outermost).drop(state);
}

UnboundedState drop_nested_bounds(ExprSet& exprs, ExprId state) {
  return UpperBounds(exprs, UpperBounds::Where::nested).drop(state);
}

UnboundedState drop_large_bounds(ExprSet& exprs, ExprId state, ExprId& texts) {
  LargeBounds bounds(exprs);
  const UnboundedState found = bounds.drop(state);
  texts = bounds.texts();
  return found;
}

}  // namespace detent

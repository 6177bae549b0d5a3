// Liveness of `~x & g`, where g calls rules: the state after a token with a guard, such as "no letter may follow".
//
// A search over the states of such an intersection reads bytes of g until ~x restricts it no longer. Each stack of a
// grammar is another g, so that searches share nothing. In the masks of a C grammar they expanded 32,000 states, of
// which walks visited 1,200.
//
// Idea: if no text of x begins with some byte, every text of g that begins with this byte is in the intersection. The
// form of g shows the length of a shortest such text.
#include <queue>
#include <set>
#include <utility>

#include "automaton/liveness.h"
#include "expr/lengths.h"

namespace detent {

// The operand of `~x & ~y & g` that is no complement; the empty language if `id` is of another form.
ExprId Liveness::operand_after_guards(ExprId id) const {
  const Expr& expr = exprs_[id];
  if (use_ != Use::bounds || expr.op != Op::intersection || !expr.has_rule || expr.has_lookbehind ||
      expr.has_lookbehind_end || expr.has_open_item || expr.has_closed_item) {
    return ExprSet::kEmpty;
  }
  ExprId found = ExprSet::kEmpty;
  for (ExprId operand : exprs_.operands(id)) {
    const bool is_exclusion = exprs_[operand].op == Op::complement;
    if (is_exclusion ? exprs_[operand].has_rule || exprs_[operand].has_guard : found != ExprSet::kEmpty) {
      return ExprSet::kEmpty;
    }
    if (!is_exclusion) found = operand;
  }
  return found;
}

// A search by the shortest texts first, which ends with the first text that begins with a byte that no excluded text
// begins with.
std::optional<std::uint32_t> Liveness::length_by_first_byte(ExprId id) {
  constexpr std::size_t kMaxParts = 512;
  const ExprId tail = operand_after_guards(id);
  if (tail == ExprSet::kEmpty || exprs_[tail].has_strict_guard) return std::nullopt;
  const auto& class_of = derivatives_.class_of();
  const auto remove_first_bytes = [&](ByteSet& bytes, ExprId texts) {
    const ExprId* row = derivatives_.row(texts);
    for (unsigned byte = 0; byte < 256; ++byte) {
      if (row[class_of[byte]] != ExprSet::kEmpty) bytes.remove(static_cast<std::uint8_t>(byte));
    }
  };
  std::vector<ByteSet> free_sets{exprs_.alphabet()};  // bytes that no excluded text begins with
  for (ExprId operand : std::vector<ExprId>(exprs_.operands(id).begin(), exprs_.operands(id).end())) {
    if (operand != tail) remove_first_bytes(free_sets[0], exprs_[operand].part());
  }
  // Texts of `part` that begin with a byte of a set, before `rest` bytes; without a part, such a text was found.
  struct Entry {
    std::uint32_t least;  // length in all
    ExprId part;
    std::uint32_t rest;
    std::uint32_t free_set;
    bool operator>(const Entry& other) const { return least > other.least; }
  };
  std::priority_queue<Entry, std::vector<Entry>, std::greater<>> waiting;
  std::set<std::pair<std::uint32_t, std::uint32_t>> seen;
  const auto push = [&](ExprId part, std::uint64_t rest, std::uint32_t free_set) {
    const std::uint32_t length = known(part) == kUnknown ? exprs_[part].min_length : known(part);
    if (length == kDead || rest >= kMaxLength) return;
    waiting.push({saturating_add(length, rest), part, static_cast<std::uint32_t>(rest), free_set});
  };
  push(tail, 0, 0);
  while (!waiting.empty() && seen.size() < kMaxParts) {
    const auto [least, part, rest, free_set] = waiting.top();
    waiting.pop();
    if (part == ExprSet::kEmpty) return rest;
    if (!seen.emplace(part.value, free_set).second) continue;
    meter_.step();
    const Expr expr = exprs_[part];
    if (!expr.has_rule && !expr.has_guard) {  // all stacks share its row
      const ExprId* row = derivatives_.row(part);
      for (unsigned byte = 0; byte < 256; ++byte) {
        if (!free_sets[free_set].contains(static_cast<std::uint8_t>(byte))) continue;
        const std::uint32_t length = known(row[class_of[byte]]);
        const std::uint32_t total = saturating_add(length, std::uint64_t{rest} + 1);
        if (length < kUnknown && total < kMaxLength) waiting.push({total, ExprSet::kEmpty, total, free_set});
      }
      continue;
    }
    switch (expr.op) {
      case Op::concat: {
        const Expr first = exprs_[expr.first()];
        if (const std::uint32_t second = known(expr.second()); second < kUnknown) {
          push(expr.first(), std::uint64_t{rest} + second, free_set);
        }
        if (!first.nullable) break;
        if (!first.has_guard) {
          push(expr.second(), rest, free_set);
        } else if (first.op == Op::maximal_munch && !first.has_rule && !exprs_[first.munched()].has_guard) {
          ByteSet free = free_sets[free_set];
          remove_first_bytes(free, first.munched());
          free_sets.push_back(free);
          push(expr.second(), rest, static_cast<std::uint32_t>(free_sets.size() - 1));
        }
        break;
      }
      case Op::union_of:
        for (ExprId operand : exprs_.operands(part)) push(operand, rest, free_set);
        break;
      case Op::repeat:
        if (const std::uint64_t length = known(expr.part()); length < kUnknown) {
          push(expr.part(), rest + (expr.minimum() > 1 ? length * (expr.minimum() - 1) : 0), free_set);
        }
        break;
      case Op::rule: push(exprs_.definition(part), rest, free_set); break;
      case Op::maximal_munch: push(expr.part(), std::uint64_t{rest} + expr.escape(), free_set); break;
      default: break;
    }
  }
  return std::nullopt;
}

}  // namespace detent

#include "automaton/safe_bytes.h"

#include <vector>

#include "expr/parts.h"

namespace detent {

ByteSet SafeBytes::find(const ExprSet& exprs, ExprId condition) {
  ByteSet last;
  for (ExprId each : operands_of(exprs, condition, Op::intersection)) {
    if (exprs[each].op != Op::complement) return {};
    for (ExprId excluded : operands_of(exprs, exprs[each].part(), Op::union_of)) {
      const std::optional<ByteSet> found = last_bytes(exprs, excluded, 0);
      if (!found) return {};
      last = last | *found;
    }
  }
  ByteSet safe;
  for (unsigned byte = 0; byte < 256; ++byte) {
    if (!last.contains(static_cast<std::uint8_t>(byte))) safe.insert(static_cast<std::uint8_t>(byte));
  }
  return safe;
}

std::optional<ByteSet> SafeBytes::last_bytes(const ExprSet& exprs, ExprId sequence, int depth) {
  constexpr int kMaxDepth = 64;
  if (depth == kMaxDepth) return std::nullopt;
  std::vector<ExprId> elements;
  for (; exprs[sequence].op == Op::concat; sequence = exprs[sequence].second()) {
    elements.push_back(exprs[sequence].first());
  }
  // A residual that contains this part is in no live condition.
  if (sequence != exprs.sigma_star()) elements.push_back(sequence);
  ByteSet bytes;
  for (std::size_t i = elements.size(); i-- > 0;) {
    const std::optional<ByteSet> found = last_bytes_of_element(exprs, elements[i], depth);
    if (!found) return std::nullopt;
    bytes = bytes | *found;
    if (!exprs[elements[i]].nullable) break;
  }
  return bytes;
}

std::optional<ByteSet> SafeBytes::last_bytes_of_element(const ExprSet& exprs, ExprId element, int depth) {
  const Expr& expr = exprs[element];
  switch (expr.op) {
    case Op::epsilon: return ByteSet{};
    case Op::bytes: return exprs.set(expr.set_index());
    case Op::text: return ByteSet::of(static_cast<std::uint8_t>(exprs.text_of(element).back()));
    case Op::repeat: return last_bytes(exprs, expr.part(), depth + 1);
    case Op::union_of: {
      if (const auto known = known_.find(element.value); known != known_.end()) return known->second;
      ByteSet bytes;
      for (ExprId operand : exprs.operands(element)) {
        const std::optional<ByteSet> found = last_bytes(exprs, operand, depth + 1);
        if (!found) return known_[element.value] = std::nullopt;
        bytes = bytes | *found;
      }
      return known_[element.value] = bytes;
    }
    default: return std::nullopt;
  }
}

}  // namespace detent

#include "automaton/safe_bytes.h"

#include <vector>

#include "expr/parts.h"

namespace detent {
namespace {

constexpr int kMaxDepth = 64;

}  // namespace

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

ByteSet SafeBytes::find_before(const ExprSet& exprs, ExprId condition, std::uint8_t end) {
  ByteSet ending;
  for (ExprId each : operands_of(exprs, condition, Op::intersection)) {
    if (exprs[each].op != Op::complement) return {};
    for (ExprId excluded : operands_of(exprs, exprs[each].part(), Op::union_of)) {
      const std::optional<Endings> found = endings(exprs, excluded, end, true, 0);
      if (!found) return {};
      ending = ending | found->last | found->before_end;
    }
  }
  ByteSet safe;
  for (unsigned byte = 0; byte < 256; ++byte) {
    if (!ending.contains(static_cast<std::uint8_t>(byte))) safe.insert(static_cast<std::uint8_t>(byte));
  }
  return safe;
}

std::optional<SafeBytes::Endings> SafeBytes::endings(const ExprSet& exprs, ExprId sequence, std::uint8_t end,
                                                     bool is_last, int depth) {
  if (depth == kMaxDepth) return std::nullopt;
  std::vector<ExprId> elements;
  for (; exprs[sequence].op == Op::concat; sequence = exprs[sequence].second()) {
    elements.push_back(exprs[sequence].first());
  }
  const bool is_lengthened = is_last && sequence == exprs.sigma_star();
  if (!is_lengthened) elements.push_back(sequence);
  Endings all;
  bool end_may_follow = false, is_nullable = true;  // of the elements that were read
  for (std::size_t i = elements.size(); i-- > 0 && (is_nullable || end_may_follow);) {
    const bool is_last_element = is_last && !is_lengthened && i + 1 == elements.size();
    const std::optional<Endings> found = endings_of_element(exprs, elements[i], end, is_last_element, depth);
    if (!found) return std::nullopt;
    if (end_may_follow) all.before_end = all.before_end | found->last;
    if (is_nullable) {
      all.last = all.last | found->last;
      all.before_end = all.before_end | found->before_end;
    }
    const bool element_is_nullable = exprs[elements[i]].nullable;
    end_may_follow = (end_may_follow && element_is_nullable) || (is_nullable && found->has_end);
    is_nullable = is_nullable && element_is_nullable;
  }
  all.has_end = end_may_follow;
  return all;
}

std::optional<SafeBytes::Endings> SafeBytes::endings_of_element(const ExprSet& exprs, ExprId element, std::uint8_t end,
                                                                bool is_last, int depth) {
  const Expr& expr = exprs[element];
  Endings all;
  switch (expr.op) {
    case Op::epsilon: return all;
    case Op::bytes:
      all.last = exprs.set(expr.set_index());
      all.has_end = all.last.contains(end);
      return all;
    case Op::text: {
      const std::string_view text = exprs.text_of(element);
      all.last = ByteSet::of(static_cast<std::uint8_t>(text.back()));
      if (!all.last.contains(end)) return all;
      all.has_end = text.size() == 1;
      if (!all.has_end) all.before_end = ByteSet::of(static_cast<std::uint8_t>(text[text.size() - 2]));
      return all;
    }
    case Op::repeat: {
      const bool is_single = expr.maximum() == 1;
      std::optional<Endings> found = endings(exprs, expr.part(), end, is_last && is_single, depth + 1);
      if (found && !is_single && found->has_end) found->before_end = found->before_end | found->last;
      return found;
    }
    case Op::union_of: {
      const std::uint64_t key = std::uint64_t{element.value} << 9 | std::uint64_t{end} << 1 | std::uint64_t{is_last};
      if (const auto known = known_endings_.find(key); known != known_endings_.end()) return known->second;
      for (ExprId operand : exprs.operands(element)) {
        const std::optional<Endings> found = endings(exprs, operand, end, is_last, depth + 1);
        if (!found) return known_endings_[key] = std::nullopt;
        all.last = all.last | found->last;
        all.before_end = all.before_end | found->before_end;
        all.has_end = all.has_end || found->has_end;
      }
      return known_endings_[key] = all;
    }
    default: return std::nullopt;
  }
}

}  // namespace detent

#include "automaton/escaped_lengths.h"

#include <algorithm>

#include "expr/lengths.h"

namespace detent {

std::optional<std::uint32_t> EscapedLengths::find(ExprId id) {
  if (exprs_[id].has_strict_guard && known(id) == kUnknown) {
    std::vector<ExprId> order;  // parts before what they are parts of, except through rules
    struct Open {
      ExprId id;
      bool is_expanded;
    };
    std::vector<Open> open{{id, false}};
    std::vector<ExprId> parts;
    bool is_defined = true;
    while (!open.empty()) {
      const Open at = open.back();
      open.pop_back();
      if (at.is_expanded) {
        order.push_back(at.id);
        continue;
      }
      if (known(at.id) != kUnknown) continue;
      remember(at.id, kNone);
      meter_.step();
      open.push_back({at.id, true});
      parts.clear();
      is_defined &= add_unknown_parts(at.id, parts);
      for (ExprId part : parts) open.push_back({part, false});
    }
    for (bool has_changed = true; has_changed;) {
      has_changed = false;
      meter_.step(std::ssize(order) / 8);
      for (ExprId each : order) {
        const std::uint32_t found = length_of(each);
        if (found >= known(each) || found == kUnknown) continue;
        has_changed = true;
        remember(each, found);
      }
    }
    const std::uint32_t length = known(id);
    if (!is_defined) {
      for (ExprId each : order) remember(each, kUnknown);
    }
    return length == kNone ? std::nullopt : std::optional(length);
  }
  const std::uint32_t length = length_of(id);
  return length == kNone ? std::nullopt : std::optional(length);
}

bool EscapedLengths::add_unknown_parts(ExprId id, std::vector<ExprId>& parts) const {
  const Expr& expr = exprs_[id];
  const auto add = [&](ExprId part) {
    if (exprs_[part].has_strict_guard && known(part) == kUnknown) parts.push_back(part);
  };
  switch (expr.op) {
    case Op::concat:
      add(expr.first());
      add(expr.second());
      break;
    case Op::union_of:
      for (ExprId operand : exprs_.operands(id)) add(operand);
      break;
    case Op::repeat:
    case Op::maximal_munch: add(expr.part()); break;
    case Op::rule: add(exprs_.definition(id)); return exprs_.definition(id) != ExprSet::kEmpty;
    default: break;
  }
  return true;
}

std::uint32_t EscapedLengths::length_of(ExprId id) const {
  const Expr& expr = exprs_[id];
  if (!expr.has_strict_guard) return expr.nonempty ? expr.min_length : kNone;
  const auto part_length = [this](ExprId part) {
    if (!exprs_[part].has_strict_guard) return length_of(part);
    const std::uint32_t length = known(part);
    return length == kUnknown ? kNone : length;
  };
  switch (expr.op) {
    case Op::concat: return saturating_add(part_length(expr.first()), part_length(expr.second()));
    case Op::union_of: {
      std::uint32_t least = kNone;
      for (ExprId operand : exprs_.operands(id)) least = std::min(least, part_length(operand));
      return least;
    }
    case Op::repeat: return expr.minimum() == 0 ? 0 : saturating_multiply(part_length(expr.part()), expr.minimum());
    case Op::rule: return part_length(exprs_.definition(id));
    case Op::maximal_munch: return expr.escape() == 0 ? kNone : saturating_add(part_length(expr.part()), expr.escape());
    default: return kNone;
  }
}

}  // namespace detent

#include "automaton/witness_text.h"

#include <algorithm>
#include <utility>

#include "expr/json_string.h"

namespace detent {
namespace {

constexpr int kMaxDepth = 3;  // of intersections inside each other

}  // namespace

std::optional<std::string> WitnessText::find(ExprId id, std::size_t longest, int depth) {
  const std::vector<ExprId> operands(exprs_.operands(id).begin(), exprs_.operands(id).end());
  ExprId chosen = ExprSet::kEmpty;
  for (ExprId operand : operands) {
    const Expr& each = exprs_[operand];
    if (!each.nonempty || each.min_length > longest) continue;
    if (chosen == ExprSet::kEmpty || each.min_length > exprs_[chosen].min_length) chosen = operand;
  }
  if (chosen == ExprSet::kEmpty) return std::nullopt;
  std::optional<std::string> text = write(chosen, longest, depth);
  const auto has_text = [&](ExprId operand) { return operand == chosen || contains(operand, *text); };
  if (!text || !std::ranges::all_of(operands, has_text)) return std::nullopt;
  return text;
}

std::optional<std::string> WitnessText::write(ExprId id, std::size_t longest, int depth) {
  std::string text;
  std::vector<ExprId> parts{id};
  // A part without a byte may take a step too: a rule, for example.
  for (std::size_t steps = 0; !parts.empty(); ++steps) {
    const ExprId part = parts.back();
    const Expr expr = exprs_[part];
    parts.pop_back();
    if (steps % 16 == 0) meter_.step();
    if (text.size() > longest || steps > 4 * longest) return std::nullopt;
    if (expr.nullable) continue;
    if (expr.op == Op::bytes) {
      text += static_cast<char>(exprs_.set(expr.set_index()).first());
    } else if (expr.op == Op::text) {
      text += exprs_.text_of(part);
    } else if (expr.op == Op::intersection && depth < kMaxDepth) {
      const std::optional<std::string> inner = find(part, longest - text.size(), depth + 1);
      if (!inner) return std::nullopt;
      text += *inner;
    } else if (!add_parts(part, longest, parts)) {
      return std::nullopt;
    }
  }
  if (text.size() > longest) return std::nullopt;
  return text;
}

bool WitnessText::add_parts(ExprId id, std::size_t longest, std::vector<ExprId>& parts) const {
  const Expr& expr = exprs_[id];
  switch (expr.op) {
    case Op::concat: parts.insert(parts.end(), {expr.second(), expr.first()}); return true;
    case Op::union_of: {
      const auto cost = [this](ExprId part) { return std::pair(exprs_[part].min_length, exprs_[part].has_rule); };
      parts.push_back(*std::ranges::min_element(exprs_.operands(id), {}, cost));
      return true;
    }
    case Op::repeat:
      if (expr.minimum() > longest) return false;
      parts.insert(parts.end(), expr.minimum(), expr.part());
      return true;
    case Op::rule: parts.push_back(exprs_.definition(id)); return true;
    case Op::json_escaped:
      if (escape_position_of(expr.escape_position()) != EscapePosition::text) return false;
      if (!exprs_[expr.part()].only_unescaped) return false;
      parts.push_back(expr.part());
      return true;
    case Op::unordered:
    case Op::ordered: return exprs_.add_required_members(id, parts);
    default: return false;
  }
}

bool WitnessText::contains(ExprId id, const std::string& text) {
  const bool is_negated = exprs_[id].op == Op::complement;
  if (is_negated) id = exprs_[id].part();
  meter_.step(std::ssize(text) / 8);  // most rows are known
  for (char byte : text) {
    if (id == ExprSet::kEmpty) break;
    id = derivatives_.after(id, derivatives_.class_of()[static_cast<std::uint8_t>(byte)]);
  }
  return exprs_[id].nullable != is_negated;
}

}  // namespace detent

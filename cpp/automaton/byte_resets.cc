#include "automaton/byte_resets.h"

#include <algorithm>
#include <string>
#include <unordered_set>
#include <utility>

#include "expr/first_bytes.h"
#include "expr/parts.h"

namespace detent {
namespace {

constexpr int kMaxDepth = 64;

std::uint64_t key(ExprId id, std::uint8_t byte) { return std::uint64_t{id.value} << 8 | byte; }

}  // namespace

ExprId ByteResets::find(ExprSet& exprs, Derivatives& derivatives, ExprId id, std::uint8_t byte) {
  if (const auto known = known_.find(key(id, byte)); known != known_.end()) return known->second;
  const ExprId target = find_by_form(exprs, derivatives, id, byte);
  if (target == ExprSet::kEmpty) return visit(exprs, derivatives, id, byte);
  return known_[key(id, byte)] = target;
}

ExprId ByteResets::visit(const ExprSet& exprs, Derivatives& derivatives, ExprId id, std::uint8_t byte) {
  std::vector<ExprId> states{id};
  std::unordered_set<std::uint32_t> seen{id.value};
  ExprId target = ExprSet::kEmpty;
  for (std::size_t i = 0; i < states.size(); ++i) {
    if (states.size() > kMaxStates) return known_[key(id, byte)] = ExprSet::kEmpty;
    const ExprId* row = derivatives.row(states[i]);
    const ExprId next = row[derivatives.class_of()[byte]];
    if (next != ExprSet::kEmpty && target != ExprSet::kEmpty && next != target)
      return known_[key(id, byte)] = ExprSet::kEmpty;
    if (next != ExprSet::kEmpty) target = next;
    for (std::uint32_t c = 0; c < derivatives.class_count(); ++c) {
      if (row[c] != ExprSet::kEmpty && seen.insert(row[c].value).second) states.push_back(row[c]);
    }
  }
  if (!exprs[target].nullable) target = ExprSet::kEmpty;
  for (ExprId state : states) known_[key(state, byte)] = target;
  return target;
}

ExprId ByteResets::find_by_form(ExprSet& exprs, Derivatives& derivatives, ExprId id, std::uint8_t byte) {
  std::vector<ExprId> found;
  for (ExprId condition : operands_of(exprs, id, Op::intersection)) {
    if (exprs[condition].op != Op::complement) return ExprSet::kEmpty;
    const ExprId excluded = exprs[condition].part();
    const Targets targets = targets_of(exprs, excluded, byte, 0);
    if (!targets) return ExprSet::kEmpty;
    const ExprId target = exprs.union_of(*targets);
    if (!targets->empty() && !always_leads_to(exprs, derivatives, excluded, target, byte)) return ExprSet::kEmpty;
    found.push_back(exprs.complement(target));
  }
  const ExprId target = exprs.intersection(std::move(found));
  return exprs[target].nullable ? target : ExprSet::kEmpty;
}

ByteResets::Targets ByteResets::targets_of(ExprSet& exprs, ExprId id, std::uint8_t byte, int depth) {
  if (depth == kMaxDepth) return std::nullopt;
  if (depth == 0 || exprs[id].op != Op::union_of) return find_targets(exprs, id, byte, depth);
  if (const auto known = targets_.find(key(id, byte)); known != targets_.end()) return known->second;
  return targets_[key(id, byte)] = find_targets(exprs, id, byte, depth);
}

ByteResets::Targets ByteResets::find_targets(ExprSet& exprs, ExprId id, std::uint8_t byte, int depth) {
  std::vector<ExprId> found;
  const ExprId all = depth == 0 ? exprs.sigma_star() : ExprSet::kEmpty;  // nothing follows a sequence: it is excluded
  for (ExprId at : operands_of(exprs, id, Op::union_of)) {
    while (at != ExprSet::kEpsilon && at != all) {
      const auto [head, rest] = split_first(exprs, at);
      at = rest;
      const Expr expr = exprs[head];
      Targets of_head = std::vector<ExprId>{};
      if (expr.op == Op::bytes) {
        if (exprs.set(expr.set_index()).contains(byte)) of_head->push_back(ExprSet::kEpsilon);
      } else if (expr.op == Op::text) {
        const std::string text(exprs.text_of(head));
        for (std::size_t i = 0; i < text.size(); ++i) {
          if (static_cast<std::uint8_t>(text[i]) == byte) of_head->push_back(exprs.literal(text.substr(i + 1)));
        }
      } else if (expr.op == Op::union_of || expr.op == Op::repeat) {
        of_head = targets_of(exprs, expr.op == Op::repeat ? expr.part() : head, byte, depth + 1);
        if (!of_head) return std::nullopt;
        const bool is_counted = expr.op == Op::repeat && expr.maximum() > 1 &&
                                (expr.maximum() != ExprSet::kUnbounded || expr.minimum() > 1);
        if (is_counted && !of_head->empty()) return std::nullopt;
        if (expr.op == Op::repeat && expr.maximum() == ExprSet::kUnbounded) {
          const ExprId more = exprs.repeat(expr.part(), 0, ExprSet::kUnbounded);
          for (ExprId& target : *of_head) target = exprs.concat(target, more);
        }
      } else if (expr.op != Op::epsilon) {
        return std::nullopt;
      }
      for (ExprId target : *of_head) {
        if (rest == all && exprs[target].nullable) continue;
        target = exprs.concat(target, rest);
        if (target == all) continue;
        if (std::ranges::find(found, target) == found.end()) found.push_back(target);
      }
      if (found.size() > kMaxTargets) return std::nullopt;
    }
  }
  return found;
}

// Some operand of `id` must be a loop, such as `.*` or `.*\W`, and what follows it, and lead to `target` after each
// text of the loop.
bool ByteResets::always_leads_to(ExprSet& exprs, Derivatives& derivatives, ExprId id, ExprId target,
                                 std::uint8_t byte) {
  constexpr std::size_t kFewElements = 8;
  std::vector<ExprId> ends;  // of the operands of the target
  for (ExprId end : operands_of(exprs, target, Op::union_of)) {
    for (std::size_t i = 0; i < kFewElements && end != ExprSet::kEpsilon; ++i) {
      end = split_first(exprs, end).second;
      ends.push_back(end);
    }
  }
  for (ExprId operand : operands_of(exprs, id, Op::union_of)) {
    std::vector<ExprId> elements;
    while (operand != ExprSet::kEpsilon) {
      const auto [first, rest] = split_first(exprs, operand);
      elements.push_back(first);
      operand = rest;
      if (std::ranges::find(ends, rest) == ends.end()) continue;
      const ExprId end = end_of_loop(exprs, derivatives, concat_elements(exprs, elements), byte);
      if (end == ExprSet::kEmpty) continue;
      std::vector<ExprId> after = operands_of(exprs, end, Op::union_of);
      for (ExprId& each : after) each = exprs.concat(each, rest);
      if (exprs.union_of(std::move(after)) == target) return true;
    }
  }
  return false;
}

// What `byte` leads to from a part of each residual of `loop`; the empty language where there is none, or the residuals
// are many. The part is the operands that begin with `byte`. Case: `.*` and a character that is no letter have 312
// residuals, since characters have many first bytes; their parts are few.
ExprId ByteResets::end_of_loop(ExprSet& exprs, Derivatives& derivatives, ExprId loop, std::uint8_t byte) {
  constexpr std::size_t kFewStates = 64;
  const auto [known, is_new] = loops_.try_emplace(key(loop, byte), ExprSet::kEmpty);
  if (!is_new) return known->second;
  FirstBytes first_bytes(exprs);
  const auto with_byte = [&](ExprId state) {
    std::vector<ExprId> operands = operands_of(exprs, state, Op::union_of);
    std::erase_if(operands, [&](ExprId operand) { return !first_bytes.of(operand).contains(byte); });
    return exprs.union_of(std::move(operands));
  };
  std::vector<ExprId> states{with_byte(loop)};
  std::unordered_set<std::uint32_t> seen{states[0].value};
  ExprId target = ExprSet::kEmpty;
  for (std::size_t i = 0; i < states.size(); ++i) {
    if (states[i] == ExprSet::kEmpty || states.size() > kFewStates) return ExprSet::kEmpty;
    const ExprId* const found = derivatives.row(states[i]);
    const std::vector<ExprId> row(found, found + derivatives.class_count());
    const ExprId next = row[derivatives.class_of()[byte]];
    if (next == ExprSet::kEmpty || (target != ExprSet::kEmpty && next != target)) return ExprSet::kEmpty;
    target = next;
    for (ExprId each : row) {
      const ExprId part = with_byte(each);
      if (seen.insert(part.value).second) states.push_back(part);
    }
  }
  return loops_[key(loop, byte)] = target;
}

}  // namespace detent

#include "automaton/alternatives.h"

#include <algorithm>
#include <utility>

#include "expr/horizon.h"

namespace detent {
namespace {

constexpr int kMaxDepth = 4;               // operators above the union
constexpr std::uint32_t kLoopReach = 32;   // bytes
constexpr std::int64_t kSplitBytes = 128;  // of the entries of a state

std::vector<ExprId> split(ExprSet& exprs, ExprId id, int depth) {
  const Expr expr = exprs[id];
  if (expr.op == Op::union_of) return {exprs.operands(id).begin(), exprs.operands(id).end()};
  if (depth == kMaxDepth) return {id};
  std::vector<ExprId> parts;
  switch (expr.op) {
    case Op::concat:
      parts = split(exprs, expr.first(), depth + 1);
      for (ExprId& part : parts) part = exprs.concat(part, expr.second());
      return parts;
    case Op::json_escaped:
      parts = split(exprs, expr.part(), depth + 1);
      for (ExprId& part : parts) part = exprs.json_escaped(part, expr.escape_position(), expr.escape_bits());
      return parts;
    case Op::intersection: {
      const std::vector<ExprId> operands(exprs.operands(id).begin(), exprs.operands(id).end());
      // Of several unions, each choice of operands would be an alternative.
      if (std::ranges::count_if(operands, [&](ExprId operand) { return exprs[operand].op == Op::union_of; }) > 1) {
        return {id};
      }
      for (std::size_t i = 0; i < operands.size(); ++i) {
        parts = split(exprs, operands[i], depth + 1);
        if (parts.size() < 2 || parts.size() > kMaxAlternatives) continue;
        for (ExprId& part : parts) {
          std::vector<ExprId> others = operands;
          others[i] = part;
          part = exprs.intersection(std::move(others));
        }
        return parts;
      }
      return {id};
    }
    default: return {id};
  }
}

}  // namespace

std::vector<ExprId> distribute_unions(ExprSet& exprs, ExprId id) { return split(exprs, id, 0); }

std::vector<ExprId> alternatives_of(ExprSet& exprs, Liveness& liveness, ExprId state) {
  std::vector<ExprId> parts = split(exprs, state, 0);
  if (parts.size() < 2 || parts.size() > kMaxAlternatives) return {state};
  std::erase_if(parts, [&liveness](ExprId part) { return part == ExprSet::kEmpty || !liveness.live(part); });
  return parts;
}

std::vector<AlternativeId> Alternatives::split(ExprId state) {
  if (const auto known = splits_.find(state.value); known != splits_.end()) return known->second;
  std::vector<AlternativeId> ids;
  for (ExprId part : alternatives_of(exprs_, liveness_, state)) {
    const auto [id, is_new] = ids_.try_emplace(part.value, AlternativeId{static_cast<std::uint32_t>(states_.size())});
    if (is_new) {
      states_.push_back(part);
      expanded_.emplace_back();
    }
    ids.push_back(id->second);
  }
  std::ranges::sort(ids);
  ids.erase(std::ranges::unique(ids).begin(), ids.end());
  meter_.step(std::ssize(ids));
  meter_.allocate(kSplitBytes + std::ssize(ids) * static_cast<std::int64_t>(sizeof(AlternativeId)));
  return splits_[state.value] = ids;
}

const Alternative& Alternatives::expand(AlternativeId id) {
  if (const Alternative* known = find(id)) return *known;
  const ExprId state = states_[id.value];
  Alternative alternative;
  alternative.state = state;
  alternative.accepting = exprs_[state].nullable;
  alternative.completion_bound = liveness_.bound(state);
  alternative.last_bytes = last_bytes(state);
  find_loop(alternative);
  const ExprId* row = derivatives_.row(state);
  loops_.mark_live(state, row);
  ExprId last = ExprSet::kEmpty;
  std::vector<AlternativeId> ids;
  for (std::uint32_t c = 0; c < derivatives_.class_count(); ++c) {
    alternative.first.push_back(static_cast<std::uint32_t>(alternative.successors.size()));
    if (row[c] == ExprSet::kEmpty) continue;
    if (row[c] != last) {
      last = row[c];
      ids = liveness_.live(last) ? split(last) : std::vector<AlternativeId>{};
    }
    alternative.successors.insert(alternative.successors.end(), ids.begin(), ids.end());
  }
  alternative.first.push_back(static_cast<std::uint32_t>(alternative.successors.size()));
  meter_.allocate(
      static_cast<std::int64_t>(sizeof(Alternative) + (alternative.first.size() + alternative.successors.size()) * 4));
  storage_.push_back(std::move(alternative));
  expanded_[id.value].store(&storage_.back(), std::memory_order_release);
  return storage_.back();
}

// A count beyond the reach of most tokens does not end a loop.
void Alternatives::find_loop(Alternative& alternative) {
  const ExprId state = alternative.state;
  const ExprId clamped = clamp_counts(exprs_, state, kLoopReach, clamped_);
  alternative.loop = loops_.find(clamped);
  if (clamped == state) return;
  alternative.loop_reach = kLoopReach;
  alternative.loop.completion_bound = exprs_[state].max_completion_bound;
}

// The last part of a concatenation decides, unless it is nullable.
ByteSet Alternatives::last_bytes(ExprId state) const {
  while (exprs_[state].op == Op::concat) state = exprs_[state].second();
  const Expr& expr = exprs_[state];
  if (expr.op == Op::bytes) return exprs_.set(expr.set_index());
  if (expr.op == Op::text) return ByteSet::of(static_cast<std::uint8_t>(exprs_.text_of(state).back()));
  return ByteSet::all();
}

}  // namespace detent

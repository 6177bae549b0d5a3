#include "automaton/cfg_intersection.h"

#include <algorithm>
#include <set>

#include "base/error.h"

namespace detent {
namespace {

// Goals with an intersection or complement of rules that one search expands byte by byte; some 0.1 s.
constexpr int kMaxUnderAlgebra = 10'000;

}  // namespace

bool CfgIntersection::cfg_meets_regular(ExprId grammar, ExprId regular) {
  const Goal top{grammar, regular};
  tables_[top];
  open_.push_back(top);
  while (!open_.empty() || !reports_.empty()) {
    if (reports_.empty()) {
      const Goal goal = open_.back();
      open_.pop_back();
      meter_.step();
      expand(goal);
      continue;
    }
    const auto [goal, state] = reports_.back();
    reports_.pop_back();
    if (goal == top && exprs_[state].nullable) return true;
    const std::vector<Waiter> waiters = tables_[goal].waiters;
    for (const Waiter& waiter : waiters) resume(waiter, state);
  }
  return false;
}

void CfgIntersection::charge(std::int64_t bytes) {
  meter_.allocate(bytes);
  bytes_ += bytes;
}

void CfgIntersection::report(const Goal& goal, ExprId state) {
  Table& table = tables_[goal];
  if (!table.seen.insert(state.value).second) return;
  meter_.step();
  charge(64);
  table.found.push_back(state);
  reports_.emplace_back(goal, state);
}

void CfgIntersection::ask(const Goal& goal, const Waiter& waiter) {
  const auto [table, is_new] = tables_.try_emplace(goal);
  table->second.waiters.push_back(waiter);
  meter_.step();
  if (is_new) {
    charge(256);
    open_.push_back(goal);
    return;
  }
  const std::vector<ExprId> found = table->second.found;
  for (ExprId state : found) resume(waiter, state);
}

void CfgIntersection::resume(const Waiter& waiter, ExprId state) {
  meter_.step();
  if (waiter.rest == ExprSet::kEpsilon) return report(waiter.goal, state);
  const Goal rest{waiter.rest, state};
  if (!resumed_[rest].insert(waiter.goal).second) return;
  charge(64);
  ask(rest, {waiter.goal, ExprSet::kEpsilon});
}

void CfgIntersection::expand(const Goal& goal) {
  const ExprId x = goal.part, from = goal.from;
  const Expr expr = exprs_[x];
  if (expr.nullable) report(goal, from);
  if (x == ExprSet::kEpsilon) return;
  if (!expr.has_rule) return expand_bytes(goal);
  switch (expr.op) {
    case Op::concat: ask({expr.first(), from}, {goal, expr.second()}); break;
    case Op::union_of:
      for (ExprId operand : std::vector<ExprId>(exprs_.operands(x).begin(), exprs_.operands(x).end())) {
        ask({operand, from}, {goal, ExprSet::kEpsilon});
      }
      break;
    case Op::repeat: {
      const std::uint32_t low = expr.minimum() == 0 ? 0 : expr.minimum() - 1;
      const std::uint32_t high = expr.maximum() == ExprSet::kUnbounded ? ExprSet::kUnbounded : expr.maximum() - 1;
      ask({expr.part(), from}, {goal, exprs_.repeat(expr.part(), low, high)});
      break;
    }
    case Op::rule: ask({exprs_.definition(x), from}, {goal, ExprSet::kEpsilon}); break;
    case Op::ordered:
    case Op::unordered: {
      std::vector<Derivatives::Term> terms;
      if (expr.op == Op::ordered) {
        derivatives_.expand_ordered(terms, x, ExprSet::kEpsilon);
      } else {
        derivatives_.expand_unordered(terms, x, ExprSet::kEpsilon);
      }
      for (const auto& [head, tail] : terms) ask({head, from}, {goal, tail});
      break;
    }
    default:  // an intersection or complement inside a rule: finitely many residuals where its own rules are regular
      if (++residuals_under_algebra_ > kMaxUnderAlgebra) throw Error(ErrorKind::unsupported, "rules_under_algebra");
      expand_bytes(goal);
  }
}

void CfgIntersection::expand_bytes(const Goal& goal) {
  const std::uint32_t class_count = derivatives_.class_count();
  const ExprId* first = derivatives_.row(goal.part);
  const std::vector<ExprId> row(first, first + class_count);  // the next call may grow the rows
  const ExprId* regular_row = derivatives_.row(goal.from);
  std::set<std::pair<ExprId, ExprId>> steps;
  for (std::uint32_t c = 0; c < class_count; ++c) {
    if (row[c] != ExprSet::kEmpty && regular_row[c] != ExprSet::kEmpty) steps.emplace(row[c], regular_row[c]);
  }
  for (const auto& [residual, state] : steps) ask({residual, state}, {goal, ExprSet::kEpsilon});
}

}  // namespace detent

// CfgIntersection: whether a context-free language and a regular one have a common string.
//
// 1. A goal (x, r) asks to which states of the regular language the strings of x, which may call rules, lead state r.
// 2. The answers of (x y, r) are the answers of (y, s) for each answer s of (x, r). A union has the answers of its
//    operands, a rule those of its definition. An expression without rules is followed byte by byte. So are an
//    intersection and a complement of rules inside a rule; where they have too many residuals, the search throws
//    `unsupported`.
// 3. Goals are tabled: each is expanded once, and each new answer resumes the goals that wait for it. There are at most
//    (expressions of the grammar) x (states) goals, so the search ends although rules recurse.
// (Bar-Hillel, Perles & Shamir 1961, from the start symbol down; docs/algorithms/grammars.md.)
#pragma once

#include <cstdint>
#include <unordered_map>
#include <unordered_set>
#include <utility>
#include <vector>

#include "expr/derivative.h"

namespace detent {

class CfgIntersection {
 public:
  CfgIntersection(ExprSet& exprs, Derivatives& derivatives, Meter& meter)
      : exprs_(exprs), derivatives_(derivatives), meter_(meter) {}
  ~CfgIntersection() { meter_.release(bytes_); }
  CfgIntersection(const CfgIntersection&) = delete;
  CfgIntersection& operator=(const CfgIntersection&) = delete;

  // Whether some string of `grammar` leads `regular` to acceptance. Call it once.
  bool cfg_meets_regular(ExprId grammar, ExprId regular);

 private:
  struct Goal {
    ExprId part;
    ExprId from;
    bool operator==(const Goal&) const = default;
  };
  struct GoalHash {
    std::size_t operator()(const Goal& goal) const { return mix(goal.part.value, goal.from.value); }
  };
  struct Waiter {
    Goal goal;
    ExprId rest;  // what the waiting goal reads after the state is found
  };
  struct Table {
    std::vector<ExprId> found;  // states
    std::unordered_set<std::uint32_t> seen;
    std::vector<Waiter> waiters;
  };

  void ask(const Goal& goal, const Waiter& waiter);
  void report(const Goal& goal, ExprId state);
  void resume(const Waiter& waiter, ExprId state);
  void expand(const Goal& goal);
  void expand_bytes(const Goal& goal);
  void charge(std::int64_t bytes);

  ExprSet& exprs_;
  Derivatives& derivatives_;
  Meter& meter_;
  std::int64_t bytes_ = 0;  // returned to the meter by the destructor
  std::unordered_map<Goal, Table, GoalHash> tables_;
  std::unordered_map<Goal, std::unordered_set<Goal, GoalHash>, GoalHash> resumed_;  // the goals with all its answers
  int residuals_under_algebra_ = 0;  // goals with an intersection or complement of rules that were expanded
  std::vector<Goal> open_;           // goals to expand
  std::vector<std::pair<Goal, ExprId>> reports_;  // states whose waiters must be resumed
};

}  // namespace detent

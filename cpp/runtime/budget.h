// Budget: the fewest tokens that complete a text from a state, so that generation ends within its limit.
//
// completes_within(state, k) is exact: true if and only if a sequence of at most k text tokens leads from the state to
// acceptance. Each state has a lower and an upper bound of the least k. docs/algorithms/budgets.md derives the method:
//
// 1. Where every byte is a token, the bytes of the shortest completion are the first upper bound.
// 2. Near the limit, this completion is tokenized into the fewest tokens: a tighter upper bound.
// 3. Between the bounds, a breadth-first search over token steps decides, and tightens the bounds of the states it saw.
//
// A state that calls rules may have infinitely many successors. There step 3 is left out: completes_within() may be
// false where only a completion that step 2 does not find would fit.
// Safe for threads; one lock.
#pragma once

#include <cstdint>
#include <mutex>
#include <optional>
#include <unordered_map>
#include <vector>

#include "base/limits.h"
#include "expr/expr_set.h"

namespace detent {

class LanguageMachine;

class Budget {
 public:
  Budget(LanguageMachine& machine, const Limits& limits) : machine_(machine), meter_(limits) {}

  bool completes_within(ExprId state, std::uint32_t tokens);

  // Whether every successor of `state` completes within `tokens`. False may mean "not known".
  bool all_fit(ExprId state, std::uint32_t tokens);
  // Records that `successors` are all successors of `state`, and that their upper bounds are known.
  void record_successors(ExprId state, const std::vector<ExprId>& successors);

  // The tokens of a shortest completion; with rules, of the completion of the fewest bytes.
  std::vector<std::uint32_t> shortest_completion(ExprId state);

  // The number of tokens of the longest completion, or nothing where they have no bound.
  std::optional<std::uint32_t> longest_completion(ExprId state);

 private:
  static constexpr std::uint32_t kUnknown = UINT32_MAX;
  struct Bounds {
    std::uint32_t lower = 1;
    std::uint32_t upper = kUnknown;
    std::uint32_t worst_successor = kUnknown;  // at least the largest `upper` of the successors, once they are known
    bool initialized = false;                  // whether `upper` has its first value
    bool tightened = false;                    // whether the shortest completion was tokenized
  };
  // A state of a breadth-first search, and the index of the state before it.
  struct SearchNode {
    ExprId state;
    std::size_t parent;
    std::uint32_t depth;
  };

  bool has_every_byte() const;
  // Whether the search over successors may not end.
  bool is_recursive(ExprId state) const;
  Bounds& bounds(ExprId state);
  const std::vector<ExprId>& successors(ExprId state);
  void tighten(ExprId state);
  bool search(ExprId state, std::uint32_t tokens);
  void lower_upper_bounds(const std::vector<SearchNode>& nodes, std::size_t last, std::uint32_t completion);

  LanguageMachine& machine_;
  std::mutex mutex_;
  Meter meter_;
  std::unordered_map<std::uint32_t, Bounds> bounds_;
  std::unordered_map<std::uint32_t, std::vector<ExprId>> successors_;
};

}  // namespace detent

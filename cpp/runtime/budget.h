// Budget: how few tokens complete a text, so that generation always ends inside its limit.
//
// within(state, k) is exact: it is true if and only if some sequence of at most k text tokens leads from `state` to
// acceptance. Each state keeps a lower and an upper bound on that least number; where every byte is a token, the length
// of an end in bytes is the first upper bound, and the only thing that is looked at until a budget nears it; then that
// end is written in the fewest tokens. Between the bounds a breadth-first search over token steps decides, and what it
// learns tightens them. States that call rules may have no end of successors: there the end that is known decides, so
// that within() is true only if a text fits, but may be false where a shorter one was not found. Safe for threads; one
// lock.
#pragma once

#include <cstdint>
#include <mutex>
#include <optional>
#include <unordered_map>
#include <vector>

#include "base/limits.h"
#include "expr/expr_set.h"

namespace detent {

class Guide;

class Budget {
 public:
  Budget(Guide& guide, const Limits& limits) : guide_(guide), meter_(limits) {}

  bool within(ExprId state, std::uint32_t tokens);

  // Whether every token that `state` allows leads to a state within `tokens`. False may mean "not known to".
  bool slack(ExprId state, std::uint32_t tokens);
  // Remembers how far the ends are behind `state`, whose successors, all of them, are known to end.
  void settle(ExprId state, const std::vector<ExprId>& successors);

  // A shortest sequence of tokens that leads from `state` to acceptance.
  std::vector<std::uint32_t> shortest(ExprId state);

  // The length of the longest such sequence, or nothing where they have no bound.
  std::optional<std::uint32_t> longest(ExprId state);

 private:
  static constexpr std::uint32_t kUnknown = UINT32_MAX;
  struct Bounds {
    std::uint32_t lower = 1;
    std::uint32_t upper = kUnknown;
    std::uint32_t worst = kUnknown;  // at least the largest `upper` among the successors, once they were looked at
    bool asked = false;              // whether `upper` has its first value
    bool written = false;            // whether `upper` comes from an end that was written in the fewest tokens
  };

  Bounds& bounds(ExprId state);
  const std::vector<ExprId>& successors(ExprId state);
  void write_end(ExprId state);
  bool search(ExprId state, std::uint32_t tokens);

  Guide& guide_;
  std::mutex mutex_;
  Meter meter_;
  std::unordered_map<std::uint32_t, Bounds> bounds_;
  std::unordered_map<std::uint32_t, std::vector<ExprId>> successors_;
};

}  // namespace detent

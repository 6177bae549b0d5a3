#include "runtime/budget.h"

#include <algorithm>
#include <unordered_set>

#include "base/fork_guard.h"
#include "runtime/guide.h"

namespace detent {

Budget::Bounds& Budget::bounds(ExprId state) {
  Bounds& known = bounds_[state.value];
  if (!known.asked) {
    known.asked = true;
    if (guide_.accepting(state)) {
      known.lower = known.upper = 0;
    } else if (!guide_.vocabulary().tokenizable_texts()) {
      known.upper = guide_.completion_bound(state);
    }
  }
  return known;
}

const std::vector<ExprId>& Budget::successors(ExprId state) {
  const auto known = successors_.find(state.value);
  if (known != successors_.end()) return known->second;
  std::int64_t visited = 0;
  std::vector<ExprId> next = guide_.successors(state, visited);
  meter_.step(visited / 8 + 1);
  meter_.allocate(static_cast<std::int64_t>(next.size() * sizeof(ExprId)) + 64);
  return successors_[state.value] = std::move(next);
}

// Also bounds the states between the tokens, so that whoever follows them is never told otherwise.
void Budget::write_end(ExprId state) {
  constexpr std::uint32_t kLongestEnd = 1 << 16;  // bytes; a longer end counts by its bytes
  bounds_[state.value].written = true;
  if (guide_.completion_bound(state) > kLongestEnd) return;
  const std::vector<std::uint32_t> tokens = guide_.vocabulary().fewest_tokens(guide_.some_completion(state));
  meter_.allocate(static_cast<std::int64_t>(tokens.size() * sizeof(Bounds)));
  auto left = static_cast<std::uint32_t>(tokens.size());
  for (std::uint32_t token : tokens) {
    Bounds& known = bounds(state);
    known.upper = std::min(known.upper, left--);
    state = guide_.advance(state, guide_.vocabulary().bytes(token));
  }
}

bool Budget::within(ExprId state, std::uint32_t tokens) {
  const ForkGuard guard;
  const std::lock_guard lock(mutex_);
  meter_.restart();
  return search(state, tokens);
}

bool Budget::search(ExprId state, std::uint32_t tokens) {
  {
    const Bounds& known = bounds(state);
    if (known.upper <= tokens) return true;
    if (known.lower > tokens) return false;
    if (!known.written && !guide_.vocabulary().tokenizable_texts()) {
      write_end(state);
      if (bounds_[state.value].upper <= tokens) return true;
    }
    if (guide_.has_rule(state) && !guide_.vocabulary().tokenizable_texts()) return false;
  }
  struct Step {
    ExprId state;
    std::size_t from;
    std::uint32_t depth;
  };
  std::vector<Step> steps{{state, 0, 0}};
  std::unordered_set<std::uint32_t> seen{state.value};
  for (std::size_t i = 0; i < steps.size(); ++i) {
    const std::uint32_t depth = steps[i].depth + 1;
    if (depth > tokens) continue;
    for (ExprId next : successors(steps[i].state)) {
      if (!seen.insert(next.value).second) continue;
      const Bounds& known = bounds(next);
      if (known.lower > tokens - depth) continue;
      if (known.upper <= tokens - depth) {
        // Follow the path back: each state on it completes by way of `next`.
        std::uint32_t length = known.upper + 1;
        for (std::size_t k = i;; k = steps[k].from, ++length) {
          Bounds& on_path = bounds_[steps[k].state.value];
          on_path.upper = std::min(on_path.upper, length);
          if (k == 0) return true;
        }
      }
      steps.push_back({next, i, depth});
    }
  }
  for (const Step& step : steps) {
    Bounds& known = bounds_[step.state.value];
    known.lower = std::max(known.lower, tokens - step.depth + 1);
  }
  return false;
}

bool Budget::slack(ExprId state, std::uint32_t tokens) {
  const bool every_byte = guide_.vocabulary().tokenizable_texts() == nullptr;
  if (every_byte && guide_.max_completion_bound(state) <= tokens) return true;
  const ForkGuard guard;
  const std::lock_guard lock(mutex_);
  meter_.restart();
  if (bounds(state).worst == kUnknown && !(every_byte && guide_.has_rule(state))) {
    std::uint32_t worst = 0;
    for (ExprId next : successors(state)) worst = std::max(worst, bounds(next).upper);
    bounds_[state.value].worst = worst;
  }
  return bounds_[state.value].worst <= tokens && bounds_[state.value].worst != kUnknown;
}

void Budget::settle(ExprId state, const std::vector<ExprId>& successors) {
  const ForkGuard guard;
  const std::lock_guard lock(mutex_);
  std::uint32_t worst = 0;
  for (ExprId next : successors) worst = std::max(worst, bounds(next).upper);
  bounds(state).worst = std::min(bounds(state).worst, worst);
}

std::vector<std::uint32_t> Budget::shortest(ExprId state) {
  const ForkGuard guard;
  const std::lock_guard lock(mutex_);
  meter_.restart();
  if (guide_.has_rule(state) && !guide_.vocabulary().tokenizable_texts()) {
    return guide_.vocabulary().fewest_tokens(guide_.some_completion(state));
  }
  struct Step {
    ExprId state;
    std::size_t from;
  };
  std::vector<Step> steps{{state, 0}};
  std::unordered_set<std::uint32_t> seen{state.value};
  std::size_t i = 0;
  for (; !guide_.accepting(steps[i].state); ++i) {
    for (ExprId next : successors(steps[i].state)) {
      if (seen.insert(next.value).second) steps.push_back({next, i});
    }
  }
  std::vector<std::uint32_t> tokens;
  for (; i != 0; i = steps[i].from) tokens.push_back(guide_.token_between(steps[steps[i].from].state, steps[i].state));
  std::reverse(tokens.begin(), tokens.end());
  return tokens;
}

std::optional<std::uint32_t> Budget::longest(ExprId state) {
  const ForkGuard guard;
  const std::lock_guard lock(mutex_);
  meter_.restart();
  // Depth first, children before parents. All states are live, so that a cycle means no bound.
  struct Open {
    ExprId state;
    std::size_t next = 0;
    std::uint32_t length = 0;
  };
  constexpr std::uint32_t kOpen = UINT32_MAX;
  std::unordered_map<std::uint32_t, std::uint32_t> lengths{{state.value, kOpen}};
  std::vector<Open> path{{state}};
  while (true) {
    Open& last = path.back();
    const std::vector<ExprId>& next = successors(last.state);
    if (last.next < next.size()) {
      const ExprId child = next[last.next];
      const auto known = lengths.find(child.value);
      if (known == lengths.end()) {
        lengths[child.value] = kOpen;
        path.push_back({child});
        continue;
      }
      if (known->second == kOpen) return std::nullopt;
      last.length = std::max(last.length, known->second + 1);
      ++last.next;
      continue;
    }
    lengths[last.state.value] = last.length;
    if (path.size() == 1) return last.length;
    path.pop_back();
  }
}

}  // namespace detent

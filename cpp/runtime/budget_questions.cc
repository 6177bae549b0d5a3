// The part of Budget that answers questions about a language, which may take longer than a step.
#include <algorithm>
#include <deque>
#include <map>
#include <unordered_map>
#include <utility>

#include "base/fork_guard.h"
#include "runtime/budget.h"
#include "runtime/language_machine.h"

namespace detent {
namespace {

// The trie nodes of a question that count as a step; walks visit many nodes in a row.
constexpr std::int64_t kNodesPerStep = 40;

}  // namespace

Budget::Allowance Budget::allowance_of_question() const {
  constexpr std::int64_t kMost = INT64_MAX / 4 / kNodesPerStep;
  return {.work = kNodesPerStep * std::min(meter_.limits().question_steps(), kMost), .nodes_per_step = kNodesPerStep};
}

std::vector<std::uint32_t> Budget::search_exactly(ExprId state) {
  // The states on the way differ.
  const std::int64_t states = std::int64_t{least_tokens(state)} + 1, limit = meter_.limits().states;
  if (states > limit) throw Error(ErrorKind::limit, "states", states, limit);
  Allowance allowance = allowance_of_question();
  if (auto found = find_shortest(state, allowance)) return std::move(*found);
  refuse_question();
}

std::optional<std::vector<std::uint32_t>> Budget::find_shortest(ExprId state, Allowance& allowance) {
  return has_alternatives() ? distances_.shortest_completion(state, allowance) : search_completion(state, allowance);
}

void Budget::refuse_question() const {
  const std::int64_t limit = meter_.limits().question_steps();
  throw Error(ErrorKind::limit, "question_work", limit, limit);
}

// No completion has fewer tokens, by the length of the shortest string. A token lowers this by one at most.
std::uint32_t Budget::least_tokens(ExprId state) const {
  if (machine_.accepting(state)) return 0;
  const std::uint32_t longest = std::max<std::uint32_t>(machine_.vocabulary().max_token_length(), 1);
  return std::max(1u, (machine_.automaton().least_length(state) + longest - 1) / longest);
}

// Over token steps, those states first that may complete in the fewest tokens in all (A*); where no lengths are known,
// breadth first. Returns nothing if the allowance is used up first.
std::optional<std::vector<std::uint32_t>> Budget::search_completion(ExprId state, Allowance& allowance) {
  std::vector<SearchNode> nodes{{state, 0, 0}};
  std::unordered_map<std::uint32_t, std::uint32_t> depths{{state.value, 0}};
  std::map<std::uint32_t, std::deque<std::size_t>> open{{least_tokens(state), {0}}};  // nodes, by the tokens in all
  std::size_t at = 0;
  while (true) {
    while (open.begin()->second.empty()) open.erase(open.begin());
    const std::uint32_t total = open.begin()->first;
    at = open.begin()->second.front();
    open.begin()->second.pop_front();
    if (machine_.accepting(nodes[at].state)) break;
    const std::uint32_t depth = nodes[at].depth + 1;
    if (depths[nodes[at].state.value] < nodes[at].depth) continue;
    const std::vector<ExprId>* children = successors(nodes[at].state, allowance);
    if (!children) return std::nullopt;
    for (ExprId next : *children) {
      const auto [known, is_new] = depths.try_emplace(next.value, depth);
      if (!is_new && known->second <= depth) continue;
      known->second = depth;
      nodes.push_back({next, at, depth});
      const std::uint32_t least = least_tokens(next);
      if (least > 0) {
        open[depth + least].push_back(nodes.size() - 1);
      } else {
        open[depth].push_front(nodes.size() - 1);
        if (depth == total) break;  // no completion has fewer tokens
      }
    }
  }
  std::vector<std::uint32_t> tokens;
  for (; at != 0; at = nodes[at].parent) {
    tokens.push_back(machine_.token_between(nodes[nodes[at].parent].state, nodes[at].state));
  }
  std::reverse(tokens.begin(), tokens.end());
  return tokens;
}

// Depth first, children before parents. Every state has a completion, so a cycle means that there is no bound.
std::optional<std::uint32_t> Budget::longest_completion(ExprId state) {
  const ForkGuard guard;
  const std::lock_guard lock(mutex_);
  meter_.restart();
  struct Frame {
    ExprId state;
    std::size_t next_child = 0;
    std::uint32_t length = 0;
  };
  constexpr std::uint32_t kOnPath = UINT32_MAX;
  std::unordered_map<std::uint32_t, std::uint32_t> lengths{{state.value, kOnPath}};
  std::vector<Frame> path{{state}};
  Allowance allowance = allowance_of_question();
  while (true) {
    Frame& last = path.back();
    const std::vector<ExprId>* known_children = successors(last.state, allowance);
    if (!known_children) refuse_question();
    const std::vector<ExprId>& children = *known_children;
    if (last.next_child == children.size()) {
      lengths[last.state.value] = last.length;
      if (path.size() == 1) return last.length;
      path.pop_back();
      continue;
    }
    const ExprId child = children[last.next_child];
    const auto known = lengths.find(child.value);
    if (known == lengths.end()) {
      lengths[child.value] = kOnPath;
      path.push_back({child});
      continue;
    }
    if (known->second == kOnPath) return std::nullopt;
    last.length = std::max(last.length, known->second + 1);
    ++last.next_child;
  }
}

}  // namespace detent

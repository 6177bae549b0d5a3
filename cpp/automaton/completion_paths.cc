#include "automaton/completion_paths.h"

#include <algorithm>
#include <array>
#include <functional>
#include <queue>
#include <unordered_set>
#include <utility>
#include <vector>

#include "automaton/alternatives.h"
#include "expr/lengths.h"
#include "expr/row_scan.h"

namespace detent {
namespace {

constexpr std::int64_t kStepBytes = 48;
constexpr std::int64_t kNodeBytes = 96;  // of a search

}  // namespace

// A best-first search by remaining length. After kDescent nodes, every second node is one of the least total length
// instead (A*): a descent along lengths that do not fall might be endless.
struct CompletionPaths::Search {
  struct Node {
    ExprId state;
    std::size_t from;
    std::uint32_t depth;
    std::uint8_t byte;
    bool is_taken = false;
  };
  using Queue = std::priority_queue<std::pair<std::uint64_t, std::size_t>,
                                    std::vector<std::pair<std::uint64_t, std::size_t>>, std::greater<>>;

  std::vector<Node> nodes;
  Queue by_remaining, by_total;

  void add(const Node& node, std::uint32_t length, std::uint32_t least) {
    by_remaining.emplace(length, nodes.size());
    by_total.emplace(saturating_add(node.depth, least), nodes.size());
    nodes.push_back(node);
  }

  std::size_t next() {
    constexpr std::size_t kDescent = 4096;  // nodes
    while (true) {
      take_total_ = !take_total_ && nodes.size() > kDescent;
      Queue& queue = take_total_ ? by_total : by_remaining;
      const std::size_t index = queue.top().second;
      queue.pop();
      if (!std::exchange(nodes[index].is_taken, true)) return index;
    }
  }

 private:
  bool take_total_ = false;
};

CompletionPaths::Step CompletionPaths::step(ExprId state) {
  const auto known = steps_.find(state.value);
  if (known != steps_.end()) return known->second;
  find(state);
  return steps_.at(state.value);
}

std::vector<ExprId> CompletionPaths::parts(ExprId state) {
  const Expr& expr = exprs_[state];
  std::vector<ExprId> found;
  if (expr.nullable || expr.has_guard || expr.has_lookbehind || expr.has_lookbehind_end || expr.has_open_item ||
      expr.has_closed_item) {
    return found;
  }
  switch (expr.op) {
    case Op::concat: found = {expr.second(), expr.first()}; break;
    case Op::union_of: {
      const std::vector<ExprId> operands(exprs_.operands(state).begin(), exprs_.operands(state).end());
      found = {*std::ranges::min_element(operands, {}, [this](ExprId each) { return liveness_.length(each); })};
      break;
    }
    case Op::unordered:
    case Op::ordered:
      if (!exprs_.add_required_members(state, found)) found.clear();
      break;
    default: break;
  }
  meter_.step(std::ssize(found) / 16);
  return found;
}

std::uint32_t CompletionPaths::length_of(ExprId state) {
  const auto known = steps_.find(state.value);
  return known == steps_.end() ? liveness_.length(state) : known->second.length;
}

void CompletionPaths::find(ExprId state) {
  if (std::optional<std::string> text = liveness_.witness(state)) {
    remember(state, {*std::move(text), ExprSet::kEpsilon});
  } else if (const std::optional<Path> path = descend(state)) {
    remember(state, *path);
  } else {
    search(state);
  }
}

// The alternative of a union that has the least length, or the state itself.
ExprId CompletionPaths::nearest_alternative(ExprId state) {
  constexpr std::size_t kMaxParts = 256;
  const std::vector<ExprId> alternatives = distribute_unions(exprs_, state);
  if (alternatives.size() < 2 || alternatives.size() > kMaxParts) return state;
  meter_.step(std::ssize(alternatives));
  return *std::ranges::min_element(alternatives, {}, [this](ExprId each) { return liveness_.length(each); });
}

// A completion along the least lengths of alternatives; nothing where these do not fall.
std::optional<CompletionPaths::Path> CompletionPaths::descend(ExprId state) {
  const std::array<std::uint8_t, 256>& class_of = derivatives_.class_of();
  std::string text;
  std::uint32_t length = Liveness::kDead;
  while (!is_end(state)) {
    const ExprId* row = derivatives_.row(nearest_alternative(state));
    std::uint32_t least = Liveness::kDead;
    std::uint8_t best = 0;
    any_successor(row, derivatives_.class_count(), [&](std::uint32_t c) {
      if (c > 0 && row[c] == row[c - 1]) return false;
      const std::uint32_t found = length_of(row[c]);
      if (found >= least) return false;
      least = found;
      best = derivatives_.representative(c);
      return false;
    });
    if (least >= length) return std::nullopt;
    length = least;
    text += static_cast<char>(best);
    state = row[class_of[best]];
  }
  return Path{std::move(text), state};
}

// Remembers the steps from a state along a completion of it, up to a state with a known path. The states of this path
// may be others: unions with what `completion` left out.
void CompletionPaths::remember(ExprId state, const Path& completion) {
  std::vector<std::pair<ExprId, std::uint8_t>> path;
  ExprId rest = completion.rest;
  for (std::size_t i = 0; !is_end(state); ++i) {
    std::uint8_t byte = 0;
    if (i < completion.text.size()) {
      byte = static_cast<std::uint8_t>(completion.text[i]);
    } else {
      const Step& step = steps_.at(rest.value);
      byte = step.byte;
      rest = step.state;
    }
    path.emplace_back(state, byte);
    state = derivatives_.row(state)[derivatives_.class_of()[byte]];
  }
  meter_.allocate(std::ssize(path) * kStepBytes);
  for (; !path.empty(); path.pop_back()) {
    const auto [from, byte] = path.back();
    const std::uint32_t length = exprs_[state].nullable ? 0 : steps_.at(state.value).length;
    steps_.try_emplace(from.value, Step{byte, state, length + 1});
    state = from;
  }
}

// A live state leads to acceptance, so that the queues do not run empty.
void CompletionPaths::search(ExprId state) {
  Search search;
  std::unordered_set<std::uint32_t> seen{state.value};
  search.add({state, 0, 0, 0}, 0, 0);
  std::size_t last = search.next();
  for (; !is_end(search.nodes[last].state); last = search.next()) {
    const Search::Node from = search.nodes[last];
    const ExprId* row = derivatives_.row(from.state);
    for (unsigned byte = 0; byte < 256; ++byte) {
      const ExprId to = row[derivatives_.class_of()[byte]];
      if (to == ExprSet::kEmpty || (byte > 0 && to == row[derivatives_.class_of()[byte - 1]])) continue;
      meter_.step();
      const std::uint32_t length = length_of(to);
      if (length == Liveness::kDead || !seen.insert(to.value).second) continue;
      search.add({to, last, from.depth + 1, static_cast<std::uint8_t>(byte)}, length, exprs_[to].min_length);
    }
    if (search.nodes.size() % 1024 < 64) {
      meter_.check_headroom(static_cast<std::int64_t>(search.nodes.size()) * kNodeBytes);
    }
  }
  std::string text;
  for (std::size_t i = last; i != 0; i = search.nodes[i].from) text += static_cast<char>(search.nodes[i].byte);
  std::ranges::reverse(text);
  remember(state, {std::move(text), search.nodes[last].state});
}

}  // namespace detent

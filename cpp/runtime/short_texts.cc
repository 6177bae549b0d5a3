#include "runtime/short_texts.h"

#include <algorithm>
#include <functional>
#include <queue>
#include <unordered_map>
#include <utility>
#include <vector>

#include "expr/lengths.h"

namespace detent {
namespace {

constexpr std::uint32_t kMostExpanded = 4'000;  // nodes
constexpr std::size_t kMostNodes = 1 << 16;     // of a search: a few megabytes
constexpr std::int64_t kMostWork = 100'000;     // in steps of the automaton's meter
constexpr std::size_t kNone = SIZE_MAX;

}  // namespace

struct ShortTexts::Search {
  struct Node {
    ExprId state;
    PositionId position;
    std::uint32_t depth;  // bytes up to here
    std::uint32_t total;  // with the greedy completion; inside a character that of the character's start
    std::size_t from;     // index into `nodes`; kNone at a start
    std::uint8_t byte;    // the last one
  };
  using Entry = std::pair<std::uint64_t, std::size_t>;  // priority, index into `nodes`
  using Queue = std::priority_queue<Entry, std::vector<Entry>, std::greater<>>;

  std::vector<Node> nodes;
  std::vector<bool> is_expanded;                       // by node
  std::unordered_map<StateKey, std::uint32_t> depths;  // the least so far
  Queue by_least;                                      // by the least bytes of a whole text, the nearest end of equals
  Queue by_greedy;                                     // by the bytes with the greedy completion

  void add(const Node& node, std::uint32_t least) {
    const auto [depth, is_new] = depths.try_emplace(state_key(node.state, node.position), node.depth);
    if (!is_new && depth->second <= node.depth) return;
    depth->second = node.depth;
    by_least.emplace(std::uint64_t{saturating_add(node.depth, least)} << 32 | least, nodes.size());
    by_greedy.emplace(node.total, nodes.size());
    nodes.push_back(node);
    is_expanded.push_back(false);
  }
  // The next node from the two queues in turn; kNone if none is left.
  std::size_t next() {
    std::swap(turn, other);
    for (Queue* queue : {turn, other}) {
      while (!queue->empty()) {
        const std::size_t index = queue->top().second;
        queue->pop();
        if (is_expanded[index]) continue;
        is_expanded[index] = true;
        return index;
      }
    }
    return kNone;
  }
  Found found(std::size_t last) const {
    std::string text;
    for (; nodes[last].from != kNone; last = nodes[last].from) text += static_cast<char>(nodes[last].byte);
    std::ranges::reverse(text);
    return {last, std::move(text)};
  }

 private:
  Queue *turn = &by_least, *other = &by_greedy;
};

std::optional<ShortTexts::Found> ShortTexts::find(std::span<const Start> starts, std::uint32_t most) {
  Automaton& automaton = language_.automaton;
  const PreTokenizer& pretokenizer = language_.pretokenizer();
  const std::int64_t last_work = automaton.work() + kMostWork;
  Search search;
  for (const Start& start : starts) {
    const std::uint32_t total = saturating_add(start.bytes, greedy_.length(start.state));
    search.add({start.state, PositionId::at_start(start.boundary), start.bytes, total, kNone, 0},
               automaton.least_length_guess(start.state));
  }
  const auto is_spent = [&] { return search.nodes.size() > kMostNodes || automaton.work() > last_work; };
  for (std::uint32_t expanded = 0; expanded < kMostExpanded && !is_spent(); ++expanded) {
    const std::size_t index = search.next();
    if (index == kNone) return std::nullopt;
    const Search::Node from = search.nodes[index];
    const PretokenPosition at = from.position.decoded();
    if (!at.inside_character() && from.depth <= most) {
      if (automaton.accepting(from.state) && pretokenizer.may_end(at.state)) return search.found(index);
      if (from.total <= most && !at.starts_pretoken && pretokenizer.unconstrained(at.state)) {
        Found found = search.found(index);
        greedy_.append(from.state, found.text);
        return found;
      }
    }
    if (from.depth >= most) continue;
    language_.any_byte(from.state, [&](std::uint8_t byte, ExprId next) {
      const PositionId to = language_.transitions.step(from.position, byte);
      if (to == PretokenTransitions::kDead) return false;
      language_.meter.step();
      const PretokenPosition reached = to.decoded();
      const bool ends_character = !reached.inside_character();
      const std::uint32_t depth = from.depth + 1, least = automaton.least_length_guess(next);
      const std::uint32_t total = ends_character ? saturating_add(depth, greedy_.length(next)) : from.total;
      search.add({next, to, depth, total, index, byte}, least);
      if (ends_character) search.add({next, PositionId::at_start(reached.state), depth, total, index, byte}, least);
      return is_spent();
    });
  }
  return std::nullopt;
}

}  // namespace detent

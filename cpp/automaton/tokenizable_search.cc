#include "automaton/tokenizable_search.h"

#include <functional>
#include <queue>
#include <set>
#include <tuple>
#include <utility>
#include <vector>

namespace detent {
namespace {

struct Position {
  ExprId state, tokenizable;
  auto key() const { return std::pair(state.value, tokenizable.value); }
};

// One more byte after a position that was expanded.
struct Edge {
  std::uint32_t bound;  // on the bytes of the shortest completion after it, for some text of the open item
  std::size_t number;   // in the order in which edges were found
  Position from;
  std::uint8_t byte;
  bool operator>(const Edge& other) const { return std::tie(bound, number) > std::tie(other.bound, other.number); }
};

}  // namespace

bool search_tokenizable_completion(Automaton& automaton, ExprId state, ExprId tokenizable) {
  const bool has_text =
      automaton.without_text(state) != state || !(automaton.has_open_item(state) || automaton.has_closed_item(state));
  const std::int64_t before = automaton.work();
  const auto& class_of = automaton.class_of();
  std::priority_queue<Edge, std::vector<Edge>, std::greater<>> open;
  std::set<std::pair<std::uint32_t, std::uint32_t>> seen;
  std::size_t edges = 0;
  Position at{state, tokenizable};
  while (true) {
    const bool is_new = at.state != ExprSet::kEmpty && seen.insert(at.key()).second;
    if (is_new && automaton.accepting(at.tokenizable) && automaton.completes_by_bytes(at.state)) return true;
    if (is_new) {
      const ExprId* row = automaton.row(automaton.without_text(at.state));
      const ExprId* writable = automaton.row(at.tokenizable);
      for (unsigned byte = 0; byte < 256; ++byte) {
        const ExprId next = row[class_of[byte]];
        if (next == ExprSet::kEmpty || writable[class_of[byte]] == ExprSet::kEmpty) continue;
        open.push({automaton.completion_bound(next), edges++, at, static_cast<std::uint8_t>(byte)});
      }
    }
    if (open.empty()) return false;
    if (automaton.work() - before + static_cast<std::int64_t>(edges) > automaton.limits().trial_steps()) {
      throw Error(ErrorKind::limit, "work", automaton.limits().steps, automaton.limits().steps);
    }
    const Edge edge = open.top();
    open.pop();
    const char byte = static_cast<char>(edge.byte);
    const std::uint8_t byte_class = class_of[edge.byte];
    at.state = has_text ? automaton.advance(edge.from.state, {&byte, 1}) : automaton.row(edge.from.state)[byte_class];
    at.tokenizable = automaton.row(edge.from.tokenizable)[byte_class];
  }
}

}  // namespace detent

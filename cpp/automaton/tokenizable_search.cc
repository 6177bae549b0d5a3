#include "automaton/tokenizable_search.h"

#include <functional>
#include <optional>
#include <queue>
#include <set>
#include <tuple>
#include <utility>
#include <vector>

#include "expr/parts.h"

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

// How the texts of a state begin, up to a rest of bytes that are tokens. Of a list that needs an item, the key is
// known: it excludes those that were read.
struct Beginning {
  ExprId needed;  // each text begins with one of these; they end with the first item of a list, which may go on
  ExprId whole;   // after each of these, some rest of bytes that are tokens completes a text
};

Beginning beginning_of(ExprSet& exprs, ExprId state) {
  std::vector<ExprId> parts;
  std::optional<ExprId> needed;
  if (exprs[state].op == Op::remembered) state = exprs[state].part();
  bool is_whole = true;
  while (is_whole && !exprs[state].completes_by_bytes) {
    const bool is_concat = exprs[state].op == Op::concat;
    const ExprId part = is_concat ? exprs[state].first() : state;
    if (exprs[part].op == Op::distinct) {
      const DistinctState& list = exprs.list_state(part);
      const bool has_one_kind = exprs.list(list.list).order == nullptr && list.phase != ItemPhase::open;
      is_whole = has_one_kind && list.minimum <= 1;
      if (has_one_kind && !exprs[part].nullable) {
        if (list.position == MemberPosition::after_member) parts.push_back(exprs.list(list.list).separator);
        parts.insert(parts.end(), {list.keys[0], exprs.list(list.list).kinds[0].rest});
      }
      if (!needed) needed = concat_elements(exprs, parts);
    } else if (exprs[part].has_open_item || exprs[part].has_closed_item) {
      is_whole = false;
    } else {
      parts.push_back(part);
    }
    state = is_concat ? exprs[state].second() : ExprSet::kEpsilon;
  }
  const ExprId all = concat_elements(exprs, parts);
  return {needed.value_or(all), is_whole ? all : ExprSet::kEmpty};
}

bool search(Automaton& automaton, ExprId state, ExprId tokenizable) {
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

}  // namespace

// A list of distinct items is no operand of an intersection (expr/distinct.h), but what it begins with is.
bool has_tokenizable_completion(Automaton& automaton, ExprId state, ExprId tokenizable) {
  const std::optional<bool> by_beginning = automaton.edit([&](ExprSet& exprs, Derivatives&, Liveness& liveness) {
    const auto [needed, whole] = beginning_of(exprs, state);
    if (liveness.live(exprs.intersection({whole, tokenizable}))) return std::optional(true);
    const bool is_live = liveness.live(exprs.intersection({exprs.concat(needed, exprs.sigma_star()), tokenizable}));
    return is_live ? std::nullopt : std::optional(false);
  });
  return by_beginning ? *by_beginning : search(automaton, state, tokenizable);
}

}  // namespace detent

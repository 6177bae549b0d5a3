#include "automaton/item_order.h"

#include <algorithm>

#include "base/error.h"

namespace detent {
namespace {

constexpr std::size_t kMaxItems = 1 << 16;  // of a completion

// Each kind gets a byte class of its own, so that completions may use some kinds only.
NodeRef of_live_kinds(const NodeRef& order, const std::vector<bool>& is_live) {
  ByteSet kinds;
  std::vector<NodeRef> single{Node::empty()};
  for (std::size_t kind = 0; kind < is_live.size(); ++kind) {
    single.push_back(Node::bytes(ByteSet::of(static_cast<std::uint8_t>(kind))));
    if (is_live[kind]) kinds.insert(static_cast<std::uint8_t>(kind));
  }
  const NodeRef live = Node::intersection({order, Node::repeat(Node::bytes(kinds), 0, Node::kUnbounded)});
  return Node::union_of({live, Node::concat(std::move(single))});
}

// The lists of a language share its memory with its order.
Limits part_of(Limits limits) {
  limits.memory_bytes /= 8;
  return limits;
}

}  // namespace

LanguageOrder::LanguageOrder(const NodeRef& order, const std::vector<bool>& is_live, const Limits& limits)
    : automaton_(of_live_kinds(order, is_live), {}, 1, part_of(limits), nullptr), lengths_(is_live.size()) {}

void LanguageOrder::set_lengths(std::vector<std::uint32_t> lengths) {
  if (lengths == lengths_) return;
  lengths_ = std::move(lengths);
  steps_.clear();
}

ExprId LanguageOrder::with_items_up_to(ExprId state, std::uint32_t length) {
  ByteSet kinds;
  for (std::size_t kind = 0; kind < lengths_.size(); ++kind) {
    if (lengths_[kind] <= length) kinds.insert(static_cast<std::uint8_t>(kind));
  }
  return automaton_.edit([&](ExprSet& exprs, Derivatives&, Liveness& liveness) {
    const ExprId restricted = exprs.intersection({state, exprs.repeat(exprs.bytes(kinds), 0, ExprSet::kUnbounded)});
    return liveness.live(restricted) ? restricted : ExprSet::kEmpty;
  });
}

// A completion whose longest item is as short as can be: an item of a rule that contains the list is longer than that,
// so that the lengths of rules do not depend on themselves. The completions of two states that meet go on together.
void LanguageOrder::find_completion(ExprId state) {
  std::vector<std::uint32_t> lengths = lengths_;
  std::ranges::sort(lengths);
  lengths.erase(std::unique(lengths.begin(), lengths.end()), lengths.end());
  const auto least = std::ranges::partition_point(lengths, [&](std::uint32_t length) {
    return length != lengths.back() && with_items_up_to(state, length) == ExprSet::kEmpty;
  });
  ExprId restricted = with_items_up_to(state, *least);
  for (std::size_t count = 0; !may_end(state.value) && !steps_.contains(state.value); ++count) {
    if (count == kMaxItems) throw Error(ErrorKind::limit, "completion", kMaxItems + 1, kMaxItems);
    const CompletionPaths::Step step = automaton_.completion_step(restricted);
    steps_.emplace(state.value, step.byte);
    state = ExprId{next(state.value, step.byte)};
    restricted = step.state;
  }
}

std::vector<std::uint32_t> LanguageOrder::completion(std::uint32_t state) {
  std::vector<std::uint32_t> kinds;
  while (!may_end(state)) {
    if (!steps_.contains(state)) find_completion(ExprId{state});
    kinds.push_back(steps_.at(state));
    if (kinds.size() > kMaxItems) throw Error(ErrorKind::limit, "completion", kMaxItems + 1, kMaxItems);
    state = next(state, kinds.back());
  }
  return kinds;
}

}  // namespace detent

#include "automaton/item_order.h"

#include "base/error.h"

namespace detent {
namespace {

constexpr std::size_t kMaxItems = 1 << 16;  // of a completion

NodeRef of_live_kinds(const NodeRef& order, const std::vector<bool>& is_live) {
  ByteSet kinds;
  for (std::size_t kind = 0; kind < is_live.size(); ++kind) {
    if (is_live[kind]) kinds.insert(static_cast<std::uint8_t>(kind));
  }
  return Node::intersection({order, Node::repeat(Node::bytes(kinds), 0, Node::kUnbounded)});
}

// The lists of a language share its memory with its order.
Limits part_of(Limits limits) {
  limits.memory_bytes /= 8;
  return limits;
}

}  // namespace

LanguageOrder::LanguageOrder(const NodeRef& order, const std::vector<bool>& is_live, const Limits& limits)
    : automaton_(of_live_kinds(order, is_live), {}, 1, part_of(limits), nullptr) {}

std::vector<std::uint32_t> LanguageOrder::completion(std::uint32_t state) {
  std::vector<std::uint32_t> kinds;
  for (ExprId at{state}; !automaton_.accepting(at);) {
    if (kinds.size() == kMaxItems) throw Error(ErrorKind::limit, "completion", kMaxItems + 1, kMaxItems);
    const CompletionPaths::Step step = automaton_.completion_step(at);
    kinds.push_back(step.byte);
    at = step.state;
  }
  return kinds;
}

}  // namespace detent

#include "automaton/language_set.h"

#include <algorithm>
#include <string_view>

#include "expr/special.h"
#include "expr/utf8.h"

namespace detent {
namespace {

// Calls take(node, sets) for each node below `root`, itself among them, that is not in `known`.
template <class Take>
void each_new_node(const NodeRef& root, const PointerMap<bool>& known, Take take) {
  PointerMap<bool> seen;
  std::vector<const Node*> pending;
  const auto visit = [&](const Node* node) {
    if (!known.find(node) && seen.insert(node, true)) pending.push_back(node);
  };
  visit(root.get());
  while (!pending.empty()) {
    const Node* node = pending.back();
    pending.pop_back();
    take(*node);
    for (const NodeRef& child : node->children()) visit(child.get());
  }
}

// Calls take(set) for each byte set of a node without its children.
template <class Take>
void each_byte_set(const Node& node, Take take) {
  const auto take_bytes = [&](std::string_view text) {
    for (char byte : text) take(ByteSet::of(static_cast<std::uint8_t>(byte)));
  };
  if (node.kind() == NodeKind::bytes) take(node.set());
  if (node.kind() == NodeKind::literal) take_bytes(node.text());
  if (node.kind() == NodeKind::special) take_bytes(special_frame(node.text()));
}

// A language with the byte sets of all nodes, and with the node of all texts.
NodeRef with_all_byte_sets(std::span<const NodeRef> nodes) {
  std::vector<NodeRef> parts{Node::repeat(utf8_chars({{0, 0x10FFFF}}), 0, Node::kUnbounded)};
  const NodeRef all = Node::union_of({nodes.begin(), nodes.end()});
  each_new_node(all, {}, [&](const Node& node) {
    each_byte_set(node, [&](const ByteSet& set) { parts.push_back(Node::bytes(set)); });
  });
  return Node::union_of(std::move(parts));
}

}  // namespace

LanguageSet::LanguageSet(std::span<const NodeRef> nodes, const Limits& limits)
    : meter_(limits), automaton_(with_all_byte_sets(nodes), {}, 0, limits, nullptr, nullptr, nullptr) {
  automaton_.edit([&](ExprSet& exprs, Derivatives&, Liveness& liveness) {
    compiler_.emplace(exprs, liveness, meter_, CompiledNodes{});
    return 0;
  });
  classes_.resize(automaton_.class_count());
  for (unsigned byte = 0; byte < 256; ++byte) {
    classes_[automaton_.class_of()[byte]].insert(static_cast<std::uint8_t>(byte));
  }
}

bool LanguageSet::divides_class(const ByteSet& set) const {
  return std::ranges::any_of(classes_, [&](const ByteSet& members) {
    const ByteSet inside = set & members;
    return inside != members && inside != ByteSet{};
  });
}

std::optional<ExprId> LanguageSet::start(const NodeRef& language) {
  return automaton_.edit([&](ExprSet&, Derivatives&, Liveness& liveness) -> std::optional<ExprId> {
    meter_.restart();
    bool divides = language->has_distinct();  // lists compare bytes, and need an automaton of their own
    std::vector<const Node*> added;
    each_new_node(language, known_, [&](const Node& node) {
      added.push_back(&node);
      each_byte_set(node, [&](const ByteSet& set) { divides = divides || divides_class(set); });
    });
    if (divides) return std::nullopt;
    owners_.push_back(language);
    for (const Node* node : added) known_.insert(node, true);
    compiler_->register_byte_sets(language);
    const ExprId start = compiler_->compile(language, true);
    return liveness.live(start) ? start : ExprSet::kEmpty;
  });
}

}  // namespace detent

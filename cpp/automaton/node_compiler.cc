#include "automaton/node_compiler.h"

#include <algorithm>
#include <utility>

#include "automaton/distinct_keys.h"
#include "automaton/grammar.h"
#include "expr/json_string.h"
#include "expr/lookaround.h"
#include "expr/parts.h"
#include "expr/special.h"
#include "expr/utf8.h"

namespace detent {

void NodeCompiler::register_byte_sets(const NodeRef& root) {
  static const NodeRef utf8 = Node::repeat(utf8_chars({{0, 0x10FFFF}}), 0, Node::kUnbounded);
  bool has_grammar = false, has_complement = false, has_string = nodes_.has_json_strings;
  const ByteSet known_bytes = nodes_.literal_bytes;
  PointerMap<bool> seen;
  seen.insert(root.get(), true);
  std::vector<const Node*> pending{root.get()};
  while (!pending.empty()) {
    const Node* node = pending.back();
    pending.pop_back();
    meter_.step();
    has_grammar |= node->kind() == NodeKind::grammar;
    has_complement |= node->kind() == NodeKind::complement;
    nodes_.has_all_texts |= node->hash() == utf8->hash();
    const bool is_string = node->kind() == NodeKind::json_string || node->kind() == NodeKind::serialized_string;
    if (is_string && !has_string) register_escape_bytes(exprs_);
    has_string |= is_string;
    register_node(*node);
    for (const NodeRef& child : node->children()) {
      if (!nodes_.ids[true].find(child.get()) && seen.insert(child.get(), true)) pending.push_back(child.get());
    }
    if (pending.empty() && ((has_grammar && has_complement) || has_string || nodes_.has_all_texts) &&
        !nodes_.all_texts.get()) {
      nodes_.all_texts = utf8;
      pending.push_back(nodes_.all_texts.get());
    }
  }
  nodes_.has_json_strings |= has_string;
  nodes_.literal_bytes.each([&](std::uint8_t byte) {
    if (!known_bytes.contains(byte)) exprs_.bytes(ByteSet::of(byte));
  });
  if (!nodes_.all_texts.get()) nodes_.all_texts = Node::repeat(Node::bytes(ByteSet::all()), 0, Node::kUnbounded);
}

void NodeCompiler::register_node(const Node& node) {
  if (node.kind() == NodeKind::bytes) register_set(node.set());
  const auto insert = [this](std::string_view text) {
    for (char byte : text) nodes_.literal_bytes.insert(static_cast<std::uint8_t>(byte));
  };
  if (node.kind() == NodeKind::literal) insert(node.text());
  if (node.kind() == NodeKind::special) insert(special_frame(node.text()));
  // The texts of items are compared byte by byte.
  if (node.kind() == NodeKind::distinct && node.has_distinct()) nodes_.literal_bytes = ByteSet::all();
  if (node.kind() == NodeKind::distinct) nodes_.nested_lists.add_inside(node);
}

void NodeCompiler::register_set(const ByteSet& set) {
  exprs_.bytes(set);
  if (!set.is_subset_of(exprs_.alphabet())) exprs_.bytes(set & exprs_.alphabet());
}

// Adds the operands of a concatenation, union or intersection, with nested nodes of the same kind flattened; the
// children of any other node. A chain `((a + b) + c) + ...` becomes one list, instead of one list for each prefix.
void NodeCompiler::add_operands(const Node& node, std::vector<const Node*>& operands) {
  const NodeKind kind = node.kind();
  const bool flat = kind == NodeKind::concat || kind == NodeKind::union_of || kind == NodeKind::intersection;
  nested_.assign(1, &node);
  while (!nested_.empty()) {
    const Node* next = nested_.back();
    nested_.pop_back();
    if (next != &node && !(flat && next->kind() == kind)) {
      operands.push_back(next);
      continue;
    }
    meter_.step(static_cast<std::int64_t>(next->children().size()));
    for (std::size_t i = next->children().size(); i-- > 0;) nested_.push_back(next->children()[i].get());
  }
}

ExprId NodeCompiler::compile(const NodeRef& root, bool is_restricted) {
  // A node that waits for its operands, those from `first` on in `operands`; `next` is not built yet.
  struct Frame {
    Task task;
    std::size_t first, next;
  };
  std::vector<Frame> frames;
  std::vector<const Node*> operands;
  std::vector<ExprId> parts;
  // Builds a node without operands; any other one waits.
  const auto begin = [&](const Task& task) {
    meter_.step();
    if (task.node->kind() == NodeKind::scope) {
      refuse_distinct(*task.node);
      nodes_.ids[task.is_restricted].insert(task.node, compile_scope_node(task));
    } else if (task.node->children().empty()) {
      build_and_note(task, {});
    } else {
      frames.push_back({task, operands.size(), operands.size()});
      if (task.node->kind() == NodeKind::grammar) {
        const std::vector<const Node*> closed = closed_parts(*task.node);
        operands.insert(operands.end(), closed.begin(), closed.end());
      } else {
        add_operands(*task.node, operands);
      }
    }
  };
  if (!nodes_.ids[is_restricted].find(root.get())) begin({root.get(), is_restricted});
  while (!frames.empty()) {
    Frame& frame = frames.back();
    const Task task = frame.task;
    const std::size_t first = frame.first;
    const NodeKind kind = task.node->kind();
    const bool is_barrier = kind == NodeKind::complement || kind == NodeKind::json_string ||
                            kind == NodeKind::serialized_string || kind == NodeKind::not_followed_by;
    const bool restricts_operands = task.is_restricted && !is_barrier;
    const auto& built = nodes_.ids[restricts_operands];
    while (frame.next < operands.size() && built.find(operands[frame.next])) ++frame.next;
    if (frame.next < operands.size()) {
      begin({operands[frame.next], restricts_operands});
      continue;
    }
    if (kind == NodeKind::grammar) {
      auto& compiled = nodes_.ids[task.is_restricted];
      compiled.insert(task.node, compile_grammar(exprs_, liveness_, meter_, *task.node, nodes_.nested_lists, compiled));
    } else {
      parts.clear();
      for (std::size_t i = first; i < operands.size(); ++i) parts.push_back(*built.find(operands[i]));
      build_and_note(task, parts);
    }
    operands.resize(first);
    frames.pop_back();
  }
  return *nodes_.ids[is_restricted].find(root.get());
}

void NodeCompiler::build_and_note(const Task& task, std::span<ExprId> parts) {
  const ExprId id = build(task, parts);
  if (task.node->is_text() && !task.node->has_special() && !task.node->has_assertion()) exprs_.mark_text(id);
  nodes_.ids[task.is_restricted].insert(task.node, id);
}

// `compile_scope` translates the assertions of the scope. It calls back for the parts without assertions; such a part
// may contain another scope.
ExprId NodeCompiler::compile_scope_node(const Task& task) {
  if (++scope_depth_ > kMaxScopeDepth) throw Error(ErrorKind::limit, "depth", scope_depth_, kMaxScopeDepth);
  const auto compile_part = [this, &task](const NodeRef& part) { return compile(part, task.is_restricted); };
  const ExprId id = compile_scope(exprs_, meter_, *task.node->children()[0], compile_part);
  --scope_depth_;
  return id;
}

ExprId NodeCompiler::build_literal(const Task& task, std::string_view text) {
  const auto is_missing = [this](char byte) { return !exprs_.alphabet().contains(static_cast<std::uint8_t>(byte)); };
  return restricts(task) && std::ranges::any_of(text, is_missing) ? ExprSet::kEmpty : exprs_.literal(text);
}

// 0 where the vocabulary cannot write the escape of a guard.
std::uint32_t NodeCompiler::escape_length(const Task& task) const {
  const std::string_view text = task.node->text();
  const auto is_missing = [this](char byte) { return !exprs_.alphabet().contains(static_cast<std::uint8_t>(byte)); };
  return std::ranges::any_of(text, is_missing) ? 0 : static_cast<std::uint32_t>(text.size());
}

// Refuses operators that compare two languages byte by byte, such as intersection, around lists of distinct items. They
// would use transition rows, which do not depend on the texts of earlier items.
void NodeCompiler::refuse_distinct(const Node& node) {
  const bool compares = node.kind() == NodeKind::intersection || node.kind() == NodeKind::complement ||
                        node.kind() == NodeKind::json_string || node.kind() == NodeKind::serialized_string ||
                        node.kind() == NodeKind::maximal_munch || node.kind() == NodeKind::not_followed_by ||
                        node.kind() == NodeKind::scope;
  if (compares && node.has_distinct()) throw Error(ErrorKind::unsupported, "distinct_under_algebra");
}

ExprId NodeCompiler::build(const Task& task, std::span<ExprId> parts) {
  const Node& node = *task.node;
  refuse_distinct(node);
  switch (node.kind()) {
    case NodeKind::empty: return ExprSet::kEmpty;
    case NodeKind::epsilon: return ExprSet::kEpsilon;
    case NodeKind::bytes: return exprs_.bytes(restricts(task) ? node.set() & exprs_.alphabet() : node.set());
    case NodeKind::literal: return build_literal(task, node.text());
    case NodeKind::concat: return concat_elements(exprs_, parts);
    case NodeKind::union_of: return exprs_.union_of({parts.begin(), parts.end()});
    case NodeKind::intersection: return build_intersection(task, parts);
    case NodeKind::complement: {
      const ExprId id = exprs_.complement(parts[0]);
      return restricts(task) ? exprs_.intersection({id, exprs_.alphabet_star()}) : id;
    }
    case NodeKind::repeat: return exprs_.repeat(parts[0], node.minimum(), node.maximum());
    case NodeKind::json_string:
    case NodeKind::serialized_string: {
      const bool is_serialized = node.kind() == NodeKind::serialized_string;
      const std::uint32_t position = is_serialized ? kSerialized : static_cast<std::uint32_t>(EscapePosition::text);
      const bool is_text = node.children()[0]->is_text();  // what json_escaped asks for; a complement is none
      const ExprId texts = is_text ? parts[0] : exprs_.intersection({parts[0], compile(nodes_.all_texts, false)});
      return exprs_.json_escaped(texts, position, 0);
    }
    case NodeKind::unordered:
    case NodeKind::ordered:
      for (ExprId& part : parts) {
        if (!liveness_.live(part)) part = ExprSet::kEmpty;
      }
      return node.kind() == NodeKind::ordered ? make_ordered(exprs_, node, parts) : make_unordered(exprs_, node, parts);
    case NodeKind::distinct:
      for (ExprId& part : parts) {
        if (!liveness_.live(part)) part = ExprSet::kEmpty;
      }
      return make_distinct(exprs_, liveness_.derivatives(), liveness_, meter_, node, parts,
                           nodes_.nested_lists.contain(node), !node.has_order() && has_many_values(exprs_, parts[1]));
    case NodeKind::maximal_munch: return exprs_.maximal_munch(parts[0], parts[1], escape_length(task));
    case NodeKind::not_followed_by: return exprs_.not_followed_by(parts[0], escape_length(task));
    case NodeKind::special:
      return build_literal(task, special_frame(node.text()));  // an automaton without a vocabulary
    case NodeKind::grammar:
    case NodeKind::reference: throw Error(ErrorKind::argument, "open_reference");
    default: throw Error(ErrorKind::argument, "assertion_outside_scope");
  }
}

// A complement contains byte strings that are not UTF-8. If another operand contains rules or JSON strings, all texts
// become an operand too: a search for a completion then drops such strings early.
ExprId NodeCompiler::build_intersection(const Task& task, std::span<const ExprId> parts) {
  const Node& node = *task.node;
  std::vector<ExprId> operands(parts.begin(), parts.end());
  const auto has_rule = [this](ExprId part) { return exprs_[part].has_rule; };
  const auto is_bytes = [](const NodeRef& child) { return !child->is_text(); };
  const auto is_text = [](const NodeRef& child) { return child->is_text() && !child->has_special(); };
  if (std::ranges::any_of(node.children(), is_text) && std::ranges::any_of(node.children(), is_bytes) &&
      (nodes_.has_json_strings || std::ranges::any_of(parts, has_rule))) {
    operands.push_back(compile(nodes_.all_texts, task.is_restricted));
  }
  return exprs_.intersection(std::move(operands));
}

}  // namespace detent

// NodeCompiler: translates the syntax that Python builds (Node) into hash-consed expressions (ExprId).
//
// Two passes over the nodes: `register_byte_sets` makes every byte set, so that the byte classes can be frozen;
// `compile` then builds the expressions bottom-up. Shared nodes are translated once. Neither pass recurses, except into
// the bodies of text scopes.
//
// Where the vocabulary lacks bytes, the language is restricted to its alphabet A: every byte set is intersected with A,
// a literal with another byte is empty, and a complement is intersected with A*. Operands of complements, and the texts
// of JSON strings, stay unrestricted. The expressions keep their shape, so the restriction costs decoding nothing.
// Cost: linear in the nodes, plus the constructors' normalisation.
#pragma once

#include <span>
#include <string_view>
#include <utility>
#include <vector>

#include "automaton/liveness.h"
#include "automaton/nested_lists.h"
#include "base/limits.h"
#include "base/pointer_map.h"
#include "expr/expr_set.h"
#include "expr/node.h"

namespace detent {

// The expressions of the nodes that a compiler has translated.
struct CompiledNodes {
  PointerMap<ExprId> ids[2];  // by node: [0] unrestricted, [1] restricted to the alphabet
  NodeRef all_texts;
  NestedLists nested_lists;
  bool has_json_strings = false;
  bool has_all_texts = false;
  ByteSet literal_bytes;  // of which single bytes are expressions
};

class NodeCompiler {
 public:
  // `known` has nodes that were translated before; their expressions are in `exprs`.
  NodeCompiler(ExprSet& exprs, Liveness& liveness, Meter& meter, CompiledNodes known)
      : exprs_(exprs), liveness_(liveness), meter_(meter), nodes_(std::move(known)) {}
  const CompiledNodes& nodes() const { return nodes_; }

  // Makes the byte sets of `root`. Every root must be registered before the byte classes are frozen.
  void register_byte_sets(const NodeRef& root);
  // Returns the expression of `root`, restricted to the alphabet of the ExprSet or not. Needs frozen byte classes,
  // since the test whether a grammar's rule is empty may take derivatives.
  ExprId compile(const NodeRef& root, bool is_restricted);

  bool has_json_strings() const { return nodes_.has_json_strings; }
  // Whether a registered root contains JSON strings or the node of all texts.
  bool uses_all_texts() const { return nodes_.has_json_strings || nodes_.has_all_texts; }
  // All valid UTF-8 texts, if a registered root contains this node, a JSON string, or a grammar with a complement.
  // Otherwise all byte strings.
  const NodeRef& all_texts() const { return nodes_.all_texts; }

 private:
  // How deep text scopes may nest. Each one may take kMaxDepth levels of the C++ stack (lookaround.cc).
  static constexpr int kMaxScopeDepth = 2;

  // A node to translate, with or without restriction to the alphabet.
  struct Task {
    const Node* node;
    bool is_restricted;
  };

  void register_node(const Node& node);
  void register_set(const ByteSet& set);
  bool restricts(const Task& task) const { return task.is_restricted && exprs_.alphabet() != ByteSet::all(); }
  void add_operands(const Node& node, std::vector<const Node*>& operands);
  ExprId compile_scope_node(const Task& task);
  void build_and_note(const Task& task, std::span<ExprId> parts);
  ExprId build(const Task& task, std::span<ExprId> parts);
  static void refuse_distinct(const Node& node);
  ExprId build_literal(const Task& task, std::string_view text);
  std::uint32_t escape_length(const Task& task) const;
  ExprId build_intersection(const Task& task, std::span<const ExprId> parts);

  ExprSet& exprs_;
  Liveness& liveness_;
  Meter& meter_;
  CompiledNodes nodes_;
  std::vector<const Node*> nested_;  // what add_operands has not flattened yet
  int scope_depth_ = 0;
};

}  // namespace detent

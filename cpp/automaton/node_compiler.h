// NodeCompiler: translates the syntax that Python builds (Node) into hash-consed expressions (ExprId).
//
// Two passes over the nodes: `register_byte_sets` makes every byte set, so that the byte classes can be frozen;
// `compile` then builds the expressions bottom-up. Shared nodes are translated once. Neither pass recurses, except into
// the bodies of text scopes.
// Cost: linear in the nodes, plus the constructors' normalisation.
#pragma once

#include <unordered_map>
#include <vector>

#include "automaton/liveness.h"
#include "base/limits.h"
#include "expr/expr_set.h"
#include "expr/node.h"

namespace detent {

class NodeCompiler {
 public:
  NodeCompiler(ExprSet& exprs, Liveness& liveness, Meter& meter) : exprs_(exprs), liveness_(liveness), meter_(meter) {}

  // Makes the byte sets of `root`. Every root must be registered before the byte classes are frozen.
  void register_byte_sets(const NodeRef& root);
  // Returns the expression of `root`. Needs frozen byte classes: whether a rule is empty may take derivatives.
  ExprId compile(const NodeRef& root);

  bool has_json_strings() const { return has_json_strings_; }
  // Whether all texts are a part of a registered root, or JSON strings are.
  bool uses_all_texts() const { return has_json_strings_ || has_all_texts_; }
  // All texts (valid UTF-8) if they, a JSON string, or a grammar with a complement were registered; else all byte
  // strings.
  const NodeRef& all_texts() const { return all_texts_; }

 private:
  // Text scopes inside one another. Each takes up to kMaxDepth levels of stack (lookaround.cc).
  static constexpr int kMaxScopeDepth = 2;

  void register_node(const Node& node, ByteSet& literal_bytes);
  std::vector<const Node*> operands_of(const Node* node);
  ExprId compile_scope_node(const Node& node);
  ExprId build(const Node& node, std::vector<ExprId> parts);
  ExprId build_intersection(const Node& node, std::vector<ExprId> parts);

  ExprSet& exprs_;
  Liveness& liveness_;
  Meter& meter_;
  std::unordered_map<const Node*, ExprId> compiled_;
  NodeRef all_texts_;
  bool has_json_strings_ = false;
  bool has_all_texts_ = false;
  int scope_depth_ = 0;
};

}  // namespace detent

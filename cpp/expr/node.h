// Node: the syntax of a language, immutable and shared; what Python builds and what an automaton is compiled from.
// Nodes form a directed acyclic graph by reference count. Building one costs time linear in its own operands; releasing
// one is iterative, so that depth is never a stack.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/byte_set.h"
#include "base/hash.h"

namespace detent {

enum class NodeKind : std::uint8_t {
  empty,    // no string at all
  epsilon,  // the empty string
  bytes,    // one byte of a set
  literal,  // one string
  concat,
  union_of,
  intersection,
  complement,  // with respect to all byte strings
  repeat,
  lookahead,    // zero-width, only inside a scope
  lookbehind,   // zero-width, only inside a scope
  scope,        // the text that the assertions inside see
  reference,    // a definition of the innermost grammar around it
  grammar,      // the least languages that its definitions, the children, describe; the first count says which is meant
  json_string,  // the JSON spellings of texts
  unordered,    // a separator, what may stand between, and members that come in any order
  ordered,      // a separator, what may follow, and members that come in this order
  maximal_munch,    // a match of the first child that what follows must not extend to a longer one of the second
  not_followed_by,  // zero-width: what follows must not begin so
  special,          // a token without text, by its name; the child, if there is one, is what stands for it elsewhere
                    // (special.h)
};

class Node;

class NodeRef {
 public:
  NodeRef() = default;
  explicit NodeRef(const Node* node);  // takes over the first reference
  NodeRef(const NodeRef& other);
  NodeRef(NodeRef&& other) noexcept : node_(std::exchange(other.node_, nullptr)) {}
  NodeRef& operator=(NodeRef other) noexcept {
    std::swap(node_, other.node_);
    return *this;
  }
  ~NodeRef();

  const Node* operator->() const { return node_; }
  const Node& operator*() const { return *node_; }
  const Node* get() const { return node_; }

 private:
  friend class Node;
  const Node* node_ = nullptr;
};

class Node {
 public:
  static constexpr std::uint32_t kUnbounded = UINT32_MAX;

  static NodeRef empty();
  static NodeRef epsilon();
  static NodeRef bytes(const ByteSet& set);
  static NodeRef literal(std::string text);
  static NodeRef concat(std::vector<NodeRef> parts);
  static NodeRef union_of(std::vector<NodeRef> parts);
  static NodeRef intersection(std::vector<NodeRef> parts);
  static NodeRef complement(NodeRef part);
  static NodeRef repeat(NodeRef part, std::uint32_t minimum, std::uint32_t maximum);
  static NodeRef lookahead(NodeRef body, bool negative);
  static NodeRef lookbehind(NodeRef body, bool negative);
  static NodeRef scope(NodeRef body);
  static NodeRef reference(std::uint32_t index);
  static NodeRef grammar(std::vector<NodeRef> definitions, std::uint32_t start);
  static NodeRef json_string(NodeRef texts);
  // Each member at most once, those that are `required` ('1' in it) once; `others`, if not null, any number of times;
  // `separator` between neighbours.
  static NodeRef unordered(std::vector<NodeRef> members, std::string required, NodeRef others, NodeRef separator,
                           std::uint32_t minimum, std::uint32_t maximum);
  // Members in this order, those that are not `required` only if they like; then any number of `others`; one at least
  // if `some`.
  static NodeRef ordered(std::vector<NodeRef> members, std::string required, NodeRef others, NodeRef separator,
                         bool some);
  static NodeRef maximal_munch(NodeRef body, NodeRef within);
  static NodeRef not_followed_by(NodeRef body);
  static NodeRef special(std::string name, const NodeRef* otherwise);
  // `like` with other children, as many.
  static NodeRef with_children(const Node& like, std::vector<NodeRef> children);

  NodeKind kind() const { return kind_; }
  bool negative() const { return negative_; }
  bool has_assertion() const { return has_assertion_; }  // one that no scope inside this node closes
  bool is_text() const { return is_text_; }  // whether all its strings are surely valid UTF-8 and special tokens
  bool has_special() const { return has_special_; }      // a special token inside
  bool is_open() const { return reference_limit_ > 0; }  // has a reference that no grammar inside this node closes
  std::uint32_t minimum() const { return minimum_; }
  std::uint32_t maximum() const { return maximum_; }
  std::uint32_t depth() const { return depth_; }
  const ByteSet& set() const { return set_; }
  const std::string& text() const { return text_; }
  const std::vector<NodeRef>& children() const { return children_; }
  const Hash128& hash() const { return hash_; }  // of the structure: equal nodes have equal hashes

  // For the maker of a node that holds UTF-8 for reasons that its parts do not show.
  static void mark_text(const NodeRef& node) { const_cast<Node*>(node.get())->is_text_ = true; }

  // Structural equality, deep.
  static bool equal(const Node& first, const Node& second);

 private:
  friend class NodeRef;
  explicit Node(NodeKind kind) : kind_(kind) {}
  Node(const Node&) = delete;
  Node& operator=(const Node&) = delete;
  ~Node() = default;

  static NodeRef finish(Node* node);
  static bool find_text(const Node& node);
  static void check_closed(const Node& part);
  static void release(const Node* node);

  mutable std::atomic<std::uint32_t> references_{1};
  NodeKind kind_;
  bool negative_ = false;
  bool has_assertion_ = false;
  bool is_text_ = false;
  bool has_special_ = false;
  std::uint32_t minimum_ = 0;
  std::uint32_t maximum_ = 0;
  std::uint32_t depth_ = 1;
  std::uint32_t reference_limit_ = 0;  // above the indices of all open references
  ByteSet set_;
  std::string text_;
  std::vector<NodeRef> children_;
  Hash128 hash_;
};

}  // namespace detent

// Node: the syntax of a language, immutable and shared. Python builds nodes; an Automaton is compiled from one.
// Nodes form a directed acyclic graph with reference counts. Building a node takes time linear in its operands.
// Releasing one is iterative, so that deep nodes do not overflow the stack.
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
  empty,    // the empty language
  epsilon,  // the empty string
  bytes,    // one byte of a set
  literal,  // one string
  concat,
  union_of,
  intersection,
  complement,  // with respect to all byte strings
  repeat,
  lookahead,      // zero-width, only inside a scope
  lookbehind,     // zero-width, only inside a scope
  scope,          // the text that the assertions inside refer to
  reference,      // a definition of the innermost enclosing grammar; minimum: its index
  grammar,        // the least fixed point of the definitions, the children; minimum: the index of the start definition
  json_string,    // the child's texts, escaped as inside a JSON string
  unordered,      // children: separator, others, members in any order (members.h)
  ordered,        // children: separator, others, members in a fixed order
  maximal_munch,  // the first child, where the following text does not extend the match to a longer one of the second
  not_followed_by,  // zero-width: the text that follows, up to its end, is not in the child
  special,          // a token without text, by name; the child, if any, replaces it where a vocabulary lacks the token
  serialized_string,  // as json_string, with the escapes alone that serialisers write
  distinct,           // children: separator, key, rest; items with different keys (distinct.h); text: the kind of keys.
                      // With an order: a key and a rest for each kind of items; text: the encoded order
};
inline constexpr NodeKind kLastNodeKind = NodeKind::distinct;

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
  static NodeRef json_string(NodeRef texts, bool is_serialized = false);
  // Each member at most once, and exactly once if its character in `required` is '1'; `others` any number of times;
  // `separator` between neighbours; between `minimum` and `maximum` members in total.
  static NodeRef unordered(std::vector<NodeRef> members, std::string required, NodeRef others, NodeRef separator,
                           std::uint32_t minimum, std::uint32_t maximum);
  // Members in this order, optional unless `required`; then any number of `others`; at least one member if `nonempty`.
  static NodeRef ordered(std::vector<NodeRef> members, std::string required, NodeRef others, NodeRef separator,
                         bool nonempty);
  // Between `minimum` and `maximum` items, each `key` and `rest`, with `separator`, which begins with no byte of an
  // item, between neighbours. The keys are JSON values, no two of them equal; `has_names`: names of members.
  static NodeRef distinct(NodeRef key, NodeRef rest, NodeRef separator, std::uint32_t minimum, std::uint32_t maximum,
                          bool has_names);
  // Items of several kinds, each a key and a rest, with `separator` between neighbours. Written as one byte for each
  // item, the indexes of the kinds are a string of `order`. Keys are names of members, no two of them equal; a kind
  // without key has the key epsilon.
  static NodeRef ordered_kinds(std::vector<NodeRef> keys_and_rests, const NodeRef& order, NodeRef separator);
  static constexpr std::size_t kMaxItemKinds = 256;
  // Guards. `escape`, unless empty, is a text that may always come next and breaks no guard, whatever follows it.
  static NodeRef maximal_munch(NodeRef body, NodeRef munched, std::string escape);
  static NodeRef not_followed_by(NodeRef body, std::string escape);
  static NodeRef special(std::string name, const NodeRef* fallback);
  // A node like `like` with other children, equally many.
  static NodeRef with_children(const Node& like, std::vector<NodeRef> children);

  NodeKind kind() const { return kind_; }
  bool negative() const { return negative_; }
  bool has_assertion() const { return has_assertion_; }  // contains an assertion outside of any scope inside this node
  bool is_text() const { return is_text_; }              // proved: each string is UTF-8 with special tokens
  bool has_special() const { return has_special_; }      // contains a special token
  bool has_distinct() const { return has_distinct_; }    // contains a list of distinct items
  bool has_order() const { return kind_ == NodeKind::distinct && is_order(text_); }  // items are of several kinds
  NodeRef order() const { return order_of(text_); }                                  // the language of the kinds
  // The same two, for the text of a node of the kind `distinct`.
  static bool is_order(std::string_view text);
  static NodeRef order_of(std::string_view text);
  bool is_open() const { return reference_limit_ > 0; }  // has a reference without its grammar
  std::uint32_t minimum() const { return minimum_; }
  std::uint32_t maximum() const { return maximum_; }
  std::uint32_t depth() const { return depth_; }
  const ByteSet& set() const { return set_; }
  const std::string& text() const { return text_; }
  const std::vector<NodeRef>& children() const { return children_; }
  const Hash128& hash() const { return hash_; }  // structural

  // States that a node has only UTF-8 texts, where its parts do not prove it.
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
  static bool prove_text(const Node& node);
  bool has_keys() const;
  static void check_closed(const Node& part);
  static void release(const Node* node);

  mutable std::atomic<std::uint32_t> references_{1};
  NodeKind kind_;
  bool negative_ = false;
  bool has_assertion_ = false;
  bool is_text_ = false;
  bool has_special_ = false;
  bool has_distinct_ = false;
  bool has_list_ = false;  // contains a node of the kind `distinct`
  std::uint32_t minimum_ = 0;
  std::uint32_t maximum_ = 0;
  std::uint32_t depth_ = 1;
  std::uint32_t reference_limit_ = 0;  // 1 + the largest index of an open reference
  ByteSet set_;
  std::string text_;
  std::vector<NodeRef> children_;
  Hash128 hash_;
};

}  // namespace detent

#include "expr/node.h"

#include <algorithm>
#include <cstring>
#include <unordered_set>

#include "base/error.h"
#include "expr/node_codec.h"
#include "expr/utf8.h"

namespace detent {

NodeRef::NodeRef(const Node* node) : node_(node) {}

NodeRef::NodeRef(const NodeRef& other) : node_(other.node_) {
  if (node_) node_->references_.fetch_add(1, std::memory_order_relaxed);
}

NodeRef::~NodeRef() {
  if (node_ && node_->references_.fetch_sub(1, std::memory_order_acq_rel) == 1) Node::release(node_);
}

// Iterative: the destructor of a node must not delete its children recursively.
void Node::release(const Node* node) {
  std::vector<const Node*> dying{node};
  while (!dying.empty()) {
    Node* last = const_cast<Node*>(dying.back());
    dying.pop_back();
    for (NodeRef& child : last->children_) {
      const Node* inner = std::exchange(child.node_, nullptr);
      if (inner && inner->references_.fetch_sub(1, std::memory_order_acq_rel) == 1) dying.push_back(inner);
    }
    delete last;
  }
}

bool Node::prove_text(const Node& node) {
  const auto is_text = [](const NodeRef& child) { return child->is_text_; };
  switch (node.kind_) {
    case NodeKind::bytes: return node.set_.is_subset_of(ByteSet::range(0, 0x7F));
    case NodeKind::literal: return is_utf8(node.text_);
    case NodeKind::intersection: return std::ranges::any_of(node.children_, is_text);
    case NodeKind::complement: return false;
    case NodeKind::lookahead:
    case NodeKind::lookbehind:
    case NodeKind::not_followed_by: return true;  // zero-width
    case NodeKind::maximal_munch: return is_text(node.children_[0]);
    default:  // a grammar: by induction over the definitions
      return std::ranges::all_of(node.children_, is_text);
  }
}

NodeRef Node::finish(Node* node) {
  Hash128 hash = mix(Hash128{}, static_cast<std::uint64_t>(node->kind_) * 2 + node->negative_);
  hash = mix(hash, (std::uint64_t{node->minimum_} << 32) | node->maximum_);
  for (std::uint64_t word : node->set_.words()) hash = mix(hash, word);
  hash = mix(hash, node->text_.size());
  for (std::size_t i = 0; i < node->text_.size(); i += 8) {
    std::uint64_t word = 0;
    std::memcpy(&word, node->text_.data() + i, std::min<std::size_t>(8, node->text_.size() - i));
    hash = mix(hash, word);
  }
  const bool inherits = node->kind_ != NodeKind::scope;
  const bool closes = node->kind_ == NodeKind::grammar;
  node->has_special_ = node->kind_ == NodeKind::special;
  node->has_distinct_ = node->has_keys();
  node->has_list_ = node->kind_ == NodeKind::distinct;
  for (const NodeRef& child : node->children_) {
    hash = mix(hash, child->hash_);
    node->has_list_ |= child->has_list_;
    node->depth_ = std::max(node->depth_, child->depth_ + 1);
    node->has_special_ |= child->has_special_;
    node->has_distinct_ |= child->has_distinct_;
    if (inherits) node->has_assertion_ |= child->has_assertion_;
    if (!closes) node->reference_limit_ = std::max(node->reference_limit_, child->reference_limit_);
  }
  node->hash_ = hash;
  node->is_text_ = prove_text(*node);
  return NodeRef(node);
}

NodeRef Node::empty() { return finish(new Node(NodeKind::empty)); }
NodeRef Node::epsilon() { return finish(new Node(NodeKind::epsilon)); }

NodeRef Node::bytes(const ByteSet& set) {
  if (set.empty()) return empty();
  Node* node = new Node(NodeKind::bytes);
  node->set_ = set;
  return finish(node);
}

NodeRef Node::literal(std::string text) {
  if (text.empty()) return epsilon();
  Node* node = new Node(NodeKind::literal);
  node->text_ = std::move(text);
  return finish(node);
}

NodeRef Node::concat(std::vector<NodeRef> parts) {
  if (parts.empty()) return epsilon();
  if (parts.size() == 1) return std::move(parts[0]);
  Node* node = new Node(NodeKind::concat);
  node->children_ = std::move(parts);
  return finish(node);
}

NodeRef Node::union_of(std::vector<NodeRef> parts) {
  if (parts.empty()) return empty();
  if (parts.size() == 1) return std::move(parts[0]);
  Node* node = new Node(NodeKind::union_of);
  node->children_ = std::move(parts);
  return finish(node);
}

NodeRef Node::intersection(std::vector<NodeRef> parts) {
  if (parts.empty()) return repeat(bytes(ByteSet::all()), 0, kUnbounded);
  if (parts.size() == 1) return std::move(parts[0]);
  for (const NodeRef& part : parts) check_closed(*part);
  Node* node = new Node(NodeKind::intersection);
  node->children_ = std::move(parts);
  return finish(node);
}

NodeRef Node::complement(NodeRef part) {
  check_closed(*part);
  Node* node = new Node(NodeKind::complement);
  node->children_.push_back(std::move(part));
  return finish(node);
}

NodeRef Node::repeat(NodeRef part, std::uint32_t minimum, std::uint32_t maximum) {
  if (minimum > maximum || minimum == kUnbounded) throw Error(ErrorKind::argument, "repeat", minimum, maximum);
  Node* node = new Node(NodeKind::repeat);
  node->minimum_ = minimum;
  node->maximum_ = maximum;
  node->children_.push_back(std::move(part));
  return finish(node);
}

NodeRef Node::lookahead(NodeRef body, bool negative) {
  check_closed(*body);
  Node* node = new Node(NodeKind::lookahead);
  node->negative_ = negative;
  node->has_assertion_ = true;
  node->children_.push_back(std::move(body));
  return finish(node);
}

NodeRef Node::lookbehind(NodeRef body, bool negative) {
  check_closed(*body);
  Node* node = new Node(NodeKind::lookbehind);
  node->negative_ = negative;
  node->has_assertion_ = true;
  node->children_.push_back(std::move(body));
  return finish(node);
}

NodeRef Node::scope(NodeRef body) {
  if (!body->has_assertion_) return body;
  Node* node = new Node(NodeKind::scope);
  node->children_.push_back(std::move(body));
  return finish(node);
}

NodeRef Node::reference(std::uint32_t index) {
  if (index >= kUnbounded) throw Error(ErrorKind::argument, "reference", index, kUnbounded);
  Node* node = new Node(NodeKind::reference);
  node->minimum_ = index;
  node->reference_limit_ = index + 1;
  return finish(node);
}

NodeRef Node::grammar(std::vector<NodeRef> definitions, std::uint32_t start) {
  if (start >= definitions.size()) throw Error(ErrorKind::argument, "reference", start, std::ssize(definitions));
  for (const NodeRef& definition : definitions) {
    if (definition->reference_limit_ > definitions.size()) {
      throw Error(ErrorKind::argument, "reference", definition->reference_limit_ - 1, std::ssize(definitions));
    }
  }
  Node* node = new Node(NodeKind::grammar);
  node->minimum_ = start;
  node->children_ = std::move(definitions);
  return finish(node);
}

NodeRef Node::json_string(NodeRef texts, bool is_serialized) {
  check_closed(*texts);
  Node* node = new Node(is_serialized ? NodeKind::serialized_string : NodeKind::json_string);
  node->children_.push_back(std::move(texts));
  return finish(node);
}

NodeRef Node::unordered(std::vector<NodeRef> members, std::string required, NodeRef others, NodeRef separator,
                        std::uint32_t minimum, std::uint32_t maximum) {
  if (minimum > maximum) throw Error(ErrorKind::argument, "repeat", minimum, maximum);
  if (required.size() != members.size()) {
    throw Error(ErrorKind::argument, "unordered", std::ssize(required), std::ssize(members));
  }
  Node* node = new Node(NodeKind::unordered);
  node->minimum_ = minimum;
  node->maximum_ = maximum;
  node->text_ = std::move(required);
  node->children_ = std::move(members);
  node->children_.insert(node->children_.begin(), {std::move(separator), std::move(others)});
  return finish(node);
}

NodeRef Node::ordered(std::vector<NodeRef> members, std::string required, NodeRef others, NodeRef separator,
                      bool nonempty) {
  if (required.size() != members.size()) {
    throw Error(ErrorKind::argument, "unordered", std::ssize(required), std::ssize(members));
  }
  Node* node = new Node(NodeKind::ordered);
  node->minimum_ = nonempty;
  node->text_ = std::move(required);
  node->children_ = std::move(members);
  node->children_.insert(node->children_.begin(), {std::move(separator), std::move(others)});
  return finish(node);
}

NodeRef Node::distinct(NodeRef key, NodeRef rest, NodeRef separator, std::uint32_t minimum, std::uint32_t maximum,
                       bool has_names) {
  if (minimum > maximum) throw Error(ErrorKind::argument, "repeat", minimum, maximum);
  // The number and lengths of keys that refer to a rule are known only after the rule is defined.
  if (minimum > 1 && (key->is_open() || rest->is_open()))
    throw Error(ErrorKind::unsupported, "distinct_recursive", minimum);
  Node* node = new Node(NodeKind::distinct);
  node->minimum_ = minimum;
  node->maximum_ = maximum;
  node->text_ = has_names ? "names" : "values";
  node->children_ = {std::move(separator), std::move(key), std::move(rest)};
  return finish(node);
}

namespace {

constexpr std::string_view kOrderMark = "order ";

}  // namespace

NodeRef Node::ordered_kinds(std::vector<NodeRef> keys_and_rests, const NodeRef& order, NodeRef separator) {
  const std::size_t kinds = keys_and_rests.size() / 2;
  if (keys_and_rests.size() % 2 != 0 || kinds > kMaxItemKinds) {
    throw Error(ErrorKind::argument, "item_kinds", std::ssize(keys_and_rests) / 2, kMaxItemKinds);
  }
  check_closed(*order);
  if (order->has_assertion_ || order->has_list_) throw Error(ErrorKind::argument, "item_order");
  for (std::size_t i = 0; i < keys_and_rests.size(); i += 2) check_closed(*keys_and_rests[i]);
  Node* node = new Node(NodeKind::distinct);
  node->maximum_ = kUnbounded;
  node->text_ = std::string(kOrderMark) + encode_node(order);
  node->children_ = std::move(keys_and_rests);
  node->children_.insert(node->children_.begin(), std::move(separator));
  return finish(node);
}

bool Node::is_order(std::string_view text) { return text.starts_with(kOrderMark); }
NodeRef Node::order_of(std::string_view text) { return decode_node(text.substr(kOrderMark.size())); }

// Whether the items of a list have keys that are compared.
bool Node::has_keys() const {
  if (kind_ != NodeKind::distinct || !has_order()) return kind_ == NodeKind::distinct;
  for (std::size_t i = 1; i < children_.size(); i += 2) {
    if (children_[i]->kind_ != NodeKind::epsilon) return true;
  }
  return false;
}

NodeRef Node::maximal_munch(NodeRef body, NodeRef munched, std::string escape) {
  check_closed(*body);
  check_closed(*munched);
  Node* node = new Node(NodeKind::maximal_munch);
  node->children_ = {std::move(body), std::move(munched)};
  node->text_ = std::move(escape);
  return finish(node);
}

NodeRef Node::not_followed_by(NodeRef body, std::string escape) {
  check_closed(*body);
  Node* node = new Node(NodeKind::not_followed_by);
  node->children_.push_back(std::move(body));
  node->text_ = std::move(escape);
  return finish(node);
}

NodeRef Node::special(std::string name, const NodeRef* fallback) {
  Node* node = new Node(NodeKind::special);
  node->text_ = std::move(name);
  if (fallback) node->children_.push_back(*fallback);
  return finish(node);
}

NodeRef Node::with_children(const Node& like, std::vector<NodeRef> children) {
  Node* node = new Node(like.kind_);
  node->negative_ = like.negative_;
  node->has_assertion_ = like.has_assertion_;
  node->minimum_ = like.minimum_;
  node->maximum_ = like.maximum_;
  node->set_ = like.set_;
  node->text_ = like.text_;
  node->children_ = std::move(children);
  return finish(node);
}

// Definitions must be monotone: only then does their least fixed point exist.
void Node::check_closed(const Node& part) {
  if (part.is_open()) throw Error(ErrorKind::unsupported, "open_reference");
}

bool Node::equal(const Node& first, const Node& second) {
  struct PairHash {
    std::size_t operator()(const std::pair<const Node*, const Node*>& pair) const {
      return reinterpret_cast<std::size_t>(pair.first) * 31 + reinterpret_cast<std::size_t>(pair.second);
    }
  };
  std::unordered_set<std::pair<const Node*, const Node*>, PairHash> seen;
  std::vector<std::pair<const Node*, const Node*>> pending{{&first, &second}};
  while (!pending.empty()) {
    const auto [x, y] = pending.back();
    pending.pop_back();
    if (x == y || !seen.emplace(x, y).second) continue;
    if (!(x->hash_ == y->hash_) || x->kind_ != y->kind_ || x->negative_ != y->negative_ || x->minimum_ != y->minimum_ ||
        x->maximum_ != y->maximum_ || !(x->set_ == y->set_) || x->text_ != y->text_ ||
        x->children_.size() != y->children_.size()) {
      return false;
    }
    for (std::size_t i = 0; i < x->children_.size(); ++i) {
      pending.emplace_back(x->children_[i].get(), y->children_[i].get());
    }
  }
  return true;
}

}  // namespace detent

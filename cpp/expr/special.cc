#include "expr/special.h"

#include <algorithm>
#include <tuple>
#include <unordered_map>

#include "base/error.h"
#include "expr/utf8.h"

namespace detent {
namespace {

constexpr char kDelimiter = static_cast<char>(kFrameBound);

NodeRef any_number(NodeRef part) { return Node::repeat(std::move(part), 0, Node::kUnbounded); }

// The nodes below `root`, children before parents. Only nodes that satisfy `expand` contribute their children.
template <class Expand>
std::vector<NodeRef> children_first(const NodeRef& root, Expand expand) {
  std::vector<NodeRef> order;
  std::unordered_map<const Node*, bool> done;
  std::vector<NodeRef> pending{root};
  while (!pending.empty()) {
    const NodeRef node = pending.back();
    const auto [entry, is_new] = done.try_emplace(node.get(), false);
    if (is_new && expand(*node)) {
      for (const NodeRef& child : node->children()) {
        if (!done.contains(child.get())) pending.push_back(child);
      }
      continue;
    }
    pending.pop_back();
    if (!entry->second) order.push_back(node);
    entry->second = true;
  }
  return order;
}

bool has_special(const Node& node) { return node.has_special(); }

// Replaces each node that contains a special token by make(node, its new children).
template <class Make>
NodeRef rebuild(const NodeRef& root, Make make) {
  std::unordered_map<const Node*, NodeRef> made;
  for (const NodeRef& node : children_first(root, has_special)) {
    std::vector<NodeRef> children = node->children();
    if (node->has_special()) {
      for (NodeRef& child : children) child = made.at(child.get());
    }
    made.emplace(node.get(), node->has_special() ? make(*node, std::move(children)) : node);
  }
  return made.at(root.get());
}

// Removes byte strings with 0xFF from languages that are not proved to be text.
NodeRef without_frame_bytes(const NodeRef& root) {
  static const NodeRef others = any_number(Node::bytes(ByteSet::range(0, 0xFE)));
  std::unordered_map<const Node*, NodeRef> made;
  const auto expand = [](const Node& node) { return node.is_open() && !node.is_text(); };
  for (const NodeRef& node : children_first(root, expand)) {
    if (node->is_text()) {
      made.emplace(node.get(), node);
    } else if (!node->is_open()) {
      made.emplace(node.get(), Node::intersection({node, others}));
    } else {
      std::vector<NodeRef> children;
      for (const NodeRef& child : node->children()) children.push_back(made.at(child.get()));
      made.emplace(node.get(), Node::with_children(*node, std::move(children)));
    }
  }
  return made.at(root.get());
}

const ByteSet& frame_bytes() {
  static const ByteSet bytes = ByteSet::range(0x80, 0xBF) | ByteSet::of(kFrameBound);
  return bytes;
}

std::vector<NodeRef> alternatives_of(const NodeRef& node) {
  return node->kind() == NodeKind::union_of ? node->children() : std::vector<NodeRef>{node};
}

// Whether a node is a loop that reads the bytes of a frame one by one, such as "any bytes", and in no other way.
bool is_loop_over_frames(const Node& node) {
  const auto reads_all = [](const NodeRef& part) {
    return part->kind() == NodeKind::bytes && frame_bytes().is_subset_of(part->set());
  };
  const auto begins_outside = [](const NodeRef& part) {
    const bool is_row = part->kind() == NodeKind::concat && !part->children().empty();
    const Node& first = is_row ? *part->children()[0] : *part;
    if (first.kind() == NodeKind::literal) return !frame_bytes().contains(static_cast<std::uint8_t>(first.text()[0]));
    return first.kind() == NodeKind::bytes && (first.set() & frame_bytes()).empty();
  };
  if (node.kind() != NodeKind::repeat || node.minimum() > 0 || node.maximum() != Node::kUnbounded) return false;
  const std::vector<NodeRef> parts = alternatives_of(node.children()[0]);
  return std::ranges::any_of(parts, reads_all) &&
         std::ranges::all_of(parts, [&](const NodeRef& part) { return reads_all(part) || begins_outside(part); });
}

// Allows frames anywhere between the bytes of the strings (inverse of a projection). A loop that reads frames byte by
// byte needs none after its bytes: "any bytes" stays the same, and a condition has as few states as without frames.
NodeRef with_frames_anywhere(const NodeRef& root) {
  const NodeRef delimiter = Node::literal({kDelimiter}), digit = Node::bytes(ByteSet::range(0x80, 0xBF));
  const NodeRef frame = Node::concat({delimiter, Node::repeat(digit, 1, Node::kUnbounded), delimiter});
  const NodeRef frames = any_number(frame);
  // What begins like a frame and is none: no text has it. With it, any byte may follow where any byte was read.
  const NodeRef other = Node::bytes(ByteSet::range(0, 0x7F) | ByteSet::range(0xC0, 0xFE));
  const NodeRef no_frame =
      Node::concat({delimiter, Node::union_of({delimiter, Node::concat({any_number(digit), other})})});
  struct Lifted {
    NodeRef whole;  // with frames after each byte
    NodeRef inner;  // the same, perhaps without those after the last byte
  };
  std::unordered_map<const Node*, Lifted> lifted;
  for (const NodeRef& node : children_first(root, [](const Node&) { return true; })) {
    std::vector<NodeRef> children;
    for (const NodeRef& child : node->children()) children.push_back(lifted.at(child.get()).whole);
    NodeRef whole = node, inner;
    switch (node->kind()) {
      case NodeKind::empty:
      case NodeKind::epsilon:
      case NodeKind::reference: break;
      case NodeKind::bytes:
        inner = node;
        if (node->set().contains(kFrameBound)) {
          inner = Node::union_of({Node::bytes(node->set() & ByteSet::range(0, 0xFE)), no_frame});
        }
        whole = Node::concat({inner, frames});
        break;
      case NodeKind::literal: {
        if (node->text().find(kDelimiter) != std::string::npos) {
          whole = Node::empty();
          break;
        }
        std::vector<NodeRef> parts;
        for (char byte : node->text()) parts.insert(parts.end(), {Node::literal({byte}), frames});
        whole = Node::concat(parts);
        parts.pop_back();
        inner = Node::concat(std::move(parts));
        break;
      }
      case NodeKind::complement: whole = Node::complement(Node::concat({frames, children[0]})); break;
      case NodeKind::concat:
      case NodeKind::union_of:
        whole = Node::with_children(*node, children);
        for (std::size_t i = node->kind() == NodeKind::concat ? children.size() - 1 : 0; i < children.size(); ++i) {
          children[i] = lifted.at(node->children()[i].get()).inner;
        }
        inner = Node::with_children(*node, std::move(children));
        break;
      case NodeKind::repeat:
        if (is_loop_over_frames(*node)) {
          std::vector<NodeRef> parts = alternatives_of(node->children()[0]);
          for (NodeRef& part : parts) {
            if (part->kind() != NodeKind::bytes) part = lifted.at(part.get()).inner;
          }
          whole = any_number(Node::union_of(std::move(parts)));
          break;
        }
        [[fallthrough]];
      case NodeKind::intersection:
      case NodeKind::grammar:
      case NodeKind::unordered:
      case NodeKind::ordered: whole = Node::with_children(*node, std::move(children)); break;
      default: throw Error(ErrorKind::unsupported, "special_meet");
    }
    lifted.emplace(node.get(), Lifted{whole, inner.get() ? inner : whole});
  }
  const NodeRef& node = lifted.at(root.get()).whole;
  return root->kind() == NodeKind::complement ? node : Node::concat({frames, node});
}

// The operands of an intersection for a language with special tokens: `parts`, of which those without special tokens
// apply to the text without frames. Frames stay inside the operands of nested intersections, so that the core sees a
// language and the complements beside it. If an operand is text with special tokens, "all texts" adds nothing.
std::vector<NodeRef> beside_frames(const std::vector<NodeRef>& nodes, std::vector<NodeRef> parts) {
  static const NodeRef all_texts = any_number(utf8_chars({{0, 0x10FFFF}}));
  const bool is_text = std::ranges::any_of(nodes, [](auto& node) { return node->has_special() && node->is_text(); });
  std::vector<NodeRef> found, pending;
  for (std::size_t i = 0; i < nodes.size(); ++i) (nodes[i]->has_special() ? found : pending).push_back(parts[i]);
  while (!pending.empty()) {
    const NodeRef part = pending.back();
    pending.pop_back();
    if (part->kind() == NodeKind::intersection) {
      pending.insert(pending.end(), part->children().begin(), part->children().end());
    } else if (!is_text || part->hash() != all_texts->hash()) {
      found.push_back(with_frames_anywhere(part));
    }
  }
  return found;
}

// The byte strings in which frames stand between the bytes of one character of UTF-8.
NodeRef with_frame_in_character() {
  const NodeRef any = any_number(Node::bytes(ByteSet::range(0, 0xFF)));
  const NodeRef more = Node::bytes(ByteSet::range(0x80, 0xBF)), delimiter = Node::literal({kDelimiter});
  std::vector<NodeRef> beginnings;  // the first byte, and fewer further bytes than it asks for
  for (const auto& [first, last, count] : {std::tuple{0xC2, 0xDF, 0u}, {0xE0, 0xEF, 1u}, {0xF0, 0xF4, 2u}}) {
    const auto lead = static_cast<std::uint8_t>(first), end = static_cast<std::uint8_t>(last);
    beginnings.push_back(Node::concat({Node::bytes(ByteSet::range(lead, end)), Node::repeat(more, 0, count)}));
  }
  const NodeRef frames = Node::repeat(Node::concat({delimiter, any_number(more), delimiter}), 1, Node::kUnbounded);
  return Node::concat({any, Node::union_of(std::move(beginnings)), frames, more, any});
}

}  // namespace

std::string special_frame(std::string_view name) {
  std::string frame(1, kDelimiter);
  unsigned bits = 0, count = 0;
  for (char byte : name) {
    bits = bits << 8 | static_cast<std::uint8_t>(byte);
    for (count += 8; count >= 6; count -= 6) frame += static_cast<char>(0x80 | ((bits >> (count - 6)) & 0x3F));
    bits &= (1u << count) - 1;
  }
  if (count > 0) frame += static_cast<char>(0x80 | ((bits << (6 - count)) & 0x3F));
  return frame + kDelimiter;
}

std::vector<std::string> special_names(const NodeRef& root) {
  std::vector<std::string> names;
  for (const NodeRef& node : children_first(root, has_special)) {
    if (node->kind() == NodeKind::special && node->children().empty()) names.push_back(node->text());
  }
  std::sort(names.begin(), names.end());
  names.erase(std::unique(names.begin(), names.end()), names.end());
  return names;
}

NodeRef with_special(const NodeRef& root, const std::vector<std::string>& names, const std::vector<std::string>& eos) {
  if (!root->has_special()) return root;
  const auto texts_with = [](const std::vector<std::string>& of) {
    std::vector<NodeRef> units{Node::bytes(ByteSet::range(0, 0xFE))};
    for (const std::string& name : of) units.push_back(Node::literal(special_frame(name)));
    return any_number(Node::union_of(std::move(units)));
  };
  bool has_complement = false;
  NodeRef lifted = rebuild(root, [&](const Node& node, std::vector<NodeRef> children) {
    const auto has_none = [&node](std::size_t i) { return !node.children()[i]->has_special(); };
    switch (node.kind()) {
      case NodeKind::special:
        if (std::ranges::binary_search(names, node.text())) return Node::literal(special_frame(node.text()));
        return children.empty() ? Node::empty() : children[0];
      case NodeKind::complement:
        has_complement = true;
        return Node::intersection({Node::complement(children[0]), texts_with(names)});
      case NodeKind::intersection: return Node::intersection(beside_frames(node.children(), std::move(children)));
      default:
        for (std::size_t i = 0; i < children.size(); ++i) {
          if (has_none(i)) children[i] = without_frame_bytes(children[i]);
        }
        return Node::with_children(node, std::move(children));
    }
  });
  if (!has_complement) return lifted;
  lifted = Node::intersection({lifted, Node::complement(with_frame_in_character())});
  if (eos.empty()) return lifted;
  std::vector<std::string> others;
  std::ranges::set_difference(names, eos, std::back_inserter(others));
  std::vector<NodeRef> last{Node::epsilon()};
  for (const std::string& name : eos) last.push_back(Node::literal(special_frame(name)));
  return Node::intersection({lifted, Node::concat({texts_with(others), Node::union_of(std::move(last))})});
}

NodeRef special_as_text(const NodeRef& root, const std::vector<std::string>& names) {
  return rebuild(root, [&names](const Node& node, std::vector<NodeRef> children) {
    if (node.kind() != NodeKind::special) return Node::with_children(node, std::move(children));
    if (std::ranges::binary_search(names, node.text())) return Node::literal(node.text());
    return Node::special(node.text(), children.empty() ? nullptr : &children[0]);
  });
}

NodeRef without_special(const NodeRef& root) {
  return rebuild(root, [](const Node& node, std::vector<NodeRef> children) {
    if (node.kind() != NodeKind::special) return Node::with_children(node, std::move(children));
    return children.empty() ? Node::epsilon() : Node::repeat(children[0], 0, 1);
  });
}

}  // namespace detent

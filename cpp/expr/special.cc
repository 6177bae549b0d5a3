#include "expr/special.h"

#include <algorithm>
#include <tuple>
#include <unordered_map>

#include "base/error.h"

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

// Allows frames anywhere between the bytes of the strings (inverse of a projection).
NodeRef with_frames_anywhere(const NodeRef& root) {
  const NodeRef delimiter = Node::literal({kDelimiter}), digits = any_number(Node::bytes(ByteSet::range(0x80, 0xBF)));
  const NodeRef frames = any_number(Node::concat({delimiter, digits, delimiter}));
  std::unordered_map<const Node*, NodeRef> lifted;  // with frames after each byte
  for (const NodeRef& node : children_first(root, [](const Node&) { return true; })) {
    std::vector<NodeRef> children;
    for (const NodeRef& child : node->children()) children.push_back(lifted.at(child.get()));
    switch (node->kind()) {
      case NodeKind::empty:
      case NodeKind::epsilon:
      case NodeKind::reference: lifted.emplace(node.get(), node); break;
      case NodeKind::bytes: lifted.emplace(node.get(), Node::concat({node, frames})); break;
      case NodeKind::literal: {
        std::vector<NodeRef> parts;
        for (char byte : node->text()) parts.insert(parts.end(), {Node::literal({byte}), frames});
        lifted.emplace(node.get(), Node::concat(std::move(parts)));
        break;
      }
      case NodeKind::complement:
        lifted.emplace(node.get(), Node::complement(Node::concat({frames, children[0]})));
        break;
      case NodeKind::concat:
      case NodeKind::union_of:
      case NodeKind::intersection:
      case NodeKind::repeat:
      case NodeKind::grammar:
      case NodeKind::unordered:
      case NodeKind::ordered: lifted.emplace(node.get(), Node::with_children(*node, std::move(children))); break;
      default: throw Error(ErrorKind::unsupported, "special_meet");
    }
  }
  return Node::concat({frames, lifted.at(root.get())});
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
      case NodeKind::intersection:
        for (std::size_t i = 0; i < children.size(); ++i) {
          if (has_none(i)) children[i] = with_frames_anywhere(children[i]);
        }
        return Node::intersection(std::move(children));
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

#include "expr/codec.h"

#include <cstdint>
#include <unordered_map>
#include <vector>

#include "base/error.h"

namespace detent {
namespace {

constexpr std::string_view kMagic = "detent node 2\n";

// FNV-1a: each byte's step is a bijection, so that a single changed byte always changes the sum.
std::uint64_t checksum(std::string_view bytes) {
  std::uint64_t sum = 0xCBF29CE484222325ULL;
  for (char byte : bytes) sum = (sum ^ static_cast<std::uint8_t>(byte)) * 0x100000001B3ULL;
  return sum;
}

void put(std::string& out, std::uint64_t value) {
  for (; value >= 0x80; value >>= 7) out += static_cast<char>(value | 0x80);
  out += static_cast<char>(value);
}

class Reader {
 public:
  explicit Reader(std::string_view bytes) : bytes_(bytes) {}

  std::uint64_t number(std::uint64_t most) {
    std::uint64_t value = 0;
    for (int shift = 0; shift < 64; shift += 7) {
      const auto byte = static_cast<std::uint8_t>(text(1)[0]);
      value |= std::uint64_t{byte & 0x7Fu} << shift;
      if (byte < 0x80) {
        if (value > most) fail();
        return value;
      }
    }
    fail();
  }

  std::string_view text(std::uint64_t size) {
    if (size > bytes_.size() - at_) fail();
    const std::string_view part = bytes_.substr(at_, size);
    at_ += size;
    return part;
  }

  std::size_t left() const { return bytes_.size() - at_; }
  [[noreturn]] void fail() const {
    throw Error(ErrorKind::argument, "node_bytes", static_cast<std::int64_t>(at_),
                static_cast<std::int64_t>(bytes_.size()));
  }

 private:
  std::string_view bytes_;
  std::size_t at_ = 0;
};

}  // namespace

std::string encode_node(const NodeRef& root) {
  std::string body;
  std::unordered_map<const Node*, std::uint64_t> numbers;
  std::vector<const Node*> pending{root.get()};
  while (!pending.empty()) {
    const Node* node = pending.back();
    if (numbers.contains(node)) {
      pending.pop_back();
      continue;
    }
    bool ready = true;
    for (const NodeRef& child : node->children()) {
      if (!numbers.contains(child.get())) {
        pending.push_back(child.get());
        ready = false;
      }
    }
    if (!ready) continue;
    pending.pop_back();
    put(body, static_cast<std::uint64_t>(node->kind()));
    if (node->kind() == NodeKind::bytes) {
      for (std::uint64_t word : node->set().words()) put(body, word);
    } else if (node->kind() == NodeKind::literal || node->kind() == NodeKind::special) {
      put(body, node->text().size());
      body += node->text();
    } else if (node->kind() == NodeKind::repeat) {
      put(body, node->minimum());
      put(body, node->maximum());
    } else if (node->kind() == NodeKind::concat) {
      put(body, node->is_text());
    } else if (node->kind() == NodeKind::reference || node->kind() == NodeKind::grammar) {
      put(body, node->minimum());
    } else if (node->kind() == NodeKind::unordered || node->kind() == NodeKind::ordered) {
      put(body, node->minimum());
      put(body, node->maximum());
      put(body, node->text().size());
      body += node->text();
    } else if (node->kind() == NodeKind::lookahead || node->kind() == NodeKind::lookbehind) {
      put(body, node->negative());
    }
    put(body, node->children().size());
    for (const NodeRef& child : node->children()) put(body, numbers[child.get()]);
    numbers.emplace(node, numbers.size());
  }
  std::string out(kMagic);
  put(out, numbers.size());
  out += body;
  const std::uint64_t sum = checksum(out);
  for (int shift = 0; shift < 64; shift += 8) out += static_cast<char>(sum >> shift);
  return out;
}

NodeRef decode_node(std::string_view bytes) {
  Reader reader(bytes.size() < 8 ? std::string_view{} : bytes.substr(0, bytes.size() - 8));
  if (reader.left() < kMagic.size() || reader.text(kMagic.size()) != kMagic) reader.fail();
  std::uint64_t sum = 0;
  for (std::size_t i = 0; i < 8; ++i)
    sum |= std::uint64_t{static_cast<std::uint8_t>(bytes[bytes.size() - 8 + i])} << (8 * i);
  if (sum != checksum(bytes.substr(0, bytes.size() - 8))) reader.fail();

  const std::uint64_t count = reader.number(bytes.size());
  std::vector<NodeRef> nodes;
  for (std::uint64_t i = 0; i < count; ++i) {
    const auto kind = static_cast<NodeKind>(reader.number(static_cast<std::uint64_t>(NodeKind::special)));
    ByteSet set;
    std::string_view text;
    std::uint64_t first = 0, second = 0;
    if (kind == NodeKind::bytes) {
      for (unsigned word = 0; word < 4; ++word) {
        const std::uint64_t bits = reader.number(UINT64_MAX);
        for (unsigned bit = 0; bit < 64; ++bit) {
          if ((bits >> bit) & 1) set.insert(static_cast<std::uint8_t>(word * 64 + bit));
        }
      }
    } else if (kind == NodeKind::literal || kind == NodeKind::special) {
      text = reader.text(reader.number(bytes.size()));
    } else if (kind == NodeKind::repeat) {
      first = reader.number(Node::kUnbounded);
      second = reader.number(Node::kUnbounded);
    } else if (kind == NodeKind::concat) {
      first = reader.number(1);
    } else if (kind == NodeKind::reference || kind == NodeKind::grammar) {
      first = reader.number(Node::kUnbounded);
    } else if (kind == NodeKind::unordered || kind == NodeKind::ordered) {
      first = reader.number(Node::kUnbounded);
      second = reader.number(Node::kUnbounded);
      text = reader.text(reader.number(bytes.size()));
    } else if (kind == NodeKind::lookahead || kind == NodeKind::lookbehind) {
      first = reader.number(1);
    }
    std::vector<NodeRef> children;
    const std::uint64_t child_count = reader.number(reader.left());
    for (std::uint64_t k = 0; k < child_count; ++k) {
      const std::uint64_t child = reader.number(UINT64_MAX);
      if (child >= nodes.size()) reader.fail();
      children.push_back(nodes[child]);
    }
    const bool many = kind == NodeKind::concat || kind == NodeKind::union_of || kind == NodeKind::intersection;
    const bool none = kind <= NodeKind::literal || kind == NodeKind::reference;
    const bool some = kind == NodeKind::grammar || kind == NodeKind::unordered || kind == NodeKind::ordered;
    const std::size_t least = kind == NodeKind::grammar ? 1 : 2;
    const bool maybe_one = kind == NodeKind::special;
    if (none           ? !children.empty()
        : maybe_one    ? children.size() > 1
        : many || some ? children.size() < least
                       : children.size() != (kind == NodeKind::maximal_munch ? 2 : 1)) {
      reader.fail();
    }
    try {
      switch (kind) {
        case NodeKind::empty: nodes.push_back(Node::empty()); break;
        case NodeKind::epsilon: nodes.push_back(Node::epsilon()); break;
        case NodeKind::bytes: nodes.push_back(Node::bytes(set)); break;
        case NodeKind::literal: nodes.push_back(Node::literal(std::string(text))); break;
        case NodeKind::concat:
          nodes.push_back(Node::concat(std::move(children)));
          if (first) Node::mark_text(nodes.back());
          break;
        case NodeKind::union_of: nodes.push_back(Node::union_of(std::move(children))); break;
        case NodeKind::intersection: nodes.push_back(Node::intersection(std::move(children))); break;
        case NodeKind::complement: nodes.push_back(Node::complement(children[0])); break;
        case NodeKind::repeat:
          nodes.push_back(
              Node::repeat(children[0], static_cast<std::uint32_t>(first), static_cast<std::uint32_t>(second)));
          break;
        case NodeKind::lookahead: nodes.push_back(Node::lookahead(children[0], first != 0)); break;
        case NodeKind::lookbehind: nodes.push_back(Node::lookbehind(children[0], first != 0)); break;
        case NodeKind::scope: nodes.push_back(Node::scope(children[0])); break;
        case NodeKind::reference: nodes.push_back(Node::reference(static_cast<std::uint32_t>(first))); break;
        case NodeKind::grammar:
          nodes.push_back(Node::grammar(std::move(children), static_cast<std::uint32_t>(first)));
          break;
        case NodeKind::json_string: nodes.push_back(Node::json_string(children[0])); break;
        case NodeKind::unordered:
          nodes.push_back(Node::unordered({children.begin() + 2, children.end()}, std::string(text), children[1],
                                          children[0], static_cast<std::uint32_t>(first),
                                          static_cast<std::uint32_t>(second)));
          break;
        case NodeKind::ordered:
          nodes.push_back(Node::ordered({children.begin() + 2, children.end()}, std::string(text), children[1],
                                        children[0], first > 0));
          break;
        case NodeKind::maximal_munch: nodes.push_back(Node::maximal_munch(children[0], children[1])); break;
        case NodeKind::not_followed_by: nodes.push_back(Node::not_followed_by(children[0])); break;
        case NodeKind::special:
          nodes.push_back(Node::special(std::string(text), children.empty() ? nullptr : &children[0]));
          break;
      }
    } catch (const Error&) {
      reader.fail();  // such as a rule's reference to a definition that is not there
    }
  }
  if (nodes.empty() || reader.left() != 0) reader.fail();
  return nodes.back();
}

}  // namespace detent

#include "expr/node_codec.h"

#include <cstdint>
#include <unordered_map>
#include <vector>

#include "base/error.h"

namespace detent {
namespace {

constexpr std::string_view kMagic = "detent node 3\n";

// FNV-1a: the step of each byte is a bijection, so that one changed byte always changes the sum.
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

// The fields of a node besides its children, by kind.
struct Layout {
  bool set = false;
  bool minimum = false;
  bool maximum = false;
  bool text = false;
  bool flag = false;  // `negative` of an assertion, `is_text` of a concatenation
  std::size_t min_children = 0;
  std::size_t max_children = 0;
};

constexpr std::size_t kAnyCount = SIZE_MAX;

Layout layout_of(NodeKind kind) {
  switch (kind) {
    case NodeKind::empty:
    case NodeKind::epsilon: return {};
    case NodeKind::bytes: return {.set = true};
    case NodeKind::literal: return {.text = true};
    case NodeKind::concat: return {.flag = true, .min_children = 2, .max_children = kAnyCount};
    case NodeKind::union_of:
    case NodeKind::intersection: return {.min_children = 2, .max_children = kAnyCount};
    case NodeKind::complement:
    case NodeKind::scope:
    case NodeKind::json_string:
    case NodeKind::serialized_string: return {.min_children = 1, .max_children = 1};
    case NodeKind::not_followed_by: return {.text = true, .min_children = 1, .max_children = 1};
    case NodeKind::repeat: return {.minimum = true, .maximum = true, .min_children = 1, .max_children = 1};
    case NodeKind::lookahead:
    case NodeKind::lookbehind: return {.flag = true, .min_children = 1, .max_children = 1};
    case NodeKind::reference: return {.minimum = true};
    case NodeKind::grammar: return {.minimum = true, .min_children = 1, .max_children = kAnyCount};
    case NodeKind::unordered:
    case NodeKind::ordered:
      return {.minimum = true, .maximum = true, .text = true, .min_children = 2, .max_children = kAnyCount};
    case NodeKind::distinct:
      return {.minimum = true, .maximum = true, .text = true, .min_children = 1, .max_children = kAnyCount};
    case NodeKind::maximal_munch: return {.text = true, .min_children = 2, .max_children = 2};
    case NodeKind::special: return {.text = true, .max_children = 1};
  }
  return {};
}

struct Fields {
  ByteSet set;
  std::uint32_t minimum = 0;
  std::uint32_t maximum = 0;
  std::string text;
  bool flag = false;
  std::vector<NodeRef> children;
};

Fields read_fields(Reader& reader, const Layout& layout, const std::vector<NodeRef>& nodes) {
  Fields fields;
  if (layout.set) {
    for (unsigned word = 0; word < 4; ++word) {
      const std::uint64_t bits = reader.number(UINT64_MAX);
      for (unsigned bit = 0; bit < 64; ++bit) {
        if ((bits >> bit) & 1) fields.set.insert(static_cast<std::uint8_t>(word * 64 + bit));
      }
    }
  }
  if (layout.minimum) fields.minimum = static_cast<std::uint32_t>(reader.number(Node::kUnbounded));
  if (layout.maximum) fields.maximum = static_cast<std::uint32_t>(reader.number(Node::kUnbounded));
  if (layout.text) fields.text = reader.text(reader.number(reader.left()));
  if (layout.flag) fields.flag = reader.number(1) != 0;
  const std::uint64_t child_count = reader.number(reader.left());
  if (child_count < layout.min_children || child_count > layout.max_children) reader.fail();
  for (std::uint64_t k = 0; k < child_count; ++k) {
    const std::uint64_t child = reader.number(UINT64_MAX);
    if (child >= nodes.size()) reader.fail();
    fields.children.push_back(nodes[child]);
  }
  return fields;
}

NodeRef make_node(NodeKind kind, Fields fields) {
  std::vector<NodeRef>& children = fields.children;
  const bool is_ordered = kind == NodeKind::distinct && Node::is_order(fields.text);
  switch (kind) {
    case NodeKind::empty: return Node::empty();
    case NodeKind::epsilon: return Node::epsilon();
    case NodeKind::bytes: return Node::bytes(fields.set);
    case NodeKind::literal: return Node::literal(std::move(fields.text));
    case NodeKind::concat: {
      NodeRef node = Node::concat(std::move(children));
      if (fields.flag) Node::mark_text(node);
      return node;
    }
    case NodeKind::union_of: return Node::union_of(std::move(children));
    case NodeKind::intersection: return Node::intersection(std::move(children));
    case NodeKind::complement: return Node::complement(children[0]);
    case NodeKind::repeat: return Node::repeat(children[0], fields.minimum, fields.maximum);
    case NodeKind::lookahead: return Node::lookahead(children[0], fields.flag);
    case NodeKind::lookbehind: return Node::lookbehind(children[0], fields.flag);
    case NodeKind::scope: return Node::scope(children[0]);
    case NodeKind::reference: return Node::reference(fields.minimum);
    case NodeKind::grammar: return Node::grammar(std::move(children), fields.minimum);
    case NodeKind::json_string: return Node::json_string(children[0]);
    case NodeKind::serialized_string: return Node::json_string(children[0], true);
    case NodeKind::unordered:
      return Node::unordered({children.begin() + 2, children.end()}, std::move(fields.text), children[1], children[0],
                             fields.minimum, fields.maximum);
    case NodeKind::ordered:
      return Node::ordered({children.begin() + 2, children.end()}, std::move(fields.text), children[1], children[0],
                           fields.minimum > 0);
    case NodeKind::distinct:
      if (is_ordered) {
        NodeRef separator = std::move(children[0]);
        children.erase(children.begin());
        return Node::ordered_kinds(std::move(children), Node::order_of(fields.text), std::move(separator));
      }
      if (children.size() != 3) throw Error(ErrorKind::argument, "node_bytes");
      return Node::distinct(children[1], children[2], children[0], fields.minimum, fields.maximum,
                            fields.text == "names");
    case NodeKind::maximal_munch: return Node::maximal_munch(children[0], children[1], std::move(fields.text));
    case NodeKind::not_followed_by: return Node::not_followed_by(children[0], std::move(fields.text));
    case NodeKind::special: return Node::special(std::move(fields.text), children.empty() ? nullptr : &children[0]);
  }
  return Node::empty();
}

struct LowBits {
  std::size_t operator()(const Hash128& hash) const { return hash.low; }
};
// By structure: equal parts are written once, so that equal nodes have equal bytes, whichever parts they share.
using Numbers = std::unordered_map<Hash128, std::uint64_t, LowBits>;
Hash128 key_of(const Node& node) { return {node.hash().low + (node.is_text() ? 1 : 0), node.hash().high}; }

void write_node(std::string& out, const Node& node, const Numbers& numbers) {
  const Layout layout = layout_of(node.kind());
  put(out, static_cast<std::uint64_t>(node.kind()));
  if (layout.set) {
    for (std::uint64_t word : node.set().words()) put(out, word);
  }
  if (layout.minimum) put(out, node.minimum());
  if (layout.maximum) put(out, node.maximum());
  if (layout.text) {
    put(out, node.text().size());
    out += node.text();
  }
  if (layout.flag) put(out, node.kind() == NodeKind::concat ? node.is_text() : node.negative());
  put(out, node.children().size());
  for (const NodeRef& child : node.children()) put(out, numbers.at(key_of(*child)));
}

}  // namespace

std::string encode_node(const NodeRef& root) {
  std::string body;
  Numbers numbers;
  std::vector<const Node*> pending{root.get()};
  while (!pending.empty()) {
    const Node* node = pending.back();
    if (numbers.contains(key_of(*node))) {
      pending.pop_back();
      continue;
    }
    bool ready = true;
    for (const NodeRef& child : node->children()) {
      if (numbers.contains(key_of(*child))) continue;
      pending.push_back(child.get());
      ready = false;
    }
    if (!ready) continue;
    pending.pop_back();
    write_node(body, *node, numbers);
    numbers.emplace(key_of(*node), numbers.size());
  }
  std::string out(kMagic);
  put(out, numbers.size());
  out += body;
  const std::uint64_t sum = checksum(out);
  for (int shift = 0; shift < 64; shift += 8) out += static_cast<char>(sum >> shift);
  return out;
}

NodeRef decode_node(std::string_view bytes, bool with_orders) {
  Reader reader(bytes.size() < 8 ? std::string_view{} : bytes.substr(0, bytes.size() - 8));
  if (reader.left() < kMagic.size() || reader.text(kMagic.size()) != kMagic) reader.fail();
  std::uint64_t sum = 0;
  for (std::size_t i = 0; i < 8; ++i) {
    sum |= std::uint64_t{static_cast<std::uint8_t>(bytes[bytes.size() - 8 + i])} << (8 * i);
  }
  if (sum != checksum(bytes.substr(0, bytes.size() - 8))) reader.fail();

  const std::uint64_t count = reader.number(bytes.size());
  std::vector<NodeRef> nodes;
  for (std::uint64_t i = 0; i < count; ++i) {
    const auto kind = static_cast<NodeKind>(reader.number(static_cast<std::uint64_t>(kLastNodeKind)));
    Fields fields = read_fields(reader, layout_of(kind), nodes);
    if (kind == NodeKind::distinct && !with_orders && Node::is_order(fields.text)) reader.fail();
    try {
      nodes.push_back(make_node(kind, std::move(fields)));
    } catch (const Error&) {
      reader.fail();  // such as a reference without its definition
    }
  }
  if (nodes.empty() || reader.left() != 0) reader.fail();
  return nodes.back();
}

}  // namespace detent

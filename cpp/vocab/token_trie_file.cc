// Saves and loads a TokenTrie: arrays of 32-bit numbers, each preceded by its length. Heights, roots and the length of
// the longest token are not saved; loading computes them.
#include <algorithm>
#include <array>
#include <bit>
#include <cstring>
#include <utility>

#include "base/error.h"
#include "vocab/token_trie.h"

namespace detent {

namespace {

[[noreturn]] void refuse() { throw Error(ErrorKind::vocabulary, "saved_trie"); }

class Writer {
 public:
  template <class T>
  void array(const std::vector<T>& values) {
    static_assert(sizeof(T) % sizeof(std::uint32_t) == 0);
    number(static_cast<std::uint32_t>(values.size()));
    bytes_.append(reinterpret_cast<const char*>(values.data()), values.size() * sizeof(T));
  }
  void number(std::uint32_t value) { bytes_.append(reinterpret_cast<const char*>(&value), sizeof(value)); }
  std::string take() { return std::move(bytes_); }

 private:
  std::string bytes_;
};

class Reader {
 public:
  explicit Reader(std::string_view bytes) : bytes_(bytes) {}

  std::uint32_t number() {
    if (bytes_.size() < sizeof(std::uint32_t)) refuse();
    std::uint32_t value;
    std::memcpy(&value, bytes_.data(), sizeof(value));
    bytes_.remove_prefix(sizeof(value));
    return value;
  }
  template <class T>
  std::vector<T> array() {
    const std::size_t count = number();
    if (count > bytes_.size() / sizeof(T)) refuse();
    std::vector<T> values(count);
    if (count) std::memcpy(values.data(), &bytes_[0], count * sizeof(T));
    bytes_.remove_prefix(count * sizeof(T));
    return values;
  }
  bool at_end() const { return bytes_.empty(); }

 private:
  std::string_view bytes_;
};

// A Subtree without padding.
struct SavedSubtree {
  std::array<std::uint64_t, 4> used;
  std::uint32_t height, first, last, whole;
};

}  // namespace

std::string TokenTrie::save() const {
  std::vector<SavedSubtree> subtrees;
  for (const Subtree& subtree : subtrees_) {
    subtrees.push_back({subtree.used.words(), subtree.height, subtree.first, subtree.last, subtree.whole});
  }
  Writer writer;
  writer.array(nodes_);
  writer.array(ids_in_order_);
  writer.array(subtrees);
  writer.number(static_cast<std::uint32_t>(shared_ids_.size()));
  for (const std::vector<std::uint32_t>& ids : shared_ids_) writer.array(ids);
  return writer.take();
}

TokenTrie TokenTrie::load(std::string_view saved, const std::vector<bool>& is_text, const BytesOf& bytes_of) {
  Reader reader(saved);
  TokenTrie trie;
  trie.nodes_ = reader.array<TrieNode>();
  trie.ids_in_order_ = reader.array<std::uint32_t>();
  trie.subtrees_.clear();
  for (const SavedSubtree& each : reader.array<SavedSubtree>()) {
    trie.subtrees_.push_back({std::bit_cast<ByteSet>(each.used), each.height, each.first, each.last, each.whole != 0});
  }
  const std::uint32_t shared = reader.number();
  for (std::uint32_t i = 0; i < shared; ++i) trie.shared_ids_.push_back(reader.array<std::uint32_t>());
  if (!reader.at_end()) refuse();
  trie.check(is_text, bytes_of);
  trie.find_heights();
  trie.find_open_tokens(bytes_of);
  trie.find_roots();
  trie.find_wide_nodes();
  trie.index_bytes();
  return trie;
}

// Checks that the nodes are nested, that the ids are the text tokens, once each, and that their nodes have their bytes.
void TokenTrie::check(const std::vector<bool>& is_text, const BytesOf& bytes_of) {
  std::vector<bool> missing = is_text;
  const auto take = [&](std::uint32_t id) {
    if (id >= missing.size() || !missing[id]) refuse();
    missing[id] = false;
  };
  for (std::uint32_t id : ids_in_order_) take(id);
  if (std::ranges::find(missing, true) != missing.end()) refuse();

  missing = is_text;
  std::vector<std::uint32_t> path;  // the nodes above the next one
  std::string text;                 // their bytes
  const auto take_here = [&](std::uint32_t id) {
    take(id);
    if (bytes_of(id) != text) refuse();
  };
  const auto close = [&](std::size_t depth, std::size_t end) {
    for (; path.size() > depth; path.pop_back()) {
      if (nodes_[path.back()].next != end) refuse();
    }
  };
  std::vector<bool> unused(shared_ids_.size(), true);
  for (std::uint32_t i = 0; i < nodes_.size(); ++i) {
    const TrieNode& node = nodes_[i];
    close(node.depth, i);
    if (path.size() != node.depth || node.subtree >= subtrees_.size()) refuse();
    path.push_back(i);
    text.resize(node.depth);
    text.push_back(static_cast<char>(node.byte));
    max_token_length_ = std::max(max_token_length_, node.depth + std::uint32_t{1});
    if (node.token == TrieNode::kNoToken) continue;
    if (!(node.token & TrieNode::kShared)) {
      take_here(node.token);
      continue;
    }
    const std::uint32_t list = node.token & ~TrieNode::kShared;
    if (list >= unused.size() || !unused[list] || shared_ids_[list].empty()) refuse();
    unused[list] = false;
    for (std::uint32_t id : shared_ids_[list]) take_here(id);
  }
  close(0, nodes_.size());
  if (std::ranges::find(missing, true) != missing.end() || subtrees_.empty()) refuse();
  for (const Subtree& subtree : subtrees_) {
    if (subtree.first > subtree.last || subtree.last > ids_in_order_.size()) refuse();
  }
}

}  // namespace detent

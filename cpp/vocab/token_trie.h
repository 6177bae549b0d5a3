// TokenTrie: the text tokens of a vocabulary as a trie over their bytes (docs/algorithms/trie-walk.md).
//
// The trie is one array of nodes in depth-first order. Each node has the index of the first node after its subtree, so
// that a walk that rejects a byte jumps there. Ids with equal bytes share a node.
//
// A large subtree whose tokens are all prefixes of valid UTF-8 also has the set of its bytes (Subtree::used). A state
// that each of these bytes leads back to itself allows the whole subtree. Its ids are adjacent, so a walk takes the
// subtree in one step.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/byte_set.h"

namespace detent {

struct TrieNode {
  static constexpr std::uint32_t kNoToken = UINT32_MAX;
  static constexpr std::uint32_t kShared = 1u << 31;  // the other bits of `token` are an index for shared_ids

  std::uint32_t next;   // the first node after this node's subtree
  std::uint32_t token;  // an id, kShared plus an index, or kNoToken
  std::uint32_t depth : 24;
  std::uint32_t byte : 8;
  std::uint32_t subtree;  // index for subtrees(), or 0
};

struct Subtree {
  ByteSet used;              // the ASCII bytes and lead bytes of the tokens, from this node's byte on
  std::uint32_t height = 0;  // bytes of the longest token from this node's byte on
  std::uint32_t first = 0;   // the ids are ids_in_order()[first..last)
  std::uint32_t last = 0;
  bool whole = false;  // every token ends with a complete character
};

class TokenTrie {
 public:
  using BytesOf = std::function<std::string_view(std::uint32_t)>;

  TokenTrie() = default;
  // Builds the trie of `ids`, none of which is empty. Time: n log n comparisons. Throws `vocabulary`.
  TokenTrie(std::vector<std::uint32_t> ids, const BytesOf& bytes_of);

  // The trie as bytes, in the byte order of the machine; and back (token_trie_file.cc). Time: linear, some 20 times
  // less than building it. Throws `vocabulary` ("saved_trie") unless the bytes are a trie of exactly the ids in
  // `is_text`, with their bytes. The saved subtrees() are not checked; the caller must compare a checksum.
  std::string save() const;
  static TokenTrie load(std::string_view saved, const std::vector<bool>& is_text, const BytesOf& bytes_of);

  const std::vector<TrieNode>& nodes() const { return nodes_; }
  // The node of a token's first byte; the size of the trie where no token begins with that byte.
  std::uint32_t root(std::uint8_t byte) const { return roots_[byte]; }
  // The child of a node by a byte; the node after its subtree where there is none. Cost: up to kFewChildren nodes, or a
  // look-up in a table.
  std::uint32_t child(std::uint32_t node, std::uint8_t byte) const;
  // The node after all bytes of a text; nothing if no token begins with the text. Cost: that of child() for each byte.
  std::optional<std::uint32_t> find(std::string_view text) const;
  std::uint32_t nodes_below(std::uint8_t byte) const {
    return roots_[byte] == nodes_.size() ? 0 : nodes_[roots_[byte]].next - roots_[byte];
  }
  // The nodes of a byte among the nodes [first, end), ascending. Cost: a binary search.
  std::span<const std::uint32_t> nodes_with(std::uint8_t byte, std::size_t first, std::size_t end) const;
  // The ASCII bytes, those of most nodes first, then all others.
  const std::array<std::uint8_t, 256>& bytes_by_count() const { return bytes_by_count_; }
  // Bytes from a node to the end of the longest token below it; 255 stands for 255 or more.
  std::uint8_t height(std::size_t node) const { return heights_[node]; }
  std::uint32_t max_token_length() const { return max_token_length_; }
  // The nodes of tokens of kLongToken bytes or more, ascending.
  static constexpr std::uint32_t kLongToken = 16;
  const std::vector<std::uint32_t>& long_token_nodes() const { return long_token_nodes_; }

  const std::vector<std::uint32_t>& shared_ids(std::uint32_t token) const {
    return shared_ids_[token & ~TrieNode::kShared];
  }
  const std::vector<Subtree>& subtrees() const { return subtrees_; }
  // The ids, sorted by their bytes, then by number.
  const std::vector<std::uint32_t>& ids_in_order() const { return ids_in_order_; }
  // The tokens that end inside a character, as indices of ids_in_order(), ascending.
  const std::vector<std::uint32_t>& open_tokens() const { return open_tokens_; }

 private:
  void add_nodes(const BytesOf& bytes_of);
  void add_token(std::uint32_t node, std::uint32_t id);
  void find_heights();
  void find_roots();
  void find_wide_nodes();
  void index_bytes();
  void check(const std::vector<bool>& is_text, const BytesOf& bytes_of);
  void find_subtrees();
  void find_open_tokens(const BytesOf& bytes_of);

  std::vector<std::uint32_t> ids_in_order_, open_tokens_;
  std::vector<TrieNode> nodes_;
  std::array<std::uint32_t, 256> roots_{};
  static constexpr std::uint32_t kFewChildren = 8;
  struct WideNode {
    std::uint32_t first, count;  // its children: child_bytes_ and child_nodes_[first..first + count)
  };
  std::vector<std::uint32_t> wide_of_;  // by node: index in wide_nodes_ of a node with more children, or 0
  std::vector<WideNode> wide_nodes_;
  std::vector<std::uint8_t> child_bytes_;
  std::vector<std::uint32_t> child_nodes_;
  std::vector<std::uint32_t> nodes_by_byte_;          // ascending for each byte
  std::array<std::uint32_t, 257> first_with_byte_{};  // in nodes_by_byte_
  std::array<std::uint8_t, 256> bytes_by_count_{};
  std::vector<std::uint8_t> heights_;
  std::vector<std::uint32_t> long_token_nodes_;
  std::vector<std::vector<std::uint32_t>> shared_ids_;
  std::vector<Subtree> subtrees_{Subtree{}};  // index 0 stands for none
  std::uint32_t max_token_length_ = 0;
};

}  // namespace detent

// Vocabulary: the tokens of a model as a trie over their bytes.
//
// The trie is one array of nodes, depth first, each with the index of the next node outside its subtree: a walk that
// rejects a byte jumps there. Ids with equal bytes hang on one node. Ids without text (special, empty, padding) are not
// in the trie, so no text ever allows them.
//
// Large subtrees that hold nothing but text (prefixes of valid UTF-8) also know which characters they use. A state that
// returns to itself by each of these allows the whole subtree, whose ids lie side by side: a walk takes it in one step.
#pragma once

#include <array>
#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "expr/node.h"
#include "mask/mask_cache.h"

namespace detent {

struct TrieNode {
  static constexpr std::uint32_t kNoToken = UINT32_MAX;
  static constexpr std::uint32_t kShared = 1u << 31;  // the rest of `token` indexes Vocabulary::shared_ids

  std::uint32_t next;   // the first node behind this one's subtree
  std::uint32_t token;  // an id, kShared plus an index, or kNoToken
  std::uint32_t depth : 24;
  std::uint32_t byte : 8;
  std::uint32_t subtree;  // index into Vocabulary::subtrees, or 0
};

struct Subtree {
  ByteSet used;              // ASCII bytes and lead bytes of the tokens from this node's byte on
  std::uint32_t height = 0;  // of the longest of them
  std::uint32_t first = 0;   // its ids are ids_in_order[first..last)
  std::uint32_t last = 0;
  bool whole = false;  // whether each of them ends with a whole character
};

class Vocabulary {
 public:
  static constexpr std::uint32_t kMaxSize = 1u << 24;

  // `tokens[id]` are the bytes of an id; ids from tokens.size() to `size` are padding. Throws `vocabulary`.
  Vocabulary(const std::vector<std::string_view>& tokens, const std::vector<std::uint32_t>& special,
             std::vector<std::uint32_t> eos_ids, std::uint32_t size, std::size_t cache_bytes);
  // `plain` with its special tokens as text: each is its frame (expr/special.h). No other token with the frame's first
  // byte is text then, so that the language must be one of `with_special`.
  static std::shared_ptr<const Vocabulary> with_special(const Vocabulary& plain);

  std::uint32_t size() const { return size_; }  // the width of logits
  std::uint32_t word_count() const { return (size_ + 31) / 32; }
  const std::vector<std::uint32_t>& eos_ids() const { return eos_ids_; }
  bool is_eos(std::uint32_t id) const;
  // The names of the special tokens that are text, as frames, sorted; none but after `with_special`.
  const std::vector<std::string>& special_names() const { return special_names_; }
  const std::vector<std::string>& special_eos() const { return special_eos_; }  // those that end a text
  bool is_text(std::uint32_t id) const { return id < text_.size() && text_[id]; }
  std::string_view bytes(std::uint32_t id) const {
    return std::string_view(pool_).substr(offsets_[id], offsets_[id + 1] - offsets_[id]);
  }
  std::uint32_t max_token_length() const { return max_token_length_; }  // bytes of the longest text token

  const std::vector<TrieNode>& trie() const { return trie_; }
  // The node of a token's first byte, or the size of the trie where no token begins so.
  std::uint32_t root(std::uint8_t byte) const { return roots_[byte]; }
  std::uint32_t nodes_below(std::uint8_t byte) const {
    return roots_[byte] == trie_.size() ? 0 : trie_[roots_[byte]].next - roots_[byte];
  }
  // Bytes from a node to the end of the longest token below it; 255 stands for more.
  std::uint8_t height(std::size_t node) const { return heights_[node]; }
  const std::vector<std::uint32_t>& shared_ids(std::uint32_t token) const {
    return shared_ids_[token & ~TrieNode::kShared];
  }

  const std::vector<Subtree>& subtrees() const { return subtrees_; }
  const std::vector<std::uint32_t>& ids_in_order() const { return ids_in_order_; }

  // The ids with exactly these bytes, which are not none.
  std::vector<std::uint32_t> ids_with_bytes(std::string_view text) const;

  // How `text` is written in the fewest tokens: the least id of each. Only where every byte is a token.
  // Cost: the text's length times the trie nodes beside the paths of its parts.
  std::vector<std::uint32_t> fewest_tokens(std::string_view text) const;

  // The texts that tokens can write, or null where every byte is a token and so every text is one.
  const NodeRef* tokenizable_texts() const { return tokenizable_texts_.get() ? &tokenizable_texts_ : nullptr; }

  MaskCache& cache() const { return cache_; }

 private:
  void build_trie();
  void find_subtrees();
  void find_tokenizable_texts(std::uint8_t highest);

  explicit Vocabulary(std::size_t cache_bytes) : size_(0), cache_(cache_bytes) {}

  std::uint32_t size_;
  std::string pool_;
  std::vector<std::size_t> offsets_;
  std::vector<bool> text_;
  std::vector<std::uint32_t> eos_ids_;
  std::uint32_t max_token_length_ = 0;
  std::vector<TrieNode> trie_;
  std::array<std::uint32_t, 256> roots_{};
  std::vector<std::uint8_t> heights_;
  std::vector<std::vector<std::uint32_t>> shared_ids_;
  std::vector<Subtree> subtrees_{Subtree{}};  // 0 stands for none
  std::vector<std::uint32_t> ids_in_order_;   // text ids in the order of the trie
  NodeRef tokenizable_texts_;
  std::vector<std::string> special_names_, special_eos_;
  mutable MaskCache cache_;
};

}  // namespace detent

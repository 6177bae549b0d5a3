// Vocabulary: the tokens of a model. Immutable, except for its cache of masks.
//
// The trie has the text tokens. It lacks special ids, end-of-text ids and ids without bytes, so no text allows these.
#pragma once

#include <array>
#include <cstdint>
#include <memory>
#include <mutex>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "expr/node.h"
#include "mask/mask_cache.h"
#include "vocab/string_lengths.h"
#include "vocab/token_trie.h"

namespace detent {

class Vocabulary {
 public:
  static constexpr std::uint32_t kMaxSize = 1u << 24;

  // `tokens[id]` are the bytes of an id; ids from tokens.size() to `size` are padding. `saved_trie`, if not empty, is
  // the saved trie() of an equal vocabulary: reading it takes less time than building it. Throws `vocabulary`.
  Vocabulary(const std::vector<std::string_view>& tokens, const std::vector<std::uint32_t>& special,
             std::vector<std::uint32_t> eos_ids, std::uint32_t size, std::size_t cache_bytes,
             std::string_view saved_trie = {});
  // Returns `plain` with its special tokens as text tokens, each with its frame as bytes (expr/special.h). Other tokens
  // that contain the first byte of a frame are not text there. Languages must pass through detent::with_special too.
  static std::shared_ptr<const Vocabulary> with_special(const Vocabulary& plain);

  std::uint32_t size() const { return size_; }  // the width of the logits
  std::uint32_t word_count() const { return (size_ + 31) / 32; }
  const std::vector<std::uint32_t>& eos_ids() const { return eos_ids_; }  // sorted
  // allow_eos adds the eos ids to a mask row; fill_eos writes a row that has only the eos ids.
  void allow_eos(std::uint32_t* row) const {
    for (std::uint32_t id : eos_ids_) row[id >> 5] |= 1u << (id & 31);
  }
  void fill_eos(std::uint32_t* row) const {
    std::fill_n(row, word_count(), 0u);
    allow_eos(row);
  }
  bool is_eos(std::uint32_t id) const;
  bool is_text(std::uint32_t id) const { return id < is_text_.size() && is_text_[id]; }
  std::string_view bytes(std::uint32_t id) const {
    return std::string_view(pool_).substr(offsets_[id], offsets_[id + 1] - offsets_[id]);
  }
  // The names of the special tokens that are text tokens, sorted; empty unless `with_special` made this vocabulary.
  // special_eos() are the names among them that belong to eos ids.
  const std::vector<std::string>& special_names() const { return special_names_; }
  const std::vector<std::string>& special_eos() const { return special_eos_; }

  // The text tokens (token_trie.h).
  std::string save_trie() const { return trie_.save(); }
  const std::vector<TrieNode>& trie() const { return trie_.nodes(); }
  std::uint32_t root(std::uint8_t byte) const { return trie_.root(byte); }
  std::uint32_t child(std::uint32_t node, std::uint8_t byte) const { return trie_.child(node, byte); }
  std::optional<std::uint32_t> find_node(std::string_view text) const { return trie_.find(text); }
  // The bytes from the root of the trie to a node, with the node's byte.
  std::string_view text_of_node(std::uint32_t node) const;
  std::uint32_t nodes_below(std::uint8_t byte) const { return trie_.nodes_below(byte); }
  std::span<const std::uint32_t> nodes_with(std::uint8_t byte, std::size_t first, std::size_t end) const {
    return trie_.nodes_with(byte, first, end);
  }
  const std::array<std::uint8_t, 256>& bytes_by_count() const { return trie_.bytes_by_count(); }
  std::uint8_t height(std::size_t node) const { return trie_.height(node); }
  std::uint32_t max_token_length() const { return trie_.max_token_length(); }
  const std::vector<std::uint32_t>& long_token_nodes() const { return trie_.long_token_nodes(); }
  const std::vector<std::uint32_t>& shared_ids(std::uint32_t token) const { return trie_.shared_ids(token); }
  const std::vector<Subtree>& subtrees() const { return trie_.subtrees(); }
  const std::vector<std::uint32_t>& ids_in_order() const { return trie_.ids_in_order(); }
  const std::vector<std::uint32_t>& open_tokens() const { return trie_.open_tokens(); }

  // The ids of the text tokens with exactly these bytes, ascending. Cost: a binary search.
  std::vector<std::uint32_t> ids_with_bytes(std::string_view text) const;
  // A shortest sequence of text tokens that writes `text`, each with its lowest id; empty if there is none.
  // Cost: the length of the text times the trie nodes beside the paths of its parts.
  std::vector<std::uint32_t> fewest_tokens(std::string_view text) const;

  // The bytes that occur in text tokens. No other byte can be written.
  const ByteSet& alphabet() const { return alphabet_; }
  // The bytes that are tokens by themselves; with special tokens as text, also kFrameBound (expr/special.h).
  const ByteSet& token_bytes() const { return token_bytes_; }
  // The language of all concatenations of tokens; null where every byte of the alphabet is a token, since then it is
  // the language of all texts over the alphabet.
  const NodeRef* tokenizable_texts() const { return tokenizable_texts_.get() ? &tokenizable_texts_ : nullptr; }

  MaskCache& cache() const { return cache_; }

  // The characters of the text tokens in JSON strings; made at the first use. Takes a lock.
  const StringLengths& string_lengths() const;
  // The text tokens that contain a byte, ascending; nothing where more than one token in kFewTokens contains it.
  static constexpr std::uint32_t kFewTokens = 16;
  std::optional<std::span<const std::uint32_t>> tokens_with(std::uint8_t byte) const {
    if (first_with_byte_[byte] == kManyTokens) return std::nullopt;
    return std::span(tokens_with_byte_).subspan(first_with_byte_[byte], byte_counts_[byte]);
  }

 private:
  explicit Vocabulary(std::size_t cache_bytes) : size_(0), cache_(cache_bytes) {}
  void add_token(std::string_view bytes, bool is_text);
  void index_text(bool has_frames, std::string_view saved_trie = {});
  void index_bytes(const std::vector<std::uint32_t>& ids);

  std::uint32_t size_;
  std::string pool_;                     // the bytes of all tokens
  std::vector<std::size_t> offsets_{0};  // of each token in the pool, and the end
  std::vector<bool> is_text_;
  std::vector<std::uint32_t> eos_ids_;
  std::vector<std::string> special_names_, special_eos_;
  TokenTrie trie_;
  ByteSet alphabet_, token_bytes_;
  static constexpr std::uint32_t kManyTokens = UINT32_MAX;
  std::array<std::uint32_t, 256> byte_counts_{};      // of the text tokens that contain a byte
  std::array<std::uint32_t, 256> first_with_byte_{};  // in tokens_with_byte_, or kManyTokens
  std::vector<std::uint32_t> tokens_with_byte_;
  NodeRef tokenizable_texts_;
  mutable MaskCache cache_;
  mutable std::mutex string_lengths_mutex_;
  mutable std::unique_ptr<const StringLengths> string_lengths_;
};

}  // namespace detent

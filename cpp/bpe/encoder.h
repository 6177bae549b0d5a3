// Encoder: a whole tokenizer: pre-tokenizer, symbols, merging. It encodes the text of a special token as plain text.
//
// There are three kinds:
//   1. A byte-level tokenizer splits a text into pre-tokens and merges the bytes of each. With `ignore_merges`, a
//      pre-token that is the text of a token becomes that token, even where merging would give others: an *unsplit*
//      token.
//   2. A SentencePiece tokenizer merges the characters of the whole text. A character that is no piece becomes
//      byte-fallback tokens, one for each byte, which never merge.
//   3. A Unigram tokenizer takes the best piece sequence. Its adjacent pairs alone do not decide which sequences are
//      encodings.
#pragma once

#include <atomic>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <unordered_map>
#include <utility>
#include <vector>

#include "bpe/adjacency.h"
#include "bpe/character_dfa.h"
#include "bpe/merge_table.h"
#include "bpe/pretokenizer.h"
#include "bpe/unigram_model.h"

namespace detent {

// A node of the trie of unsplit tokens: the prefix of unsplit tokens that the pre-token so far is.
struct UnsplitNode {
  std::uint32_t value = 0;
  auto operator<=>(const UnsplitNode&) const = default;
};

class Encoder {
 public:
  struct Config {
    bool pieces = false;  // SentencePiece
    std::uint32_t size = 0;
    std::vector<std::string_view> texts;                                // by id; empty if merging never makes the id
    std::vector<std::pair<std::uint32_t, std::uint32_t>> base_symbols;  // a byte, or a character, and its id
    std::vector<std::uint32_t> byte_tokens;                             // by byte, for byte fallback; or none
    std::vector<Merge> merges;
    bool ignore_merges = false;
    std::vector<double> scores;    // by id, of a Unigram model; or none
    double unknown_score = 0;      // of a character that is no piece
    bool split_at_spaces = false;  // of a Unigram model: each space begins a word, which is encoded by itself
    std::vector<std::pair<std::uint32_t, std::uint8_t>> class_ranges;  // see CharacterDfa
    unsigned class_count = 1;
    std::vector<SplitInstruction> pretokenizer;  // see PreTokenizer
    bool single_pretoken = false;                // the pre-tokenizer never splits
  };

  static constexpr std::uint32_t kNone = MergeTable::kNone;
  // The character classes of a SentencePiece tokenizer: whether a character is written in pieces, byte tokens or
  // either.
  static constexpr std::uint8_t kInPieces = 0, kInByteTokens = 1, kInEither = 2;

  // Throws `argument` and `unsupported` if the parts do not fit together.
  explicit Encoder(const Config& config);
  Encoder(const Encoder&) = delete;
  Encoder& operator=(const Encoder&) = delete;

  // Throws `argument` for a text that is not UTF-8, or has a character without a token.
  std::vector<std::uint32_t> encode(std::string_view text) const;
  // Encodes a part of a pre-token by itself. Empty if it has a byte or character without a token.
  std::vector<std::uint32_t> merge(std::string_view part) const;
  // The first token of merge(part), or kNone. The results for recent short parts are remembered.
  std::uint32_t first_token(std::string_view part) const;

  bool pieces() const { return pieces_; }
  bool single_pretoken() const { return single_pretoken_; }
  std::uint32_t size() const { return merges_.size(); }
  const CharacterDfa& characters() const { return characters_; }
  const PreTokenizer& pretokenizer() const { return pretokenizer_; }
  const AdjacencyRelation& adjacency() const { return *adjacency_; }

  bool is_byte_token(std::uint32_t token) const { return token < is_byte_token_.size() && is_byte_token_[token]; }
  bool has_byte_fallback() const { return !byte_tokens_.empty(); }
  std::uint32_t byte_token(std::uint8_t byte) const { return byte_tokens_[byte]; }
  // Whether the encoding of some pre-token contains the token and at least one other.
  bool may_have_neighbours(std::uint32_t token) const {
    return is_byte_token(token) || adjacency_->is_reachable(token);
  }
  // Whether two tokens may be adjacent in a pre-token.
  bool may_follow(std::uint32_t left, std::uint32_t right) const {
    if (is_byte_token(left)) return may_have_neighbours(right);
    return is_byte_token(right) ? may_have_neighbours(left) : adjacency_->may_follow(left, right);
  }

  // Unsplit tokens that merging does not give, as a trie.
  static constexpr UnsplitNode kNoUnsplit{UINT32_MAX};  // no unsplit token begins so
  UnsplitNode unsplit_root() const { return unsplit_token_.size() > 1 ? UnsplitNode{0} : kNoUnsplit; }
  UnsplitNode unsplit_step(UnsplitNode node, std::string_view text) const;
  // The unsplit token with the text of the node, or kNone.
  std::uint32_t unsplit_token(UnsplitNode node) const {
    return node == kNoUnsplit ? kNone : unsplit_token_[node.value];
  }
  // Whether the token is an unsplit one: no other pre-token contains it.
  bool is_unsplit(std::uint32_t token) const { return token < is_unsplit_.size() && is_unsplit_[token]; }

 private:
  std::vector<std::uint32_t> symbols_of(std::string_view text) const;
  std::vector<std::uint32_t> best_pieces(std::string_view part) const;
  std::uint32_t first_merged(std::string_view part) const;
  void append_pretoken(std::string_view pretoken, std::vector<std::uint32_t>& tokens) const;
  void forbid_missing_bytes();
  void build_unsplit_trie(const Config& config);

  bool pieces_;
  bool single_pretoken_;
  MergeTable merges_;
  CharacterDfa characters_;
  PreTokenizer pretokenizer_;
  std::vector<std::uint32_t> base_tokens_;  // by byte or character
  std::vector<std::uint32_t> byte_tokens_;
  std::vector<bool> is_byte_token_;
  std::optional<UnigramModel> unigram_;
  std::unique_ptr<const AdjacencyRelation> adjacency_;
  std::vector<bool> is_unsplit_;
  std::unordered_map<std::uint64_t, std::uint32_t> unsplit_next_;  // (node << 8 | byte) -> node
  std::vector<std::uint32_t> unsplit_token_;                       // by node
  // Recent answers of first_token: the part, its length and the token in one number, at the hash of the part.
  static constexpr std::size_t kRecentBits = 13;
  mutable std::vector<std::atomic<std::uint64_t>> first_tokens_;
};

}  // namespace detent

// Encoder: a tokenizer as a whole: split, spelling in symbols, merging. What special tokens are called is plain text to
// it.
//
// Three kinds. With bytes, a text is split into chunks and each chunk's bytes are merged; where `ignore_merges` is set,
// a chunk that is a token stays whole, though merging might not give it. With pieces (SentencePiece), the characters of
// the whole text are merged, and a character that is no piece becomes byte pieces, which are never merged. With scored
// pieces (Unigram), the best row is taken instead of merging; there pairs of tokens do not decide which rows are the
// tokenizer's own.
#pragma once

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

class Encoder {
 public:
  struct Recipe {
    bool pieces = false;
    std::uint32_t size = 0;                                     // ids
    std::vector<std::string_view> texts;                        // of each id as it is merged; empty if it never is
    std::vector<std::pair<std::uint32_t, std::uint32_t>> base;  // a byte, or a character, and its id
    std::vector<std::uint32_t> byte_pieces;                     // the id for each byte, or none
    std::vector<Merge> merges;
    bool ignore_merges = false;
    std::vector<double> scores;  // of each id; none where tokens are merged
    double unknown = 0;          // the score of a character that is no piece
    bool words = false;          // scored pieces are of words: each space begins one
    // Classes of characters, and the split. With pieces see kPieces and the others.
    std::vector<std::pair<std::uint32_t, std::uint8_t>> ranges;
    unsigned class_count = 1;
    std::vector<PreTokenizer::Instruction> program;
    bool one_chunk = false;  // the program never splits
  };

  static constexpr std::uint32_t kNone = MergeTable::kNone;
  // The classes of characters, with pieces: what they are written with.
  static constexpr std::uint8_t kPieces = 0, kBytes = 1, kEither = 2;

  // Throws `argument` and `unsupported` where the parts do not fit together.
  explicit Encoder(const Recipe& recipe);
  Encoder(const Encoder&) = delete;
  Encoder& operator=(const Encoder&) = delete;

  // Throws `argument` for a text that is not UTF-8, or has a character without a token.
  std::vector<std::uint32_t> encode(std::string_view text) const;
  // The same without a split: what a part of a chunk gives by itself. Empty if it has a byte or character without a
  // token.
  std::vector<std::uint32_t> merge(std::string_view part) const;

  bool pieces() const { return pieces_; }
  bool one_chunk() const { return one_chunk_; }
  std::uint32_t size() const { return merges_.size(); }
  bool scored() const { return scores_.has_value(); }
  const CharacterDfa& characters() const { return characters_; }
  const PreTokenizer& split() const { return split_; }
  const AdjacencyRelation& adjacency() const { return *adjacency_; }
  bool is_byte_piece(std::uint32_t token) const { return token < is_byte_piece_.size() && is_byte_piece_[token]; }
  bool has_byte_pieces() const { return !byte_pieces_.empty(); }
  std::uint32_t byte_piece(std::uint8_t byte) const { return byte_pieces_[byte]; }
  // Whether some text has the token beside others.
  bool merged(std::uint32_t token) const { return is_byte_piece(token) || adjacency_->live(token); }
  // Whether these two may stand side by side in a chunk.
  bool follows(std::uint32_t left, std::uint32_t right) const {
    return is_byte_piece(left) ? merged(right) : is_byte_piece(right) ? merged(left) : adjacency_->valid(left, right);
  }

  // Tokens that merging does not give, but a chunk that is all of one stays (`ignore_merges`): as a trie.
  static constexpr std::uint32_t kOff = UINT32_MAX;  // no such token begins so
  static constexpr std::uint32_t kRoot = 0;
  bool whole_only(std::uint32_t token) const { return token < is_whole_.size() && is_whole_[token]; }
  std::uint32_t whole_step(std::uint32_t node, std::string_view text) const;
  // The token that a chunk read up to there stays, or kNone.
  std::uint32_t whole_at(std::uint32_t node) const { return node == kOff ? kNone : whole_token_[node]; }
  bool has_wholes() const { return whole_token_.size() > 1; }

 private:
  std::vector<std::uint32_t> spell(std::string_view text) const;
  std::vector<std::uint32_t> best_row(std::string_view part) const;

  bool pieces_;
  bool one_chunk_;
  MergeTable merges_;
  CharacterDfa characters_;
  PreTokenizer split_;
  std::vector<std::uint32_t> base_;  // the token of each byte or character
  std::vector<std::uint32_t> byte_pieces_;
  std::vector<bool> is_byte_piece_;
  std::optional<UnigramModel> scores_;
  std::unique_ptr<const AdjacencyRelation> adjacency_;
  std::vector<bool> is_whole_;
  std::unordered_map<std::uint64_t, std::uint32_t> whole_next_;  // (node << 8 | byte) -> node
  std::vector<std::uint32_t> whole_token_;
};

}  // namespace detent

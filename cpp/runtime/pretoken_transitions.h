// PretokenTransitions: what the tokens of a vocabulary do to the marks of its tokenizer's split, whatever the language.
//
// A place is where a text stands in the split: the state of the marks behind its last whole character, the bytes of the
// next character so far, and whether this one begins a chunk. For each place that a token begins at, a table has the
// place that each token leads to, or that it cannot stand there. A token never has a mark inside it. Few tokens begin
// inside a character: those tables are lists.
//
// A special token (expr/special.h) ends the text before it, and the text behind it begins anew. So it stands where a
// text may end, at a place where a character that follows would begin a chunk, and leads to the start of a text. One
// object serves all guides of a vocabulary. Safe for threads.
#pragma once

#include <algorithm>
#include <cstdint>
#include <memory>
#include <mutex>
#include <unordered_map>
#include <utility>
#include <vector>

#include "bpe/encoder.h"
#include "expr/special.h"
#include "vocab/vocabulary.h"

namespace detent {

class PretokenTransitions {
 public:
  using PlaceId = std::uint32_t;
  static constexpr PlaceId kDead = UINT32_MAX;

  // Throws `argument` where the two have other numbers of ids, and `unsupported` where all tables together would be too
  // large.
  PretokenTransitions(std::shared_ptr<const Vocabulary> vocabulary, std::shared_ptr<const Encoder> encoder);

  const Vocabulary& vocabulary() const { return *vocabulary_; }
  const Encoder& encoder() const { return *encoder_; }
  std::uint64_t salt() const { return salt_; }  // sets the masks of this object apart from those of others

  struct Place {
    std::uint16_t state = 0;  // of the marks
    std::uint16_t node = 0;   // inside a character, or 0 before one
    bool marked = false;      // whether this character begins a chunk
  };
  static PlaceId id(const Place& place) {
    return std::uint32_t{place.state} << 16 | static_cast<std::uint32_t>(place.node) << 1 | (place.marked ? 1u : 0u);
  }
  static Place place(PlaceId id) {
    return {static_cast<std::uint16_t>(id >> 16), static_cast<std::uint16_t>((id & 0xFFFF) >> 1), (id & 1) != 0};
  }
  // The place behind one byte. Behind a whole character or special token it is one where nothing is marked yet.
  PlaceId step(PlaceId from, std::uint8_t byte) const;

  // Whether special tokens are among the tokens: the vocabulary is Vocabulary::with_special.
  bool has_special() const { return has_special_; }
  bool is_special(std::uint32_t token) const {
    return has_special_ && vocabulary_->is_text(token) &&
           static_cast<std::uint8_t>(vocabulary_->bytes(token)[0]) == kFrameBound;
  }
  // As CharacterDfa::step, with special tokens between characters.
  static constexpr std::uint16_t kInSpecial = INT16_MAX;  // as a node
  CharacterDfa::Step step_character(std::uint16_t node, std::uint8_t byte) const {
    if (has_special_ && (node == kInSpecial || (node == 0 && byte == kFrameBound))) return step_special(node, byte);
    return encoder_->characters().step(node, byte);
  }

  struct Table {
    static constexpr std::uint16_t kRefused = UINT16_MAX;
    std::vector<PlaceId> targets;
    // The index of where a token leads, or kRefused.
    std::uint16_t target_of(std::uint32_t token) const {
      if (!of_all.empty()) return of_all[token];
      const auto found = std::ranges::lower_bound(of_few, token, {}, &std::pair<std::uint32_t, std::uint16_t>::first);
      return found != of_few.end() && found->first == token ? found->second : kRefused;
    }
    std::vector<std::uint16_t> of_all;                            // by token; empty inside a character
    std::vector<std::pair<std::uint32_t, std::uint16_t>> of_few;  // ascending
  };
  const Table& table(PlaceId from);

  static constexpr std::size_t kRest = 4;
  // The tokens that bring a chunk that was read up to there (Encoder::whole_step) to its end as a token that stays
  // whole, or within so many bytes of it, but for that token itself.
  const std::vector<std::uint32_t>& completing(std::uint32_t whole) const;

 private:
  Table build(PlaceId from) const;
  static CharacterDfa::Step step_special(std::uint16_t node, std::uint8_t byte);

  std::shared_ptr<const Vocabulary> vocabulary_;
  std::shared_ptr<const Encoder> encoder_;
  std::uint64_t salt_;
  bool has_special_;
  std::unordered_map<std::uint32_t, std::vector<std::uint32_t>> completing_;
  std::mutex mutex_;
  std::unordered_map<PlaceId, std::unique_ptr<const Table>> tables_;
};

}  // namespace detent

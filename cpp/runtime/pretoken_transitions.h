// PretokenTransitions: for each position of the pre-tokenizer, the position to which each token of a vocabulary leads.
//
// In an encoding, no token has a pre-token boundary strictly inside it. The transition rows depend on no language, so
// one object serves all guides of a vocabulary. Safe for threads.
//
// A special token (expr/special.h) ends the text before it and starts a new text. So it may follow where a text may
// end, and it leads to the start of a text.
#pragma once

#include <algorithm>
#include <cstdint>
#include <memory>
#include <mutex>
#include <span>
#include <string_view>
#include <unordered_map>
#include <utility>
#include <vector>

#include "bpe/encoder.h"
#include "expr/special.h"
#include "runtime/prefix_states.h"
#include "runtime/pretoken_position.h"
#include "runtime/token_shapes.h"
#include "vocab/vocabulary.h"

namespace detent {

// The transitions from one position. Few tokens begin inside a character: those rows are sparse.
struct TransitionRow {
  static constexpr std::uint16_t kRefused = UINT16_MAX;
  std::vector<PositionId> targets;
  // The index of a token's target, or kRefused.
  std::uint16_t target_of(std::uint32_t token) const {
    if (!dense.empty()) return dense[token];
    const auto found = std::ranges::lower_bound(sparse, token, {}, &std::pair<std::uint32_t, std::uint16_t>::first);
    return found != sparse.end() && found->first == token ? found->second : kRefused;
  }

  // Clears the bits of refused tokens.
  void remove_refused(std::span<std::uint32_t> mask_row) const {
    for (std::size_t i = 0; i < taken.size(); ++i) mask_row[i] &= taken[i];
  }

  std::vector<std::uint16_t> dense;                             // by token; or empty
  std::vector<std::uint32_t> taken;                             // as a mask row: the tokens that are not refused
  std::vector<std::pair<std::uint32_t, std::uint16_t>> sparse;  // ascending by token
};

class PretokenTransitions {
 public:
  static constexpr PositionId kDead{UINT32_MAX};
  static constexpr std::uint32_t kNoToken = UINT32_MAX;

  // Throws `argument` if the two have different numbers of ids, and `unsupported` if all rows together would be too
  // large.
  PretokenTransitions(std::shared_ptr<const Vocabulary> vocabulary, std::shared_ptr<const Encoder> encoder);

  const Vocabulary& vocabulary() const { return *vocabulary_; }
  const Encoder& encoder() const { return *encoder_; }
  std::uint64_t cache_key() const { return cache_key_; }  // unique to this object: a part of keys of the mask cache

  const TransitionRow& row(PositionId from);
  RecentPrefixStates& prefix_states() { return prefix_states_; }
  // The position after one byte, or kDead. After a whole character, or a special token, it does not start a pre-token.
  PositionId step(PositionId from, std::uint8_t byte) const;
  // As CharacterDfa::step, but special tokens may stand between characters. kInSpecial is the node inside a frame.
  static constexpr std::uint16_t kInSpecial = INT16_MAX;
  CharacterDfa::Step step_character(std::uint16_t node, std::uint8_t byte) const {
    const bool special = node == kInSpecial || (node == CharacterDfa::kBorder && byte == kFrameBound);
    return has_special_ && special ? step_special(node, byte) : encoder_->characters().step(node, byte);
  }

  // Whether special tokens are among the tokens: the vocabulary is Vocabulary::with_special.
  bool has_special() const { return has_special_; }
  bool is_special(std::uint32_t token) const {
    return has_special_ && vocabulary_->is_text(token) &&
           static_cast<std::uint8_t>(vocabulary_->bytes(token)[0]) == kFrameBound;
  }

  // Whether the pre-token may end at a position after the token `last` (kNoToken at the start). It may not end inside a
  // character, nor with the text of an unsplit token, unless `last` is that token.
  bool may_end_pretoken(const SplitPosition& at, std::uint32_t last) const;
  SplitPosition pretoken_start(PreTokenizer::State state) const {
    return {PositionId::at_start(state), encoder_->unsplit_root()};
  }
  UnsplitNode unsplit_after(UnsplitNode node, std::uint32_t token) const;
  // The tokens that bring a pre-token at `node` to at most kMaxEndingBytes bytes before an unsplit token, without that
  // token itself; and the nodes after them.
  static constexpr std::size_t kMaxEndingBytes = 4;
  using UnsplitEdge = std::pair<std::uint32_t, UnsplitNode>;
  const std::vector<UnsplitEdge>& completes_unsplit(UnsplitNode node) const;

  // The tokenizer's encoding of a text, special tokens included.
  std::vector<std::uint32_t> encode(std::string_view text) const;

 private:
  class RowBuilder;
  TransitionRow make_row(PositionId from);
  void add_special(const PretokenPosition& from, TransitionRow& row) const;
  static CharacterDfa::Step step_special(std::uint16_t node, std::uint8_t byte);
  void find_completing_tokens();

  std::shared_ptr<const Vocabulary> vocabulary_;
  std::shared_ptr<const Encoder> encoder_;
  std::unique_ptr<const TokenShapes> shapes_;
  std::uint64_t cache_key_;
  bool has_special_;
  std::unordered_map<std::uint32_t, std::vector<UnsplitEdge>> completes_unsplit_;  // by UnsplitNode
  std::mutex mutex_;
  RecentPrefixStates prefix_states_;
  std::unordered_map<std::uint32_t, std::unique_ptr<const TransitionRow>> rows_;  // by PositionId
};

inline PositionId PretokenTransitions::step(PositionId from, std::uint8_t byte) const {
  const PretokenPosition before = from.decoded();
  const PreTokenizer& pretokenizer = encoder_->pretokenizer();
  const CharacterDfa::Step step = step_character(before.character_node, byte);
  if (step.dead) return kDead;
  if (before.character_node == kInSpecial) return PositionId::of({PreTokenizer::kTextStart, step.node, false});
  if (step.node == kInSpecial) {
    const bool ends_text = before.starts_pretoken && pretokenizer.may_end(before.state);
    return ends_text ? PositionId::of({PreTokenizer::kTextStart, kInSpecial, false}) : kDead;
  }
  if (step.node != CharacterDfa::kBorder) return PositionId::of({before.state, step.node, before.starts_pretoken});
  const PreTokenizer::State state = pretokenizer.step(before.state, before.starts_pretoken, step.of_class);
  return state == PreTokenizer::kDead ? kDead : PositionId::inside(state);
}

}  // namespace detent

// TokenShapes: groups tokens by their effect on the pre-tokenizer, for all positions between two characters at once.
//
// A token maps each state of the boundary automaton (bpe/pretokenizer.h) to another state: its *effect*. Tokens have
// few different effects: ` house` and ` tree` have the same one. The *shape* of a token is its effect, together with
// the bytes of an incomplete last character. To compute a transition row, one step for each shape and a copy for each
// token suffice.
#pragma once

#include <cstdint>
#include <map>
#include <vector>

#include "bpe/encoder.h"
#include "runtime/pretoken_position.h"
#include "vocab/vocabulary.h"

namespace detent {

class TokenShapes {
 public:
  // Cost: a walk over the trie.
  TokenShapes(const Vocabulary& vocabulary, const Encoder& encoder);
  // Whether there were too many effects; then there are no shapes. Known pre-tokenizers have some hundred effects.
  bool gave_up() const { return effects_.size() > kMaxEffects; }

  static constexpr std::uint16_t kRefused = UINT16_MAX;
  // The positions to which the tokens lead from a position between two characters; and for each token the index of its
  // position, or kRefused.
  struct Targets {
    std::vector<PositionId> positions;
    std::vector<std::uint16_t> of_token;
  };
  Targets from(const PretokenPosition& position) const;

 private:
  using State = PreTokenizer::State;
  struct Effect {
    std::vector<State> after;          // by state and whether the first character starts a pre-token: see `index`
    std::vector<std::uint32_t> next;   // by class of a further character; kUnknown until it is computed
    std::uint32_t shapes[2] = {0, 0};  // of tokens of whole characters: anywhere, at the start of a pre-token; or 0
  };
  struct Shape {
    std::uint32_t effect = 0;
    std::uint16_t character_node = CharacterDfa::kBorder;
    bool only_at_start = false;
  };
  static constexpr std::size_t kMaxEffects = 8192;
  static constexpr std::uint32_t kUnknown = UINT32_MAX;
  static constexpr std::uint32_t kNoCharacter = 0;  // the effect of no character

  static std::size_t index(State state, bool starts_pretoken) { return state * std::size_t{2} + starts_pretoken; }
  std::uint32_t effect_after(std::uint32_t effect, std::uint8_t of_class);
  std::uint32_t shape_of(std::uint32_t effect, std::uint16_t character_node, bool only_at_start);

  const PreTokenizer& pretokenizer_;
  std::vector<Effect> effects_;
  std::map<std::vector<State>, std::uint32_t> effect_ids_;
  std::vector<Shape> shapes_;  // [0]: of tokens that no encoding has
  std::map<std::uint64_t, std::uint32_t> partial_shapes_;
  std::vector<std::uint32_t> shape_of_token_;
};

}  // namespace detent

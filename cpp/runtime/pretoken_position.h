// PretokenPosition: a possible state of the pre-tokenizer after a text that is still being written.
//
// A position is (state of the boundary automaton after the last whole character, bytes of the next character so far,
// whether this character starts a pre-token). See bpe/pretokenizer.h.
#pragma once

#include <cstdint>

#include "bpe/character_dfa.h"
#include "bpe/encoder.h"
#include "bpe/pretokenizer.h"

namespace detent {

struct PretokenPosition {
  PreTokenizer::State state = PreTokenizer::kTextStart;
  std::uint16_t character_node = CharacterDfa::kBorder;
  bool starts_pretoken = false;  // the character that this position is in, or before
  bool inside_character() const { return character_node != CharacterDfa::kBorder; }
};

// A position as a number: state << 16 | character_node << 1 | starts_pretoken.
struct PositionId {
  std::uint32_t value = 0;
  auto operator<=>(const PositionId&) const = default;

  static constexpr PositionId of(const PretokenPosition& at) {
    return {std::uint32_t{at.state} << 16 | static_cast<std::uint32_t>(at.character_node) << 1 |
            (at.starts_pretoken ? 1u : 0u)};
  }
  PretokenPosition decoded() const {
    return {static_cast<std::uint16_t>(value >> 16), static_cast<std::uint16_t>((value & 0xFFFF) >> 1),
            (value & 1) != 0};
  }
  // The positions between two characters: before the first of a pre-token, or before another one.
  static constexpr PositionId at_start(PreTokenizer::State state) { return of({state, CharacterDfa::kBorder, true}); }
  static constexpr PositionId inside(PreTokenizer::State state) { return of({state, CharacterDfa::kBorder, false}); }
};

// The result of one way to put pre-token boundaries into the text so far.
struct SplitPosition {
  PositionId position;
  UnsplitNode unsplit;  // the prefix of unsplit tokens that the pre-token so far is
  auto operator<=>(const SplitPosition&) const = default;
};

}  // namespace detent

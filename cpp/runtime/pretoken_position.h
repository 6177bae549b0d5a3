// PretokenPosition: where a text that is still being written may be in its sequence of pre-tokens.
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

// One way to place the pre-token boundaries of a text so far.
struct SplitPosition {
  PositionId position;
  UnsplitNode unsplit;  // how far the pre-token is the beginning of an unsplit token
  auto operator<=>(const SplitPosition&) const = default;
};

}  // namespace detent

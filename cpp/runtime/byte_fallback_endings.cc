#include "runtime/byte_fallback_endings.h"

#include <utility>
#include <vector>

namespace detent {

const ByteFallbackEndings::Ending& ByteFallbackEndings::find(ExprId state) {
  if (const auto known = endings_.find(state.value); known != endings_.end()) return known->second;
  const Encoder& encoder = language_.encoder();
  Automaton& automaton = language_.automaton;
  struct Open {
    ExprId state;
    std::uint16_t node;
    std::string text;
  };
  std::vector<Open> open{{state, CharacterDfa::kBorder, {}}};
  Ending found;
  for (std::size_t i = 0; i < open.size() && i < kMaxTried && encoder.has_byte_fallback() && found.length == kInfinite;
       ++i) {
    const Open at = open[i];
    found.context_free = found.context_free && !automaton.accepting(at.state);
    const ExprId* row = automaton.row(at.state);
    language_.meter.step(32);
    // The lead bytes from U+00C0 on: below are control characters.
    const unsigned first = i == 0 ? 0xC3 : 0x80, last = i == 0 ? 0xF5 : 0xC0;
    for (unsigned byte = first; byte < last; ++byte) {
      const ExprId next = row[automaton.class_of()[byte]];
      if (next == ExprSet::kEmpty) continue;
      const CharacterDfa::Step step = encoder.characters().step(at.node, static_cast<std::uint8_t>(byte));
      if (step.dead) continue;
      std::string text = at.text + static_cast<char>(byte);
      if (step.node != CharacterDfa::kBorder) {
        open.push_back({next, step.node, std::move(text)});
      } else if (step.of_class == Encoder::kInByteTokens && greedy_.length(next) != kInfinite) {
        found.context_free = found.context_free && !automaton.accepting(next);
        found.length = static_cast<std::uint32_t>(text.size()) + greedy_.length(next);
        found.character = std::move(text);
        break;
      }
    }
  }
  language_.meter.allocate(96);
  return endings_[state.value] = std::move(found);
}

std::uint32_t ByteFallbackEndings::length(ExprId state, PositionId position) {
  if (!language_.encoder().single_pretoken() || position.decoded().inside_character()) return kInfinite;
  return find(state).length;
}

}  // namespace detent

#include "bpe/character_dfa.h"

#include <algorithm>
#include <map>
#include <string>

#include "base/error.h"

namespace detent {

CharacterDfa::CharacterDfa(const std::vector<std::pair<std::uint32_t, std::uint8_t>>& ranges) : ranges_(ranges) {
  if (ranges_.empty() || ranges_[0].first != 0 || !std::ranges::is_sorted(ranges_)) {
    throw Error(ErrorKind::argument, "character_ranges");
  }
  std::map<std::string, std::uint16_t> known;
  // The graph of the code points from `first` on that share all bytes before the last `left`.
  const auto build = [&](auto&& self, std::uint32_t first, int left) -> Step {
    Node node{};
    std::string key;
    bool dead = true;
    const std::uint32_t width = 1u << (6 * (left - 1));  // of one byte
    for (unsigned byte = 0x80; byte < 0xC0; ++byte) {
      const std::uint32_t from = first + (byte - 0x80) * width;
      if (left == 1) {
        const bool surrogate = from >= 0xD800 && from < 0xE000;
        const std::uint8_t c = surrogate || from > 0x10FFFF ? kNoClass : of_class(from);
        node[byte] = {0, c, c == kNoClass};
      } else {
        node[byte] = self(self, from, left - 1);
      }
      dead &= node[byte].dead;
      key += static_cast<char>(node[byte].node & 255);
      key += static_cast<char>(node[byte].node >> 8);
      key += static_cast<char>(node[byte].of_class);
      key += static_cast<char>(node[byte].dead);
    }
    if (dead) return {};
    const auto [place, is_new] = known.try_emplace(key, static_cast<std::uint16_t>(nodes_.size()));
    if (is_new) nodes_.push_back(node);
    return {place->second, kNoClass, false};
  };
  nodes_.emplace_back();
  Node border{};
  for (unsigned byte = 0; byte < 0x80; ++byte) border[byte] = {0, of_class(byte), of_class(byte) == kNoClass};
  // Two bytes from U+0080 on, three from U+0800, four from U+10000.
  for (unsigned byte = 0xC2; byte < 0xE0; ++byte) border[byte] = build(build, (byte & 0x1F) << 6, 1);
  const auto cut = [&](Step step, unsigned from) {  // without the overlong spellings below the byte `from`
    if (step.dead) return step;
    Node node = nodes_[step.node];
    for (unsigned byte = 0x80; byte < from; ++byte) node[byte] = {};
    nodes_.push_back(node);
    return Step{static_cast<std::uint16_t>(nodes_.size() - 1), kNoClass, false};
  };
  for (unsigned byte = 0xE0; byte < 0xF0; ++byte) border[byte] = build(build, (byte & 0xF) << 12, 2);
  for (unsigned byte = 0xF0; byte < 0xF5; ++byte) border[byte] = build(build, (byte & 7) << 18, 3);
  border[0xE0] = cut(border[0xE0], 0xA0);
  border[0xF0] = cut(border[0xF0], 0x90);
  nodes_[0] = border;
}

std::uint8_t CharacterDfa::of_class(std::uint32_t code_point) const {
  const auto behind = std::ranges::upper_bound(ranges_, code_point, {}, [](const auto& range) { return range.first; });
  return std::prev(behind)->second;
}

}  // namespace detent

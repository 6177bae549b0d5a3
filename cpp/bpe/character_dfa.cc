#include "bpe/character_dfa.h"

#include <algorithm>
#include <map>
#include <string>

#include "base/error.h"

namespace detent {

// The nodes and steps made so far.
struct CharacterDfa::Blocks {
  std::map<std::string, std::uint16_t> nodes;  // node by its transitions, serialised
  // Most blocks of 64 or 4,096 code points are of one class: their steps, by class and number of bytes.
  std::map<std::pair<std::uint8_t, int>, Step> uniform;
};

CharacterDfa::CharacterDfa(const std::vector<std::pair<std::uint32_t, std::uint8_t>>& ranges) : ranges_(ranges) {
  if (ranges_.empty() || ranges_[0].first != 0 || !std::ranges::is_sorted(ranges_)) {
    throw Error(ErrorKind::argument, "character_ranges");
  }
  for (std::size_t i = 0; i < ranges_.size(); ++i) {
    const std::uint32_t end = i + 1 < ranges_.size() ? ranges_[i + 1].first : 0x110000;
    const bool only_surrogates = ranges_[i].first >= 0xD800 && end <= 0xE000;
    if (ranges_[i].second == kNoClass && ranges_[i].first < 0x110000 && !only_surrogates) has_every_character_ = false;
  }
  Blocks blocks;
  nodes_.emplace_back();
  Node border{};
  for (unsigned byte = 0; byte < 0x80; ++byte) border[byte] = {kBorder, of_class(byte), of_class(byte) == kNoClass};
  // Two bytes from U+0080 on, three from U+0800, four from U+10000.
  for (unsigned byte = 0xC2; byte < 0xE0; ++byte) border[byte] = add_block((byte & 0x1F) << 6, 1, blocks);
  for (unsigned byte = 0xE0; byte < 0xF0; ++byte) border[byte] = add_block((byte & 0xF) << 12, 2, blocks);
  for (unsigned byte = 0xF0; byte < 0xF5; ++byte) border[byte] = add_block((byte & 7) << 18, 3, blocks);
  border[0xE0] = without_overlong(border[0xE0], 0xA0);
  border[0xF0] = without_overlong(border[0xF0], 0x90);
  nodes_[kBorder] = border;
}

CharacterDfa::Step CharacterDfa::add_block(std::uint32_t first, int bytes_left, Blocks& blocks) {
  const std::uint32_t width = 1u << (6 * (bytes_left - 1));  // code points for each value of the next byte
  const std::uint32_t last = first + 64 * width - 1;
  const bool is_uniform = last <= 0x10FFFF && (last < 0xD800 || first >= 0xE000) && is_one_class(first, last);
  const std::pair block{of_class(first), bytes_left};
  if (const auto same = blocks.uniform.find(block); is_uniform && same != blocks.uniform.end()) return same->second;
  Node node{};
  std::string key;
  bool dead = true;
  for (unsigned byte = 0x80; byte < 0xC0; ++byte) {
    const std::uint32_t from = first + (byte - 0x80) * width;
    if (bytes_left == 1) {
      const bool surrogate = from >= 0xD800 && from < 0xE000;
      const std::uint8_t c = surrogate || from > 0x10FFFF ? kNoClass : of_class(from);
      node[byte] = {kBorder, c, c == kNoClass};
    } else {
      node[byte] = add_block(from, bytes_left - 1, blocks);
    }
    dead &= node[byte].dead;
    key += static_cast<char>(node[byte].node & 255);
    key += static_cast<char>(node[byte].node >> 8);
    key += static_cast<char>(node[byte].of_class);
    key += static_cast<char>(node[byte].dead);
  }
  Step step;
  if (!dead) {
    const auto [entry, is_new] = blocks.nodes.try_emplace(key, static_cast<std::uint16_t>(nodes_.size()));
    if (is_new) nodes_.push_back(node);
    step = {entry->second, kNoClass, false};
  }
  if (is_uniform) blocks.uniform[block] = step;
  return step;
}

CharacterDfa::Step CharacterDfa::without_overlong(Step step, unsigned least) {
  if (step.dead) return step;
  Node node = nodes_[step.node];
  for (unsigned byte = 0x80; byte < least; ++byte) node[byte] = {};
  nodes_.push_back(node);
  return {static_cast<std::uint16_t>(nodes_.size() - 1), kNoClass, false};
}

void CharacterDfa::forbid(const std::array<bool, 256>& bytes) {
  for (unsigned byte = 0; byte < 256; ++byte) {
    const bool in_no_character = byte == 0xC0 || byte == 0xC1 || byte > 0xF4;
    if (bytes[byte] && !in_no_character) has_every_character_ = false;
  }
  for (Node& node : nodes_) {
    for (unsigned byte = 0; byte < 256; ++byte) {
      if (bytes[byte]) node[byte] = {};
    }
  }
  // A node without a step leads nowhere. A character has at most four bytes, so three rounds reach every such node.
  for (int round = 0; round < 3; ++round) {
    for (Node& node : nodes_) {
      for (Step& step : node) {
        const bool leads_nowhere = step.node != kBorder && std::ranges::all_of(nodes_[step.node], &Step::dead);
        if (leads_nowhere) step = {};
      }
    }
  }
}

std::uint8_t CharacterDfa::of_class(std::uint32_t code_point) const {
  return std::prev(range_after(code_point))->second;
}

bool CharacterDfa::is_one_class(std::uint32_t first, std::uint32_t last) const {
  const auto next = range_after(first);
  return next == ranges_.end() || next->first > last;
}

CharacterDfa::Ranges::const_iterator CharacterDfa::range_after(std::uint32_t code_point) const {
  return std::ranges::upper_bound(ranges_, code_point, {}, [](const auto& range) { return range.first; });
}

}  // namespace detent

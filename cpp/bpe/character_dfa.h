// CharacterDfa: UTF-8 as a deterministic automaton over bytes that reports the class of each character.
//
// Representation: a minimal acyclic graph from one border state. A transition by the last byte of a character returns
// to the border and carries the character's class. Equal subgraphs are shared, so that a pre-tokenizer with some twenty
// classes has a few thousand nodes.
#pragma once

#include <array>
#include <cstdint>
#include <utility>
#include <vector>

namespace detent {

class CharacterDfa {
 public:
  static constexpr std::uint8_t kNoClass = 255;  // the class of characters that no text may contain
  static constexpr std::uint16_t kBorder = 0;    // the node between two characters

  // `ranges` are pairs (first code point, class), ascending. Each range ends before the next one.
  explicit CharacterDfa(const std::vector<std::pair<std::uint32_t, std::uint8_t>>& ranges);
  // Removes the characters that contain one of these bytes.
  void forbid(const std::array<bool, 256>& bytes);
  // Whether a text may contain every character.
  bool has_every_character() const { return has_every_character_; }

  struct Step {
    std::uint16_t node = kBorder;  // inside a character, or kBorder after its last byte
    std::uint8_t of_class = kNoClass;
    bool dead = true;
  };
  Step step(std::uint16_t node, std::uint8_t byte) const { return nodes_[node][byte]; }
  std::size_t node_count() const { return nodes_.size(); }
  std::uint8_t of_class(std::uint32_t code_point) const;

 private:
  using Node = std::array<Step, 256>;
  using Ranges = std::vector<std::pair<std::uint32_t, std::uint8_t>>;
  struct Blocks;
  // The step to the node for the code points from `first` on that differ in their last `bytes_left` bytes only.
  Step add_block(std::uint32_t first, int bytes_left, Blocks& blocks);
  // A step like another one, without the continuation bytes below `least`: these are overlong encodings.
  Step without_overlong(Step step, unsigned least);
  bool is_one_class(std::uint32_t first, std::uint32_t last) const;
  Ranges::const_iterator range_after(std::uint32_t code_point) const;

  Ranges ranges_;
  std::vector<Node> nodes_;
  bool has_every_character_ = true;
};

}  // namespace detent

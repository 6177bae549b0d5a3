// CharacterDfa: UTF-8 as a graph over bytes whose leaves are classes of characters.
#pragma once

#include <array>
#include <cstdint>
#include <utility>
#include <vector>

namespace detent {

class CharacterDfa {
 public:
  static constexpr std::uint8_t kNoClass = 255;  // of characters that no text may have

  // From `ranges`, ascending: the code points from each first to the next one's are of its class.
  explicit CharacterDfa(const std::vector<std::pair<std::uint32_t, std::uint8_t>>& ranges);

  // Node 0 is the border between two characters.
  struct Step {
    std::uint16_t node = 0;  // inside a character, or 0 at its end
    std::uint8_t of_class = kNoClass;
    bool dead = true;
  };
  Step step(std::uint16_t node, std::uint8_t byte) const { return nodes_[node][byte]; }
  std::size_t node_count() const { return nodes_.size(); }
  std::uint8_t of_class(std::uint32_t code_point) const;

 private:
  using Node = std::array<Step, 256>;
  std::vector<std::pair<std::uint32_t, std::uint8_t>> ranges_;
  std::vector<Node> nodes_;
};

}  // namespace detent

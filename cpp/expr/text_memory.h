// TextMemory: the texts of list items that are being read, as hash-consed linked lists: texts share their prefixes.
// Appending a byte costs a hash look-up; reading a text, from its last byte to its first, one step for each byte.
#pragma once

#include <cstdint>
#include <string>
#include <unordered_map>
#include <vector>

#include "base/hash.h"
#include "base/limits.h"

namespace detent {

// Index of a text in its TextMemory; 0 is the empty text.
struct TextId {
  std::uint32_t value = 0;
  auto operator<=>(const TextId&) const = default;
};

class TextMemory {
 public:
  explicit TextMemory(Meter& meter) : meter_(meter) { nodes_.push_back({}); }

  TextId append(TextId text, std::uint8_t byte);
  bool is_empty(TextId text) const { return text.value == 0; }
  std::uint8_t last_byte(TextId text) const { return nodes_[text.value].byte; }
  TextId without_last(TextId text) const { return nodes_[text.value].before; }
  const Hash128& hash(TextId text) const { return nodes_[text.value].hash; }

  std::string text(TextId text) const;
  // The JSON value that a text ends with, as it is written, without white space after it. With `is_member`, the name of
  // the member that the text ends with. Cost: linear in the value.
  std::string last_value(TextId text, bool is_member) const;

 private:
  struct Node {
    TextId before;
    std::uint8_t byte = 0;
    Hash128 hash;
  };

  Meter& meter_;
  std::vector<Node> nodes_;
  std::unordered_map<std::uint64_t, std::uint32_t> known_;  // by the text before, and the byte
};

}  // namespace detent

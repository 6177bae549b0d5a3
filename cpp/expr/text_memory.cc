#include "expr/text_memory.h"

#include <algorithm>
#include <string_view>

namespace detent {
namespace {

// Reads JSON backwards. Outside a string, a quotation mark ends a string, whose first byte is the next quotation mark
// with an even number of backslashes before it.
class BackwardReader {
 public:
  BackwardReader(const TextMemory& memory, TextId text) : memory_(memory), at_(text) {}

  void skip(std::string_view bytes) {
    while (!done() && bytes.find(static_cast<char>(byte())) != std::string_view::npos) pop();
  }

  // Appends the bytes of a value to `reversed`, from the last byte to the first.
  void take_value(std::string& reversed) {
    std::size_t depth = 0;
    do {
      if (done()) return;
      switch (byte()) {
        case '"': take_string(reversed); break;
        case ']':
        case '}':
          ++depth;
          take(reversed);
          break;
        case '[':
        case '{':
          if (depth == 0) return;
          --depth;
          take(reversed);
          break;
        default:
          if (depth == 0) return take_scalar(reversed);
          take(reversed);
      }
    } while (depth > 0);
  }

 private:
  bool done() const { return memory_.is_empty(at_); }
  std::uint8_t byte() const { return memory_.last_byte(at_); }
  void pop() { at_ = memory_.without_last(at_); }
  void take(std::string& reversed) {
    reversed += static_cast<char>(byte());
    pop();
  }

  void take_string(std::string& reversed) {
    take(reversed);
    while (!done()) {
      const bool is_first = byte() == '"' && !is_escaped();
      take(reversed);
      if (is_first) return;
    }
  }

  bool is_escaped() const {
    bool escaped = false;
    for (TextId before = memory_.without_last(at_); !memory_.is_empty(before) && memory_.last_byte(before) == '\\';
         before = memory_.without_last(before)) {
      escaped = !escaped;
    }
    return escaped;
  }

  void take_scalar(std::string& reversed) {
    constexpr std::string_view kDelimiters = " \t\n\r,:[]{}\"";
    while (!done() && kDelimiters.find(static_cast<char>(byte())) == std::string_view::npos) take(reversed);
  }

  const TextMemory& memory_;
  TextId at_;
};

}  // namespace

TextId TextMemory::append(TextId text, std::uint8_t byte) {
  const auto [known, is_new] =
      known_.try_emplace(std::uint64_t{text.value} << 8 | byte, static_cast<std::uint32_t>(nodes_.size()));
  if (!is_new) return TextId{known->second};
  try {
    meter_.allocate(sizeof(Node) + 48);
  } catch (...) {
    known_.erase(known);
    throw;
  }
  nodes_.push_back({text, byte, mix(nodes_[text.value].hash, byte)});
  return TextId{known->second};
}

std::string TextMemory::text(TextId text) const {
  std::string reversed;
  for (; !is_empty(text); text = without_last(text)) reversed += static_cast<char>(last_byte(text));
  std::reverse(reversed.begin(), reversed.end());
  return reversed;
}

std::string TextMemory::last_value(TextId text, bool is_member) const {
  constexpr std::string_view kSpace = " \t\n\r";
  BackwardReader reader(*this, text);
  std::string reversed;
  reader.skip(kSpace);
  reader.take_value(reversed);
  if (is_member) {
    reversed.clear();
    reader.skip(" \t\n\r:");
    reader.take_value(reversed);
  }
  std::reverse(reversed.begin(), reversed.end());
  return reversed;
}

}  // namespace detent

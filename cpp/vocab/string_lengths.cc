#include "vocab/string_lengths.h"

#include <algorithm>
#include <functional>
#include <optional>

namespace detent {
namespace {

bool is_continuation(char byte) { return (static_cast<unsigned char>(byte) & 0xC0) == 0x80; }

// The value of four hexadecimal digits; nothing if the text has fewer.
std::optional<unsigned> hexadecimal(std::string_view digits) {
  if (digits.size() < 4) return std::nullopt;
  unsigned value = 0;
  for (char digit : digits.substr(0, 4)) {
    const int number = digit >= '0' && digit <= '9'   ? digit - '0'
                       : digit >= 'a' && digit <= 'f' ? digit - 'a' + 10
                       : digit >= 'A' && digit <= 'F' ? digit - 'A' + 10
                                                      : -1;
    if (number < 0) return std::nullopt;
    value = value * 16 + static_cast<unsigned>(number);
  }
  return value;
}

// The length in bytes of the first character, escaped or not; a character that is cut off ends with the text.
std::size_t first_character(std::string_view text) {
  constexpr std::size_t kEscapeLength = 6;  // of \u0000
  if (text[0] != '\\') {
    std::size_t length = 1;
    while (length < text.size() && is_continuation(text[length])) ++length;
    return length;
  }
  if (text.size() == 1) return 1;
  if (text[1] != 'u') return 2;
  const std::optional<unsigned> unit = hexadecimal(text.substr(2));
  if (!unit) return text.size();
  const bool is_high_surrogate = *unit >= 0xD800 && *unit < 0xDC00;
  return is_high_surrogate ? std::min(text.size(), 2 * kEscapeLength) : kEscapeLength;
}

}  // namespace

std::uint32_t StringLengths::count(std::string_view text) {
  std::uint32_t characters = 0;
  for (; !text.empty(); ++characters) text.remove_prefix(first_character(text));
  return characters;
}

std::size_t StringLengths::end_of_string(std::string_view text) {
  for (std::size_t i = 0; i < text.size(); ++i) {
    if (text[i] == '"') return i;
    if (text[i] == '\\') ++i;
  }
  return text.size();
}

void StringLengths::add(std::uint32_t id, std::string_view text) {
  std::uint32_t characters = 0;
  bool has_escape = false, has_quote = false;
  for (char byte : text) {
    has_escape = has_escape || byte == '\\';
    has_quote = has_quote || byte == '"';
    characters += !is_continuation(byte);
  }
  if (has_escape) escapes_[id >> 5] |= 1u << (id & 31);
  if (has_escape || has_quote) {
    const std::size_t end = end_of_string(text);
    if (end + 1 < text.size()) return;  // leaves the string
    characters = count(text.substr(0, end));
    if (end < text.size()) {
      closing_.push_back({id, characters});
      characters = 0;
    }
  }
  if (characters < kRows) {
    rows_[characters * word_count_ + (id >> 5)] |= 1u << (id & 31);
  } else {
    long_.push_back({id, characters});
  }
}

void StringLengths::finish() {
  for (std::size_t i = word_count_; i < rows_.size(); ++i) rows_[i] |= rows_[i - word_count_];
  std::ranges::sort(long_, std::greater<>{}, &Closing::characters);
}

}  // namespace detent

#include "vocab/string_lengths.h"

#include <algorithm>
#include <functional>
#include <optional>
#include <tuple>

#include "base/utf8_position.h"

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

constexpr std::size_t kEscapeLength = 6;  // of \u0000

bool is_high_surrogate(unsigned unit) { return unit >= 0xD800 && unit < 0xDC00; }

// The length in bytes of the first character, escaped or not; a character that is cut off ends with the text.
std::size_t first_character(std::string_view text) {
  if (text[0] != '\\') {
    std::size_t length = 1;
    while (length < text.size() && is_continuation(text[length])) ++length;
    return length;
  }
  if (text.size() == 1) return 1;
  if (text[1] != 'u') return 2;
  const std::optional<unsigned> unit = hexadecimal(text.substr(2));
  if (!unit) return text.size();
  return is_high_surrogate(*unit) ? std::min(text.size(), 2 * kEscapeLength) : kEscapeLength;
}

// The last character of the inside of a string, if it is cut off; otherwise nothing.
std::string_view last_part(std::string_view text) {
  if (text.find('\\') == std::string_view::npos) return open_character(text);
  while (first_character(text) < text.size()) text.remove_prefix(first_character(text));
  if (text[0] != '\\') return open_character(text);
  if (text.size() == 1) return text;
  if (text[1] != 'u') return {};
  const std::optional<unsigned> unit = hexadecimal(text.substr(2));
  const bool is_whole = unit && (!is_high_surrogate(*unit) || text.size() == 2 * kEscapeLength);
  return is_whole ? std::string_view{} : text;
}

}  // namespace

std::uint32_t StringLengths::count(std::string_view text) {
  if (text.find('\\') == std::string_view::npos) {
    const bool begins_inside = !text.empty() && is_continuation(text[0]);
    return static_cast<std::uint32_t>(std::ranges::count_if(text, std::not_fn(is_continuation))) + begins_inside;
  }
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

void StringLengths::add(std::uint32_t id, std::string_view text, PartNumbers& parts) {
  std::uint32_t characters = 0;
  bool has_escape = false, has_quote = false;
  for (char byte : text) {
    has_escape = has_escape || byte == '\\';
    has_quote = has_quote || byte == '"';
    characters += !is_continuation(byte);
  }
  const std::uint32_t bit = 1u << (id & 31);
  bool is_inside = true;
  if (has_escape) escapes_[id >> 5] |= bit;
  if (has_escape || has_quote) {
    const std::size_t end = end_of_string(text);
    if (end + 1 < text.size()) return;  // leaves the string
    characters = count(text.substr(0, end));
    if (end < text.size()) {
      closing_.push_back({id, characters});
      characters = 0;
      is_inside = false;
    }
  }
  if (characters < kRows) {
    rows_[characters * word_count_ + (id >> 5)] |= bit;
  } else {
    long_.push_back({id, characters});
  }
  const std::string_view part = is_inside && characters > 0 ? last_part(text) : std::string_view{};
  if (part.empty()) return;
  is_open_[id >> 5] |= bit;
  const auto number = parts.try_emplace(part, static_cast<std::uint32_t>(parts.size())).first->second;
  open_.push_back({id, number, characters - 1});
}

void StringLengths::finish() {
  for (std::size_t i = word_count_; i < rows_.size(); ++i) rows_[i] |= rows_[i - word_count_];
  std::ranges::sort(long_, std::greater<>{}, &Closing::characters);
  std::ranges::sort(open_, {}, [](const Open& each) { return std::tuple(each.part, each.characters, each.id); });
}

}  // namespace detent

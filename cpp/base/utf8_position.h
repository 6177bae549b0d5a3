// Utf8Position: a position inside well-formed UTF-8 (Unicode 15, table 3-7).
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <string_view>

namespace detent {

// The most bytes that a character has after its first, and that the end of a token may lack.
inline constexpr std::uint32_t kMaxContinuationBytes = 3;

struct Utf8Position {
  int remaining = 0;                     // continuation bytes until the character is complete
  std::uint8_t low = 0x80, high = 0xBF;  // range of the next continuation byte
  bool valid = true;

  Utf8Position after(std::uint8_t byte) const {
    if (!valid) return *this;
    if (remaining > 0) return {remaining - 1, 0x80, 0xBF, byte >= low && byte <= high};
    if (byte < 0x80) return {};
    if (byte < 0xC2 || byte > 0xF4) return {0, 0x80, 0xBF, false};
    if (byte < 0xE0) return {1, 0x80, 0xBF, true};
    if (byte < 0xF0) {
      return {2, std::uint8_t(byte == 0xE0 ? 0xA0 : 0x80), std::uint8_t(byte == 0xED ? 0x9F : 0xBF), true};
    }
    return {3, std::uint8_t(byte == 0xF0 ? 0x90 : 0x80), std::uint8_t(byte == 0xF4 ? 0x8F : 0xBF), true};
  }
};

inline bool is_lead_byte(std::uint32_t byte) { return byte >= 0xC0; }

// The last character of a prefix of well-formed UTF-8, if it is not complete; otherwise nothing.
inline std::string_view open_character(std::string_view text) {
  for (std::size_t count = 1; count <= std::min<std::size_t>(text.size(), kMaxContinuationBytes); ++count) {
    const std::string_view last = text.substr(text.size() - count);
    const auto byte = static_cast<std::uint8_t>(last[0]);
    if (byte < 0x80) return {};
    if (byte < 0xC0) continue;  // a continuation byte
    const std::size_t length = byte < 0xE0 ? 2 : byte < 0xF0 ? 3 : 4;
    return count < length ? last : std::string_view{};
  }
  return {};
}

}  // namespace detent

#include "schema/written_strings.h"

#include <algorithm>
#include <array>
#include <cstdint>

namespace detent {
namespace {

constexpr std::uint32_t kFirstOfTwo = 0x10000;

void append_number(std::string& text, std::uint32_t unit) {
  constexpr std::string_view digits = "0123456789abcdef";
  text += "\\u";
  for (unsigned shift = 16; shift > 0; shift -= 4) text += digits[(unit >> (shift - 4)) & 15];
}

void append_character(std::string& text, std::uint32_t character, bool is_ascii) {
  switch (character) {
    case '"': text += "\\\""; return;
    case '\\': text += "\\\\"; return;
    case '\b': text += "\\b"; return;
    case '\f': text += "\\f"; return;
    case '\n': text += "\\n"; return;
    case '\r': text += "\\r"; return;
    case '\t': text += "\\t"; return;
    default: break;
  }
  if (character < 0x20 || (is_ascii && character == 0x7F)) {
    append_number(text, character);
  } else if (character < 0x80) {
    text += static_cast<char>(character);
  } else if (character < kFirstOfTwo) {
    append_number(text, character);
  } else {
    append_number(text, 0xD800 + ((character - kFirstOfTwo) >> 10));
    append_number(text, 0xDC00 + ((character - kFirstOfTwo) & 0x3FF));
  }
}

}  // namespace

WrittenString written_string(std::string_view text, bool is_serialized) {
  std::string raw;
  raw.reserve(text.size() + 2);
  raw += '"';
  bool is_ascii = true;
  for (char byte : text) {
    const auto code = static_cast<std::uint8_t>(byte);
    is_ascii &= code < 0x80;
    if (code < 0x80) {
      append_character(raw, code, false);
    } else {
      raw += byte;
    }
  }
  raw += '"';
  if (is_ascii || !is_serialized) return {Node::literal(std::move(raw)), {}};
  std::string ascii = "\"";
  for (std::size_t at = 0; at < text.size();) {
    const auto lead = static_cast<std::uint8_t>(text[at]);
    const std::size_t length = lead < 0x80 ? 1 : lead < 0xE0 ? 2 : lead < 0xF0 ? 3 : 4;
    std::uint32_t character = length == 1 ? lead : lead & (0xFFU >> (length + 1));
    for (std::size_t i = 1; i < length && at + i < text.size(); ++i) {
      character = character << 6 | (static_cast<std::uint8_t>(text[at + i]) & 0x3FU);
    }
    append_character(ascii, character, true);
    at += length;
  }
  return {Node::literal(std::move(raw)), Node::literal(ascii + '"')};
}

}  // namespace detent

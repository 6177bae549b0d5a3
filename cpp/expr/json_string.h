// JSON strings: a language of texts with the escapes of RFC 8259, section 7, between the quotation marks.
//
// json_escaped(texts) has each form in which JSON can write a string of `texts`: for the text a, the forms a and
// \u0061. It is the inverse image of `texts` under decoding, computed lazily. A raw byte derives the texts by that
// byte; an escape derives them by its character, once its last digit is read. So each constraint on a string,
// complements included, is an expression over plain text. Lone surrogates are no characters.
//
// Precondition: each string of `texts` is valid UTF-8. A residual with a next byte from 0x80 to 0xBF counts as inside a
// character, where no escape may begin. NodeCompiler intersects other languages, such as complements, with all texts.
#pragma once

#include <array>
#include <cstdint>
#include <functional>
#include <vector>

#include "expr/expr_set.h"

namespace detent {

inline constexpr std::uint32_t kMaxEscapeLength = 6;   // bytes of the longest escape of a byte, such as \u0041
inline constexpr std::uint32_t kLongestEscape = 12;    // of a character: a surrogate pair
inline constexpr std::uint32_t kAnyBits = UINT32_MAX;  // the bits of the escape no longer matter

// A position inside an escape. Expr::escape_bits holds the bits of the digits that were read. Once each character with
// these bits leads to the same residual, the state forgets the bits and holds that residual (any*, high*, kAnyBits).
enum class EscapePosition : std::uint32_t {
  text,    // between characters, or inside a raw one
  escape,  // after a backslash
  hex0,
  hex1,
  hex2,
  hex3,  // after \u and that many digits
  low_escape,
  low_u,  // after a high surrogate, whose low surrogate must follow
  low0,
  low1,
  low2,
  low3,
  any1,
  any2,
  any3,  // that many digits of any value, then the residual
  high1,
  high2,  // that many digits, then any low surrogate, then the residual
};

// A flag in the position of a string with only the escapes that serialisers write: \" \\ \b \f \n \r \t, and \u
// with lower-case digits for other control characters, DEL and all characters above ASCII.
inline constexpr std::uint32_t kSerialized = 32;

inline EscapePosition escape_position_of(std::uint32_t position) {
  return static_cast<EscapePosition>(position & ~kSerialized);
}
inline bool is_serialized(std::uint32_t position) { return (position & kSerialized) != 0; }

// Whether the residual is known: then Expr::part holds the texts after the escape, otherwise the texts before it.
inline bool is_character_known(std::uint32_t position, std::uint32_t bits) {
  const EscapePosition base = escape_position_of(position);
  return base == EscapePosition::text || base >= EscapePosition::any1 || bits == kAnyBits;
}
std::uint32_t remaining_escape_bytes(std::uint32_t position);

// Creates the byte sets that the rows of JSON strings distinguish.
void register_escape_bytes(ExprSet& exprs);

// Computes the row of one json_escaped expression.
class JsonStringRow {
 public:
  using FindRow = std::function<const ExprId*(ExprId)>;

  // `find_row` returns the row of an expression, or null if it is not computed.
  JsonStringRow(ExprSet& exprs, const std::array<std::uint8_t, 256>& class_of, std::uint32_t class_count,
                FindRow find_row)
      : exprs_(exprs), class_of_(class_of), class_count_(class_count), find_row_(std::move(find_row)) {}

  // Writes the row of `id` to `out`, or returns false; `missing` then names the rows that must be computed first.
  bool derive(ExprId id, ExprId* out);
  const std::vector<ExprId>& missing() const { return missing_; }

 private:
  // Derives by every class, also by bytes outside the alphabet.
  bool derive_any_byte(ExprId id, ExprId* out);
  // A range of characters whose UTF-8 has one length.
  struct Block {
    std::uint32_t first, last;
    std::uint32_t marker;  // of the lead byte
    std::uint32_t tail;    // number of continuation bytes
  };
  static const std::array<Block, 4> kBlocks;

  bool derive_text(ExprId texts, ExprId* out);
  // The residual of `texts` after a character. If a row is missing, the result has no meaning.
  ExprId after_character(ExprId texts, std::uint32_t code_point);
  // Whether a text starts with a character from `first` to `last`.
  bool may_start_with(ExprId texts, std::uint32_t first, std::uint32_t last);
  bool may_start_with(ExprId texts, const Block& block);
  // Whether a text starts with a character from `first` to `last` that may be written as \u.
  bool may_start_with_escaped(ExprId texts, std::uint32_t first, std::uint32_t last);
  // Whether every character from `first` to `last` may be written as \u.
  bool are_all_escapable(std::uint32_t first, std::uint32_t last) const;
  // The one residual after each character from `first` to `last`; the empty language if they differ.
  ExprId common_residual(ExprId texts, std::uint32_t first, std::uint32_t last);
  ExprId common_residual(ExprId texts, const Block& block);
  // The state after a hexadecimal digit; the empty language if no character of the texts has these digits.
  ExprId after_digit(ExprId texts, EscapePosition position, std::uint32_t bits, std::uint32_t digit);
  ExprId after_first_digits(ExprId texts, EscapePosition position, std::uint32_t digits);
  ExprId after_code_unit(ExprId texts, std::uint32_t code_unit);
  ExprId json_escaped(ExprId texts, EscapePosition position, std::uint32_t bits = 0);
  ExprId if_started(ExprId texts, EscapePosition position, std::uint32_t bits, std::uint32_t first, std::uint32_t last);

  ExprSet& exprs_;
  const std::array<std::uint8_t, 256>& class_of_;
  std::uint32_t class_count_;
  FindRow find_row_;
  std::vector<ExprId> missing_;
  std::uint32_t dialect_ = 0;  // kSerialized or 0: that of the current row
};

}  // namespace detent

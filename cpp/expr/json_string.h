// JSON strings: the spellings of a language of texts inside the quotation marks of RFC 8259, section 7.
//
// spelled(texts) is the inverse image of `texts` under decoding, taken lazily: raw bytes derive the texts by
// themselves, an escape derives them by the character that it stands for when its last digit is read. So every
// constraint on a string, complements included, is an ordinary expression over plain text. Lone surrogates are no
// characters.
#pragma once

#include <array>
#include <cstdint>
#include <functional>
#include <vector>

#include "expr/expr_set.h"

namespace detent {

inline constexpr std::uint32_t kMaxEscapeLength = 6;   // bytes of the longest escape of a byte, such as \u0041
inline constexpr std::uint32_t kAnyBits = UINT32_MAX;  // the bits of an escape no longer matter

// Where a spelling stands. `value` of ExprSet::spelled holds the bits read so far; where every character with these
// bits leads to the same texts, the spelling forgets them and holds those texts already (kAny).
enum class EscapePosition : std::uint32_t {
  text,    // between characters, or inside a raw one
  escape,  // behind a backslash
  hex0,
  hex1,
  hex2,
  hex3,  // behind \u and so many digits
  low_escape,
  low_u,  // behind a high surrogate; its low one must follow
  low0,
  low1,
  low2,
  low3,
  any1,
  any2,
  any3,  // so many digits, whatever they are, then the texts
  high1,
  high2,  // so many digits, then a low surrogate, whatever it is, then the texts
};

inline bool is_character_known(std::uint32_t place, std::uint32_t value) {
  return place == 0 || place >= static_cast<std::uint32_t>(EscapePosition::any1) || value == kAnyBits;
}
// Bytes that are left of an escape.
std::uint32_t remaining_escape_bytes(std::uint32_t place);

// Creates the byte sets that spellings tell apart.
void register_escape_bytes(ExprSet& exprs);

// Derives one spelling by every class.
class JsonStringRow {
 public:
  using Known = std::function<const ExprId*(ExprId)>;

  // `known` gives the row of an expression or null where it is not computed yet.
  JsonStringRow(ExprSet& exprs, const std::array<std::uint8_t, 256>& class_of, std::uint32_t class_count, Known known)
      : exprs_(exprs), class_of_(class_of), class_count_(class_count), known_(std::move(known)) {}

  // Writes the derivatives of the spelling `id`, or returns false and leaves the rows that it needs in `missing`.
  bool derive(ExprId id, ExprId* out);
  const std::vector<ExprId>& missing() const { return missing_; }

 private:
  ExprId after(ExprId texts, std::uint32_t code_point);
  // Whether the texts may begin with a character from `first` to `last`.
  bool may_start_with(ExprId texts, std::uint32_t first, std::uint32_t last);
  // The texts that are left behind each character from `first` to `last`; empty if they are not the same.
  ExprId common(ExprId texts, std::uint32_t first, std::uint32_t last);
  ExprId common(ExprId texts, std::uint32_t marker, std::uint32_t first, std::uint32_t last, std::uint32_t tail);
  bool may_go_on(ExprId texts, std::uint32_t marker, std::uint32_t first, std::uint32_t last, std::uint32_t tail);
  ExprId after_digit(ExprId texts, EscapePosition place, std::uint32_t value, std::uint32_t digit);
  ExprId json_escaped(ExprId texts, EscapePosition place, std::uint32_t value = 0);

  ExprSet& exprs_;
  const std::array<std::uint8_t, 256>& class_of_;
  std::uint32_t class_count_;
  Known known_;
  std::vector<ExprId> missing_;
};

}  // namespace detent

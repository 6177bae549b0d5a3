// Decimal: a number as JSON writes it, and the automaton of all JSON texts of equal numbers.
//
// A number other than zero is 0.d1...dk * 10^point, without zeros at either end of the digits: 120 is 0.12 * 10^3, and
// 1.2e2 is a text of it. Each text has these digits; its exponent makes up for the position of its decimal point.
// There are infinitely many states, since they count digits and positions; each is made when a text reaches it. Where
// exponents follow single digits only (may_shift is false), there are finitely many.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace detent {

struct Decimal {
  bool is_negative = false;
  std::string digits;      // empty for zero
  std::int64_t point = 0;  // of zero: 0
  bool may_shift = true;   // an exponent may follow several digits, as in 12e1; otherwise a single one, as in 1.2e2
  bool operator==(const Decimal&) const = default;
};

// How the numbers of a language may be written.
enum class NumberForms : std::uint8_t {
  integers,    // without points and exponents
  normalized,  // exponents follow single digits only
  all,
};
// The digits of an integer, without the sign of zero; nothing for other numbers.
std::optional<std::string> integer_text(const Decimal& number);

// Returns nothing for texts that are no JSON numbers, and for exponents of more than 15 digits.
std::optional<Decimal> parse_decimal(std::string_view text);

struct DecimalState {
  enum class Phase : std::uint8_t {
    start,
    sign,             // after the minus sign
    zero,             // the integer part is 0
    integer,          // in an integer part other than 0
    point,            // after the point
    fraction,         // after a digit of the fraction
    exponent,         // after e
    exponent_sign,    // after the sign of the exponent
    exponent_digits,  // after a digit of the exponent
  };
  Phase phase = Phase::start;
  std::uint32_t matched = 0;  // digits of the number that were read; in exponent_digits, those of the exponent
  std::int64_t position = 0;  // of the point that was read; from `exponent` on: the exponent that must follow
  bool operator==(const DecimalState&) const = default;
};

// The state after a byte, or nothing.
std::optional<DecimalState> after_byte(const Decimal& number, const DecimalState& state, char byte);
// Whether a text that leads to the state is a text of the number.
bool is_complete(const Decimal& number, const DecimalState& state);

}  // namespace detent

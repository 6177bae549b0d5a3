#include "expr/decimal.h"

#include <algorithm>
#include <cstddef>
#include <iterator>

namespace detent {
namespace {

using Phase = DecimalState::Phase;

bool is_digit(char byte) { return byte >= '0' && byte <= '9'; }

// The digits of an exponent without its sign; empty for 0, which is written as any number of zeros.
std::string exponent_text(std::int64_t exponent) {
  return exponent == 0 ? std::string() : std::to_string(exponent < 0 ? -exponent : exponent);
}

std::optional<DecimalState> after_digit(const Decimal& number, DecimalState state, char byte) {
  const bool is_in_fraction = state.phase == Phase::point || state.phase == Phase::fraction;
  if (is_in_fraction) state.phase = Phase::fraction;
  if (state.matched == 0 && byte == '0') {  // only in a fraction: a zero before the first other digit
    if (!number.digits.empty() && --state.position < number.point && !number.may_shift) return std::nullopt;
    return state;
  }
  if (state.matched < number.digits.size()) {
    if (number.digits[state.matched] != byte) return std::nullopt;
    ++state.matched;
  } else if (byte != '0') {
    return std::nullopt;
  }
  if (!is_in_fraction && ++state.position > number.point && !number.may_shift) return std::nullopt;
  return state;
}

std::optional<DecimalState> after_e(const Decimal& number, const DecimalState& state) {
  if (state.matched < number.digits.size()) return std::nullopt;
  return DecimalState{Phase::exponent, 0, number.digits.empty() ? 0 : number.point - state.position};
}

// The step inside an exponent. The number zero may have any exponent.
std::optional<DecimalState> in_exponent(const Decimal& number, const DecimalState& state, char byte) {
  const bool is_zero = number.digits.empty();
  if (byte == '+' || byte == '-') {
    const bool fits = is_zero || state.position == 0 || (state.position < 0) == (byte == '-');
    if (state.phase != Phase::exponent || !fits) return std::nullopt;
    return DecimalState{Phase::exponent_sign, 0, state.position};
  }
  if (!is_digit(byte)) return std::nullopt;
  if (is_zero) return DecimalState{Phase::exponent_digits, 0, 0};
  if (state.phase == Phase::exponent && state.position < 0) return std::nullopt;
  const std::string wanted = exponent_text(state.position);
  if (state.matched == 0 && byte == '0') return DecimalState{Phase::exponent_digits, 0, state.position};
  if (state.matched == wanted.size() || wanted[state.matched] != byte) return std::nullopt;
  return DecimalState{Phase::exponent_digits, state.matched + 1, state.position};
}

}  // namespace

std::optional<std::string> integer_text(const Decimal& number) {
  if (number.digits.empty()) return "0";
  const std::int64_t zeros = number.point - std::ssize(number.digits);
  if (zeros < 0) return std::nullopt;
  return (number.is_negative ? "-" : "") + number.digits + std::string(static_cast<std::size_t>(zeros), '0');
}

std::optional<Decimal> parse_decimal(std::string_view text) {
  Decimal number;
  std::size_t at = 0;
  number.is_negative = text.starts_with('-');
  if (number.is_negative) ++at;
  std::string digits;
  const auto take_digits = [&] {
    const std::size_t first = at;
    while (at < text.size() && is_digit(text[at])) digits += text[at++];
    return at > first;
  };
  if (!take_digits()) return std::nullopt;
  number.point = static_cast<std::int64_t>(digits.size());
  if (at < text.size() && text[at] == '.') {
    ++at;
    if (!take_digits()) return std::nullopt;
  }
  if (at < text.size() && (text[at] | 0x20) == 'e') {
    ++at;
    const bool is_negative = at < text.size() && text[at] == '-';
    if (at < text.size() && (text[at] == '-' || text[at] == '+')) ++at;
    const std::size_t first = at;
    std::int64_t exponent = 0;
    for (; at < text.size() && is_digit(text[at]); ++at) {
      if (exponent > 99'999'999'999'999) return std::nullopt;
      exponent = exponent * 10 + (text[at] - '0');
    }
    if (at == first) return std::nullopt;
    number.point += is_negative ? -exponent : exponent;
  }
  if (at != text.size()) return std::nullopt;
  const std::size_t first = std::min(digits.find_first_not_of('0'), digits.size());
  number.point -= static_cast<std::int64_t>(first);
  digits.erase(0, first);
  digits.erase(digits.find_last_not_of('0') + 1);
  number.digits = std::move(digits);
  if (number.digits.empty()) {
    number.point = 0;
    number.is_negative = false;
  }
  return number;
}

std::optional<DecimalState> after_byte(const Decimal& number, const DecimalState& state, char byte) {
  switch (state.phase) {
    case Phase::start:
      if (byte == '-') {
        if (!number.is_negative && !number.digits.empty()) return std::nullopt;
        return DecimalState{Phase::sign, 0, 0};
      }
      if (number.is_negative) return std::nullopt;
      [[fallthrough]];
    case Phase::sign:
      if (byte == '0') return DecimalState{Phase::zero, 0, 0};
      if (!is_digit(byte) || number.digits.empty() || number.digits[0] != byte) return std::nullopt;
      return DecimalState{Phase::integer, 1, 1};
    case Phase::zero:
    case Phase::integer:
    case Phase::fraction:
      if (byte == '.' && state.phase != Phase::fraction)
        return DecimalState{Phase::point, state.matched, state.position};
      if ((byte | 0x20) == 'e') return after_e(number, state);
      if (!is_digit(byte) || state.phase == Phase::zero) return std::nullopt;
      return after_digit(number, state, byte);
    case Phase::point: return is_digit(byte) ? after_digit(number, state, byte) : std::nullopt;
    default: return in_exponent(number, state, byte);
  }
}

bool is_complete(const Decimal& number, const DecimalState& state) {
  switch (state.phase) {
    case Phase::zero: return number.digits.empty();
    case Phase::integer:
    case Phase::fraction:
      return state.matched == number.digits.size() && (number.digits.empty() || state.position == number.point);
    case Phase::exponent_digits: return number.digits.empty() || state.matched == exponent_text(state.position).size();
    default: return false;
  }
}

}  // namespace detent

#include "expr/json_string.h"

#include <algorithm>
#include <string_view>

namespace detent {
namespace {

constexpr std::string_view kLetters = "\"\\/bfnrt";
constexpr std::string_view kMeanings = "\"\\/\b\f\n\r\t";
constexpr std::string_view kDigits = "0123456789abcdefABCDEF";

std::uint32_t digit_value(char digit) {
  if (digit <= '9') return static_cast<std::uint32_t>(digit - '0');
  return static_cast<std::uint32_t>((digit | 0x20) - 'a') + 10;
}

struct Length {  // of characters in UTF-8
  std::uint32_t first, last, marker, tail;
};
constexpr Length kLengths[] = {
    {0, 0x7F, 0, 0}, {0x80, 0x7FF, 0xC0, 1}, {0x800, 0xFFFF, 0xE0, 2}, {0x10000, 0x10FFFF, 0xF0, 3}};

EscapePosition next(EscapePosition place) { return static_cast<EscapePosition>(static_cast<std::uint32_t>(place) + 1); }

}  // namespace

std::uint32_t remaining_escape_bytes(std::uint32_t place) {
  constexpr std::uint32_t kLeft[] = {0, 1, 4, 3, 2, 1, 6, 5, 4, 3, 2, 1, 1, 2, 3, 7, 8};
  return kLeft[place];
}

void register_escape_bytes(ExprSet& exprs) {
  exprs.bytes(ByteSet::range(0, 0x1F));
  for (std::string_view apart : {kLetters, kMeanings, kDigits, std::string_view("u")}) {
    for (char byte : apart) exprs.bytes(ByteSet::of(static_cast<std::uint8_t>(byte)));
  }
}

ExprId JsonStringRow::json_escaped(ExprId texts, EscapePosition place, std::uint32_t value) {
  return exprs_.json_escaped(texts, static_cast<std::uint32_t>(place), value);
}

// What is left of the texts behind a character; if a row is missing, it is noted and the answer means nothing.
ExprId JsonStringRow::after(ExprId texts, std::uint32_t code_point) {
  std::array<std::uint32_t, 4> bytes{};
  int count = 1;
  if (code_point < 0x80) {
    bytes[0] = code_point;
  } else if (code_point < 0x800) {
    bytes = {0xC0 | code_point >> 6, 0x80 | (code_point & 0x3F)};
    count = 2;
  } else if (code_point < 0x10000) {
    bytes = {0xE0 | code_point >> 12, 0x80 | (code_point >> 6 & 0x3F), 0x80 | (code_point & 0x3F)};
    count = 3;
  } else {
    bytes = {0xF0 | code_point >> 18, 0x80 | (code_point >> 12 & 0x3F), 0x80 | (code_point >> 6 & 0x3F),
             0x80 | (code_point & 0x3F)};
    count = 4;
  }
  for (int i = 0; i < count && texts != ExprSet::kEmpty; ++i) {
    const ExprId* row = known_(texts);
    if (!row) {
      missing_.push_back(texts);
      return ExprSet::kEmpty;
    }
    texts = row[class_of_[bytes[static_cast<std::size_t>(i)]]];
  }
  return texts;
}

bool JsonStringRow::may_start_with(ExprId texts, std::uint32_t first, std::uint32_t last) {
  for (const Length& length : kLengths) {
    const std::uint32_t low = std::max(first, length.first), high = std::min(last, length.last);
    if (low <= high && may_go_on(texts, length.marker, low, high, length.tail)) return true;
  }
  return false;
}

bool JsonStringRow::may_go_on(ExprId texts, std::uint32_t marker, std::uint32_t first, std::uint32_t last,
                              std::uint32_t tail) {
  const ExprId* row = known_(texts);
  if (!row) {
    missing_.push_back(texts);
    return false;
  }
  const std::uint32_t shift = 6 * tail, low_bits = (1u << shift) - 1;
  for (std::uint32_t bits = first >> shift; bits <= last >> shift; ++bits) {
    const ExprId next = row[class_of_[marker | bits]];
    if (next == ExprSet::kEmpty) continue;
    const std::uint32_t low = std::max(first, bits << shift), high = std::min(last, bits << shift | low_bits);
    // What begins a character goes on to some end of it.
    if (high - low == low_bits || may_go_on(next, 0x80, low & low_bits, high & low_bits, tail - 1)) return true;
  }
  return false;
}

ExprId JsonStringRow::common(ExprId texts, std::uint32_t first, std::uint32_t last) {
  ExprId found = ExprSet::kEmpty;
  for (const Length& length : kLengths) {
    const std::uint32_t low = std::max(first, length.first), high = std::min(last, length.last);
    if (low > high) continue;
    const ExprId left = common(texts, length.marker, low, high, length.tail);
    if (left == ExprSet::kEmpty || (found != ExprSet::kEmpty && found != left)) return ExprSet::kEmpty;
    found = left;
  }
  return found;
}

ExprId JsonStringRow::common(ExprId texts, std::uint32_t marker, std::uint32_t first, std::uint32_t last,
                             std::uint32_t tail) {
  const ExprId* row = known_(texts);
  if (!row) {
    missing_.push_back(texts);
    return ExprSet::kEmpty;
  }
  const std::uint32_t shift = 6 * tail, low_bits = (1u << shift) - 1;
  ExprId found = ExprSet::kEmpty, last_next = ExprSet::kEmpty;
  for (std::uint32_t bits = first >> shift; bits <= last >> shift; ++bits) {
    const ExprId next = row[class_of_[marker | bits]];
    if (next == ExprSet::kEmpty) return next;
    const std::uint32_t low = std::max(first, bits << shift), high = std::min(last, bits << shift | low_bits);
    const bool whole = high - low == low_bits;
    if (whole && next == last_next) continue;  // as behind the byte before
    const ExprId left = tail == 0 ? next : common(next, 0x80, low & low_bits, high & low_bits, tail - 1);
    if (left == ExprSet::kEmpty || (found != ExprSet::kEmpty && found != left)) return ExprSet::kEmpty;
    found = left;
    if (whole) last_next = next;
  }
  return found;
}

// What is left behind a hexadecimal digit; empty if no character of the texts has these digits.
ExprId JsonStringRow::after_digit(ExprId texts, EscapePosition place, std::uint32_t value, std::uint32_t digit) {
  const auto to = [&](EscapePosition next_place, std::uint32_t next_value, std::uint32_t first, std::uint32_t last) {
    return may_start_with(texts, first, last) ? json_escaped(texts, next_place, next_value) : ExprSet::kEmpty;
  };
  // The astral characters whose surrogates begin with these bits.
  const auto astral = [](std::uint32_t bits, std::uint32_t shift) { return 0x10000 + (bits << shift); };
  const std::uint32_t all = value << 4 | digit;
  switch (place) {
    case EscapePosition::hex0:
    case EscapePosition::hex1:
    case EscapePosition::hex2: {
      const std::uint32_t shift = place == EscapePosition::hex0 ? 12 : place == EscapePosition::hex1 ? 8 : 4;
      const std::uint32_t first = all << shift, last = first | ((1u << shift) - 1);
      if (last < 0xD800 || first >= 0xE000) {
        if (const ExprId left = common(texts, first, last); left != ExprSet::kEmpty) {
          return json_escaped(left, shift == 12  ? EscapePosition::any3
                                    : shift == 8 ? EscapePosition::any2
                                                 : EscapePosition::any1);
        }
      } else if (first >= 0xD800 && last < 0xDC00) {
        const ExprId left = common(texts, astral(first & 0x3FF, 10), astral((last & 0x3FF) + 1, 10) - 1);
        if (left != ExprSet::kEmpty)
          return json_escaped(left, shift == 8 ? EscapePosition::high2 : EscapePosition::high1);
      }
      const std::uint32_t high = std::max(first, 0xD800u), low = std::min(last, 0xDBFFu);
      const bool is_pair =
          high <= low && may_start_with(texts, astral(high & 0x3FF, 10), astral((low & 0x3FF) + 1, 10) - 1);
      return is_pair ? json_escaped(texts, next(place), all) : to(next(place), all, first, last);
    }
    case EscapePosition::hex3:
      if (all >= 0xD800 && all < 0xDC00) {
        const ExprId left = common(texts, astral(all & 0x3FF, 10), astral((all & 0x3FF) + 1, 10) - 1);
        if (left != ExprSet::kEmpty) return json_escaped(left, EscapePosition::low_escape, kAnyBits);
        return to(EscapePosition::low_escape, all & 0x3FF, astral(all & 0x3FF, 10), astral((all & 0x3FF) + 1, 10) - 1);
      }
      return all >= 0xDC00 && all < 0xE000 ? ExprSet::kEmpty : json_escaped(after(texts, all), EscapePosition::text);
    case EscapePosition::low1: {
      if (value == kAnyBits) return digit < 0xC ? ExprSet::kEmpty : json_escaped(texts, EscapePosition::any2);
      const std::uint32_t bits = value << 2 | (digit & 3);
      return digit < 0xC ? ExprSet::kEmpty : to(EscapePosition::low2, bits, astral(bits, 8), astral(bits + 1, 8) - 1);
    }
    case EscapePosition::any1: return json_escaped(texts, EscapePosition::text);
    case EscapePosition::any2: return json_escaped(texts, EscapePosition::any1);
    case EscapePosition::any3: return json_escaped(texts, EscapePosition::any2);
    case EscapePosition::high1: return json_escaped(texts, EscapePosition::low_escape, kAnyBits);
    case EscapePosition::high2: return json_escaped(texts, EscapePosition::high1);
    case EscapePosition::low2: return to(EscapePosition::low3, all, astral(all, 4), astral(all + 1, 4) - 1);
    default: return json_escaped(after(texts, 0x10000 + all), EscapePosition::text);
  }
}

bool JsonStringRow::derive(ExprId id, ExprId* out) {
  missing_.clear();
  const Expr expr = exprs_[id];
  const ExprId texts = expr.part();
  const auto place = static_cast<EscapePosition>(expr.escape_position());
  const auto at = [&](char byte) -> ExprId& { return out[class_of_[static_cast<std::uint8_t>(byte)]]; };
  std::fill_n(out, class_count_, ExprSet::kEmpty);
  switch (place) {
    case EscapePosition::text: {
      const ExprId* row = known_(texts);
      if (!row) {
        missing_.push_back(texts);
        return false;
      }
      for (std::uint32_t c = 0; c < class_count_; ++c) {
        out[c] = c > 0 && row[c] == row[c - 1] ? out[c - 1] : json_escaped(row[c], EscapePosition::text);
      }
      for (unsigned byte = 0; byte < 0x20; ++byte) out[class_of_[byte]] = ExprSet::kEmpty;
      at('"') = ExprSet::kEmpty;
      const auto goes_on = [&](unsigned byte) { return row[class_of_[byte]] != ExprSet::kEmpty; };
      bool inside = false;  // a raw character
      for (unsigned byte = 0x80; byte < 0xC0; ++byte) inside |= goes_on(byte);
      bool more = false;
      for (unsigned byte = 0; byte < 256; ++byte) more |= goes_on(byte);
      at('\\') = inside || !more ? ExprSet::kEmpty : json_escaped(texts, EscapePosition::escape);
      break;
    }
    case EscapePosition::escape:
      for (std::size_t i = 0; i < kLetters.size(); ++i) {
        at(kLetters[i]) = json_escaped(after(texts, static_cast<std::uint8_t>(kMeanings[i])), EscapePosition::text);
      }
      at('u') = json_escaped(texts, EscapePosition::hex0);
      break;
    case EscapePosition::low_escape: at('\\') = json_escaped(texts, EscapePosition::low_u, expr.escape_bits()); break;
    case EscapePosition::low_u: at('u') = json_escaped(texts, EscapePosition::low0, expr.escape_bits()); break;
    case EscapePosition::low0: at('d') = at('D') = json_escaped(texts, EscapePosition::low1, expr.escape_bits()); break;
    default:
      for (char digit : kDigits) at(digit) = after_digit(texts, place, expr.escape_bits(), digit_value(digit));
  }
  return missing_.empty();
}

}  // namespace detent

#include "expr/json_string.h"

#include <algorithm>
#include <string_view>

namespace detent {
namespace {

constexpr std::string_view kEscapeLetters = "\"\\/bfnrt";
constexpr std::string_view kEscapedBytes = "\"\\/\b\f\n\r\t";
constexpr std::string_view kHexDigits = "0123456789abcdefABCDEF";
constexpr std::size_t kLowerHexDigits = 16;  // the first ones of kHexDigits, which serialisers write

// The characters that serialisers write as \u: control characters without an escape of two bytes, DEL, and all others.
struct CharacterRange {
  std::uint32_t first, last;
};
constexpr CharacterRange kSerializedAsU[] = {{0, 7}, {0x0B, 0x0B}, {0x0E, 0x1F}, {0x7F, 0x10FFFF}};

std::uint32_t digit_value(char digit) {
  if (digit <= '9') return static_cast<std::uint32_t>(digit - '0');
  return static_cast<std::uint32_t>((digit | 0x20) - 'a') + 10;
}

EscapePosition next(EscapePosition position) {
  return static_cast<EscapePosition>(static_cast<std::uint32_t>(position) + 1);
}

// The astral characters whose 20 bits, the payload of both surrogates, start with `bits`; `shift` bits are open.
std::uint32_t first_astral(std::uint32_t bits, std::uint32_t shift) { return 0x10000 + (bits << shift); }
std::uint32_t last_astral(std::uint32_t bits, std::uint32_t shift) { return first_astral(bits + 1, shift) - 1; }

constexpr std::uint32_t kPayload = 0x3FF;  // of a surrogate

}  // namespace

const std::array<JsonStringRow::Block, 4> JsonStringRow::kBlocks = {{
    {0, 0x7F, 0, 0},
    {0x80, 0x7FF, 0xC0, 1},
    {0x800, 0xFFFF, 0xE0, 2},
    {0x10000, 0x10FFFF, 0xF0, 3},
}};

std::uint32_t remaining_escape_bytes(std::uint32_t position) {
  constexpr std::uint32_t kRemaining[] = {0, 1, 4, 3, 2, 1, 6, 5, 4, 3, 2, 1, 1, 2, 3, 7, 8};
  return kRemaining[static_cast<std::uint32_t>(escape_position_of(position))];
}

void register_escape_bytes(ExprSet& exprs) {
  exprs.bytes(ByteSet::range(0, 0x1F));
  for (std::string_view single : {kEscapeLetters, kEscapedBytes, kHexDigits, std::string_view("u")}) {
    for (char byte : single) exprs.bytes(ByteSet::of(static_cast<std::uint8_t>(byte)));
  }
}

ExprId JsonStringRow::json_escaped(ExprId texts, EscapePosition position, std::uint32_t bits) {
  return exprs_.json_escaped(texts, static_cast<std::uint32_t>(position) | dialect_, bits);
}

ExprId JsonStringRow::after_character(ExprId texts, std::uint32_t code_point) {
  const auto block = std::ranges::find_if(kBlocks, [&](const Block& b) { return code_point <= b.last; });
  std::uint32_t marker = block->marker;
  for (std::uint32_t tail = block->tail + 1; tail-- > 0 && texts != ExprSet::kEmpty;) {
    const ExprId* row = find_row_(texts);
    if (!row) {
      missing_.push_back(texts);
      return ExprSet::kEmpty;
    }
    const std::uint32_t bits = code_point >> (6 * tail);
    texts = row[class_of_[tail == block->tail ? marker | bits : marker | (bits & 0x3F)]];
    marker = 0x80;
  }
  return texts;
}

bool JsonStringRow::may_start_with(ExprId texts, std::uint32_t first, std::uint32_t last) {
  for (const Block& block : kBlocks) {
    const std::uint32_t low = std::max(first, block.first), high = std::min(last, block.last);
    if (low <= high && may_start_with(texts, {low, high, block.marker, block.tail})) return true;
  }
  return false;
}

bool JsonStringRow::may_start_with(ExprId texts, const Block& block) {
  const ExprId* row = find_row_(texts);
  if (!row) {
    missing_.push_back(texts);
    return false;
  }
  const std::uint32_t shift = 6 * block.tail, low_bits = (1u << shift) - 1;
  for (std::uint32_t bits = block.first >> shift; bits <= block.last >> shift; ++bits) {
    const ExprId next = row[class_of_[block.marker | bits]];
    if (next == ExprSet::kEmpty) continue;
    const std::uint32_t low = std::max(block.first, bits << shift),
                        high = std::min(block.last, bits << shift | low_bits);
    // All continuations are in the range: the texts hold whole characters, so that one of them is live.
    if (high - low == low_bits) return true;
    if (may_start_with(next, {low & low_bits, high & low_bits, 0x80, block.tail - 1})) return true;
  }
  return false;
}

bool JsonStringRow::may_start_with_escaped(ExprId texts, std::uint32_t first, std::uint32_t last) {
  if (dialect_ == 0) return may_start_with(texts, first, last);
  return std::ranges::any_of(kSerializedAsU, [&](const CharacterRange& range) {
    const std::uint32_t low = std::max(first, range.first), high = std::min(last, range.last);
    return low <= high && may_start_with(texts, low, high);
  });
}

bool JsonStringRow::are_all_escapable(std::uint32_t first, std::uint32_t last) const {
  return dialect_ == 0 || std::ranges::any_of(kSerializedAsU, [&](const CharacterRange& range) {
           return range.first <= first && last <= range.last;
         });
}

ExprId JsonStringRow::common_residual(ExprId texts, std::uint32_t first, std::uint32_t last) {
  ExprId found = ExprSet::kEmpty;
  for (const Block& block : kBlocks) {
    const std::uint32_t low = std::max(first, block.first), high = std::min(last, block.last);
    if (low > high) continue;
    const ExprId residual = common_residual(texts, {low, high, block.marker, block.tail});
    if (residual == ExprSet::kEmpty || (found != ExprSet::kEmpty && found != residual)) return ExprSet::kEmpty;
    found = residual;
  }
  return found;
}

ExprId JsonStringRow::common_residual(ExprId texts, const Block& block) {
  const ExprId* row = find_row_(texts);
  if (!row) {
    missing_.push_back(texts);
    return ExprSet::kEmpty;
  }
  const std::uint32_t shift = 6 * block.tail, low_bits = (1u << shift) - 1;
  ExprId found = ExprSet::kEmpty, last_next = ExprSet::kEmpty;
  for (std::uint32_t bits = block.first >> shift; bits <= block.last >> shift; ++bits) {
    const ExprId next = row[class_of_[block.marker | bits]];
    if (next == ExprSet::kEmpty) return next;
    const std::uint32_t low = std::max(block.first, bits << shift),
                        high = std::min(block.last, bits << shift | low_bits);
    const bool is_whole = high - low == low_bits;
    if (is_whole && next == last_next) continue;  // same residual as after the previous byte
    const ExprId residual =
        block.tail == 0 ? next : common_residual(next, {low & low_bits, high & low_bits, 0x80, block.tail - 1});
    if (residual == ExprSet::kEmpty || (found != ExprSet::kEmpty && found != residual)) return ExprSet::kEmpty;
    found = residual;
    if (is_whole) last_next = next;
  }
  return found;
}

ExprId JsonStringRow::if_started(ExprId texts, EscapePosition position, std::uint32_t bits, std::uint32_t first,
                                 std::uint32_t last) {
  return may_start_with_escaped(texts, first, last) ? json_escaped(texts, position, bits) : ExprSet::kEmpty;
}

// After one to three digits of a code unit, `digits`.
ExprId JsonStringRow::after_first_digits(ExprId texts, EscapePosition position, std::uint32_t digits) {
  const std::uint32_t shift = position == EscapePosition::hex0 ? 12 : position == EscapePosition::hex1 ? 8 : 4;
  const std::uint32_t first = digits << shift, last = first | ((1u << shift) - 1);
  if ((last < 0xD800 || first >= 0xE000) && are_all_escapable(first, last)) {
    if (const ExprId residual = common_residual(texts, first, last); residual != ExprSet::kEmpty) {
      return json_escaped(residual, shift == 12  ? EscapePosition::any3
                                    : shift == 8 ? EscapePosition::any2
                                                 : EscapePosition::any1);
    }
  } else if (first >= 0xD800 && last < 0xDC00) {
    const ExprId residual =
        common_residual(texts, first_astral(first & kPayload, 10), last_astral(last & kPayload, 10));
    if (residual != ExprSet::kEmpty) {
      return json_escaped(residual, shift == 8 ? EscapePosition::high2 : EscapePosition::high1);
    }
  }
  const std::uint32_t high = std::max(first, 0xD800u),
                      low = std::min(last, 0xDBFFu);  // of the high surrogates in reach
  if (high <= low && may_start_with(texts, first_astral(high & kPayload, 10), last_astral(low & kPayload, 10))) {
    return json_escaped(texts, next(position), digits);
  }
  return if_started(texts, next(position), digits, first, last);
}

// After all four digits.
ExprId JsonStringRow::after_code_unit(ExprId texts, std::uint32_t code_unit) {
  if (code_unit >= 0xDC00 && code_unit < 0xE000) return ExprSet::kEmpty;
  if (code_unit < 0xD800 || code_unit >= 0xE000) {
    if (!are_all_escapable(code_unit, code_unit)) return ExprSet::kEmpty;
    return json_escaped(after_character(texts, code_unit), EscapePosition::text);
  }
  const std::uint32_t bits = code_unit & kPayload;
  const std::uint32_t first = first_astral(bits, 10), last = last_astral(bits, 10);
  if (const ExprId residual = common_residual(texts, first, last); residual != ExprSet::kEmpty) {
    return json_escaped(residual, EscapePosition::low_escape, kAnyBits);
  }
  return if_started(texts, EscapePosition::low_escape, bits, first, last);
}

ExprId JsonStringRow::after_digit(ExprId texts, EscapePosition position, std::uint32_t bits, std::uint32_t digit) {
  const std::uint32_t digits = bits << 4 | digit;
  switch (position) {
    case EscapePosition::hex0:
    case EscapePosition::hex1:
    case EscapePosition::hex2: return after_first_digits(texts, position, digits);
    case EscapePosition::hex3: return after_code_unit(texts, digits);
    case EscapePosition::low1: {
      if (digit < 0xC) return ExprSet::kEmpty;
      if (bits == kAnyBits) return json_escaped(texts, EscapePosition::any2);
      const std::uint32_t payload = bits << 2 | (digit & 3);
      return if_started(texts, EscapePosition::low2, payload, first_astral(payload, 8), last_astral(payload, 8));
    }
    case EscapePosition::low2:
      return if_started(texts, EscapePosition::low3, digits, first_astral(digits, 4), last_astral(digits, 4));
    case EscapePosition::low3: return json_escaped(after_character(texts, 0x10000 + digits), EscapePosition::text);
    case EscapePosition::any1: return json_escaped(texts, EscapePosition::text);
    case EscapePosition::any2: return json_escaped(texts, EscapePosition::any1);
    case EscapePosition::any3: return json_escaped(texts, EscapePosition::any2);
    case EscapePosition::high1: return json_escaped(texts, EscapePosition::low_escape, kAnyBits);
    default: return json_escaped(texts, EscapePosition::high1);  // high2
  }
}

bool JsonStringRow::derive_text(ExprId texts, ExprId* out) {
  const ExprId* row = find_row_(texts);
  if (!row) {
    missing_.push_back(texts);
    return false;
  }
  for (std::uint32_t c = 0; c < class_count_; ++c) {
    out[c] = c > 0 && row[c] == row[c - 1] ? out[c - 1] : json_escaped(row[c], EscapePosition::text);
  }
  for (unsigned byte = 0; byte < 0x20; ++byte) out[class_of_[byte]] = ExprSet::kEmpty;
  out[class_of_['"']] = ExprSet::kEmpty;
  const auto is_live = [&](unsigned byte) { return row[class_of_[byte]] != ExprSet::kEmpty; };
  bool is_inside_character = false, has_more = false;
  for (unsigned byte = 0x80; byte < 0xC0; ++byte) is_inside_character |= is_live(byte);
  for (unsigned byte = 0; byte < 256; ++byte) has_more |= is_live(byte);
  bool may_escape = has_more && !is_inside_character;
  if (may_escape && dialect_ != 0) {
    may_escape =
        is_live('"') || is_live('\\') || may_start_with(texts, 0, 0x1F) || may_start_with(texts, 0x7F, 0x10FFFF);
    if (!missing_.empty()) return false;
  }
  out[class_of_['\\']] = may_escape ? json_escaped(texts, EscapePosition::escape) : ExprSet::kEmpty;
  return true;
}

bool JsonStringRow::derive(ExprId id, ExprId* out) {
  missing_.clear();
  if (!derive_any_byte(id, out)) return false;
  if (exprs_.alphabet() == ByteSet::all()) return true;
  for (unsigned byte = 0; byte < 256; ++byte) {
    if (!exprs_.alphabet().contains(static_cast<std::uint8_t>(byte))) out[class_of_[byte]] = ExprSet::kEmpty;
  }
  return true;
}

bool JsonStringRow::derive_any_byte(ExprId id, ExprId* out) {
  const Expr expr = exprs_[id];
  const ExprId texts = expr.part();
  const EscapePosition position = escape_position_of(expr.escape_position());
  dialect_ = expr.escape_position() & kSerialized;
  const auto at = [&](char byte) -> ExprId& { return out[class_of_[static_cast<std::uint8_t>(byte)]]; };
  std::fill_n(out, class_count_, ExprSet::kEmpty);
  switch (position) {
    case EscapePosition::text: return derive_text(texts, out);
    case EscapePosition::escape:
      for (std::size_t i = 0; i < kEscapeLetters.size(); ++i) {
        if (dialect_ != 0 && kEscapeLetters[i] == '/') continue;
        const ExprId residual = after_character(texts, static_cast<std::uint8_t>(kEscapedBytes[i]));
        at(kEscapeLetters[i]) = json_escaped(residual, EscapePosition::text);
      }
      at('u') = dialect_ == 0 ? json_escaped(texts, EscapePosition::hex0)
                              : if_started(texts, EscapePosition::hex0, 0, 0, 0x10FFFF);
      break;
    case EscapePosition::low_escape: at('\\') = json_escaped(texts, EscapePosition::low_u, expr.escape_bits()); break;
    case EscapePosition::low_u: at('u') = json_escaped(texts, EscapePosition::low0, expr.escape_bits()); break;
    case EscapePosition::low0:
      at('d') = json_escaped(texts, EscapePosition::low1, expr.escape_bits());
      if (dialect_ == 0) at('D') = at('d');
      break;
    default:
      for (char digit : dialect_ == 0 ? kHexDigits : kHexDigits.substr(0, kLowerHexDigits))
        at(digit) = after_digit(texts, position, expr.escape_bits(), digit_value(digit));
  }
  return missing_.empty();
}

}  // namespace detent

#include "automaton/character_counts.h"

#include <algorithm>
#include <utility>

#include "automaton/conjuncts.h"
#include "base/utf8_position.h"
#include "expr/lengths.h"
#include "expr/parts.h"

namespace detent {
namespace {

constexpr int kMaxDepth = 32;  // of nested operators

// The length in bytes of the characters that begin with a byte of `lead`; 0 if their lengths differ.
int character_length(const ByteSet& lead) {
  const auto is_in = [&lead](unsigned low, unsigned high) {
    return lead.is_subset_of(ByteSet::range(static_cast<std::uint8_t>(low), static_cast<std::uint8_t>(high)));
  };
  return is_in(0, 0x7F) ? 1 : is_in(0xC2, 0xDF) ? 2 : is_in(0xE0, 0xEF) ? 3 : is_in(0xF0, 0xF4) ? 4 : 0;
}

}  // namespace

bool is_one_character(const ExprSet& exprs, ExprId id) {
  for (ExprId choice : operands_of(exprs, id, Op::union_of)) {
    const auto [head, rest] = split_first(exprs, choice);
    if (exprs[head].op != Op::bytes) return false;
    int missing = character_length(exprs.set(exprs[head].set_index())) - 1;
    for (ExprId tail = rest; tail != ExprSet::kEpsilon; tail = split_first(exprs, tail).second) {
      const Expr& byte = exprs[split_first(exprs, tail).first];
      // Sets of continuation bytes may be repeated: [\x80-\xBF]{2}.
      const std::uint32_t rounds = byte.op == Op::repeat && byte.minimum() == byte.maximum() ? byte.minimum() : 1;
      const Expr& set = byte.op == Op::repeat && rounds > 1 ? exprs[byte.part()] : byte;
      if (set.op != Op::bytes || !exprs.set(set.set_index()).is_subset_of(ByteSet::range(0x80, 0xBF))) return false;
      if (rounds > 3) return false;
      missing -= static_cast<int>(rounds);
    }
    if (missing != 0) return false;
  }
  return true;
}

bool CharacterCounts::is_character(ExprId id) {
  const auto [known, is_new] = is_character_.try_emplace(id.value);
  if (is_new) known->second = is_one_character(exprs_, id);
  return known->second;
}

std::optional<CharacterCounts::Fewest> CharacterCounts::fewest(ExprId id) { return find_fewest(id, 0); }

// Among the texts with the fewest characters, takes one with the fewest bytes.
std::optional<CharacterCounts::Fewest> CharacterCounts::find_fewest(ExprId id, int depth) {
  if (depth == kMaxDepth || !exprs_[id].nonempty || id == ExprSet::kEmpty) return std::nullopt;
  if (const auto known = known_.find(id.value); known != known_.end()) return known->second;
  Fewest sum;
  const auto add = [&](std::optional<Fewest> part, std::uint32_t rounds) {
    if (!part) return false;
    sum.characters = saturating_add(sum.characters, saturating_multiply(part->characters, rounds));
    sum.bytes = saturating_add(sum.bytes, saturating_multiply(part->bytes, rounds));
    return true;
  };
  bool is_known = true;
  for (ExprId rest = id; is_known && rest != ExprSet::kEpsilon;) {
    const auto [head, after] = split_first(exprs_, rest);
    rest = after;
    const Expr& expr = exprs_[head];
    switch (expr.op) {
      case Op::bytes: {
        const ByteSet continuation = ByteSet::range(0x80, 0xBF);
        is_known = add(Fewest{(exprs_.set(expr.set_index()) & continuation).empty() ? 1u : 0u, 1}, 1);
        break;
      }
      case Op::text: {
        const auto starts = [](char byte) { return (static_cast<std::uint8_t>(byte) & 0xC0) != 0x80; };
        const std::string_view text = exprs_.text_of(head);
        is_known = add(Fewest{static_cast<std::uint32_t>(std::ranges::count_if(text, starts)),
                              static_cast<std::uint32_t>(text.size())},
                       1);
        break;
      }
      case Op::repeat: is_known = add(find_fewest(expr.part(), depth + 1), expr.minimum()); break;
      case Op::union_of: {
        std::optional<Fewest> least;
        for (ExprId operand : exprs_.operands(head)) {
          const std::optional<Fewest> each = operand == ExprSet::kEpsilon ? Fewest{} : find_fewest(operand, depth + 1);
          is_known = is_known && each;
          if (!is_known) break;
          if (!least || each->characters < least->characters ||
              (each->characters == least->characters && each->bytes < least->bytes)) {
            least = each;
          }
        }
        is_known = is_known && add(least, 1);
        break;
      }
      default: is_known = false;
    }
  }
  return known_[id.value] = is_known ? std::optional(sum) : std::nullopt;
}

// A residual of a sequence ends in the same last part. A residual of a loop is the rest of one character, then the
// loop.
bool CharacterCounts::has_every_longer(ExprId id, int depth) {
  if (depth == kMaxDepth) return false;
  while (exprs_[id].op == Op::concat) id = exprs_[id].second();
  const Expr& expr = exprs_[id];
  if (expr.op == Op::union_of) {
    return std::ranges::all_of(exprs_.operands(id),
                               [&](ExprId operand) { return has_every_longer(operand, depth + 1); });
  }
  return expr.op == Op::repeat && expr.maximum() == ExprSet::kUnbounded && is_character(expr.part());
}

std::optional<CharacterCounts::Bounded> CharacterCounts::bounded(ExprId id) {
  if (exprs_[id].op != Op::intersection || !is_self_contained(exprs_[id])) return std::nullopt;
  const auto operands = exprs_.operands(id);
  if (operands.size() == 2 && exprs_.all_texts() != ExprSet::kEmpty) {
    for (std::size_t i = 0; i < 2; ++i) {
      Bounded found{operands[1 - i], 0, 0};
      std::vector<ByteSet> missing;
      if (!read_bound(operands[i], missing, found)) continue;
      found.is_inside_character = !missing.empty();
      if (completes_character({found.texts}, missing, 0)) return found;
    }
  }
  return bounded_below_need(id);
}

// Two operands that have no text in common, as one needs more characters than the other one may have.
std::optional<CharacterCounts::Bounded> CharacterCounts::bounded_below_need(ExprId id) {
  std::uint32_t most = UINT32_MAX;
  for (ExprId operand : exprs_.operands(id)) most = std::min(most, most_characters(operand));
  if (most == UINT32_MAX) return std::nullopt;
  for (ExprId operand : exprs_.operands(id)) {
    const std::optional<Fewest> need = fewest(operand);
    if (need && need->characters > most) return Bounded{operand, 0, most};
  }
  return std::nullopt;
}

// An upper bound on the characters of a text of `id`, where it is a sequence of bytes and of counted characters.
std::uint32_t CharacterCounts::most_characters(ExprId id) {
  std::uint32_t most = 0;
  for (ExprId rest = id; rest != ExprSet::kEpsilon && most != UINT32_MAX;) {
    const auto [head, after] = split_first(exprs_, rest);
    rest = after;
    const Expr& expr = exprs_[head];
    std::uint32_t more = UINT32_MAX;
    if (expr.op == Op::bytes) {
      more = exprs_.set(expr.set_index()).is_subset_of(ByteSet::range(0x80, 0xBF)) ? 0 : 1;
    } else if (expr.op == Op::repeat && expr.maximum() != ExprSet::kUnbounded) {
      const Expr& part = exprs_[expr.part()];
      const bool is_byte =
          part.op == Op::bytes && exprs_.set(part.set_index()).is_subset_of(ByteSet::range(0x80, 0xBF));
      if (is_byte || is_character(expr.part())) more = is_byte ? 0 : expr.maximum();
    }
    most = saturating_add(most, more);
  }
  return most;
}

// Reads an expression such as .{2,5}, perhaps after continuation bytes that complete a started character (`missing`).
bool CharacterCounts::read_bound(ExprId id, std::vector<ByteSet>& missing, Bounded& bound) const {
  const ExprId character = exprs_[exprs_.all_texts()].part();
  while (true) {
    const Expr& expr = exprs_[id];
    if (id == ExprSet::kEpsilon) break;
    if (id == character) {
      bound.minimum = bound.maximum = 1;
      break;
    }
    if (expr.op == Op::repeat && expr.part() == character) {
      bound.minimum = expr.minimum();
      bound.maximum = expr.maximum();
      break;
    }
    const auto [first, rest] = split_first(exprs_, id);
    const Expr& head = exprs_[first];
    const bool is_repeat = head.op == Op::repeat && head.minimum() == head.maximum();
    const Expr& set = is_repeat ? exprs_[head.part()] : head;
    const std::size_t rounds = is_repeat ? head.minimum() : 1;
    if (set.op != Op::bytes || missing.size() + rounds > kMaxContinuationBytes) return false;
    if (!exprs_.set(set.set_index()).is_subset_of(ByteSet::range(0x80, 0xBF))) return false;
    missing.insert(missing.end(), rounds, exprs_.set(set.set_index()));
    id = rest;
  }
  return bound.minimum > 0 || bound.maximum != ExprSet::kUnbounded;
}

// Whether each string of a sequence is one byte of each set in `missing`, then a text. `rest` is the sequence reversed.
bool CharacterCounts::completes_character(std::vector<ExprId> rest, std::span<const ByteSet> missing, int depth) const {
  while (!missing.empty()) {
    if (rest.empty() || depth == kMaxDepth) return false;
    const ExprId id = rest.back();
    const Expr& expr = exprs_[id];
    rest.pop_back();
    if (expr.op == Op::concat) {
      rest.push_back(expr.second());
      rest.push_back(expr.first());
      continue;
    }
    if (expr.op == Op::union_of) {
      return std::ranges::all_of(exprs_.operands(id), [&](ExprId operand) {
        std::vector<ExprId> sequence = rest;
        sequence.push_back(operand);
        return completes_character(std::move(sequence), missing, depth + 1);
      });
    }
    const bool is_repeat = expr.op == Op::repeat && expr.minimum() == expr.maximum();
    const Expr& set = is_repeat ? exprs_[expr.part()] : expr;
    const std::size_t rounds = is_repeat ? expr.minimum() : 1;
    if (set.op != Op::bytes || rounds > missing.size()) return false;
    const auto is_in = [&](const ByteSet& each) { return exprs_.set(set.set_index()).is_subset_of(each); };
    if (!std::ranges::all_of(missing.first(rounds), is_in)) return false;
    missing = missing.subspan(rounds);
  }
  return std::ranges::all_of(rest, [this](ExprId id) { return exprs_[id].is_text && is_self_contained(exprs_[id]); });
}

}  // namespace detent

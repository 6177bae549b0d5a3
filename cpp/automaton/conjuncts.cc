#include "automaton/conjuncts.h"

#include <algorithm>

#include "automaton/alternatives.h"
#include "base/utf8_position.h"
#include "expr/json_string.h"
#include "expr/lengths.h"
#include "expr/parts.h"

namespace detent {
namespace {

void split(ExprSet& exprs, ExprId id, int depth, std::vector<ExprId>& found) {
  constexpr int kMaxDepth = 8;
  const Expr expr = exprs[id];
  if (depth == kMaxDepth || found.size() > kMaxConjuncts) {
    found.push_back(id);
    return;
  }
  switch (expr.op) {
    case Op::intersection:
      for (ExprId part : operands_of(exprs, id, Op::intersection)) {
        split(exprs, part, depth + 1, found);
      }
      return;
    case Op::complement:
      for (ExprId part : distribute_unions(exprs, expr.part())) found.push_back(exprs.complement(part));
      return;
    case Op::json_escaped: {
      // json_escaped takes only UTF-8 texts (json_string.h). A complement contains other strings too, so each conjunct
      // that is no text by its form is intersected with all texts.
      std::vector<ExprId> texts;
      split(exprs, expr.part(), depth + 1, texts);
      const bool has_texts = std::ranges::any_of(texts, [&exprs](ExprId part) { return exprs[part].is_text; });
      if (!has_texts || exprs.all_texts() == ExprSet::kEmpty) {
        texts = {expr.part()};
      }
      for (ExprId part : texts) {
        if (!exprs[part].is_text && texts.size() > 1) part = exprs.intersection({exprs.all_texts(), part});
        found.push_back(exprs.json_escaped(part, expr.escape_position(), expr.escape_bits()));
      }
      return;
    }
    default: found.push_back(id);
  }
}

// Whether a text of `id` may begin with any number of characters that do not matter.
bool may_match_anywhere(const ExprSet& exprs, ExprId id) {
  constexpr int kMaxDepth = 4;  // of nested repeats and sequences
  const auto begins_with_loop = [&exprs](ExprId each) {
    if (exprs[each].op != Op::concat) return false;
    ExprId head = each;
    for (int depth = 0; depth < kMaxDepth; ++depth) {
      const Expr& expr = exprs[head];
      const bool is_loop = expr.op == Op::repeat && expr.maximum() == ExprSet::kUnbounded;
      if (is_loop && is_one_character(exprs, expr.part())) return true;
      if (expr.op != Op::repeat && expr.op != Op::concat) return false;
      head = expr.op == Op::repeat ? expr.part() : expr.first();
    }
    return false;
  };
  return exprs[id].op == Op::union_of ? std::ranges::any_of(exprs.operands(id), begins_with_loop)
                                      : begins_with_loop(id);
}

// The number of conjuncts of an operand that may match anywhere.
std::ptrdiff_t count_searches(const ExprSet& exprs, ExprId operand) {
  const auto searches = [&exprs](ExprId each) { return may_match_anywhere(exprs, each); };
  if (exprs[operand].op != Op::complement) return searches(operand);
  const ExprId part = exprs[operand].part();
  return exprs[part].op == Op::union_of ? std::ranges::count_if(exprs.operands(part), searches) : searches(part);
}

// Whether `rest` begins with a quotation mark: it ends the JSON string at one position in all conjuncts.
bool ends_string(const ExprSet& exprs, ExprId rest) {
  const ExprId first = split_first(exprs, rest).first;
  return exprs[first].op == Op::bytes && exprs.set(exprs[first].set_index()) == ByteSet::of('"');
}

// Leaves out alternatives that `keep` refuses, also of what a complement excludes. It is called with an alternative.
template <class Keep>
ExprId filter_alternatives(ExprSet& exprs, ExprId id, const Keep& keep, int depth = 0) {
  constexpr int kMaxDepth = 4;
  const Expr expr = exprs[id];
  if (depth == kMaxDepth) return id;
  const auto filter = [&](ExprId part) { return filter_alternatives(exprs, part, keep, depth + 1); };
  switch (expr.op) {
    case Op::union_of: {
      std::vector<ExprId> kept = operands_of(exprs, id, Op::union_of);
      const bool keeps_all = std::erase_if(kept, [&](ExprId each) { return !keep(each); }) == 0;
      return keeps_all ? id : exprs.union_of(std::move(kept));
    }
    case Op::complement: {
      const ExprId excluded = expr.part();
      if (exprs[excluded].op != Op::union_of) return keep(excluded) ? id : exprs.sigma_star();
      return exprs.complement(filter(excluded));
    }
    case Op::intersection: {
      std::vector<ExprId> parts = operands_of(exprs, id, Op::intersection);
      std::ranges::transform(parts, parts.begin(), filter);
      return exprs.intersection(std::move(parts));
    }
    default: return id;
  }
}

// Calls filter_alternatives() inside a JSON string, if `conjunct` is one. `keep` also takes the number of characters
// that are already read in part.
template <class Keep>
ExprId filter_conjunct(ExprSet& exprs, ExprId conjunct, const Keep& keep) {
  if (!is_json_string(exprs, conjunct)) {
    return filter_alternatives(exprs, conjunct, [&](ExprId each) { return keep(each, 0); });
  }
  const auto [head, rest] = split_first(exprs, conjunct);
  const Expr string = exprs[head];
  const std::uint32_t open = !is_character_known(string.escape_position(), string.escape_bits());
  const ExprId texts = filter_alternatives(exprs, string.part(), [&](ExprId each) { return keep(each, open); });
  if (texts == string.part() || !exprs[texts].is_text) return conjunct;  // json_escaped takes only UTF-8 texts
  return exprs.concat(exprs.json_escaped(texts, string.escape_position(), string.escape_bits()), rest);
}

}  // namespace

bool is_self_contained(const Expr& expr) {
  return !expr.has_guard && !expr.has_lookbehind && !expr.has_lookbehind_end && !expr.has_rule && !expr.has_open_item &&
         !expr.has_closed_item;
}

std::vector<ExprId> conjuncts_of(ExprSet& exprs, ExprId id) {
  const Expr expr = exprs[id];
  std::vector<ExprId> found;
  if (!is_self_contained(expr)) return {id};
  if (expr.op != Op::concat) {
    split(exprs, id, 0, found);
  } else if (exprs[expr.first()].op == Op::json_escaped && ends_string(exprs, expr.second())) {
    split(exprs, expr.first(), 0, found);
    for (ExprId& part : found) part = exprs.concat(part, expr.second());
  }
  return found.empty() || found.size() > kMaxConjuncts ? std::vector<ExprId>{id} : found;
}

std::vector<ExprId> relaxations_of(ExprSet& exprs, ExprId id) {
  constexpr std::size_t kMost = 10;  // operands that may match anywhere
  if (exprs[id].op != Op::intersection || exprs[id].has_rule) return {};
  std::vector<ExprId> searches, others;
  for (ExprId operand : exprs.operands(id)) {
    (count_searches(exprs, operand) > 0 ? searches : others).push_back(operand);
  }
  if (searches.size() < 3 || searches.size() > kMost) return {};
  std::vector<ExprId> found;
  for (std::size_t i = 0; i < searches.size(); ++i) {
    for (std::size_t j = 0; j < i; ++j) {
      std::vector<ExprId> operands = others;
      operands.insert(operands.end(), {searches[j], searches[i]});
      found.push_back(exprs.intersection(std::move(operands)));
    }
  }
  return found;
}

bool has_conjuncts_that_search(const ExprSet& exprs) {
  for (std::uint32_t value = 0; value < exprs.size(); ++value) {
    const ExprId id{value};
    std::ptrdiff_t count = 0;
    if (exprs[id].op == Op::complement) count = count_searches(exprs, id);
    if (exprs[id].op == Op::intersection) {
      for (ExprId operand : exprs.operands(id)) count += count_searches(exprs, operand);
    }
    if (count > 1) return true;
  }
  return false;
}

bool may_count(const ExprSet& exprs, ExprId complement) {
  if (exprs[complement].op != Op::complement) return false;
  const auto counts = [&exprs](ExprId each) { return exprs[each].largest_count > kMaxContinuationBytes; };
  const ExprId excluded = exprs[complement].part();
  return counts(excluded) ||
         (exprs[excluded].op == Op::union_of && std::ranges::any_of(exprs.operands(excluded), counts));
}

std::optional<CountedCharacters> counted_characters(ExprSet& exprs, ExprId conjunct) {
  const auto [first, rest] = split_first(exprs, conjunct);
  const bool is_string = exprs[first].op == Op::json_escaped;
  ExprId at = is_string ? exprs[first].part() : conjunct;
  std::vector<ExprId> missing;  // the bytes that complete a character
  for (; exprs[at].op == Op::concat && missing.size() < kMaxContinuationBytes; at = exprs[at].second()) {
    const ExprId head = exprs[at].first();
    const Expr& byte = exprs[head].op == Op::repeat ? exprs[exprs[head].part()] : exprs[head];
    const bool is_fixed = exprs[head].op != Op::repeat || exprs[head].minimum() == exprs[head].maximum();
    if (byte.op != Op::bytes || !is_fixed) return std::nullopt;
    if (!exprs.set(byte.set_index()).is_subset_of(ByteSet::range(0x80, 0xBF))) return std::nullopt;
    missing.push_back(head);
  }
  const Expr count = exprs[at];
  if (count.op != Op::repeat || count.maximum() == ExprSet::kUnbounded || !is_one_character(exprs, count.part())) {
    return std::nullopt;
  }
  const ExprId any = exprs.repeat(count.part(), 0, ExprSet::kUnbounded);
  const auto with_bytes = [&](ExprId characters) { return concat_elements(exprs, missing, characters); };
  CountedCharacters found{with_bytes(any), any, ExprSet::kEmpty, count.maximum()};
  if (count.minimum() > 0) {
    found.at_least = with_bytes(exprs.repeat(count.part(), count.minimum(), ExprSet::kUnbounded));
  }
  if (!is_string) return found;
  const std::uint32_t position = exprs[first].escape_position(), bits = exprs[first].escape_bits();
  // Before its last digit, an escape is open a character that the texts still hold.
  if (!is_character_known(position, bits)) {
    if (found.maximum == 0) return std::nullopt;
    --found.maximum;
  }
  const std::uint32_t dialect = is_serialized(position) ? kSerialized : 0;
  const auto string = [&](ExprId texts, std::uint32_t at_position, std::uint32_t at_bits) {
    return exprs.concat(exprs.json_escaped(texts, at_position, at_bits), rest);
  };
  found.unbounded = string(found.unbounded, position, bits);
  found.between = string(any, static_cast<std::uint32_t>(EscapePosition::text) | dialect, 0);
  if (found.at_least != ExprSet::kEmpty) found.at_least = string(found.at_least, position, bits);
  return found;
}

bool is_json_string(const ExprSet& exprs, ExprId conjunct) {
  return exprs[split_first(exprs, conjunct).first].op == Op::json_escaped;
}

std::uint32_t fewest_characters(const ExprSet& exprs, CharacterCounts& counts, ExprId conjunct) {
  const bool is_string = is_json_string(exprs, conjunct);
  const Expr& string = exprs[is_string ? split_first(exprs, conjunct).first : conjunct];
  const std::optional<CharacterCounts::Fewest> fewest = counts.fewest(is_string ? string.part() : conjunct);
  if (!fewest || fewest->characters == 0) return 0;
  const bool is_open = is_string && !is_character_known(string.escape_position(), string.escape_bits());
  return fewest->characters - is_open;
}

ExprId without_longer(ExprSet& exprs, CharacterCounts& counts, ExprId conjunct, std::uint32_t left) {
  return filter_conjunct(exprs, conjunct, [&](ExprId each, std::uint32_t open) {
    const std::optional<CharacterCounts::Fewest> fewest = counts.fewest(each);
    return !fewest || fewest->characters <= saturating_add(left, open);
  });
}

std::uint32_t longest_alternative(ExprSet& exprs, CharacterCounts& counts, ExprId conjunct) {
  std::uint32_t longest = 0;
  filter_conjunct(exprs, conjunct, [&](ExprId each, std::uint32_t) {
    const std::optional<CharacterCounts::Fewest> fewest = counts.fewest(each);
    if (fewest) longest = std::max(longest, fewest->characters);
    return true;
  });
  return longest;
}

}  // namespace detent

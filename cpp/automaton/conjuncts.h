// Conjuncts: states as intersections of simpler states.
#pragma once

#include <optional>
#include <vector>

#include "automaton/character_counts.h"
#include "expr/expr_set.h"

namespace detent {

// Whether the language of an expression depends neither on the text around it, nor on rules, nor on earlier list items.
bool is_self_contained(const Expr& expr);

// Returns expressions whose intersection is `id`; `id` alone where it is no intersection, or has more than
// kMaxConjuncts conjuncts. ~(x | y) counts as ~x & ~y, and the JSON string of x & y as the intersection of two JSON
// strings. Cost: one constructor call for each conjunct.
std::vector<ExprId> conjuncts_of(ExprSet& exprs, ExprId id);

inline constexpr std::size_t kMaxConjuncts = 64;

// Intersections of fewer operands that contain `id`: each has two of its operands that may match anywhere, and all
// others. Empty where it has at most two of the first, or very many; or calls rules, so that a search of them may not
// end. Their states are far fewer.
std::vector<ExprId> relaxations_of(ExprSet& exprs, ExprId id);

// Whether some intersection has two conjuncts or more that may match anywhere, such as `.*a.{9}b.*` and its complement.
// Their sets may be many, and some of them take long searches. Cost: linear in the operands of intersections.
bool has_conjuncts_that_search(const ExprSet& exprs);

// Whether a complement excludes texts by counts of more than a few, such as .*a.{30}b.*
bool may_count(const ExprSet& exprs, ExprId complement);

// A conjunct that permits up to some number of characters, such as .{2,100}, as an intersection.
struct CountedCharacters {
  ExprId unbounded;       // the same without bounds; inside a character, its rest, then any characters
  ExprId between;         // `unbounded` between characters: each text leads there after each whole character
  ExprId at_least;        // the lower bound by itself, such as .{2,}; the empty language where there is none
  std::uint32_t maximum;  // the characters that may still begin
};
// Reads `conjunct` as such an intersection. It may be a JSON string, whose characters count before they are escaped,
// and it may begin inside a character. Returns nothing where its form is another one.
std::optional<CountedCharacters> counted_characters(ExprSet& exprs, ExprId conjunct);

// Whether a conjunct begins inside a JSON string.
bool is_json_string(const ExprSet& exprs, ExprId conjunct);
// A lower bound on the characters that begin in each text of a conjunct; in a JSON string, before they are escaped.
std::uint32_t fewest_characters(const ExprSet& exprs, CharacterCounts& counts, ExprId conjunct);

// `conjunct` without the alternatives that need more than `left` characters: the same texts among those in which at
// most `left` begin. Of a JSON string, the characters before they are escaped count.
ExprId without_longer(ExprSet& exprs, CharacterCounts& counts, ExprId conjunct, std::uint32_t left);
// The least `left` from which on without_longer() leaves out nothing.
std::uint32_t longest_alternative(ExprSet& exprs, CharacterCounts& counts, ExprId conjunct);

}  // namespace detent

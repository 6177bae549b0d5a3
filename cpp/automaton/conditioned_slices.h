// narrow_slices: the slices of x & r, where r excludes words, from those of x.
//
// (prefix continuation) & r is (prefix & r) (continuation & s), if r is in one state s after each text of the prefix:
//   1. The prefix has few states, and r excludes none of its texts, such as numbers or white space. Then prefix & r is
//      the prefix, whose mask all languages share.
//   2. The last byte of the prefix leads r to one state from everywhere (byte_resets.h).
// An alternative that begins with a literal, such as the name of a member, is literal (rest & s).
#pragma once

#include <optional>
#include <utility>
#include <vector>

#include "automaton/byte_resets.h"
#include "automaton/liveness.h"
#include "automaton/slice_finder.h"
#include "expr/derivative.h"
#include "expr/expr_set.h"

namespace detent {

// An intersection as its one operand that is no complement, and the intersection of the others, which exclude texts.
// Nothing for any other expression.
std::optional<std::pair<ExprId, ExprId>> split_conditions(ExprSet& exprs, ExprId state);

// The operands of a condition, if their form shows where each is dead (is_dead_exclusion), and what is live under each
// is live under all. Otherwise nothing. They exclude:
//   1. the texts that begin with one of some texts, such as ~(.* word .*); or
//   2. other texts, such as whole words, which may end with the text: no excluded text ends in some byte that is in
//      `safe`, so it may follow each text.
std::vector<ExprId> exclusions_of(const ExprSet& exprs, ExprId condition, const ByteSet& safe);
// Whether what is left of an excluded text is of the form "any text", or "a text that may be empty, then any text".
bool is_any_text(const ExprSet& exprs, ExprId rest);

// `found` has the slices and the other alternatives of x, without DeclaredMembers. Needs the lock of the automaton.
SplitState narrow_slices(ExprSet& exprs, Derivatives& derivatives, Liveness& liveness, SplitState found,
                         ExprId condition, ByteResets& resets);

}  // namespace detent

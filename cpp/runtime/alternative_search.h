// AlternativeSearch: finds a shortest token sequence that completes a state, breadth first over its alternatives.
//
// A search over states would meet a new union of alternatives after most tokens. This search continues from each
// alternative separately: `.*a.{10}|...|.*p.{25}` has some 300 alternatives and 2^200 unions.
// Cost: a walk over the trie, with sets of alternatives, for each alternative reached before the last token.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "automaton/automaton.h"
#include "vocab/vocabulary.h"

namespace detent {

// The tokens of a shortest completion of a live state; nothing where the search takes more than `max_work`, in steps of
// the automaton's meter. Every byte of the alphabet must be a token.
std::optional<std::vector<std::uint32_t>> search_by_alternatives(const Vocabulary& vocabulary, Automaton& automaton,
                                                                 ExprId state, std::int64_t max_work);

}  // namespace detent

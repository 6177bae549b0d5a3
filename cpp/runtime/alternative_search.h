// AlternativeSearch: a shortest sequence of tokens that completes a state, found by its alternatives.
//
// Breadth first over token steps. A search over states makes a union of alternatives for most tokens; this one goes on
// from each alternative by itself: `.*a.{10}|...|.*p.{25}` has some 300 of them and 2^200 unions.
// Cost: for each alternative that is reached before the last token, a walk over the trie with its sets of alternatives.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "automaton/automaton.h"
#include "vocab/vocabulary.h"

namespace detent {

// The tokens of a shortest completion of a live state; each text of the vocabulary's bytes can be written. Nothing
// where finding them takes more than `max_work`, in steps of the automaton's meter.
std::optional<std::vector<std::uint32_t>> search_by_alternatives(const Vocabulary& vocabulary, Automaton& automaton,
                                                                 ExprId state, std::int64_t max_work);

}  // namespace detent

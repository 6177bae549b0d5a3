// TokenizableSearch: whether the vocabulary can write a completion of a state with lists of distinct items.
//
// Such a state is no operand of an intersection (expr/distinct.h). So the search pairs states of the automaton and
// states of the texts that the vocabulary can write. It follows short completions first. From a state that lacks the
// text of an item, it looks for a completion that has the form of the list, whatever items were read.
#pragma once

#include "automaton/automaton.h"

namespace detent {

// `tokenizable` is the state at the start of the texts that the vocabulary can write. Throws `limit` ("work") where the
// search takes more than Limits::trial_steps.
bool has_tokenizable_completion(Automaton& automaton, ExprId state, ExprId tokenizable);

}  // namespace detent

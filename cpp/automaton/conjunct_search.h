// ConjunctSearch: a text of an intersection, found over the states of its conjuncts.
//
// A search over the states of the intersection makes an expression, and a row, for each combination of the conjuncts'
// states. The conjuncts have few states each, and a set of these is a state of this search.
//
// Case: `.*7.{15}` & `~.*3.{11}` & a number: 20 sets instead of 30,000 states.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "expr/derivative.h"
#include "expr/expr_set.h"

namespace detent {

// Returns a text of `state`, or nothing: it has none, or a search of bounded length did not find it. Best first, by the
// sum of the lengths that the conjuncts need at least, over the alternatives of the state.
std::optional<std::string> find_text_by_conjuncts(ExprSet& exprs, Derivatives& derivatives, Meter& meter, ExprId state);

}  // namespace detent

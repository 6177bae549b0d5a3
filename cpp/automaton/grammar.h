// Grammar: how mutually recursive definitions become rules of an ExprSet (docs/algorithms/grammars.md).
//
//   1. Facts about each definition are least fixed points over the nodes: whether it has a text, whether it is
//      nullable, and a bound on its shortest text. Expressions need them before the definition exists.
//   2. A definition without any text becomes the empty language, so that each rule is live.
//   3. A rule that may call itself before it reads a byte is refused: front ends remove left recursion.
//   4. Rules are created with their facts, then defined.
#pragma once

#include <span>
#include <vector>

#include "automaton/liveness.h"
#include "automaton/nested_lists.h"
#include "base/pointer_map.h"
#include "expr/expr_set.h"
#include "expr/node.h"

namespace detent {

// The maximal parts of the definitions that do not refer to a definition.
std::vector<const Node*> closed_parts(const Node& grammar);

// Returns the rule of the start definition, or the empty language if it has no text. `interned` holds the closed parts.
// Cost: linear in the nodes of the definitions, times the number of rounds until the facts are stable.
ExprId compile_grammar(ExprSet& exprs, Liveness& liveness, Meter& meter, const Node& grammar,
                       const NestedLists& nested_lists, const PointerMap<ExprId>& interned);

// `parts` are the expressions of the node's children; those without text must be the empty language.
ExprId make_ordered(ExprSet& exprs, const Node& node, std::span<const ExprId> parts);
ExprId make_unordered(ExprSet& exprs, const Node& node, std::span<const ExprId> parts);

}  // namespace detent

// Grammar: how mutually recursive definitions become rules.
//
// What a rule is, expressions need to know before it is defined: whether it has the empty string, whether it has any,
// and how long its shortest one is. These are least fixed points, found on the nodes. A definition without any text is
// taken out, so that every rule is live. A rule that may call itself before it has read a byte is refused: whoever
// reads grammars removes left recursion.
#pragma once

#include <span>
#include <unordered_map>
#include <vector>

#include "automaton/liveness.h"
#include "expr/expr_set.h"
#include "expr/node.h"

namespace detent {

// The largest parts of the definitions that call no rule of this grammar.
std::vector<const Node*> closed_parts(const Node& grammar);

// The rule of the grammar's start; the empty language if it has no text. `interned` has the closed parts.
// Cost: linear in the nodes of the definitions, times the depth of what is found out late.
ExprId compile_grammar(ExprSet& exprs, Liveness& liveness, Meter& meter, const Node& grammar,
                       const std::unordered_map<const Node*, ExprId>& interned);

// `parts` are the expressions of the node's children, with what has no text replaced by the empty language.
ExprId make_ordered(ExprSet& exprs, const Node& node, std::span<const ExprId> parts);
ExprId make_unordered(ExprSet& exprs, const Node& node, std::span<const ExprId> parts);

}  // namespace detent

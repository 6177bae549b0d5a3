// LanguageSet: the automata of many languages over one set of expressions, which compiles what they share once.
//
// All of them have the byte classes of the nodes that the set was made for. A language that divides a class is refused:
// it needs a new set. Case: a class such as \w has 600 ranges, and a hundred questions about the terminals of a grammar
// compiled it a hundred times.
#pragma once

#include <optional>
#include <span>
#include <vector>

#include "automaton/automaton.h"
#include "automaton/node_compiler.h"
#include "base/byte_set.h"
#include "base/pointer_map.h"
#include "expr/node.h"

namespace detent {

class LanguageSet {
 public:
  LanguageSet(std::span<const NodeRef> nodes, const Limits& limits);

  // The state before the first byte of a language, dead if the language is empty; nothing where it divides a class.
  // Cost: linear in the nodes that the set does not know yet, beside the constructors of their expressions.
  std::optional<ExprId> start(const NodeRef& language);
  Automaton& automaton() { return automaton_; }

 private:
  bool divides_class(const ByteSet& set) const;

  Meter meter_;  // of the compiler
  Automaton automaton_;
  std::optional<NodeCompiler> compiler_;
  std::vector<ByteSet> classes_;
  PointerMap<bool> known_;       // nodes that divide no class
  std::vector<NodeRef> owners_;  // keep the nodes that `known_` and the compiler remember by address
};

}  // namespace detent

// SharedPart: the compiled form of a node that many languages contain, such as any JSON value.
//
// An automaton whose language contains a shared node starts from a copy of the expressions of this node, and compiles
// only the rest. The expressions, and so the states and masks, are those that it would build itself.
// Case: any JSON value is a part of each open object. It took half of the compilation of such a schema.
#pragma once

#include <memory>

#include "automaton/automaton.h"
#include "automaton/node_compiler.h"
#include "expr/node.h"

namespace detent {

struct SharedPart {
  SharedPart(NodeRef shared_node, const ByteSet& vocabulary_bytes)
      : root(std::move(shared_node)),
        alphabet(vocabulary_bytes),
        automaton(root, {.alphabet = alphabet}, 0, Limits{}, nullptr, nullptr, &nodes) {}

  NodeRef root;
  ByteSet alphabet;
  CompiledNodes nodes;
  Automaton automaton;
};

// Names a node that many languages will contain, by its address. The last kMostSharedNodes of them are kept. Any
// thread.
inline constexpr std::size_t kMostSharedNodes = 16;
void share(const NodeRef& node);

// The compiled form of a shared node with JSON strings that `root` contains, made at its first use; null if there is
// none. Cost: linear in the nodes of `root` that are deeper than the shared nodes.
std::shared_ptr<const SharedPart> find_shared_part(const NodeRef& root, const ByteSet& alphabet);

}  // namespace detent

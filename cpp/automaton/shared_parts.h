// SharedPart: the compiled form of a node that many languages contain, such as any JSON value.
//
// An automaton whose language contains a shared node copies the expressions of this node, and compiles only the other
// nodes. Its expressions, states and masks are the same as without the copy.
// Case: each open object contains the node of any JSON value, which took half of the time to compile such a schema.
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

// Registers a node that many languages will contain, by its address. Only the last kMostSharedNodes are remembered. May
// be called from any thread.
inline constexpr std::size_t kMostSharedNodes = 16;
void share(const NodeRef& node);

// The compiled form of a shared node that `root` contains, made at its first use; null if there is none, or if it has
// no JSON strings. Cost: linear in the nodes of `root` that are deeper than the shared nodes.
std::shared_ptr<const SharedPart> find_shared_part(const NodeRef& root, const ByteSet& alphabet);

}  // namespace detent

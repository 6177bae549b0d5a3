// AlternativeWalk: finds the tokens below a trie node that a state allows, with sets of alternatives.
//
// A walk by states visits one union of alternatives for each trie node. Most of these unions are new, and each needs a
// new transition row. This walk follows the alternatives themselves, which have few rows. It takes a subtree in one
// step where the loop of one alternative (automaton/live_loops.h) has all characters of the subtree.
//
// Case: `.*a.{5}|.*b.{6}|...|.*z.{30}` on Llama 3: 2 ms for a mask instead of 600.
// Cost: for each node visited, about linear in the size of the set.
#pragma once

#include <cstdint>
#include <vector>

#include "automaton/automaton.h"
#include "mask/mask_builder.h"
#include "runtime/alternative_sets.h"
#include "runtime/target_nodes.h"
#include "vocab/vocabulary.h"

namespace detent {

struct ExitDelta;

class AlternativeWalk {
 public:
  // `exits` is null unless the mask is that of a slice. `targets`, if not null, are the only nodes that may differ from
  // the reference mask. Tokens of fewer bytes than `equal_below` never differ from it.
  AlternativeWalk(const Vocabulary& vocabulary, Automaton& automaton, MaskBuilder& builder, ExitDelta* exits,
                  TargetNodes* targets = nullptr, std::uint32_t equal_below = 0)
      : vocabulary_(vocabulary),
        automaton_(automaton),
        builder_(builder),
        exits_(exits),
        targets_(targets),
        equal_below_(equal_below),
        trie_(vocabulary.trie()),
        alternatives_(automaton) {}

  // Adds to the builder the tokens that `state` allows at the nodes [first, end), siblings and all nodes below them.
  // Where `reference`, the state of the reference mask, is live, the builder may hold other tokens: removes these.
  void run(ExprId state, ExprId reference, std::size_t first, std::size_t end);

 private:
  struct Position {
    AlternativeSet set;
    ExprId reference;
  };

  bool take_subtree(const Position& at, ExprId reference_next, std::size_t i);
  bool accepts(const AlternativeSet& set);
  std::uint32_t completion_bound(const AlternativeSet& set);

  const Vocabulary& vocabulary_;
  Automaton& automaton_;
  MaskBuilder& builder_;
  ExitDelta* exits_;
  TargetNodes* targets_;
  std::uint32_t equal_below_;
  const std::vector<TrieNode>& trie_;
  AlternativeSets alternatives_;
  std::vector<Position> path_;  // path_[d]: the position d bytes below the first node
};

}  // namespace detent

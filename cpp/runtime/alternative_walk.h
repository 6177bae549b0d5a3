// AlternativeWalk: finds the tokens below a trie node that a state allows, with sets of alternatives.
//
// A walk by states visits one union of alternatives for each trie node. Most of these unions are new, and each needs a
// new transition row. This walk follows the alternatives themselves, which have few rows; a set that it meets again has
// its transitions (set_table.h). It takes a subtree in one step where the loop of one alternative
// (automaton/live_loops.h) has all characters of the subtree.
//
// Case: `.*a.{5}|.*b.{6}|...|.*z.{30}` on Llama 3: 2 ms for a mask instead of 600.
// Cost: a look-up for each node visited; for each set, about linear in its size and that of the byte classes.
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
        alternatives_(automaton),
        sets_(automaton.class_count()) {}

  // Adds to the builder the tokens that `state` allows at the nodes [first, end), siblings and all nodes below them.
  // Where `reference`, the state of the reference mask, is live, the builder may hold other tokens: removes these.
  void run(ExprId state, ExprId reference, std::size_t first, std::size_t end);

 private:
  using Table = AlternativeSetTable;
  using SetId = Table::Id;
  struct Position {
    SetId set;
    ExprId reference;
  };
  // What is known of a set.
  struct Known {
    bool accepting = false;
    bool knows_loops = false, knows_all_loops = false;  // of its alternatives
    std::uint32_t completion_bound = UINT32_MAX;
    ByteSet last_bytes;  // of its alternatives: the union
    ByteSet loop_bytes;  // of those loops that are known: the union
  };

  bool take_subtree(const Position& at, ExprId reference_next, std::size_t i);
  SetId add(AlternativeSet& set);
  void forget_sets(std::size_t depth);
  const ByteSet& loop_bytes(SetId set, std::uint32_t ids);

  const Vocabulary& vocabulary_;
  Automaton& automaton_;
  MaskBuilder& builder_;
  ExitDelta* exits_;
  TargetNodes* targets_;
  std::uint32_t equal_below_;
  const std::vector<TrieNode>& trie_;
  AlternativeSets alternatives_;
  Table sets_;
  std::vector<Known> known_;    // by set
  std::size_t bytes_ = 0;       // about; of all sets
  std::vector<Position> path_;  // path_[d]: the position d bytes below the first node
};

}  // namespace detent

// ConjunctionWalk: finds the tokens below a trie node that an intersection allows, by following its conjuncts.
//
// A walk by states visits one intersection for each trie node. Most of these are new, and each needs a new transition
// row and a search for a completion. The conjuncts have few states each. A token is allowed if some text after it is in
// all conjuncts. The walk follows sets of conjuncts (conjunct_search.h), which find such a text; where that takes too
// long, the liveness of the intersection itself decides.
//
// A union of intersections, as `oneOf` makes it, is followed as a list of such sets.
//
// The walk also follows the conjuncts of the reference state. Where both states have equal conjuncts, the tokens are
// those of the reference mask.
//
// Case: `(?!.*(?:a.{0}a|b.{1}b|...|j.{9}j)).*` on Llama 3.
// Cost: a look-up for each node visited; for each set of conjuncts, linear in their number and that of the byte
// classes.
#pragma once

#include <cstdint>
#include <unordered_map>
#include <vector>

#include "automaton/automaton.h"
#include "mask/mask_builder.h"
#include "runtime/conjunct_search.h"
#include "vocab/vocabulary.h"

namespace detent {

struct ExitDelta;

class ConjunctionWalk {
 public:
  // `exits` is null unless the mask is that of a slice. Tokens of fewer bytes than `equal_below` are those of the
  // reference mask.
  ConjunctionWalk(const Vocabulary& vocabulary, Automaton& automaton, MaskBuilder& builder, ExitDelta* exits,
                  std::uint32_t equal_below)
      : vocabulary_(vocabulary),
        automaton_(automaton),
        builder_(builder),
        exits_(exits),
        equal_below_(equal_below),
        trie_(vocabulary.trie()),
        sets_(automaton) {}

  // Adds to the builder the tokens that `state` allows at the nodes [first, end), siblings and all nodes below them.
  // Where `reference`, the state of the reference mask, is live, the builder may hold other tokens: removes these.
  // Returns false, and does nothing, where `state` is neither an intersection nor a union of a few of them.
  bool run(ExprId state, ExprId reference, std::size_t first, std::size_t end);

 private:
  // One of the live states whose union is the state at a position.
  struct Alternative {
    ConjunctSearch::State state;
    std::uint32_t from;       // the index of the alternative before it
    bool knows_expr = false;  // `expr` is computed only if needed
    ExprId expr = ExprSet::kEmpty;
  };
  using Alternatives = std::vector<Alternative>;
  // An expression where a walk begins.
  struct Start {
    Alternatives alternatives;
    bool is_conjunction = false;  // whether one of the alternatives is an intersection
  };
  struct Position {
    Alternatives state, reference;
    std::uint8_t byte = 0;  // from the position before this one
  };
  using Side = Alternatives Position::*;

  const Start& start(ExprId expr);
  void follow(Side side, std::size_t depth);
  bool decide_by_expression(Side side, std::size_t depth, std::size_t index);
  ExprId expression_at(Side side, std::size_t depth, std::size_t index);
  bool are_equal(const Alternatives& one, const Alternatives& other) const;
  bool accept(const Alternatives& at) const;
  std::uint32_t completion_bound(const Alternatives& at) const;
  bool take_subtree(const Position& at, bool has_reference, std::size_t i);

  const Vocabulary& vocabulary_;
  Automaton& automaton_;
  MaskBuilder& builder_;
  ExitDelta* exits_;
  std::uint32_t equal_below_;
  const std::vector<TrieNode>& trie_;
  ConjunctSearch sets_;
  std::unordered_map<std::uint32_t, Start> starts_;  // by expression
  std::vector<Position> path_;                       // path_[d]: the position d bytes below the first node
};

}  // namespace detent

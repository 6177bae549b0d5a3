// ConjunctionWalk: finds the tokens below a trie node that an intersection allows, by following its conjuncts.
//
// A walk by states visits one intersection for each trie node. Most of these are new, and each needs a new transition
// row and a search for a completion. The conjuncts have few states each. A token is allowed if some text after it is in
// all conjuncts. The walk follows sets of conjuncts (conjunct_search.h), which find such a text; where that takes too
// long, the liveness of the intersection itself decides.
//
// A union of intersections, as `oneOf` makes it, is followed as a list of such sets. The walk also follows the
// conjuncts of the reference state. Where both states have equal conjuncts, the tokens are those of the reference mask.
//
// What holds at a node depends only on these lists. So a pair of lists has a number and transitions (set_table.h): of
// 200,000 nodes, mostly some 1,000 lead to a new one. Only there are sets followed and texts searched.
//
// Case: `(?!.*(?:a.{0}a|b.{1}b|...|j.{9}j)).*` on Llama 3.
// Cost: a look-up for each node visited; for each set of conjuncts, linear in their number and that of the byte
// classes.
#pragma once

#include <cstdint>
#include <memory>
#include <unordered_map>
#include <vector>

#include "automaton/automaton.h"
#include "mask/mask_builder.h"
#include "runtime/conjunct_search.h"
#include "runtime/kept_search.h"
#include "runtime/set_table.h"
#include "vocab/vocabulary.h"

namespace detent {

struct ExitDelta;

class ConjunctionWalk {
 public:
  // `exits` is null unless the mask is that of a slice. Tokens of fewer bytes than `equal_below` are those of the
  // reference mask. `kept` is null where walks share no sets.
  ConjunctionWalk(const Vocabulary& vocabulary, Automaton& automaton, MaskBuilder& builder, ExitDelta* exits,
                  std::uint32_t equal_below, KeptSearch* kept)
      : vocabulary_(vocabulary),
        automaton_(automaton),
        builder_(builder),
        exits_(exits),
        equal_below_(equal_below),
        trie_(vocabulary.trie()),
        kept_(kept),
        search_(kept ? kept->take(automaton) : std::make_unique<ConjunctSearch>(automaton)),
        sets_(*search_),
        positions_(automaton.class_count()) {
    add({}, 0);
  }
  ~ConjunctionWalk();
  ConjunctionWalk(const ConjunctionWalk&) = delete;
  ConjunctionWalk& operator=(const ConjunctionWalk&) = delete;

  // Adds to the builder the tokens that `state` allows at the nodes [first, end), siblings and all nodes below them.
  // Where `reference`, the state of the reference mask, is live, the builder may hold other tokens: removes these.
  // Returns false, and does nothing, where `state` is neither an intersection nor a union of a few of them.
  bool run(ExprId state, ExprId reference, std::size_t first, std::size_t end);

 private:
  using State = ConjunctSearch::State;
  struct HashState {
    std::size_t operator()(const State& state) const { return std::uint64_t{state.set} << 32 | state.left; }
  };
  using Table = SetTable<State, HashState>;
  using PositionId = Table::Id;
  static constexpr PositionId kDead = 0;  // neither the state nor the reference is live
  // One of the live states whose union is the state, or the reference, at a position.
  struct Alternative {
    State state;
    std::uint32_t from = 0;  // an index into alternatives_: the alternative before the byte
    std::uint8_t byte = 0;
    bool knows_expr = false;  // `expr` is computed only if needed
    ExprId expr = ExprSet::kEmpty;
  };
  using Alternatives = std::vector<Alternative>;
  // What is known of a position.
  struct Known {
    // alternatives_[first, middle) are those of the state, alternatives_[middle, end) those of the reference.
    std::uint32_t first = 0, middle = 0, end = 0;
    std::uint32_t completion_bound = UINT32_MAX;  // of the state
    bool accepting = false, reference_accepting = false;
    bool are_equal = false;  // whether both have the same alternatives
    bool knows_loops = false;
    ByteSet loops;  // the bytes after which an alternative of the state has the same conjuncts
    bool is_live() const { return middle != first; }
    bool has_reference() const { return end != middle; }
  };
  // An expression where a walk begins.
  struct Start {
    Alternatives alternatives;
    bool is_conjunction = false;  // whether one of the alternatives is an intersection
  };
  struct Step {
    PositionId position;
    std::uint8_t byte;  // from the position before this one
  };

  bool follow_conjuncts(ExprId state, ExprId reference, std::size_t first, std::size_t end);
  const Start& start(ExprId expr);
  PositionId add(const Alternatives& alternatives, std::size_t state_count);
  PositionId successor(PositionId at, std::uint8_t byte) {
    const PositionId known = positions_.successor(at, automaton_.class_of()[byte]);
    return known != Table::kUnknown ? known : follow(at, byte);
  }
  PositionId follow(PositionId at, std::uint8_t byte);
  void follow(std::uint32_t first, std::uint32_t end, std::uint8_t byte);
  bool decide_by_expression(Alternative& at);
  ExprId expression(std::uint32_t index);
  bool take_subtree(PositionId at, std::size_t i);
  void forget_positions(std::size_t depth);

  const Vocabulary& vocabulary_;
  Automaton& automaton_;
  MaskBuilder& builder_;
  ExitDelta* exits_;
  std::uint32_t equal_below_;
  const std::vector<TrieNode>& trie_;
  KeptSearch* kept_;
  std::unique_ptr<ConjunctSearch> search_;
  ConjunctSearch& sets_;
  bool is_complete_ = true;                          // no error has ended a walk
  std::unordered_map<std::uint32_t, Start> starts_;  // by expression
  Table positions_;                                  // the states of the alternatives, kMiddle, those of the reference
  std::vector<Known> known_;                         // by position
  Alternatives alternatives_;                        // of all positions
  std::size_t bytes_ = 0;                            // about; of all positions
  Alternatives after_;                               // of follow()
  std::vector<State> key_;                           // of add()
  std::vector<Step> path_;                           // path_[d]: d bytes below the first node
};

}  // namespace detent

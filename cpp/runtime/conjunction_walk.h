// ConjunctionWalk: finds the tokens below a trie node that an intersection allows, by following its conjuncts.
//
// A walk by states visits one intersection for each trie node. Most of these are new, and each needs a new transition
// row and a search for a completion. The conjuncts have few states each. A token is allowed if some text after it is in
// all conjuncts. The walk tries the texts that completed earlier tokens; usually one of them fits. Otherwise it
// searches for one over sets of conjuncts, and after much work decides by the liveness of the intersection itself.
//
// The walk also follows the conjuncts of the reference state. Where both states have equal conjuncts, the tokens are
// those of the reference mask.
//
// Sets of conjuncts have numbers and transitions (set_table.h), so that a node mostly takes one look-up.
//
// Case: `(?!.*(?:a.{0}a|b.{1}b|...|j.{9}j)).*` on Llama 3.
// Cost: a look-up for each node visited; for each set of conjuncts, linear in their number and that of the byte
// classes.
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <unordered_map>
#include <utility>
#include <vector>

#include "automaton/automaton.h"
#include "mask/mask_builder.h"
#include "runtime/set_table.h"
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
        sets_(automaton.class_count()) {}

  // Adds to the builder the tokens that `state` allows at the nodes [first, end), siblings and all nodes below them.
  // Where `reference`, the state of the reference mask, is live, the builder may hold other tokens: removes these.
  // Returns false, and does nothing, where `state` is no intersection.
  bool run(ExprId state, ExprId reference, std::size_t first, std::size_t end);

 private:
  using ConjunctId = std::uint32_t;             // an index into conjuncts_
  using ConjunctSet = std::vector<ConjunctId>;  // ascending; empty if a conjunct is dead
  using Sets = SetTable<ConjunctId, std::hash<ConjunctId>>;
  using SetId = Sets::Id;
  struct Conjunct {
    ExprId state;
    const ExprId* row;
    bool accepting;
    std::uint32_t completion_bound;
    std::vector<ConjunctSet> successors;  // by byte class, where `knows_successors`
    std::vector<bool> knows_successors;   // by byte class
    // By number: 1 if the conjunct contains the completion, -1 if not, 0: unknown.
    std::vector<std::int8_t> completions;
  };
  enum class Liveness : std::uint8_t { unknown, live, dead };
  // What is known of a set.
  struct Verdict {
    Liveness liveness = Liveness::unknown;
    bool accepting = false;
    bool knows_loop = false;
    std::uint32_t completion_bound = 0;  // of a live set
    std::uint32_t last_search = 0;       // the last search that has seen it
    ByteSet loop;                        // where known: the bytes after which all conjuncts are the same again
  };
  struct Intersection {
    SetId set;
    bool knows_state = false;
    ExprId state;  // computed only if needed (knows_state)
  };
  struct Position {
    Intersection state, reference;
    std::uint8_t byte = 0;  // from the position before this one
  };
  using Side = Intersection Position::*;
  static constexpr std::size_t kMaxExpansions = 512;  // of sets, in all searches of a walk
  // A text that completed some token.
  struct Completion {
    std::string text;
    std::uint32_t number;
  };
  // A set that a search has seen, with the node before it and the byte that leads from there.
  struct SearchNode {
    SetId set;
    std::size_t parent;
    std::uint32_t depth;
    std::uint8_t byte;
  };

  const ConjunctSet& split(ExprId state);
  ConjunctId intern(ExprId conjunct);
  SetId add(const ConjunctSet& conjuncts);
  void start(Intersection& at, ExprId state);
  bool follow(Side side, std::size_t depth);
  SetId follow(SetId set, std::uint8_t byte);
  void decide(Side side, std::size_t depth);
  bool accept(const ConjunctSet& conjuncts) const;
  bool contains(ConjunctId conjunct, const Completion& completion);
  bool decide_by_completions(SetId set);
  bool decide_by_search(SetId set);
  void note_path(const std::vector<SearchNode>& nodes, std::size_t last);
  ExprId state_at(Side side, std::size_t depth);
  bool take_subtree(const Intersection& at, bool has_reference, std::size_t i);
  const ByteSet& loop_of(SetId set);

  const Vocabulary& vocabulary_;
  Automaton& automaton_;
  MaskBuilder& builder_;
  ExitDelta* exits_;
  std::uint32_t equal_below_;
  const std::vector<TrieNode>& trie_;
  std::vector<Position> path_;  // path_[d]: the position d bytes below the first node
  std::vector<Conjunct> conjuncts_;
  std::unordered_map<std::uint32_t, ConjunctId> ids_;      // by expression
  std::unordered_map<std::uint32_t, ConjunctSet> splits_;  // by expression
  Sets sets_;
  std::vector<Verdict> verdicts_;                 // by set
  std::vector<Completion> completions_;           // the most recently used first
  std::uint32_t completion_count_ = 0;            // since the walk began
  std::uint32_t search_count_ = 0;                // the same
  std::size_t expansions_left_ = kMaxExpansions;  // of all searches of the walk
  std::vector<std::uint8_t> bytes_;               // one of each class
};

}  // namespace detent

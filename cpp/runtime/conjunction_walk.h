// ConjunctionWalk: finds the tokens below a trie node that an intersection allows, by following its conjuncts.
//
// A walk by states visits one intersection for each trie node. Most of these are new, and each needs a new transition
// row and a search for a completion. The conjuncts have few states each. A token is allowed if some text after it is in
// all conjuncts. The walk tries the texts that completed earlier tokens; usually one of them fits. Otherwise it
// computes the intersection itself and decides by its liveness.
//
// The walk also follows the conjuncts of the reference state. Where both states have equal conjuncts, the tokens are
// those of the reference mask.
//
// Case: `(?!.*(?:a.{0}a|b.{1}b|...|j.{9}j)).*` on Llama 3.
// Cost: for each node visited, about linear in the number of conjuncts.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <unordered_map>
#include <vector>

#include "automaton/automaton.h"
#include "mask/mask_builder.h"
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
        trie_(vocabulary.trie()) {}

  // Adds to the builder the tokens that `state` allows at the nodes [first, end), siblings and all nodes below them.
  // Where `reference`, the state of the reference mask, is live, the builder may hold other tokens: removes these.
  // Returns false, and does nothing, where `state` is no intersection.
  bool run(ExprId state, ExprId reference, std::size_t first, std::size_t end);

 private:
  using ConjunctId = std::uint32_t;             // an index into conjuncts_
  using ConjunctSet = std::vector<ConjunctId>;  // ascending
  struct Conjunct {
    ExprId state;
    const ExprId* row;
    bool accepting;
    std::uint32_t completion_bound;
    std::vector<ConjunctSet> successors;  // by byte class, where `knows_successors`
    std::vector<bool> knows_successors;   // by byte class
    std::vector<std::int8_t>
        completions;  // by number: 1 if the conjunct contains the completion, -1 if not, 0: unknown
  };
  struct Verdict {
    bool is_live = false, accepting = false;
    std::uint32_t completion_bound = 0;
  };
  struct Intersection {
    ConjunctSet conjuncts;
    Verdict verdict;
    bool knows_state = false;
    ExprId state;  // computed only if needed (knows_state)
  };
  struct Position {
    Intersection state, reference;
    std::uint8_t byte = 0;  // from the position before this one
  };
  using Side = Intersection Position::*;
  // A text that completed some token.
  struct Completion {
    std::string text;
    std::uint32_t number;
  };
  struct HashSet {
    std::size_t operator()(const ConjunctSet& set) const;
  };

  ConjunctSet split(ExprId state);
  ConjunctId intern(ExprId conjunct);
  void start(Intersection& at, ExprId state);
  bool follow(Side side, std::size_t depth);
  bool follow(const ConjunctSet& conjuncts, std::uint8_t byte, ConjunctSet& after);
  const Verdict& find_verdict(Side side, std::size_t depth);
  Verdict decide(Side side, std::size_t depth);
  bool accept(const ConjunctSet& conjuncts) const;
  bool contains(ConjunctId conjunct, const Completion& completion);
  std::optional<std::string> find_completion(const ConjunctSet& conjuncts);
  std::uint64_t distance(const ConjunctSet& conjuncts) const;
  ExprId state_at(Side side, std::size_t depth);
  bool take_subtree(const Intersection& at, bool has_reference, std::size_t i);

  const Vocabulary& vocabulary_;
  Automaton& automaton_;
  MaskBuilder& builder_;
  ExitDelta* exits_;
  std::uint32_t equal_below_;
  const std::vector<TrieNode>& trie_;
  std::vector<Position> path_;  // path_[d]: the position d bytes below the first node
  std::vector<Conjunct> conjuncts_;
  std::unordered_map<std::uint32_t, ConjunctId> ids_;  // by expression
  std::vector<Completion> completions_;                // the most recently used first
  std::uint32_t completion_count_ = 0;                 // since the walk began
  int failed_searches_ = 0;
  std::unordered_map<ConjunctSet, Verdict, HashSet> verdicts_;
  std::vector<std::uint8_t> bytes_;  // one of each class
};

}  // namespace detent

// ReferenceWalk: the mask of a state, computed from the mask of a similar state.
//
// The walk follows the state and the reference state side by side through the vocabulary's trie and visits only the
// nodes where the two lead to different states. Without a reference it visits every node that the state allows.
//
// Case: among thousands of banned words nearly every state is new, but most of its tokens lead to the states that they
// lead to from an earlier state. 10,000 English words on Llama 3: 20 us for a new state instead of 2 ms. Where no state
// is similar, the comparison costs less than 1 us.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "automaton/automaton.h"
#include "mask/mask_builder.h"
#include "runtime/alternative_walk.h"
#include "runtime/target_nodes.h"
#include "vocab/vocabulary.h"

namespace detent {

class ConjunctionWalk;
class ExclusionWalk;
class KeptSearch;

// A state with its mask, from which the mask of another state is computed.
struct ReferenceMask {
  ExprId state;
  std::shared_ptr<const Mask> mask;  // null: there is no reference
  std::uint32_t equal_below = 0;     // tokens of fewer bytes are allowed, and leave a slice, as in the reference
  bool equal_inside = false;         // the same holds for all tokens, up to the position where they leave the slice
  std::uint32_t inside_bound = 0;    // where `equal_inside`: bytes of some completion after any token inside the slice
  bool is_larger = false;            // the language of the reference contains that of the state
  // Where `is_larger`: tokens of fewer characters are allowed as in the reference.
  std::uint32_t equal_below_characters = 0;
};

// The positions where the tokens of a slice leave it, compared with those of the reference.
struct ExitDelta {
  std::vector<std::uint32_t> added;                              // trie nodes
  std::vector<std::pair<std::uint32_t, std::uint32_t>> removed;  // ranges of trie nodes, ascending

  // The facts about a state after the bytes up to a node.
  struct Leaving {
    bool is_live, accepting;
  };
  // Records a difference: whether the bytes up to a node leave the slice from only one of the two states. `next` is the
  // node after the subtree.
  void note(std::size_t node, std::uint32_t next, Leaving state, Leaving reference);
};

// Whether walks begin with the conjuncts of a state. Not while compiling: a language that needs too many states must be
// refused at its first mask.
bool prefers_conjuncts(const Automaton& automaton);
// Whether the walk of a state does, and the state has many conjuncts. The walk needs no transition rows of the state,
// each entry of which may take a search. So a reference saves little: a similar state is found by its row, and the mask
// of a wider one takes as long. With few conjuncts, rows cost less than a walk without a reference.
bool follows_conjuncts(Automaton& automaton, ExprId state);

// Whether the walk must check, for each token, that the vocabulary can write a text that follows it.
enum class TokenCheck : std::uint8_t {
  none,  // every live state that the walk reaches is tokenizable, or the caller decides
  tokenizable,
};

class ReferenceWalk {
 public:
  // `exits` is null unless the mask is that of a slice, `kept` where walks by conjuncts share no sets.
  ReferenceWalk(const Vocabulary& vocabulary, Automaton& automaton, const ReferenceMask& reference,
                MaskBuilder& builder, ExitDelta* exits, TokenCheck check, KeptSearch* kept = nullptr);
  ~ReferenceWalk();
  ReferenceWalk(const ReferenceWalk&) = delete;
  ReferenceWalk& operator=(const ReferenceWalk&) = delete;

  // The builder holds the tokens of the reference mask. Adds the tokens that `state` allows, and removes the tokens
  // that it refuses.
  void run(ExprId state);
  // Adds the tokens at the nodes [first, end), the nodes below one trie node, whose bytes `state` allows. Without a
  // reference.
  void run_below(ExprId state, std::size_t first, std::size_t end);
  // The same for the tokens through one node; `state` is the state before its byte.
  void run_from(ExprId state, std::size_t node) {
    path_[trie_[node].depth] = {state, automaton_.row(state), nullptr};
    walk(node, trie_[node].next);
  }

 private:
  struct Position {
    ExprId state;
    const ExprId* row;
    const ExprId* reference_row;  // null where the reference is dead
  };
  // A literal has one path through the trie. The nodes beside it are skipped: from node `end` on to node `resume`.
  struct Detour {
    std::size_t end, resume;
  };

  void walk(std::size_t first, std::size_t end);
  // Follows only the path to each target. Tests liveness only at the targets.
  void run_to_targets(ExprId state);
  void decide_target(std::uint32_t node, ExprId next, std::uint32_t completion_bound);
  // Whether this walk has used so much work that it should follow conjuncts or alternatives from the state `next`.
  bool has_worked_much(ExprId next) const;
  bool walk_conjuncts(ExprId next, ExprId reference_next, std::size_t first, std::size_t end);
  bool walk_exclusions(ExprId next, std::size_t first, std::size_t end, bool has_reference);
  std::size_t next_after_detours(std::size_t i);
  bool allow_same_tokens(ExprId next, ExprId reference_next, std::size_t i);
  bool has_large_minimum(ExprId state);
  bool take_subtree(const Position& at, ExprId next, ExprId reference_next, std::size_t i);
  bool take_live(ExprId from, std::size_t i);
  bool take_loop(ExprId from, std::size_t i);
  void allow_nodes(std::size_t first, std::size_t end);
  bool stays_tokenizable_below(ExprId from, const Subtree& subtree);
  void allow_token(const TrieNode& node, ExprId next);
  std::size_t follow_literal(ExprId from, std::size_t first, std::size_t end);
  void note_completion(ExprId next);
  ExprId near(ExprId state) {
    return state == ExprSet::kEmpty ? state : automaton_.clamp_to_horizon(state, Automaton::Horizon::near);
  }

  const Vocabulary& vocabulary_;
  Automaton& automaton_;
  const ReferenceMask& reference_;
  MaskBuilder& builder_;
  ExitDelta* exits_;
  const std::vector<TrieNode>& trie_;
  bool check_tokens_;
  std::int64_t first_work_;             // Automaton::work() before this walk
  std::optional<TargetNodes> targets_;  // the walk skips all other nodes
  AlternativeWalk alternative_walk_;
  KeptSearch* kept_;
  // Made where they are needed, in few walks.
  std::unique_ptr<ConjunctionWalk> conjunction_walk_;
  std::unique_ptr<ExclusionWalk> exclusion_walk_;
  std::unique_ptr<Position[]> path_;  // path_[d]: the position after the first d bytes of the present node
  std::vector<Detour> detours_;       // nested literals, the innermost last
  std::string literal_;               // buffer of follow_literal
  ExprId noted_ = ExprSet::kEmpty;    // the state whose completion was noted last
};

}  // namespace detent

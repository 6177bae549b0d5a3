// ConjunctionWalk: the tokens below a trie node that an intersection allows, found by following its conjuncts.
//
// A walk by states visits one intersection for each trie node, and most of these are new: each takes a transition row
// and a search for a text that completes it. The conjuncts have few states each. A token is allowed if some text after
// it is in all conjuncts: texts that completed other tokens mostly are. Where none is, the state itself decides.
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

  // Adds the tokens at the siblings from node `first` up to `end`, and below them, that `state` allows; takes back the
  // others if the builder may hold them: where `reference`, the state of the reference mask, is not dead. Returns
  // false, and does nothing, where the state is no intersection.
  bool run(ExprId state, ExprId reference, std::size_t first, std::size_t end);

 private:
  struct Verdict {
    bool is_live = false, accepting = false;
    std::uint32_t completion_bound = 0;
  };
  struct Position {
    std::vector<ExprId> conjuncts;
    ExprId reference;
    Verdict verdict;
    std::uint8_t byte = 0;  // from the position before this one
    bool knows_state = false;
    ExprId state;  // the intersection, where it was needed
  };
  // A text that completed some token.
  struct Completion {
    std::string text;
    std::uint32_t number;
  };

  bool follow(const std::vector<ExprId>& conjuncts, std::uint8_t byte, std::vector<ExprId>& after);
  const std::vector<ExprId>& split(ExprId state);
  const Verdict& find_verdict(std::size_t depth);
  Verdict decide(std::size_t depth);
  bool contains(ExprId conjunct, const Completion& completion);
  std::optional<std::string> find_completion(const std::vector<ExprId>& conjuncts);
  std::uint64_t distance(const std::vector<ExprId>& conjuncts);
  ExprId state_at(std::size_t depth);
  bool take_subtree(const Position& at, ExprId reference_next, std::size_t i);

  const Vocabulary& vocabulary_;
  Automaton& automaton_;
  MaskBuilder& builder_;
  ExitDelta* exits_;
  std::uint32_t equal_below_;
  const std::vector<TrieNode>& trie_;
  std::vector<Position> path_;  // path_[d]: after d more bytes than the first node has
  std::unordered_map<std::uint32_t, std::vector<ExprId>> splits_;  // conjuncts, by expression
  std::vector<Completion> completions_;                            // the one that was used last first
  std::uint32_t completion_count_ = 0;                             // since the walk began
  int failed_searches_ = 0;
  std::unordered_map<std::uint64_t, bool> contained_;  // by conjunct and number of the completion
  std::unordered_map<std::string, Verdict> verdicts_;  // by conjuncts
  std::vector<std::uint8_t> bytes_;                    // one of each class
};

}  // namespace detent

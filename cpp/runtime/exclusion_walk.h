// ExclusionWalk: finds the tokens below a trie node that `g & condition` allows, where g may call rules, and the
// condition excludes matches of a pattern that counts (exclusion_search.h).
//
// Below a node over bytes that g keeps, only the sequences count that can end a match within the longest token there.
// These are few, and often none. So most subtrees are taken in one step, or with few sets.
//
// Case: a schema without `a.{12}b`, `c.{12}d`, ..., `i.{12}j` on Llama 3. A walk by states made 268 MB of states for
// one mask.
// Cost: a look-up for each node visited; for each new position, linear in its sequences.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <vector>

#include "automaton/automaton.h"
#include "mask/mask_builder.h"
#include "runtime/exclusion_search.h"
#include "runtime/exclusion_texts.h"
#include "vocab/vocabulary.h"

namespace detent {

// Whether a state calls rules, and is restricted by a condition that has a padding.
bool follows_exclusions(Automaton& automaton, ExprId state);

class ExclusionWalk {
 public:
  ExclusionWalk(const Vocabulary& vocabulary, Automaton& automaton, MaskBuilder& builder)
      : vocabulary_(vocabulary), automaton_(automaton), builder_(builder), trie_(vocabulary.trie()) {}

  // From here on, allows only tokens after which a completion in at most so many tokens is known.
  void limit_tokens(std::uint32_t tokens) { tokens_ = tokens; }

  // Adds to the builder the tokens that `state` allows at the nodes [first, end), siblings and all nodes below them,
  // and removes the others if `has_reference`. Returns false where positions do not describe the state.
  bool run(ExprId state, std::size_t first, std::size_t end, bool has_reference);

 private:
  using PositionId = ExclusionSearch::PositionId;
  using SetId = ExclusionSearch::SetId;
  struct Position {
    PositionId position;
    std::uint8_t byte;  // that led here
  };

  bool take_subtree(PositionId at, std::size_t i);
  void walk_inside(PositionId at, std::size_t i);
  void allow_nodes(std::size_t first, std::size_t end);
  void refuse_nodes(std::size_t first, std::size_t end);
  bool begin(ExprId state);
  bool forget_positions(ExprId state, std::size_t depth);

  const Vocabulary& vocabulary_;
  Automaton& automaton_;
  MaskBuilder& builder_;
  const std::vector<TrieNode>& trie_;
  std::optional<std::uint32_t> tokens_;
  bool has_reference_ = false;
  std::unique_ptr<ExclusionSearch> search_;
  std::unique_ptr<ExclusionTexts> texts_;  // where tokens are limited
  std::vector<Position> path_;             // path_[d]: the position d bytes below the first node
  std::vector<SetId> sets_;                // of walk_inside, by depth
};

// The tokens of a known completion of at most `tokens` tokens after these bytes; empty where there is none.
std::vector<std::uint32_t> completion_beside_exclusions(const Vocabulary& vocabulary, Automaton& automaton, ExprId from,
                                                        std::string_view bytes, std::uint32_t tokens);

}  // namespace detent

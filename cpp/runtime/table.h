// TokenAutomaton: all states of a guide that tokens lead to, as plain arrays; and how states of such arrays are merged.
//
// A guide may be walked together with an automaton over tokens that is held to as well: then the states are pairs.
// Tokens without text (special ids) are the automaton's alone. A state of a canonical guide is the language's, the last
// token and the places of the split.
//
// Tokens with equal columns share a class, found by refining one partition of the ids row by row: a class that a row
// tells apart is split, and an older row gives the new class what it gave the one that it was split from.
#pragma once

#include <cstdint>
#include <utility>
#include <vector>

#include "runtime/guide.h"

namespace detent {

struct TokenAutomaton {
  static constexpr std::uint32_t kRefused = 0;   // leads nowhere
  static constexpr std::uint32_t kFinished = 1;  // after end-of-text
  static constexpr std::uint32_t kStart = 2;

  std::uint32_t states = 0;
  std::uint32_t classes = 0;
  std::vector<std::uint32_t> token_class;  // by id; class 0 is that of the tokens which no state allows
  std::vector<std::uint32_t> next;         // by state and class, row after row
  std::vector<std::uint32_t> accepting;    // the states where the text may end
};

// An automaton over the ids of the guide's vocabulary, in the form of TokenAutomaton.
struct HeldTable {
  std::uint32_t start = 0;
  std::uint32_t classes = 0;
  std::vector<std::uint32_t> next;
  std::vector<std::uint32_t> token_class;
  std::vector<std::uint32_t> accepting;  // 1 for the states where the text may end

  std::uint32_t step(std::uint32_t state, std::uint32_t id) const {
    return next[std::size_t{state} * classes + token_class[id]];
  }
};

using TokenMove = std::pair<std::uint32_t, std::uint32_t>;  // a token id, and the state that it leads to

// Visits, breadth first, every state that tokens lead to. Throws `limit` ("table_states", "table_bytes") where there
// are more than `max_states`, or where `next` would take more than `max_bytes`. With `held`, what both allow; states
// from which no text ends in both are among them. Cost: a walk over the trie for each state, and a look-up for each
// token that it allows. Where `held` allows few tokens, these alone are looked at.
TokenAutomaton explore(Guide& guide, std::uint32_t max_states, std::int64_t max_bytes, const HeldTable* held = nullptr);

// The coarsest partition of states that keeps equal labels together only where each class leads to equal parts: the
// part of each state. State 0 has a label of its own, and no edge to it is looked at. Hopcroft 1971: O(edges x log
// states), but for the order of edges.
std::vector<std::uint32_t> merge(const std::uint32_t* next, const std::uint32_t* labels, std::uint32_t states,
                                 std::uint32_t classes);

}  // namespace detent

// TokenizedLanguage: references that all classes of a canonical constraint share: the automaton of a language, the
// transitions of a tokenizer, and the meter of the running call. CanonicalConstraint holds a lock, so that one thread
// at a time uses them.
#pragma once

#include <algorithm>
#include <array>
#include <cstdint>
#include <cstring>
#include <string_view>

#include "automaton/automaton.h"
#include "base/limits.h"
#include "expr/row_scan.h"
#include "runtime/pretoken_transitions.h"
#include "runtime/trie_walk.h"

namespace detent {

inline constexpr std::uint32_t kInfinite = UINT32_MAX;  // the length of a completion that does not exist

// A state of the language at a position of the pre-tokenizer, as a key of memo tables.
using StateKey = std::uint64_t;
inline StateKey state_key(ExprId state, PositionId position) {
  return std::uint64_t{state.value} << 32 | position.value;
}

struct TokenizedLanguage {
  Automaton& automaton;
  PretokenTransitions& transitions;
  Meter& meter;

  const Vocabulary& vocabulary() const { return transitions.vocabulary(); }
  const Encoder& encoder() const { return transitions.encoder(); }
  const PreTokenizer& pretokenizer() const { return transitions.encoder().pretokenizer(); }

  ExprId next(ExprId state, std::uint8_t byte) const { return automaton.row(state)[automaton.class_of()[byte]]; }
  ExprId next(ExprId state, std::string_view text) const {
    for (char byte : text) state = next(state, static_cast<std::uint8_t>(byte));
    return state;
  }

  // Calls visit(byte, next state) for each byte that the language allows, until one call returns true. Returns whether
  // one did.
  template <class Visit>
  bool any_byte(ExprId state, Visit visit) const {
    const ExprId* row = automaton.row(state);
    const std::array<std::uint8_t, 256>& class_of = automaton.class_of();
    meter.step(32);
    std::uint32_t count = 0, only = 0;
    any_successor(row, automaton.class_count(), [&](std::uint32_t c) {
      only = c;
      return ++count == 2;
    });
    if (count == 0) return false;
    if (count == 1) {  // inside a word
      const std::uint8_t* const begin = class_of.data();
      const std::uint8_t* const end = begin + class_of.size();
      for (const std::uint8_t* at = begin; at != end; ++at) {
        at = static_cast<const std::uint8_t*>(
            std::memchr(at, static_cast<int>(only), static_cast<std::size_t>(end - at)));
        if (!at) return false;
        if (visit(static_cast<std::uint8_t>(at - begin), row[only])) return true;
      }
      return false;
    }
    for (unsigned byte = 0; byte < 256; ++byte) {
      const ExprId to = row[class_of[byte]];
      if (to != ExprSet::kEmpty && visit(static_cast<std::uint8_t>(byte), to)) return true;
    }
    return false;
  }

  // Calls visit(token, next state) for each token that the language allows, until one call returns true. Returns
  // whether one did. Cost: a walk over the trie.
  template <class Visit>
  bool any_token(ExprId state, Visit visit) const {
    bool found = false;
    const auto visit_token = [&](std::uint32_t token, ExprId to) { return found = visit(token, to); };
    const std::int64_t visited = walk_tokens(
        vocabulary(), automaton, state,
        [&](std::uint32_t tokens, ExprId to) {
          if ((tokens & TrieNode::kShared) == 0) return visit_token(tokens, to);
          return std::ranges::any_of(vocabulary().shared_ids(tokens),
                                     [&](std::uint32_t token) { return visit_token(token, to); });
        },
        [&](const Subtree& subtree, ExprId to) {
          return any_whole_id(vocabulary(), subtree, [&](std::uint32_t token) { return visit_token(token, to); });
        });
    meter.step(visited / 8 + 1);
    return found;
  }

  // Calls visit(token, next state) for each token that the language allows.
  template <class Visit>
  void each_token(ExprId state, Visit visit) const {
    any_token(state, [&](std::uint32_t token, ExprId to) {
      visit(token, to);
      return false;
    });
  }

  // To be called when a breadth-first search grows to `size` nodes: checks that its temporary memory fits the limit.
  void check_growth(std::size_t size) const {
    meter.step();
    if (size % 1024 == 0) meter.check_headroom(static_cast<std::int64_t>(size) * 96);
  }
};

}  // namespace detent

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

// Up to four classes of bytes. Inside a word, one or two lead on: their bytes are found by a few comparisons of 16
// bytes at once. Case: the completion of 5,000 letters is read for each of some tokens; 60 % of such a mask looked at
// each of 256 bytes after each letter.
class FewClasses {
 public:
  // Returns whether there was space.
  bool add(std::uint32_t byte_class) {
    if (count_ == classes_.size()) return false;
    classes_[count_++] = static_cast<std::uint8_t>(byte_class);
    return true;
  }
  // Calls visit(byte) for each byte of the classes, ascending, until one call returns true. Returns whether one did.
  template <class Visit>
  bool any_byte(const std::array<std::uint8_t, 256>& class_of, Visit visit) const {
    if (count_ == 0) return false;
    std::array<std::uint8_t, 256> is_member;
    for (unsigned byte = 0; byte < 256; ++byte) is_member[byte] = class_of[byte] == classes_[0];
    for (unsigned i = 1; i < count_; ++i) {
      for (unsigned byte = 0; byte < 256; ++byte) is_member[byte] |= class_of[byte] == classes_[i];
    }
    for (unsigned first = 0; first < 256; first += sizeof(std::uint64_t)) {
      std::uint64_t members;
      std::memcpy(&members, is_member.data() + first, sizeof members);
      if (members == 0) continue;
      for (unsigned byte = first; byte < first + sizeof members; ++byte) {
        if (is_member[byte] && visit(static_cast<std::uint8_t>(byte))) return true;
      }
    }
    return false;
  }

 private:
  std::array<std::uint8_t, 4> classes_{};
  unsigned count_ = 0;
};

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
    FewClasses classes;
    const bool has_many = any_successor(row, automaton.class_count(), [&](std::uint32_t c) { return !classes.add(c); });
    if (!has_many)
      return classes.any_byte(class_of, [&](std::uint8_t byte) { return visit(byte, row[class_of[byte]]); });
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

// PreTokenizer: the regular expressions that split a text into pre-tokens, as one automaton over character classes.
//
// The first expression splits the text, the next one each of the pieces, and so on (split_level.h). The pieces of the
// last one are the pre-tokens.
//
// The boundary automaton finds the pre-tokens of a text that is still being written, without lookahead. For each
// character it reads the class and a guess whether the character *starts* a pre-token. Each text has exactly one
// accepted sequence of guesses. pretokenizer.cc derives it.
#pragma once

#include <cstdint>
#include <vector>

#include "bpe/split_level.h"

namespace detent {

class PreTokenizer {
 public:
  // The programs of the expressions, one after the other. Each ends with its only `match`. Throws `unsupported`:
  // "empty_split" if an expression may match the empty text, "split_states" for too many states.
  PreTokenizer(const std::vector<SplitInstruction>& programs, unsigned class_count);

  // The boundary automaton.
  using State = std::uint16_t;
  static constexpr State kDead = UINT16_MAX;
  static constexpr State kTextStart = 0;
  // The state after a character that starts a pre-token, or does not; kDead if this contradicts the guesses before.
  State step(State state, bool starts_pretoken, std::uint8_t of_class) const {
    return states_[state].next[starts_pretoken][of_class];
  }
  // Whether the text may end in that state.
  bool may_end(State state) const { return states_[state].may_end; }
  // Whether every text may follow, with some sequence of guesses.
  bool unconstrained(State state) const { return states_[state].unconstrained; }
  std::size_t state_count() const { return states_.size(); }

  // The ends of the pre-tokens of a text, given as classes.
  std::vector<std::size_t> pretoken_ends(const std::vector<std::uint8_t>& classes) const;

 private:
  struct BoundaryState {
    std::vector<State> next[2];  // by class, for a character that does not start a pre-token, and for one that does
    bool may_end = false;
    bool unconstrained = false;
  };

  void split_pieces(const SplitLevel& level);
  void drop_dead();
  void minimise();
  void find_unconstrained();

  unsigned class_count_;
  std::vector<SplitLevel> levels_;
  std::vector<BoundaryState> states_;
};

}  // namespace detent

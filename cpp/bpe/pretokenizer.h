// PreTokenizer: the regular expression that splits a text into pre-tokens, as two automata over character classes.
//
// The scanner finds pre-tokens as a backtracking matcher does: a state is the list of threads by priority (Pike 1987;
// Cox 2009).
//
// The boundary automaton tells the same without lookahead, for a text that is still being written. It reads, for each
// character, its class and whether it *starts* a pre-token. Each text has exactly one accepted sequence of starts.
// pretokenizer.cc derives it.
#pragma once

#include <cstdint>
#include <string_view>
#include <vector>

#include "bpe/character_dfa.h"

namespace detent {

class PreTokenizer {
 public:
  enum class Op : std::uint8_t { match, set, look, jump, fork };  // fork prefers its first branch
  struct Instruction {
    Op op;
    std::uint64_t set = 0;  // of classes; with look, the bit kEnd stands for the end of the text
    std::uint32_t to = 0, or_to = 0;
  };
  static constexpr unsigned kEnd = 63;

  // Throws `unsupported`: "split_gap" if some text has a character in no pre-token, "split_states" for too many states.
  PreTokenizer(std::vector<Instruction> program, unsigned class_count);

  // The boundary automaton.
  using State = std::uint16_t;
  static constexpr State kDead = UINT16_MAX;
  static constexpr State kTextStart = 0;
  // The state after a character that starts a pre-token, or does not; kDead if no text has it so.
  State step(State state, bool starts_pretoken, std::uint8_t of_class) const {
    return states_[state].next[starts_pretoken][of_class];
  }
  // Whether the text may end in that state.
  bool may_end(State state) const { return states_[state].may_end; }
  // Whether every text may follow.
  bool unconstrained(State state) const { return states_[state].unconstrained; }
  std::size_t state_count() const { return states_.size(); }

  // The end of the pre-token that begins at `from`, in a sequence of classes.
  std::size_t pretoken_end(const std::vector<std::uint8_t>& classes, std::size_t from) const;

 private:
  using Threads = std::vector<std::uint16_t>;  // instructions
  struct BoundaryState {
    std::vector<State> next[2];  // by class, for a character that does not start a pre-token, and for one that does
    bool may_end = false;
    bool unconstrained = false;
  };
  struct ScannerState {
    std::vector<std::uint16_t> next;  // by class
    std::vector<bool> ends;           // by class, and for the end of the text: whether a pre-token may end before it
  };

  Threads closure(const Threads& threads, unsigned of_class) const;
  Threads after(const Threads& leaves, unsigned of_class) const;
  std::size_t match_in(const Threads& leaves) const;
  void build_scanner();
  void build_boundaries();
  void drop_dead();
  void minimise();
  void find_unconstrained();

  std::vector<Instruction> program_;
  unsigned class_count_;
  std::vector<BoundaryState> states_;
  std::vector<ScannerState> scanner_;
};

}  // namespace detent

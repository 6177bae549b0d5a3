// PreTokenizer: the regular expression that cuts a text into chunks before each is merged, as two automata over classes
// of characters.
//
// The scanner finds chunks as a backtracking matcher does: its state is the list of threads, the preferred one first.
//
// The marks say the same without looking ahead, for a text that is still being written: a mark stands before the first
// character of each chunk, and each text has exactly one row of marks. A state is the list of threads of the chunk, and
// the threads that must never match: where a mark is set, some thread matches, and those that are preferred to it owe
// that they never will. What a thread does before a character waits until this character is known, so that assertions
// are exact.
#pragma once

#include <cstdint>
#include <string_view>
#include <vector>

#include "bpe/character_dfa.h"

namespace detent {

class PreTokenizer {
 public:
  enum class Op : std::uint8_t { match, set, look, jump, fork };  // fork prefers its first way
  struct Instruction {
    Op op;
    std::uint64_t set = 0;  // of classes; with look, kEnd stands for the end of the text
    std::uint32_t to = 0, or_to = 0;
  };
  static constexpr unsigned kEnd = 63;

  // Throws `unsupported` ("split_gap") where some text has a character in no chunk, or ("split_states") for too many
  // states.
  PreTokenizer(std::vector<Instruction> program, unsigned class_count);

  static constexpr std::uint16_t kDead = UINT16_MAX;
  static constexpr std::uint16_t kTextStart = 0;  // at the start of a text

  // The state of the marks behind a character, which begins a chunk or not, or kDead.
  std::uint16_t step(std::uint16_t state, bool marked, std::uint8_t of_class) const {
    return states_[state].next[marked][of_class];
  }
  bool may_end(std::uint16_t state) const { return states_[state].may_end; }
  // Whether every text may follow.
  bool free(std::uint16_t state) const { return states_[state].free; }
  std::size_t state_count() const { return states_.size(); }

  // Where the chunk ends that begins at `from`, in a row of classes.
  std::size_t chunk_end(const std::vector<std::uint8_t>& classes, std::size_t from) const;

 private:
  using Threads = std::vector<std::uint16_t>;
  struct State {
    std::vector<std::uint16_t> next[2];
    bool may_end = false;
    bool free = false;
  };
  struct Scan {
    std::vector<std::uint16_t> next;  // by class
    std::vector<bool> ends;           // by class and for the end: whether a chunk may end before it
  };

  // What the threads wait for before a character of that class: leaves of the program in order.
  Threads closure(const Threads& threads, unsigned of_class) const;
  Threads after(const Threads& leaves, unsigned of_class) const;
  std::size_t match_in(const Threads& leaves) const;
  void build_scanner();
  void build_marks();
  void drop_dead();
  void merge_equal();
  void find_free();

  std::vector<Instruction> program_;
  unsigned class_count_;
  std::vector<State> states_;
  std::vector<Scan> scanner_;
};

}  // namespace detent

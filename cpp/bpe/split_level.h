// SplitLevel: one regular expression of a pre-tokenizer. It splits a text into pieces: its matches and the texts
// between them.
//
// The scanner finds the pieces that a backtracking matcher finds: a state is the list of threads by priority (Pike
// 1987; Cox 2009).
//
// The boundary automaton finds the same pieces of a text that is still being written, without lookahead. For each
// character it reads the class and a guess whether the character *starts* a piece. A step may lead to several states.
// Each text has exactly one accepted sequence of states. split_level.cc derives it.
#pragma once

#include <cstddef>
#include <cstdint>
#include <utility>
#include <vector>

namespace detent {

enum class SplitOp : std::uint8_t { match, set, look, jump, fork };  // fork prefers its first branch
struct SplitInstruction {
  SplitOp op;
  std::uint64_t set = 0;  // of classes; with look, the bit SplitLevel::kEnd stands for the end of the text
  std::uint32_t to = 0, or_to = 0;
};

class SplitLevel {
 public:
  static constexpr unsigned kEnd = 63;
  static constexpr std::size_t kMaxStates = 4096;

  // Throws `unsupported` ("split_states") for too many states.
  SplitLevel(std::vector<SplitInstruction> program, unsigned class_count);

  using State = std::uint16_t;
  static constexpr State kTextStart = 0;
  // The states after a character that starts a piece inside the text, or does not.
  const std::vector<State>& after(State state, bool starts_piece, unsigned of_class) const {
    return states_[state].next[starts_piece][of_class];
  }
  // Whether the text may end in that state.
  bool may_end(State state) const { return states_[state].may_end; }

  // Appends the ends of the pieces of the text from `begin` up to `end`, given as classes.
  void split(const std::vector<std::uint8_t>& classes, std::size_t begin, std::size_t end,
             std::vector<std::size_t>& ends) const;

 private:
  using Threads = std::vector<std::uint16_t>;  // instructions
  struct BoundaryState {
    std::vector<std::vector<State>>
        next[2];  // by class, for a character that does not start a piece, and one that does
    bool may_end = false;
  };
  struct ScannerState {
    std::vector<std::uint16_t> next;  // by class
    std::vector<bool> ends;           // by class, and for the end of the text: whether a match may end before it
  };
  static constexpr std::uint16_t kDead = UINT16_MAX;

  Threads closure(const Threads& threads, unsigned of_class) const;
  Threads after(const Threads& leaves, unsigned of_class) const;
  std::size_t match_in(const Threads& leaves) const;
  void build_scanner();
  void build_boundaries();
  std::size_t match_end(const std::vector<std::uint8_t>& classes, std::size_t begin, std::size_t end) const;

  std::vector<SplitInstruction> program_;
  unsigned class_count_;
  std::vector<BoundaryState> states_;
  std::vector<ScannerState> scanner_;
};

}  // namespace detent

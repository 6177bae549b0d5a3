// GreedyCompletions: for each state of a language, the text that always takes the byte with the nearest end.
//
// "Nearest" is by Automaton::completion_step, so that the greedy completion needs no search. It depends on the language
// alone: a byte of a text, or of the frame of a special token, at a time. Where the form of a state shows it, the
// completion is that of its parts, one after another. So its length is a sum, and states share what is known of their
// parts. Case: of 93 required members in any order, each name leaves another set of 92, whose text is thousands of
// bytes.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <unordered_map>
#include <vector>

#include "runtime/tokenized_language.h"

namespace detent {

class GreedyCompletions {
 public:
  explicit GreedyCompletions(const TokenizedLanguage& language) : language_(language) {}

  struct Step {
    std::uint8_t byte = 0;
    ExprId state{};
  };
  // The first byte of the greedy completion of a state that neither accepts nor is read by its parts.
  Step step(ExprId state);

  // What is left of a greedy completion: that of `head`, then that of further parts. Two completions that end alike
  // have the same rests there, whatever their states were.
  struct Rest {
    ExprId head{};
    std::uint32_t tail = 0;  // a number of the further parts; 0 where there are none
    bool operator==(const Rest&) const = default;
  };
  // The rest at a border of characters, so that either `head` has a step, or the completion ends.
  Rest at_border(Rest rest);
  // The length in bytes of the greedy completion, a special token as one; kInfinite if that is no text (its characters
  // are not whole, or none that the tokenizer may read).
  std::uint32_t length(ExprId state);
  // Whether the language has some completion that is a text.
  bool exists(ExprId state);

  // Reads the greedy completion of a state, whose length is not kInfinite.
  class Reader {
   public:
    Reader(GreedyCompletions& greedy, ExprId state) : greedy_(greedy), open_{state} {}
    // The next byte; nothing at the end.
    std::optional<std::uint8_t> next();

   private:
    GreedyCompletions& greedy_;
    std::vector<ExprId> open_;  // what is left, the last part first
    std::uint16_t node_ = CharacterDfa::kBorder;
  };
  void append(ExprId state, std::string& text);

 private:
  struct Length {
    std::uint32_t bytes = 0;
    bool by_parts = false;
  };
  std::vector<ExprId> parts(ExprId state);
  std::optional<Length> length_of_parts(const std::vector<ExprId>& parts, std::vector<ExprId>& unknown) const;
  std::optional<Length> length_by_character(ExprId state, std::vector<ExprId>& unknown);

  struct Tail {
    ExprId part;
    std::uint32_t next;
  };

  TokenizedLanguage language_;
  std::vector<Tail> tails_{{}};                                    // by number; the first stands for none
  std::unordered_map<std::uint64_t, std::uint32_t> tail_numbers_;  // by part and next tail
  std::unordered_map<std::uint32_t, Step> steps_;                  // these by state
  std::unordered_map<std::uint32_t, Length> lengths_;
  std::unordered_map<std::uint32_t, std::string> texts_;  // of short parts
  std::unordered_map<std::uint32_t, bool> exists_;        // where the greedy completion is no text
};

}  // namespace detent

// ShortTexts: a text of few bytes that completes the language after a pre-token boundary, where the known completion
// (completions.h) has more bytes.
//
// The known completion of an intersection need not be the shortest one. Near the end of a budget, a mask may rest on a
// shorter text of a similar state. This is the search for it.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>

#include "runtime/greedy_completions.h"
#include "runtime/tokenized_language.h"

namespace detent {

class ShortTexts {
 public:
  ShortTexts(const TokenizedLanguage& language, GreedyCompletions& greedy) : language_(language), greedy_(greedy) {}

  struct Start {
    ExprId state;
    PreTokenizer::State boundary;
    std::uint32_t bytes;  // before it
  };
  struct Found {
    std::size_t start;  // its index
    std::string text;
  };
  // A text from one of the starts on, of at most `most` bytes with those before the start. Nothing where none is found.
  // Cost: a bounded search.
  std::optional<Found> find(std::span<const Start> starts, std::uint32_t most);

 private:
  struct Search;

  TokenizedLanguage language_;
  GreedyCompletions& greedy_;
};

}  // namespace detent

// ByteFallbackEndings: for each state, a character that is written in byte tokens, and the greedy completion after it.
//
// Byte tokens may follow, and be followed by, every token. So such an ending fits after any token, where a tokenizer
// has byte fallback and no pre-tokenizer.
#pragma once

#include <cstdint>
#include <string>
#include <unordered_map>

#include "runtime/greedy_completions.h"
#include "runtime/tokenized_language.h"

namespace detent {

class ByteFallbackEndings {
 public:
  ByteFallbackEndings(const TokenizedLanguage& language, GreedyCompletions& greedy)
      : language_(language), greedy_(greedy) {}

  struct Ending {
    std::string character;
    std::uint32_t length = kInfinite;  // in bytes, of the character and the completion; kInfinite: none was found
    bool context_free = true;          // the same for every language that begins with the state's
  };
  // `state` is between two characters. Cost: at the first call, at most kMaxTried states of the language.
  const Ending& find(ExprId state);
  // The length of the ending; kInfinite inside a character and for tokenizers with pre-tokens.
  std::uint32_t length(ExprId state, PositionId position);

 private:
  static constexpr std::size_t kMaxTried = 64;
  TokenizedLanguage language_;
  GreedyCompletions& greedy_;
  std::unordered_map<std::uint32_t, Ending> endings_;  // by state
};

}  // namespace detent

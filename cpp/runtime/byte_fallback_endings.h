// ByteFallbackEndings: for each state, a character that is written in byte tokens, and the greedy completion after it.
//
// A byte token may stand next to any other token. So for a tokenizer with byte fallback and no pre-tokenizer, such an
// ending may follow any token: it proves that the token leads to no dead end.
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
    std::uint32_t length = kInfinite;  // bytes of the character and the completion; kInfinite: none was found
    bool context_free = true;          // the result holds for every continuation of the state's language
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

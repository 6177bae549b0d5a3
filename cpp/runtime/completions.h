// Completions: for a state of the language and a state of the pre-tokenizer, a text that completes the language after a
// pre-token boundary.
//
// After a boundary every token may follow, so that the tokenizer's encoding of the completion is a valid sequence of
// tokens there, whatever was written before. The completion is a function of the two states alone.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <unordered_map>
#include <vector>

#include "runtime/byte_fallback_endings.h"
#include "runtime/greedy_completions.h"
#include "runtime/tokenized_language.h"

namespace detent {

class Completions {
 public:
  Completions(const TokenizedLanguage& language, GreedyCompletions& greedy, ByteFallbackEndings& byte_fallback)
      : language_(language), greedy_(greedy), byte_fallback_(byte_fallback) {}

  // Whether a pre-token may end, or the text: `boundary` is the state of the pre-tokenizer, `state` goes on from there.
  bool may_start_pretoken(ExprId state, PreTokenizer::State boundary);
  // Whether some text goes on from a position.
  bool has_text(ExprId state, PositionId position);

  // The completion. Throws `empty` if there is none.
  std::string text(ExprId state, PreTokenizer::State boundary);
  // Its length in tokens.
  std::uint32_t token_count(ExprId state, PreTokenizer::State boundary);
  // An upper bound on the tokens of the completion: its bytes. Found without the completion where possible.
  std::uint32_t length_bound(ExprId state, PreTokenizer::State boundary);
  // The bytes of a completion of the state's language that is found whatever follows this language (context-free), or
  // kInfinite. In a language that continues the state's, its completion continues this text.
  std::uint32_t context_free_bound(ExprId state, PreTokenizer::State boundary);

 private:
  enum class Scope : std::uint8_t {
    this_language,  // a text that completes the state's language
    any_language,   // the same, if that text is found whatever follows the language; a bounded search
  };
  static constexpr std::size_t kMaxAnyLanguage = 256;  // nodes of that search
  struct SearchNode {
    ExprId state;
    PositionId position;
    std::size_t from;
    std::uint8_t byte;
  };
  // A text, then the greedy completion of a state: often thousands of bytes whose number is known.
  struct Found {
    std::string text;
    std::optional<ExprId> rest;
  };

  // The length of the completion in bytes; a special token counts as one.
  std::uint32_t byte_count(ExprId state, PreTokenizer::State boundary);
  std::optional<Found> search(ExprId state, PreTokenizer::State boundary, Scope scope);
  std::string text_of(const std::vector<SearchNode>& open, std::size_t last, std::uint8_t byte) const;
  bool fits_greedy(ExprId state, PreTokenizer::State boundary);
  Found find(ExprId state, PreTokenizer::State boundary);
  bool greedy_is_context_free(ExprId state, PreTokenizer::State boundary);
  std::uint32_t find_context_free_bound(ExprId state, PreTokenizer::State boundary);

  TokenizedLanguage language_;
  GreedyCompletions& greedy_;
  ByteFallbackEndings& byte_fallback_;
  std::unordered_map<StateKey, bool> has_text_;
  std::unordered_map<StateKey, std::uint32_t> token_counts_;  // by state and position at the start of a pre-token
  std::unordered_map<StateKey, std::uint32_t> byte_counts_;
  std::unordered_map<StateKey, std::uint32_t> context_free_bounds_;
};

}  // namespace detent

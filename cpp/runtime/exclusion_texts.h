// ExclusionTexts: completions of few tokens for the positions of an ExclusionSearch.
//
// Most positions inside a string are completed by the shortest text of g, or by that after a few more characters: then
// what was read no longer ends a match. These texts, and the text after the whole padding, depend on the state of g
// only. So they are written in tokens once, and for each position it is asked which of them it allows.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <unordered_map>
#include <vector>

#include "automaton/automaton.h"
#include "runtime/exclusion_search.h"
#include "vocab/vocabulary.h"

namespace detent {

// Lives as long as the search. Each byte must be a token.
class ExclusionTexts {
 public:
  ExclusionTexts(const Vocabulary& vocabulary, Automaton& automaton, ExclusionSearch& search)
      : vocabulary_(vocabulary), automaton_(automaton), search_(search) {}

  // Whether a completion of a live position in at most `tokens` tokens is known.
  bool has_within(ExclusionSearch::PositionId at, std::uint32_t tokens);
  // The tokens of such a completion; nothing where none is known, or one by its length in bytes only.
  std::optional<std::vector<std::uint32_t>> within(ExclusionSearch::PositionId at, std::uint32_t tokens);
  // The most tokens of some completion, whatever text over Padded::kept was read after a position with a padding, if
  // it ends no match.
  std::uint32_t most_tokens(ExclusionSearch::PositionId at) { return texts_of(at).after_padding.tokens; }

 private:
  struct Text {
    std::string text;
    std::uint32_t tokens = UINT32_MAX;  // the fewest; UINT32_MAX: there is no such text
  };
  // Of the positions that share a padding.
  struct Texts {
    Text after_padding;        // the whole padding, then a text: all positions allow it
    std::vector<Text> short_;  // the shortest text of g, and after 1, 2, 3, ... bytes of the padding
  };

  const Texts& texts_of(ExclusionSearch::PositionId at);
  Text written(std::string text) const;
  // A known completion of a position that accepts, has a padding, or excludes nothing.
  const Text* find(ExclusionSearch::PositionId at, std::uint32_t tokens);

  const Vocabulary& vocabulary_;
  Automaton& automaton_;
  ExclusionSearch& search_;
  const Text empty_{"", 0};
  std::unordered_map<std::uint32_t, Texts> texts_;         // by padding
  std::unordered_map<std::uint32_t, Text> texts_of_main_;  // by state of g: where nothing is excluded
  std::unordered_map<std::uint64_t, bool> has_within_;     // by position and tokens
};

}  // namespace detent

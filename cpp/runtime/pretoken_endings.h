// PretokenEndings: for a state of the language and a position of the pre-tokenizer, some short texts that end the
// pre-token.
//
// At the start of a pre-token every token may follow. So a token sequence has a canonical continuation if its last
// token may be followed by the first token of one of these endings. For this, up to kMaxEndings endings with different
// first tokens are stored.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <unordered_map>
#include <vector>

#include "runtime/byte_fallback_endings.h"
#include "runtime/completions.h"
#include "runtime/greedy_completions.h"
#include "runtime/single_pretoken_completions.h"
#include "runtime/tokenized_language.h"

namespace detent {

struct PretokenEnding {
  std::uint32_t first;  // token
  // The bytes of the ending. Without a pre-tokenizer: only the bytes before its greedy completion, which are empty or a
  // character in byte tokens.
  std::string text;
  std::uint32_t bytes;  // length of the whole ending
  ExprId state;         // after the ending
  PreTokenizer::State boundary;
  std::uint32_t tokens = kInfinite;  // length in tokens; kInfinite until it is computed
};

struct PretokenEndingSet {
  std::vector<PretokenEnding> endings;
  bool impossible = false;  // no text ends the pre-token; where it is false, `endings` may still be empty
  bool exhaustive = false;  // all shorter texts were visited: none of them ends the language or is refused
};

class PretokenEndings {
 public:
  PretokenEndings(const TokenizedLanguage& language, GreedyCompletions& greedy, Completions& completions,
                  ByteFallbackEndings& byte_fallback, SinglePretokenCompletions& single)
      : language_(language),
        greedy_(greedy),
        completions_(completions),
        byte_fallback_(byte_fallback),
        single_(single) {}

  // Cost: at the first call, a breadth-first search up to the nearest ending.
  PretokenEndingSet& find(ExprId state, PositionId position);
  // Endings of which one may serve where any does: those of find(), or only the first one of the greedy text where the
  // search takes more than a few nodes.
  const PretokenEndingSet& find_some(ExprId state, PositionId position);
  // The endings, if they are the same for every continuation of the state's language; otherwise null.
  const PretokenEndingSet* find_context_free(ExprId state, PositionId position);
  // The encoding of an ending that was found at this position.
  std::vector<std::uint32_t> tokens(ExprId state, PositionId position, const PretokenEnding& ending);
  // The trie node of unsplit tokens (UnsplitNode) after that ending.
  UnsplitNode unsplit_after(UnsplitNode node, ExprId state, PositionId position, const PretokenEnding& ending);

 private:
  static constexpr std::size_t kMaxEndings = 4;
  static constexpr std::size_t kManyNodes = 64;  // of a search, before it tries the greedy text
  static constexpr std::size_t kFewNodes = 3;    // the same where any ending serves
  using Table = std::unordered_map<StateKey, PretokenEndingSet>;
  struct SearchNode {
    ExprId state;
    PositionId position;
    std::size_t from;
    std::size_t depth;
    std::uint8_t byte;
  };

  enum class Scope : std::uint8_t { any, exhaustive };  // exhaustive: nothing where the endings are not
  std::optional<PretokenEndingSet> search(ExprId state, PositionId position, std::size_t most_nodes, Scope scope);
  const PretokenEndingSet* find_exhaustive(ExprId state, PositionId position);
  PretokenEndingSet& add(Table& table, StateKey key, PretokenEndingSet found) const;
  std::optional<PretokenEnding> greedy_ending(ExprId state, PositionId position);
  static std::string text_of(const std::vector<SearchNode>& open, std::size_t last, std::uint8_t byte);
  PretokenEnding ending_of(std::string text, ExprId state, PreTokenizer::State boundary) const;
  PretokenEndingSet of_single_pretoken(ExprId state, PositionId position);
  PositionId step(PositionId position, std::string_view text) const;

  TokenizedLanguage language_;
  GreedyCompletions& greedy_;
  Completions& completions_;
  ByteFallbackEndings& byte_fallback_;
  SinglePretokenCompletions& single_;
  Table endings_;
  Table greedy_endings_;  // of find_some
};

}  // namespace detent

// SinglePretokenCompletions: the encodings of greedy completions where the tokenizer has no pre-tokenizer.
//
// There the whole text is one pre-token, so that a completion must fit the last token. For each rest of a completion
// and position, the encoding is kept as a linked list: its first token, and the rest and position after it.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <unordered_map>
#include <utility>
#include <vector>

#include "base/hash.h"
#include "runtime/completions.h"
#include "runtime/greedy_completions.h"
#include "runtime/tokenized_language.h"

namespace detent {

// The encoding of a greedy completion, up to the end of the text or a special token.
struct GreedyCompletion {
  std::uint32_t first = PretokenTransitions::kNoToken;
  GreedyCompletions::Rest rest{};  // after the first token
  PositionId position{};
  std::uint32_t tokens = kInfinite;  // 0 where the text ends; kInfinite if there is no such encoding
  std::uint32_t bytes = 0;
  ExprId final_state{};  // after the last token
  PreTokenizer::State boundary = PreTokenizer::kTextStart;
};

class SinglePretokenCompletions {
 public:
  SinglePretokenCompletions(const TokenizedLanguage& language, GreedyCompletions& greedy, Completions& completions)
      : language_(language), greedy_(greedy), completions_(completions) {}

  using Rest = GreedyCompletions::Rest;

  // Cost: for all states on a greedy completion of n bytes together, little more than encoding it once.
  GreedyCompletion find(ExprId state, PositionId position) { return find(rest_at({state}, position), position); }
  GreedyCompletion find(const Rest& from, PositionId position);

 private:
  using Node = std::pair<Rest, PositionId>;
  struct NodeHash {
    std::size_t operator()(const Node& node) const {
      return mix(state_key(node.first.head, node.second), node.first.tail);
    }
  };
  // The greedy bytes from a position.
  struct Path {
    std::vector<Node> nodes;
    std::string text;
  };

  Rest rest_at(const Rest& rest, PositionId position);
  std::optional<GreedyCompletion> known(const Rest& rest, PositionId position);
  bool extend(Path& path);
  bool may_begin_token(PositionId position) const {
    return !language_.encoder().pieces() || !position.decoded().inside_character();
  }
  GreedyCompletion finish_character(Path& path, std::vector<std::uint32_t>& tokens);
  GreedyCompletion find_known(Path& path);
  std::vector<std::uint32_t> merge_joint(Path& path, GreedyCompletion& rest);
  void remember(const Node& node, const GreedyCompletion& completion);

  TokenizedLanguage language_;
  GreedyCompletions& greedy_;
  Completions& completions_;
  std::unordered_map<Node, GreedyCompletion, NodeHash> known_;
};

}  // namespace detent

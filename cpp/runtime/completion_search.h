// CompletionSearch: whether a token sequence can be completed, and a sequence of tokens that completes it.
//
// A node is (state of the language, split position, last token). Most nodes have an immediate answer: the pre-token may
// end after the last token, or an ending fits it (PretokenEndings). The others are searched, token by token, and the
// results are remembered. The completion of a node is a function of the node alone; it need not have the fewest tokens.
#pragma once

#include <cstdint>
#include <optional>
#include <unordered_map>
#include <vector>

#include "base/hash.h"
#include "runtime/byte_fallback_endings.h"
#include "runtime/completions.h"
#include "runtime/pretoken_endings.h"
#include "runtime/tokenized_language.h"

namespace detent {

struct CompletionNode {
  ExprId state;
  SplitPosition at;
  std::uint32_t last;  // token
  bool operator==(const CompletionNode&) const = default;
};

struct CompletionNodeHash {
  std::size_t operator()(const CompletionNode& node) const {
    return mix(mix(mix(state_key(node.state, node.at.position), 1), node.at.unsplit.value), node.last);
  }
};

// A token that the language and the pre-tokenizer allow, and where it leads.
struct TokenEdge {
  std::uint32_t token;
  ExprId state;
  PositionId position;
};

class CompletionSearch {
 public:
  CompletionSearch(const TokenizedLanguage& language, Completions& completions, ByteFallbackEndings& byte_fallback,
                   PretokenEndings& endings)
      : language_(language), completions_(completions), byte_fallback_(byte_fallback), endings_(endings) {}

  // An upper bound on the tokens of the node's completion; kInfinite if there is none: the node is a dead end. Throws
  // `limit` if the search grows too large, and remembers nothing of it then.
  std::uint32_t completion_bound(const CompletionNode& node);
  // The same for all last tokens that lead to the position, if the pre-token may end there or byte tokens fit after it;
  // otherwise kInfinite. Unsplit tokens are not looked at.
  std::uint32_t boundary_bound(ExprId state, PositionId position);
  // The tokens of the completion, counted; a bound where only a search tells it.
  std::uint32_t completion_length(const CompletionNode& node);
  // The completion of a node that is no dead end.
  std::vector<std::uint32_t> completion(CompletionNode node);

  // The tokens that the language and the pre-tokenizer allow, whatever the last token. Cost: at the first call, a walk
  // over the trie.
  const std::vector<TokenEdge>& edges(ExprId state, PositionId position);

 private:
  // How far the nearest node with an immediate answer is, and the bound on the completion from there.
  struct Distance {
    std::uint32_t tokens = kInfinite;
    std::uint32_t rest = kInfinite;
    bool operator==(const Distance&) const = default;
  };

  std::vector<TokenEdge> sparse_edges(ExprId state, const TransitionRow& row);
  bool may_end_pretoken(const CompletionNode& node);
  PretokenEnding* fitting_ending(const CompletionNode& node);
  std::optional<std::uint32_t> immediate_bound(const CompletionNode& node);
  Distance distance(const CompletionNode& node);
  Distance search(const CompletionNode& start);
  CompletionNode first_step(const CompletionNode& node);
  CompletionNode after(const CompletionNode& node, const TokenEdge& edge) const {
    return {edge.state, {edge.position, language_.transitions.unsplit_after(node.at.unsplit, edge.token)}, edge.token};
  }

  TokenizedLanguage language_;
  Completions& completions_;
  ByteFallbackEndings& byte_fallback_;
  PretokenEndings& endings_;
  std::unordered_map<StateKey, std::vector<TokenEdge>> edges_;
  std::unordered_map<CompletionNode, Distance, CompletionNodeHash> distances_;  // of nodes without an immediate answer
};

}  // namespace detent

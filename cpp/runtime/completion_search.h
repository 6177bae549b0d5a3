// CompletionSearch: whether a token sequence can be completed, and a sequence of tokens that completes it.
//
// A node is (state of the language, split position, last token). Most nodes have an immediate answer: the pre-token may
// end after the last token, or an ending fits it (PretokenEndings). The others are searched, token by token, and the
// results are remembered. The completion of a node is a function of the node alone; it need not have the fewest tokens.
#pragma once

#include <algorithm>
#include <cstdint>
#include <optional>
#include <unordered_map>
#include <utility>
#include <vector>

#include "base/hash.h"
#include "runtime/byte_fallback_endings.h"
#include "runtime/completions.h"
#include "runtime/pretoken_endings.h"
#include "runtime/short_texts.h"
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
                   PretokenEndings& endings, GreedyCompletions& greedy)
      : language_(language),
        completions_(completions),
        byte_fallback_(byte_fallback),
        endings_(endings),
        short_texts_(language, greedy) {}

  // An upper bound on the tokens of the node's completion; kInfinite if there is none: the node is a dead end. Throws
  // `limit` if the search grows too large, and remembers nothing of it then.
  std::uint32_t completion_bound(const CompletionNode& node);
  // The same for all last tokens that lead to the position, if the pre-token may end there or byte tokens fit after it;
  // otherwise kInfinite. Unsplit tokens are not looked at.
  std::uint32_t boundary_bound(ExprId state, PositionId position) {
    return boundary_bound(state, position, arrival(state, position));
  }
  // The tokens of the completion, counted; where only a search tells it, a bound if that is at most `within`.
  std::uint32_t completion_length(const CompletionNode& node, std::uint32_t within = kInfinite);
  // The same, or kInfinite where only a search tells it.
  std::uint32_t known_length(const CompletionNode& node);
  // The tokens of a completion of at most `most` bytes, where the completion of the node may be longer. Empty where
  // none is found. Cost: bounded searches.
  std::vector<std::uint32_t> short_completion(const CompletionNode& node, std::uint32_t most);
  // The completion of a node that is no dead end.
  std::vector<std::uint32_t> completion(CompletionNode node);

  // Calls visit(edge) for each token that the language and the pre-tokenizer allow, whatever the last token, until one
  // call returns true. Returns whether one did. Cost: at the first calls, a walk over the trie as far as `visit` needs.
  template <class Visit>
  bool any_edge(ExprId state, PositionId position, Visit visit);

  // Whether an ending that is known at the node's state and position may follow the last token, and does not make the
  // pre-token the text of an unsplit token.
  bool fits_ending(const CompletionNode& node, const PretokenEnding& ending);

  // The tokens of an ending at a state and position, and of the completion after it.
  std::uint32_t token_count(ExprId state, PositionId position, PretokenEnding& ending);

  // What is known of all tokens that lead to one state and position.
  struct Arrival {
    bool may_end = false;                    // the pre-token may end here, if its text is no unsplit token's
    std::optional<std::uint32_t> end_bound;  // on the completion if it ends; computed when needed, as the rest is
    std::optional<std::uint32_t> fallback_bound;
    const PretokenEndingSet* endings = nullptr;
    const PretokenEndingSet* some_endings = nullptr;  // PretokenEndings::find_some
  };
  Arrival& arrival(ExprId state, PositionId position);
  // As completion_bound(node), with the arrival at the node's state and position.
  std::uint32_t completion_bound(const CompletionNode& node, Arrival& at);
  // An upper bound on the bytes of the completion, a special token as one; nothing where only a search tells it.
  std::optional<std::uint32_t> immediate_bound(const CompletionNode& node, Arrival& at);
  // Whether the node is no dead end, found without the length of its completion where possible.
  bool leads_on(const CompletionNode& node, Arrival& at);
  // As boundary_bound(state, position), with the arrival there.
  std::uint32_t boundary_bound(ExprId state, PositionId position, Arrival& at);

 private:
  // How far the nearest node with an immediate answer is, and the bound on the completion from there.
  struct Distance {
    std::uint32_t tokens = kInfinite;
    std::uint32_t rest = kInfinite;
    bool operator==(const Distance&) const = default;
  };

  // An edge with the immediate answer after it, for nodes that no unsplit token begins with.
  struct KnownEdge {
    TokenEdge edge;
    bool is_known = false;
    std::optional<std::uint32_t> immediate = std::nullopt;
  };
  // The tokens that end the character at a position, by the immediate answers after them.
  struct CharacterEnds {
    std::vector<std::pair<std::uint32_t, std::uint32_t>> near;  // bound, token; ascending
    std::vector<std::uint32_t> undecided;                       // tokens after which only a search tells
    std::int64_t count = 0;                                     // of all
    std::uint32_t asked = 0;                                    // how often: only once that is often, the rest is found
    bool is_known = false;
  };
  static constexpr std::size_t kMaxKnownEdges = 1024;  // of one state and position; more are walked each time

  std::vector<KnownEdge> sparse_edges(ExprId state, const TransitionRow& row);
  template <class Visit>
  bool any_known_edge(ExprId state, PositionId position, Visit visit);
  bool may_end_pretoken(const CompletionNode& node);
  PretokenEnding* fitting_ending(const CompletionNode& node);
  std::optional<std::uint32_t> immediate_bound(const CompletionNode& node) {
    return immediate_bound(node, arrival(node.state, node.at.position));
  }
  std::optional<std::uint32_t> immediate_after(const CompletionNode& node, KnownEdge& edge);
  Distance distance(const CompletionNode& node);
  std::optional<Distance> nearest_step(const CompletionNode& node);
  CharacterEnds character_ends(ExprId state, PositionId position);
  std::optional<Distance> nearest_character_end(const CompletionNode& node, CharacterEnds& ends);
  Distance search(const CompletionNode& start);
  CompletionNode first_step(const CompletionNode& node);
  // The tokens of the completion of a node without an immediate answer.
  std::uint32_t searched_length(CompletionNode node);
  CompletionNode after(const CompletionNode& node, const TokenEdge& edge) const {
    return {edge.state, {edge.position, language_.transitions.unsplit_after(node.at.unsplit, edge.token)}, edge.token};
  }

  TokenizedLanguage language_;
  Completions& completions_;
  ByteFallbackEndings& byte_fallback_;
  PretokenEndings& endings_;
  ShortTexts short_texts_;
  std::unordered_map<StateKey, Arrival> arrivals_;
  std::unordered_map<StateKey, std::vector<KnownEdge>> edges_;  // of states and positions that have few
  std::unordered_map<StateKey, CharacterEnds> character_ends_;
  std::unordered_map<CompletionNode, Distance, CompletionNodeHash> distances_;  // of nodes without an immediate answer
};

template <class Visit>
bool CompletionSearch::any_known_edge(ExprId state, PositionId position, Visit visit) {
  const StateKey key = state_key(state, position);
  auto known = edges_.find(key);
  if (known == edges_.end() && position.decoded().inside_character()) {
    known = edges_.emplace(key, sparse_edges(state, language_.transitions.row(position))).first;
  }
  if (known != edges_.end()) return std::ranges::any_of(known->second, visit);
  const TransitionRow& row = language_.transitions.row(position);
  std::vector<KnownEdge> edges;
  const bool stopped = language_.any_token(state, [&](std::uint32_t token, ExprId next) {
    const std::uint16_t target = row.target_of(token);
    if (target == TransitionRow::kRefused) return false;
    KnownEdge edge{{token, next, row.targets[target]}};
    const bool stop = visit(edge);
    if (edges.size() <= kMaxKnownEdges) edges.push_back(edge);
    return stop;
  });
  if (stopped || edges.size() > kMaxKnownEdges) return stopped;
  language_.meter.allocate(static_cast<std::int64_t>(edges.size() * sizeof(KnownEdge)) + 64);
  edges.shrink_to_fit();
  edges_.emplace(key, std::move(edges));
  return false;
}

template <class Visit>
bool CompletionSearch::any_edge(ExprId state, PositionId position, Visit visit) {
  return any_known_edge(state, position, [&](const KnownEdge& edge) { return visit(edge.edge); });
}

}  // namespace detent

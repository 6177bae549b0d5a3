// Completing a token sequence.
//
// 1. Naively, a node has a completion if some token that may follow leads to a node that has one: a least fixed point
//    over (state, position, last token), of which there are |vocabulary| times too many.
// 2. Most nodes need no search. If the pre-token may end here, a completion follows whatever the last token is
//    (Completions). If an ending of the pre-token begins with a token that may follow the last one, merging being
//    local, the ending's encoding is a way on (PretokenEndings).
// 3. Otherwise all tokens that may follow are tried, breadth first, up to a node with an immediate answer (search).
//    Inside a character, the shortest of its siblings' answers counts, as the masks compute it.
// 4. The answer must not depend on what was asked before. So the search uses dead ends only of what is remembered, and
//    each node on the path to the answer is remembered with its distance. The completion follows the distances.
#include "runtime/completion_search.h"

#include <algorithm>
#include <unordered_set>

#include "base/error.h"

namespace detent {

const std::vector<TokenEdge>& CompletionSearch::edges(ExprId state, PositionId position) {
  const StateKey key = state_key(state, position);
  if (const auto known = edges_.find(key); known != edges_.end()) return known->second;
  const TransitionRow& row = language_.transitions.row(position);
  std::vector<TokenEdge> found;
  if (position.decoded().inside_character()) {
    found = sparse_edges(state, row);
  } else {
    language_.each_token(state, [&](std::uint32_t token, ExprId next) {
      const std::uint16_t target = row.target_of(token);
      if (target != TransitionRow::kRefused) found.push_back({token, next, row.targets[target]});
    });
  }
  found.shrink_to_fit();
  language_.meter.allocate(static_cast<std::int64_t>(found.size() * sizeof(TokenEdge)) + 64);
  return edges_[key] = std::move(found);
}

// Few tokens continue a character: each is tried, and no trie is walked. In the order of the trie: by text, then by id.
std::vector<TokenEdge> CompletionSearch::sparse_edges(ExprId state, const TransitionRow& row) {
  const Vocabulary& vocabulary = language_.vocabulary();
  std::vector<TokenEdge> found;
  for (const auto& [token, target] : row.sparse) {
    const std::string_view bytes = vocabulary.bytes(token);
    ExprId next = state;
    for (std::size_t i = 0; i < bytes.size() && next != ExprSet::kEmpty; ++i) {
      next = language_.next(next, static_cast<std::uint8_t>(bytes[i]));
    }
    language_.meter.step();
    if (next == ExprSet::kEmpty) continue;
    if (vocabulary.tokenizable_texts() && !language_.automaton.is_tokenizable(next)) continue;
    found.push_back({token, next, row.targets[target]});
  }
  std::ranges::stable_sort(found, {}, [&](const TokenEdge& edge) { return vocabulary.bytes(edge.token); });
  return found;
}

bool CompletionSearch::may_end_pretoken(const CompletionNode& node) {
  return language_.transitions.may_end_pretoken(node.at, node.last) &&
         completions_.may_start_pretoken(node.state, node.at.position.decoded().state);
}

// An ending that may follow the last token and does not make the pre-token the text of an unsplit token; or null.
PretokenEnding* CompletionSearch::fitting_ending(const CompletionNode& node) {
  const Encoder& encoder = language_.encoder();
  if (!encoder.may_have_neighbours(node.last)) return nullptr;
  for (PretokenEnding& ending : endings_.find(node.state, node.at.position).endings) {
    if (!encoder.may_follow(node.last, ending.first)) continue;
    if (node.at.unsplit == Encoder::kNoUnsplit) return &ending;
    const UnsplitNode unsplit = endings_.unsplit_after(node.at.unsplit, node.state, node.at.position, ending);
    if (encoder.unsplit_token(unsplit) == Encoder::kNone) return &ending;
  }
  return nullptr;
}

std::uint32_t CompletionSearch::boundary_bound(ExprId state, PositionId position) {
  const PretokenPosition at = position.decoded();
  const bool may_end = !at.inside_character() && completions_.may_start_pretoken(state, at.state);
  return may_end ? completions_.length_bound(state, at.state) : byte_fallback_.length(state, position);
}

std::optional<std::uint32_t> CompletionSearch::immediate_bound(const CompletionNode& node) {
  const PositionId position = node.at.position;
  if (may_end_pretoken(node)) return completions_.length_bound(node.state, position.decoded().state);
  if (!language_.encoder().may_have_neighbours(node.last)) return kInfinite;
  if (const std::uint32_t length = byte_fallback_.length(node.state, position); length != kInfinite) return length;
  if (const PretokenEnding* ending = fitting_ending(node)) {
    return ending->bytes + completions_.length_bound(ending->state, ending->boundary);
  }
  return endings_.find(node.state, position).impossible ? std::optional(kInfinite) : std::nullopt;
}

std::uint32_t CompletionSearch::completion_bound(const CompletionNode& node) {
  if (const std::optional<std::uint32_t> known = immediate_bound(node)) return *known;
  const Distance found = distance(node);
  return found.tokens == kInfinite ? kInfinite : found.tokens + found.rest;
}

CompletionSearch::Distance CompletionSearch::distance(const CompletionNode& node) {
  if (const std::optional<std::uint32_t> known = immediate_bound(node)) {
    return {*known == kInfinite ? kInfinite : 0, *known};
  }
  if (const auto known = distances_.find(node); known != distances_.end()) return known->second;
  return search(node);
}

CompletionSearch::Distance CompletionSearch::search(const CompletionNode& start) {
  struct Open {
    CompletionNode node;
    std::size_t from;
    std::uint32_t depth;
  };
  const Encoder& encoder = language_.encoder();
  std::vector<Open> open{{start, 0, 0}};
  std::unordered_set<CompletionNode, CompletionNodeHash> seen{start};
  for (std::size_t i = 0; i < open.size(); ++i) {
    const CompletionNode node = open[i].node;
    const std::uint32_t depth = open[i].depth + 1;
    std::uint32_t rest = kInfinite;
    for (const TokenEdge& edge : edges(node.state, node.at.position)) {
      language_.meter.step();
      if (!encoder.may_follow(node.last, edge.token)) continue;
      const CompletionNode next = after(node, edge);
      if (const std::optional<std::uint32_t> known = immediate_bound(next)) {
        rest = std::min(rest, *known);
        if (rest != kInfinite && !node.at.position.decoded().inside_character()) break;
        continue;
      }
      const auto before = distances_.find(next);
      const bool dead_end = before != distances_.end() && before->second.tokens == kInfinite;
      if (dead_end || !seen.insert(next).second) continue;
      language_.check_growth(open.size());
      open.push_back({next, i, depth});
    }
    if (rest == kInfinite) continue;
    for (std::size_t k = i;; k = open[k].from) {
      language_.meter.allocate(64);
      distances_[open[k].node] = {depth - open[k].depth, rest};
      if (k == 0) return {depth, rest};
    }
  }
  language_.meter.allocate(static_cast<std::int64_t>(open.size()) * 64);
  for (const Open& each : open) distances_[each.node] = {};
  return {};
}

// The next node on the path to an immediate answer.
CompletionNode CompletionSearch::first_step(const CompletionNode& node) {
  const Distance here = distance(node);
  for (const TokenEdge& edge : edges(node.state, node.at.position)) {
    if (!language_.encoder().may_follow(node.last, edge.token)) continue;
    const CompletionNode next = after(node, edge);
    if (distance(next) == Distance{here.tokens - 1, here.rest}) return next;
  }
  throw Error(ErrorKind::empty, "canonical");  // cannot happen: the search went through one
}

std::uint32_t CompletionSearch::completion_length(const CompletionNode& node) {
  std::uint32_t least = kInfinite;
  if (may_end_pretoken(node)) least = completions_.token_count(node.state, node.at.position.decoded().state);
  if (PretokenEnding* ending = least > 1 ? fitting_ending(node) : nullptr) {
    if (ending->tokens == kInfinite) {
      const std::size_t count = endings_.tokens(node.state, node.at.position, *ending).size();
      ending->tokens = static_cast<std::uint32_t>(count);
    }
    least = std::min(least, ending->tokens + completions_.token_count(ending->state, ending->boundary));
  }
  return least == kInfinite ? completion_bound(node) : least;
}

std::vector<std::uint32_t> CompletionSearch::completion(CompletionNode node) {
  std::vector<std::uint32_t> tokens;
  while (!may_end_pretoken(node) && !fitting_ending(node)) {
    node = first_step(node);
    tokens.push_back(node.last);
  }
  const PreTokenizer::State boundary = node.at.position.decoded().state;
  const PretokenEnding* ending = fitting_ending(node);
  const bool may_end = may_end_pretoken(node);
  if (ending && may_end && completions_.token_count(node.state, boundary) <= completion_length(node)) {
    ending = nullptr;
  }
  const auto append = [&](const std::vector<std::uint32_t>& more) {
    tokens.insert(tokens.end(), more.begin(), more.end());
  };
  if (ending) append(endings_.tokens(node.state, node.at.position, *ending));
  const std::string text =
      ending ? completions_.text(ending->state, ending->boundary) : completions_.text(node.state, boundary);
  append(language_.transitions.encode(text));
  return tokens;
}

}  // namespace detent

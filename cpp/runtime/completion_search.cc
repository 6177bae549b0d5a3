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
#include "bpe/followers.h"

namespace detent {

// Few tokens continue a character: each is tried, and no trie is walked. In the order of the trie: by text, then by id.
std::vector<CompletionSearch::KnownEdge> CompletionSearch::sparse_edges(ExprId state, const TransitionRow& row) {
  const Vocabulary& vocabulary = language_.vocabulary();
  std::vector<KnownEdge> found;
  for (const auto& [token, target] : row.sparse) {
    const std::string_view bytes = vocabulary.bytes(token);
    ExprId next = state;
    for (std::size_t i = 0; i < bytes.size() && next != ExprSet::kEmpty; ++i) {
      next = language_.next(next, static_cast<std::uint8_t>(bytes[i]));
    }
    language_.meter.step();
    if (next == ExprSet::kEmpty) continue;
    if (vocabulary.tokenizable_texts() && !language_.automaton.is_tokenizable(next)) continue;
    found.push_back({{token, next, row.targets[target]}});
  }
  std::ranges::stable_sort(found, {}, [&](const KnownEdge& each) { return vocabulary.bytes(each.edge.token); });
  found.shrink_to_fit();
  language_.meter.allocate(static_cast<std::int64_t>(found.size() * sizeof(KnownEdge)) + 64);
  return found;
}

CompletionSearch::Arrival& CompletionSearch::arrival(ExprId state, PositionId position) {
  const StateKey key = state_key(state, position);
  if (const auto known = arrivals_.find(key); known != arrivals_.end()) return known->second;
  const PretokenPosition at = position.decoded();
  const bool may_end = !at.inside_character() && completions_.may_start_pretoken(state, at.state);
  language_.meter.allocate(96);
  Arrival& found = arrivals_[key];  // after the calls that may reach a limit
  found.may_end = may_end;
  return found;
}

bool CompletionSearch::may_end_pretoken(const CompletionNode& node) {
  return language_.transitions.may_end_pretoken(node.at, node.last) &&
         completions_.may_start_pretoken(node.state, node.at.position.decoded().state);
}

bool CompletionSearch::fits_ending(const CompletionNode& node, const PretokenEnding& ending) {
  const Encoder& encoder = language_.encoder();
  if (!encoder.may_have_neighbours(node.last) || !encoder.may_follow(node.last, ending.first)) return false;
  if (node.at.unsplit == Encoder::kNoUnsplit) return true;
  const UnsplitNode unsplit = endings_.unsplit_after(node.at.unsplit, node.state, node.at.position, ending);
  return encoder.unsplit_token(unsplit) == Encoder::kNone;
}

PretokenEnding* CompletionSearch::fitting_ending(const CompletionNode& node) {
  if (!language_.encoder().may_have_neighbours(node.last)) return nullptr;
  for (PretokenEnding& ending : endings_.find(node.state, node.at.position).endings) {
    if (fits_ending(node, ending)) return &ending;
  }
  return nullptr;
}

std::uint32_t CompletionSearch::boundary_bound(ExprId state, PositionId position, Arrival& at) {
  if (at.may_end) {
    if (!at.end_bound) at.end_bound = completions_.length_bound(state, position.decoded().state);
    return *at.end_bound;
  }
  if (!at.fallback_bound) at.fallback_bound = byte_fallback_.length(state, position);
  return *at.fallback_bound;
}

std::optional<std::uint32_t> CompletionSearch::immediate_bound(const CompletionNode& node, Arrival& at) {
  const PositionId position = node.at.position;
  if (at.may_end && language_.transitions.may_end_pretoken(node.at, node.last)) {
    return boundary_bound(node.state, position, at);
  }
  if (!language_.encoder().may_have_neighbours(node.last)) return kInfinite;
  if (!at.fallback_bound) at.fallback_bound = byte_fallback_.length(node.state, position);
  if (*at.fallback_bound != kInfinite) return at.fallback_bound;
  if (!at.endings) at.endings = &endings_.find(node.state, position);
  if (const PretokenEnding* ending = fitting_ending(node)) {
    return ending->bytes + completions_.length_bound(ending->state, ending->boundary);
  }
  return at.endings->impossible ? std::optional(kInfinite) : std::nullopt;
}

bool CompletionSearch::leads_on(const CompletionNode& node, Arrival& at) {
  if (at.may_end && language_.transitions.may_end_pretoken(node.at, node.last)) return true;
  if (!language_.encoder().may_have_neighbours(node.last)) return false;
  if (!at.some_endings) at.some_endings = &endings_.find_some(node.state, node.at.position);
  if (at.some_endings->impossible) return false;
  const auto fits = [&](const PretokenEnding& ending) { return fits_ending(node, ending); };
  return std::ranges::any_of(at.some_endings->endings, fits) || completion_bound(node, at) != kInfinite;
}

// The immediate answer after an edge of `node`.
std::optional<std::uint32_t> CompletionSearch::immediate_after(const CompletionNode& node, KnownEdge& edge) {
  if (node.at.unsplit != Encoder::kNoUnsplit) return immediate_bound(after(node, edge.edge));
  if (!edge.is_known) edge = {edge.edge, true, immediate_bound(after(node, edge.edge))};
  return edge.immediate;
}

std::uint32_t CompletionSearch::completion_bound(const CompletionNode& node) {
  return completion_bound(node, arrival(node.state, node.at.position));
}

std::uint32_t CompletionSearch::completion_bound(const CompletionNode& node, Arrival& at) {
  if (const std::optional<std::uint32_t> known = immediate_bound(node, at)) return *known;
  const Distance found = distance(node);
  return found.tokens == kInfinite ? kInfinite : found.tokens + found.rest;
}

CompletionSearch::Distance CompletionSearch::distance(const CompletionNode& node) {
  if (const std::optional<std::uint32_t> known = immediate_bound(node)) {
    return {*known == kInfinite ? kInfinite : 0, *known};
  }
  if (const auto known = distances_.find(node); known != distances_.end()) return known->second;
  const std::optional<Distance> nearest = nearest_step(node);
  return nearest ? *nearest : search(node);
}

// The distance of a node one step before an immediate answer, or of a dead end after all of whose edges are dead ends;
// nothing of other nodes. It is remembered only where it is not found fast.
std::optional<CompletionSearch::Distance> CompletionSearch::nearest_step(const CompletionNode& node) {
  const bool inside_character = node.at.position.decoded().inside_character();
  if (inside_character && node.at.unsplit == Encoder::kNoUnsplit) {
    constexpr std::uint32_t kFew = 8;  // nodes whose edges cost less than those of all tokens
    const auto [known, is_new] = character_ends_.try_emplace(state_key(node.state, node.at.position));
    CharacterEnds& ends = known->second;
    if (is_new) language_.meter.allocate(128);
    if (++ends.asked > kFew) return nearest_character_end(node, ends);
  }
  std::uint32_t rest = kInfinite;
  bool is_decided = true;
  std::int64_t count = 0;
  Followers followers(language_.encoder(), node.last);
  any_known_edge(node.state, node.at.position, [&](KnownEdge& edge) {
    ++count;
    const bool is_dead = edge.is_known && edge.immediate == kInfinite;
    if (is_dead || !followers.has(edge.edge.token)) return false;
    const std::optional<std::uint32_t> known = immediate_after(node, edge);
    is_decided = is_decided && known;
    if (known) rest = std::min(rest, *known);
    return known && rest != kInfinite && !inside_character;
  });
  language_.meter.step(count / 8 + 1);
  if (rest == kInfinite && !is_decided) return std::nullopt;
  const Distance found{rest == kInfinite ? kInfinite : 1, rest};
  if (node.at.unsplit != Encoder::kNoUnsplit || static_cast<std::size_t>(count) > kMaxKnownEdges) {
    language_.meter.allocate(64);
    distances_[node] = found;
  }
  return found;
}

// Thousands of tokens end inside a character at the same state: the nearest end that may follow is mostly the first
// one.
std::optional<CompletionSearch::Distance> CompletionSearch::nearest_character_end(const CompletionNode& node,
                                                                                  CharacterEnds& ends) {
  if (!ends.is_known) ends = character_ends(node.state, node.at.position);
  const Encoder& encoder = language_.encoder();
  language_.meter.step(ends.count / 8 + 1);
  for (const auto& [bound, token] : ends.near) {
    if (encoder.may_follow(node.last, token)) return Distance{1, bound};
  }
  const bool may_go_on =
      std::ranges::any_of(ends.undecided, [&](std::uint32_t token) { return encoder.may_follow(node.last, token); });
  return may_go_on ? std::nullopt : std::optional(Distance{});
}

CompletionSearch::CharacterEnds CompletionSearch::character_ends(ExprId state, PositionId position) {
  CharacterEnds ends;
  ends.is_known = true;
  const CompletionNode from{state, {position, Encoder::kNoUnsplit}, PretokenTransitions::kNoToken};
  any_known_edge(state, position, [&](KnownEdge& edge) {
    ++ends.count;
    const std::optional<std::uint32_t> known = immediate_after(from, edge);
    if (!known) {
      ends.undecided.push_back(edge.edge.token);
    } else if (*known != kInfinite) {
      ends.near.emplace_back(*known, edge.edge.token);
    }
    return false;
  });
  std::ranges::sort(ends.near);
  language_.meter.allocate(static_cast<std::int64_t>(ends.near.size() * 8 + ends.undecided.size() * 4));
  return ends;
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
    Followers followers(encoder, node.last);
    any_known_edge(node.state, node.at.position, [&](KnownEdge& edge) {
      language_.meter.step();
      if (!followers.has(edge.edge.token)) return false;
      if (const std::optional<std::uint32_t> known = immediate_after(node, edge)) {
        rest = std::min(rest, *known);
        return rest != kInfinite && !node.at.position.decoded().inside_character();
      }
      const CompletionNode next = after(node, edge.edge);
      const auto before = distances_.find(next);
      const bool dead_end = before != distances_.end() && before->second.tokens == kInfinite;
      if (dead_end || !seen.insert(next).second) return false;
      language_.check_growth(open.size());
      open.push_back({next, i, depth});
      return false;
    });
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
  CompletionNode next;
  const bool found = any_edge(node.state, node.at.position, [&](const TokenEdge& edge) {
    language_.meter.step();
    if (!language_.encoder().may_follow(node.last, edge.token)) return false;
    next = after(node, edge);
    return distance(next) == Distance{here.tokens - 1, here.rest};
  });
  if (!found) throw Error(ErrorKind::empty, "canonical");  // cannot happen: the search went through one
  return next;
}

std::uint32_t CompletionSearch::token_count(ExprId state, PositionId position, PretokenEnding& ending) {
  if (ending.tokens == kInfinite) {
    ending.tokens = static_cast<std::uint32_t>(endings_.tokens(state, position, ending).size());
  }
  return ending.tokens + completions_.token_count(ending.state, ending.boundary);
}

std::uint32_t CompletionSearch::completion_length(const CompletionNode& node, std::uint32_t within) {
  const std::uint32_t known = known_length(node);
  if (known != kInfinite) return known;
  const std::uint32_t bound = completion_bound(node);
  return bound == kInfinite || bound <= within ? bound : searched_length(node);
}

std::uint32_t CompletionSearch::searched_length(CompletionNode node) {
  std::uint32_t steps = 0, rest = kInfinite;
  for (; rest == kInfinite; ++steps) {
    node = first_step(node);
    rest = known_length(node);
  }
  return steps + rest;
}

std::uint32_t CompletionSearch::known_length(const CompletionNode& node) {
  std::uint32_t least = kInfinite;
  if (may_end_pretoken(node)) least = completions_.token_count(node.state, node.at.position.decoded().state);
  if (PretokenEnding* ending = least > 1 ? fitting_ending(node) : nullptr) {
    least = std::min(least, token_count(node.state, node.at.position, *ending));
  }
  return least;
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

// The ways on that ContextFreeBounds looks at: from a boundary here, after an ending, and after a short token.
std::vector<std::uint32_t> CompletionSearch::short_completion(const CompletionNode& node, std::uint32_t most) {
  std::vector<ShortTexts::Start> starts;
  std::vector<std::vector<std::uint32_t>> before;  // the tokens before each start
  const PositionId position = node.at.position;
  if (may_end_pretoken(node)) {
    starts.push_back({node.state, position.decoded().state, 0});
    before.emplace_back();
  }
  if (language_.encoder().may_have_neighbours(node.last)) {
    for (const PretokenEnding& ending : endings_.find(node.state, position).endings) {
      if (!fits_ending(node, ending)) continue;
      starts.push_back({ending.state, ending.boundary, ending.bytes});
      before.push_back(endings_.tokens(node.state, position, ending));
    }
    any_edge(node.state, position, [&](const TokenEdge& edge) {
      const auto bytes = static_cast<std::uint32_t>(language_.vocabulary().bytes(edge.token).size());
      const bool is_short = bytes <= PretokenTransitions::kMaxEndingBytes && bytes <= most;
      if (!is_short || !language_.encoder().may_follow(node.last, edge.token)) return false;
      if (may_end_pretoken(after(node, edge))) {
        starts.push_back({edge.state, edge.position.decoded().state, bytes});
        before.push_back({edge.token});
      }
      return false;
    });
  }
  const std::optional<ShortTexts::Found> found = short_texts_.find(starts, most);
  if (!found) return {};
  std::vector<std::uint32_t> tokens = std::move(before[found->start]);
  const std::vector<std::uint32_t> rest = language_.transitions.encode(found->text);
  tokens.insert(tokens.end(), rest.begin(), rest.end());
  return tokens;
}

}  // namespace detent

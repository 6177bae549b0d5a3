#include "runtime/pretoken_endings.h"

#include <algorithm>
#include <utility>

namespace detent {

PretokenEndingSet& PretokenEndings::find(ExprId state, PositionId position) {
  const StateKey key = state_key(state, position);
  if (const auto known = endings_.find(key); known != endings_.end()) return known->second;
  if (language_.encoder().single_pretoken()) return add(endings_, key, of_single_pretoken(state, position));
  std::optional<PretokenEndingSet> found = search(state, position, kManyNodes, Scope::any);
  if (!found) {
    std::optional<PretokenEnding> ending = greedy_ending(state, position);
    found =
        ending ? PretokenEndingSet{{*std::move(ending)}, false, false} : search(state, position, SIZE_MAX, Scope::any);
  }
  return add(endings_, key, *std::move(found));
}

const PretokenEndingSet& PretokenEndings::find_some(ExprId state, PositionId position) {
  const StateKey key = state_key(state, position);
  if (const auto known = endings_.find(key); known != endings_.end()) return known->second;
  if (const auto known = greedy_endings_.find(key); known != greedy_endings_.end()) return known->second;
  if (language_.encoder().single_pretoken()) return find(state, position);
  if (std::optional<PretokenEndingSet> found = search(state, position, kFewNodes, Scope::any)) {
    return add(endings_, key, *std::move(found));
  }
  std::optional<PretokenEnding> ending = greedy_ending(state, position);
  if (!ending) return find(state, position);
  return add(greedy_endings_, key, {{*std::move(ending)}, false, false});
}

PretokenEndingSet& PretokenEndings::add(Table& table, StateKey key, PretokenEndingSet found) const {
  if (found.endings.empty()) language_.meter.allocate(96);
  for (const PretokenEnding& each : found.endings) {
    language_.meter.allocate(static_cast<std::int64_t>(each.text.size()) + 96);
  }
  return table[key] = std::move(found);
}

std::string PretokenEndings::text_of(const std::vector<SearchNode>& open, std::size_t last, std::uint8_t byte) {
  std::string text{static_cast<char>(byte)};
  for (std::size_t k = last; k != 0; k = open[k].from) text += static_cast<char>(open[k].byte);
  std::ranges::reverse(text);
  return text;
}

PretokenEnding PretokenEndings::ending_of(std::string text, ExprId state, PreTokenizer::State boundary) const {
  const std::uint32_t first = language_.encoder().first_token(text);
  const auto bytes = static_cast<std::uint32_t>(text.size());
  return {first, std::move(text), bytes, state, boundary};
}

// The shortest prefix of the greedy completion that ends the pre-token; nothing if none does.
std::optional<PretokenEnding> PretokenEndings::greedy_ending(ExprId state, PositionId position) {
  if (greedy_.length(state) == kInfinite) return std::nullopt;
  std::string text;
  GreedyCompletions::Reader reader(greedy_, state);
  while (const std::optional<std::uint8_t> byte = reader.next()) {
    position = language_.transitions.step(position, *byte);
    if (position == PretokenTransitions::kDead) return std::nullopt;
    text += static_cast<char>(*byte);
    state = language_.next(state, *byte);
    const PretokenPosition at = position.decoded();
    if (!at.inside_character() && completions_.may_start_pretoken(state, at.state)) {
      return ending_of(std::move(text), state, at.state);
    }
  }
  return std::nullopt;
}

// Searches breadth first over bytes for the shortest endings; among equally long ones, for a few with different first
// tokens. Nothing if there is none after as many nodes: there may be exponentially many texts before one.
std::optional<PretokenEndingSet> PretokenEndings::search(ExprId state, PositionId position, std::size_t most_nodes,
                                                         Scope scope) {
  std::vector<SearchNode> open{{state, position, 0, 0, 0}};
  // What is known of a node: whether the pre-token may end there, and how many paths to it are followed further. The
  // start is not among the nodes, since an ending may lead back to it. Inside a character, several paths are followed:
  // the endings that they begin may have different first tokens.
  struct Reached {
    std::size_t most = 1, paths = 0;
    bool ends = false;
  };
  std::unordered_map<StateKey, Reached> reached;
  StateKey last_key = 0;  // most bytes lead to the same node as the byte before
  Reached* last = nullptr;
  PretokenEndingSet set{{}, false, true};
  std::vector<PretokenEnding>& found = set.endings;
  for (std::size_t i = 0; i < open.size() && found.size() < kMaxEndings; ++i) {
    const SearchNode from = open[i];
    if (!found.empty() && from.depth >= found[0].text.size()) break;
    if (i == most_nodes && found.empty()) return std::nullopt;
    set.exhaustive = set.exhaustive && !language_.automaton.accepting(from.state);
    language_.any_byte(from.state, [&](std::uint8_t byte, ExprId next) {
      const PositionId to = language_.transitions.step(from.position, byte);
      if (to == PretokenTransitions::kDead) return false;
      if (const StateKey key = state_key(next, to); !last || key != last_key) {
        const auto [entry, is_new] = reached.try_emplace(key);
        last_key = key;
        last = &entry->second;
        if (is_new) {
          const PretokenPosition at = to.decoded();
          if (at.inside_character()) last->most = kMaxEndings;
          last->ends = !at.inside_character() && completions_.may_start_pretoken(next, at.state);
          if (!at.inside_character() && !last->ends) {
            set.exhaustive = false;
            if (scope == Scope::exhaustive) return true;
          }
        }
      }
      if (last->ends) {
        PretokenEnding ending = ending_of(text_of(open, i, byte), next, to.decoded().state);
        if (std::ranges::find(found, ending.first, &PretokenEnding::first) == found.end()) {
          found.push_back(std::move(ending));
        }
      } else if (found.empty() && last->paths < last->most) {
        ++last->paths;
        language_.check_growth(open.size());
        open.push_back({next, to, i, from.depth + 1, byte});
      }
      return found.size() == kMaxEndings;
    });
    if (scope == Scope::exhaustive && !set.exhaustive) return std::nullopt;
  }
  set.impossible = found.empty();
  return set;
}

// Two endings: the greedy completion of the state; and a character in byte tokens, which may follow every token, with
// the greedy completion after it.
PretokenEndingSet PretokenEndings::of_single_pretoken(ExprId state, PositionId position) {
  PretokenEndingSet set;
  const auto add = [&](const std::string& character) {
    const GreedyCompletion rest = single_.find(language_.next(state, character), step(position, character));
    if (rest.tokens == kInfinite || (rest.tokens == 0 && character.empty())) return;
    const auto size = static_cast<std::uint32_t>(character.size());
    const std::uint32_t first =
        size > 0 ? language_.encoder().byte_token(static_cast<std::uint8_t>(character[0])) : rest.first;
    set.endings.push_back({first, character, size + rest.bytes, rest.final_state, rest.boundary, size + rest.tokens});
  };
  add({});
  if (!position.decoded().inside_character()) {
    const ByteFallbackEndings::Ending& ending = byte_fallback_.find(state);
    if (ending.length != kInfinite) add(ending.character);
  }
  return set;
}

// The endings of find() if they are exhaustive. Inside a word they are not: the first byte shows it.
const PretokenEndingSet* PretokenEndings::find_exhaustive(ExprId state, PositionId position) {
  const StateKey key = state_key(state, position);
  if (const auto known = endings_.find(key); known != endings_.end()) {
    return known->second.exhaustive ? &known->second : nullptr;
  }
  if (language_.encoder().single_pretoken()) return nullptr;
  std::optional<PretokenEndingSet> found = search(state, position, kManyNodes, Scope::exhaustive);
  return found ? &add(endings_, key, *std::move(found)) : nullptr;
}

const PretokenEndingSet* PretokenEndings::find_context_free(ExprId state, PositionId position) {
  const PretokenEndingSet* set = find_exhaustive(state, position);
  const bool context_free = set && std::ranges::all_of(set->endings, [&](const PretokenEnding& each) {
                              return each.text.size() <= PretokenTransitions::kMaxEndingBytes &&
                                     completions_.context_free_bound(each.state, each.boundary) != kInfinite;
                            });
  return context_free ? set : nullptr;
}

PositionId PretokenEndings::step(PositionId position, std::string_view text) const {
  for (char byte : text) position = language_.transitions.step(position, static_cast<std::uint8_t>(byte));
  return position;
}

std::vector<std::uint32_t> PretokenEndings::tokens(ExprId state, PositionId position, const PretokenEnding& ending) {
  const Encoder& encoder = language_.encoder();
  if (!encoder.single_pretoken()) return encoder.merge(ending.text);
  std::vector<std::uint32_t> tokens;
  for (char byte : ending.text) tokens.push_back(encoder.byte_token(static_cast<std::uint8_t>(byte)));
  GreedyCompletion rest = single_.find(language_.next(state, ending.text), step(position, ending.text));
  for (; rest.tokens > 0; rest = single_.find(rest.rest, rest.position)) tokens.push_back(rest.first);
  return tokens;
}

UnsplitNode PretokenEndings::unsplit_after(UnsplitNode node, ExprId state, PositionId position,
                                           const PretokenEnding& ending) {
  if (!language_.encoder().single_pretoken()) return language_.encoder().unsplit_step(node, ending.text);
  // Only as far as an unsplit token reaches.
  GreedyCompletion rest = single_.find(state, position);
  for (; node != Encoder::kNoUnsplit && rest.tokens > 0; rest = single_.find(rest.rest, rest.position)) {
    node = language_.transitions.unsplit_after(node, rest.first);
  }
  return node;
}

}  // namespace detent

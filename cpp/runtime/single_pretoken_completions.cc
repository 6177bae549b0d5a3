// Encodings of greedy completions without a pre-tokenizer.
//
// 1. Naively, encode the greedy completion of each state by itself: n encodings of up to n bytes along one text.
// 2. Merging is local (bpe/merge_adjacency.h): each factor of an encoding is the encoding of its own text, and two
//    encodings whose border pair is valid join to the encoding of the joined text.
// 3. So follow the greedy bytes from a position to the next one that is known, take some tokens of the known encoding
//    along, and merge that text (merge_joint). If its last token fits the next known one, the rest stays as it is;
//    otherwise take twice as many tokens along.
// 4. All positions at a border of the new tokens are remembered. On a text of n bytes each byte is merged a few times.
// 5. Each name of 42 required members in any order leaves another set of 41, whose completions are read part by part.
//    What is known of a position belongs to the parts that are left, not to the state: all such completions share it.
#include "runtime/single_pretoken_completions.h"

namespace detent {

// The rest at a position: inside a character no part ends.
SinglePretokenCompletions::Rest SinglePretokenCompletions::rest_at(const Rest& rest, PositionId position) {
  const bool is_read_by_parts = !language_.transitions.has_special();
  return is_read_by_parts && !position.decoded().inside_character() ? greedy_.at_border(rest) : rest;
}

std::optional<GreedyCompletion> SinglePretokenCompletions::known(const Rest& rest, PositionId position) {
  if (const auto found = known_.find({rest, position}); found != known_.end()) return found->second;
  const PretokenPosition at = position.decoded();
  const bool accepts = language_.automaton.accepting(rest.head);
  const bool at_special =
      language_.transitions.has_special() && !accepts && greedy_.step(rest.head).byte == kFrameBound;
  if (at.inside_character()) return accepts ? std::optional(GreedyCompletion{}) : std::nullopt;
  if (!accepts && !at_special) return std::nullopt;
  if (!completions_.may_start_pretoken(rest.head, at.state)) return GreedyCompletion{};
  return GreedyCompletion{PretokenTransitions::kNoToken, rest, position, 0, 0, rest.head, at.state};
}

// Appends one greedy byte. Returns false if the pre-tokenizer refuses it.
bool SinglePretokenCompletions::extend(Path& path) {
  language_.meter.step();
  const auto [rest, position] = path.nodes.back();
  const auto [byte, next] = greedy_.step(rest.head);
  path.text += static_cast<char>(byte);
  const PositionId after = language_.transitions.step(position, byte);
  const bool is_read = after != PretokenTransitions::kDead;
  path.nodes.emplace_back(is_read ? rest_at({next, rest.tail}, after) : Rest{next, rest.tail}, after);
  return is_read;
}

void SinglePretokenCompletions::remember(const Node& node, const GreedyCompletion& completion) {
  language_.meter.allocate(104);
  known_.try_emplace(node, completion);
}

GreedyCompletion SinglePretokenCompletions::find(const Rest& from, PositionId position) {
  if (const std::optional<GreedyCompletion> found = known(from, position)) return *found;
  Path path{{{from, position}}, {}};
  const bool in_bytes = !may_begin_token(position);
  std::vector<std::uint32_t> tokens;
  GreedyCompletion rest = in_bytes ? finish_character(path, tokens) : find_known(path);
  if (!in_bytes && rest.tokens != kInfinite) tokens = merge_joint(path, rest);

  if (rest.tokens == kInfinite) {
    remember(path.nodes[0], rest);
    for (std::size_t at = 1; at < path.nodes.size() && !in_bytes; ++at) {
      const PositionId there = path.nodes[at].second;
      if (there != PretokenTransitions::kDead && may_begin_token(there)) remember(path.nodes[at], rest);
    }
    return rest;
  }
  std::size_t at = 0;
  for (std::size_t i = 0; i < tokens.size(); ++i) {
    const std::size_t after = at + language_.vocabulary().bytes(tokens[i]).size();
    const auto& [next, next_position] = path.nodes[after];
    remember(path.nodes[at],
             {tokens[i], next, next_position, rest.tokens + static_cast<std::uint32_t>(tokens.size() - i),
              rest.bytes + static_cast<std::uint32_t>(path.text.size() - at), rest.final_state, rest.boundary});
    at = after;
  }
  return known_.at({from, position});
}

// Inside a character of SentencePiece text: its other bytes are byte tokens.
GreedyCompletion SinglePretokenCompletions::finish_character(Path& path, std::vector<std::uint32_t>& tokens) {
  const Encoder& encoder = language_.encoder();
  while (true) {
    const std::uint16_t node = path.nodes.back().second.decoded().character_node;
    if (!extend(path)) return {};
    const auto byte = static_cast<std::uint8_t>(path.text.back());
    tokens.push_back(encoder.byte_token(byte));
    const CharacterDfa::Step step = encoder.characters().step(node, byte);
    const auto [rest, position] = path.nodes.back();
    if (step.node == CharacterDfa::kBorder) {
      return step.of_class == Encoder::kInPieces ? GreedyCompletion{} : find(rest, position);
    }
    if (language_.automaton.accepting(rest.head)) return {};
  }
}

// Follows the greedy bytes to the next position that is known, and returns what is known of it.
GreedyCompletion SinglePretokenCompletions::find_known(Path& path) {
  while (true) {
    if (!extend(path)) return {};
    const auto [rest, position] = path.nodes.back();
    if (!may_begin_token(position) && !language_.automaton.accepting(rest.head)) continue;
    if (const std::optional<GreedyCompletion> found = known(rest, position)) return *found;
  }
}

// Returns the encoding of the path's text, which is lengthened, and `rest` shortened, until the two fit together.
std::vector<std::uint32_t> SinglePretokenCompletions::merge_joint(Path& path, GreedyCompletion& rest) {
  std::vector<std::uint32_t> tokens;
  for (std::size_t window = 4; rest.tokens != kInfinite; window *= 2) {
    for (std::size_t k = 0; rest.tokens > 0 && (k < window || !may_begin_token(path.nodes.back().second)); ++k) {
      for (std::size_t left = language_.vocabulary().bytes(rest.first).size(); left > 0; --left) extend(path);
      rest = *known(rest.rest, rest.position);
    }
    tokens = language_.encoder().merge(path.text);
    if (tokens.empty()) rest = {};
    if (tokens.empty() || rest.tokens == 0 || language_.encoder().may_follow(tokens.back(), rest.first)) break;
  }
  return tokens;
}

}  // namespace detent

#include "runtime/token_shapes.h"

#include <unordered_map>
#include <utility>

#include "runtime/trie_walk.h"

namespace detent {

TokenShapes::TokenShapes(const Vocabulary& vocabulary, const Encoder& encoder)
    : pretokenizer_(encoder.pretokenizer()), shapes_(1), shape_of_token_(vocabulary.size(), 0) {
  effects_.emplace_back().next.assign(256, kUnknown);
  for (std::size_t state = 0; state < pretokenizer_.state_count(); ++state) {
    effects_[0].after.insert(effects_[0].after.end(), 2, static_cast<State>(state));
  }
  struct Reached {  // a node of the trie
    std::uint32_t effect;
    std::uint16_t character_node;
    bool all_in_pieces;  // each character so far may be written in pieces
  };
  std::vector<Reached> path(vocabulary.max_token_length() + std::size_t{1});
  path[0] = {kNoCharacter, CharacterDfa::kBorder, true};
  const std::vector<TrieNode>& trie = vocabulary.trie();
  const bool pieces = encoder.pieces();
  for (std::size_t i = 0; i < trie.size() && !gave_up();) {
    const TrieNode& node = trie[i];
    const Reached& before = path[node.depth];
    const CharacterDfa::Step step =
        encoder.characters().step(before.character_node, static_cast<std::uint8_t>(node.byte));
    if (step.dead) {
      i = node.next;
      continue;
    }
    Reached& after = path[node.depth + std::size_t{1}];
    const bool whole = step.node == CharacterDfa::kBorder;
    after = {before.effect, step.node, before.all_in_pieces};
    if (whole) {
      after.effect = effect_after(before.effect, step.of_class);
      after.all_in_pieces = before.all_in_pieces && step.of_class != Encoder::kInByteTokens;
    }
    for_each_id(vocabulary, node.token, [&](std::uint32_t token) {
      bool anywhere = false, at_start = false;
      if (encoder.is_byte_token(token)) {
        anywhere = node.depth == 0 && (!whole || step.of_class != Encoder::kInPieces);
      } else if (pieces) {
        anywhere = whole && after.all_in_pieces && encoder.may_have_neighbours(token);
      } else {
        anywhere = encoder.may_have_neighbours(token);
        at_start = encoder.is_unsplit(token);
      }
      if (anywhere || at_start) shape_of_token_[token] = shape_of(after.effect, step.node, !anywhere);
    });
    ++i;
  }
}

std::uint32_t TokenShapes::effect_after(std::uint32_t effect, std::uint8_t of_class) {
  if (effects_[effect].next[of_class] != kUnknown) return effects_[effect].next[of_class];
  std::vector<State> after = effects_[effect].after;
  for (std::size_t i = 0; i < after.size(); ++i) {
    const bool starts_pretoken = effect == kNoCharacter && i % 2 != 0;
    if (after[i] != PreTokenizer::kDead) after[i] = pretokenizer_.step(after[i], starts_pretoken, of_class);
  }
  const auto [entry, is_new] = effect_ids_.try_emplace(std::move(after), static_cast<std::uint32_t>(effects_.size()));
  if (is_new) {
    Effect& added = effects_.emplace_back();
    added.after = entry->first;
    added.next.assign(256, kUnknown);
  }
  return effects_[effect].next[of_class] = entry->second;
}

std::uint32_t TokenShapes::shape_of(std::uint32_t effect, std::uint16_t character_node, bool only_at_start) {
  const bool whole = character_node == CharacterDfa::kBorder;
  const std::uint64_t key = std::uint64_t{effect} << 32 | character_node << 1 | (only_at_start ? 1 : 0);
  std::uint32_t& known = whole ? effects_[effect].shapes[only_at_start ? 1 : 0] : partial_shapes_[key];
  if (known == 0) {
    known = static_cast<std::uint32_t>(shapes_.size());
    shapes_.push_back({effect, character_node, only_at_start});
  }
  return known;
}

TokenShapes::Targets TokenShapes::from(const PretokenPosition& position) const {
  Targets found;
  std::vector<std::uint16_t> of_shape(shapes_.size(), kRefused);
  std::unordered_map<std::uint32_t, std::uint16_t> indices;  // by position
  for (std::size_t i = 1; i < shapes_.size(); ++i) {
    const Shape& shape = shapes_[i];
    const State state = effects_[shape.effect].after[index(position.state, position.starts_pretoken)];
    if (state == PreTokenizer::kDead || (shape.only_at_start && !position.starts_pretoken)) continue;
    const bool starts_pretoken = shape.effect == kNoCharacter && position.starts_pretoken;
    const PositionId target = PositionId::of({state, shape.character_node, starts_pretoken});
    const auto [entry, is_new] = indices.try_emplace(target.value, static_cast<std::uint16_t>(found.positions.size()));
    if (is_new) found.positions.push_back(target);
    of_shape[i] = entry->second;
  }
  found.of_token.resize(shape_of_token_.size());
  for (std::size_t token = 0; token < shape_of_token_.size(); ++token) {
    found.of_token[token] = of_shape[shape_of_token_[token]];
  }
  return found;
}

}  // namespace detent

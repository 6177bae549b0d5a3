// The ends of texts that have no split (machine/canonical.h): rows of tokens that lead straight on.
//
// A part of a row that merging gives is what merging gives of its own text, and two such rows, of which the one's last
// token and the other's first fit to each other, are what it gives of the two texts. So the row from a place is made of
// the bytes up to the next place that is known, and of what is known from there: only the joint is merged anew. All
// places on a way of n bytes together cost little more than merging it once.
#include "runtime/canonical_constraint.h"

namespace detent {

std::optional<CanonicalConstraint::Row> CanonicalConstraint::known_row(ExprId state, PlaceId place) {
  if (const auto known = rows_.find(id(state, place)); known != rows_.end()) return known->second;
  const PretokenTransitions::Place at = PretokenTransitions::place(place);
  const bool accepts = automaton_.accepting(state);
  const bool at_special = steps_->has_special() && !accepts && towards_end(state).first == kFrameBound;
  if (at.node != 0) return accepts ? std::optional(Row{}) : std::nullopt;
  if (!accepts && !at_special) return std::nullopt;
  return may_mark(state, at.state) ? Row{kNoToken, state, place, 0, 0, state, at.state} : Row{};
}

CanonicalConstraint::Row CanonicalConstraint::row_to_end(ExprId state, PlaceId place) {
  if (const std::optional<Row> known = known_row(state, place)) return *known;
  const Encoder& encoder = steps_->encoder();
  std::vector<std::pair<ExprId, PlaceId>> path{{state, place}};
  std::string text;
  const auto go_on = [&] {
    meter_.step();
    const auto [byte, next] = towards_end(path.back().first);
    text += static_cast<char>(byte);
    path.emplace_back(next, steps_->step(path.back().second, byte));
    return path.back().second != PretokenTransitions::kDead;
  };
  const auto may_begin = [&](PlaceId at) { return !encoder.pieces() || PretokenTransitions::place(at).node == 0; };

  // Up to a place that is known. In pieces, what is left of a character is of bytes.
  std::vector<std::uint32_t> tokens;
  std::optional<Row> rest;
  const bool in_bytes = !may_begin(place);
  while (!rest) {
    const std::uint16_t node = PretokenTransitions::place(path.back().second).node;
    if (!go_on()) {
      rest = Row{};
    } else if (in_bytes) {
      const auto byte = static_cast<std::uint8_t>(text.back());
      tokens.push_back(encoder.byte_piece(byte));
      const CharacterDfa::Step step = encoder.characters().step(node, byte);
      if (step.node == 0)
        rest = step.of_class == Encoder::kPieces ? Row{} : row_to_end(path.back().first, path.back().second);
      if (step.node != 0 && automaton_.accepting(path.back().first)) rest = Row{};
    } else if (may_begin(path.back().second) || automaton_.accepting(path.back().first)) {
      rest = known_row(path.back().first, path.back().second);
    }
  }
  for (std::size_t window = 4; !in_bytes && rest->tokens != kInfinite; window *= 2) {
    for (std::size_t k = 0; rest->tokens > 0 && (k < window || !may_begin(path.back().second)); ++k) {
      for (std::size_t left = steps_->vocabulary().bytes(rest->first).size(); left > 0; --left) go_on();
      rest = known_row(rest->state, rest->place);
    }
    tokens = encoder.merge(text);
    if (tokens.empty()) rest = Row{};
    if (tokens.empty() || rest->tokens == 0 || encoder.follows(tokens.back(), rest->first)) break;
  }

  const auto keep = [&](std::size_t at, const Row& row) {
    meter_.allocate(96);
    rows_.try_emplace(id(path[at].first, path[at].second), row);
  };
  if (rest->tokens == kInfinite) {
    for (std::size_t at = 0; at < path.size(); ++at) {
      if (at == 0 || (!in_bytes && may_begin(path[at].second) && path[at].second != PretokenTransitions::kDead))
        keep(at, *rest);
    }
    return *rest;
  }
  std::size_t at = 0;
  for (std::size_t i = 0; i < tokens.size(); ++i) {
    const std::size_t behind = at + steps_->vocabulary().bytes(tokens[i]).size();
    keep(at, {tokens[i], path[behind].first, path[behind].second,
              rest->tokens + static_cast<std::uint32_t>(tokens.size() - i),
              rest->bytes + static_cast<std::uint32_t>(text.size() - at), rest->end, rest->marks});
    at = behind;
  }
  return rows_.at(id(state, place));
}

const CanonicalConstraint::Apart& CanonicalConstraint::apart(ExprId state) {
  if (const auto known = aparts_.find(state.value); known != aparts_.end()) return known->second;
  const Encoder& encoder = steps_->encoder();
  struct Open {
    ExprId state;
    std::uint16_t node;
    std::string text;
  };
  std::vector<Open> open{{state, 0, {}}};
  Apart found;
  for (std::size_t i = 0; i < open.size() && i < kAparts && encoder.has_byte_pieces() && found.length == kInfinite;
       ++i) {
    const Open at = open[i];
    found.whatever_follows = found.whatever_follows && !automaton_.accepting(at.state);
    const ExprId* row = automaton_.row(at.state);
    meter_.step(32);
    for (unsigned byte = i == 0 ? 0xC3 : 0x80; byte < (i == 0 ? 0xF5 : 0xC0); ++byte) {  // no control characters
      const ExprId next = row[automaton_.class_of()[byte]];
      if (next == ExprSet::kEmpty) continue;
      const CharacterDfa::Step step = encoder.characters().step(at.node, static_cast<std::uint8_t>(byte));
      if (step.dead) continue;
      std::string text = at.text + static_cast<char>(byte);
      if (step.node != 0) {
        open.push_back({next, step.node, std::move(text)});
      } else if (step.of_class == Encoder::kBytes && straight(next) != kInfinite) {
        found.whatever_follows = found.whatever_follows && !automaton_.accepting(next);
        found.length = static_cast<std::uint32_t>(text.size()) + straight(next);
        found.character = std::move(text);
        break;
      }
    }
  }
  meter_.allocate(96);
  return aparts_[state.value] = std::move(found);
}

std::pair<ExprId, CanonicalConstraint::PlaceId> CanonicalConstraint::walk_text(ExprId state, PlaceId place,
                                                                               std::string_view text) {
  for (char byte : text) {
    state = automaton_.row(state)[automaton_.class_of()[static_cast<std::uint8_t>(byte)]];
    place = steps_->step(place, static_cast<std::uint8_t>(byte));
  }
  return {state, place};
}

CanonicalConstraint::Tails CanonicalConstraint::tails_to_end(ExprId state, PlaceId place) {
  Tails found{{}, false};
  const auto add = [&](const std::string& character) {
    const auto [next, behind] = walk_text(state, place, character);
    const Row row = row_to_end(next, behind);
    if (row.tokens == kInfinite || (row.tokens == 0 && character.empty())) return;
    const auto size = static_cast<std::uint32_t>(character.size());
    const std::uint32_t first =
        size > 0 ? steps_->encoder().byte_piece(static_cast<std::uint8_t>(character[0])) : row.first;
    found.texts.push_back(
        {Tail::Kind::found, first, character, size + row.bytes, row.end, row.marks, size + row.tokens});
  };
  add({});
  if (PretokenTransitions::place(place).node == 0 && apart(state).length != kInfinite) add(apart(state).character);
  if (found.texts.empty()) found.texts.emplace_back();
  return found;
}

std::vector<std::uint32_t> CanonicalConstraint::tokens_to_end(const Node& node, const Tail& tail) {
  std::vector<std::uint32_t> tokens;
  for (char byte : tail.text) tokens.push_back(steps_->encoder().byte_piece(static_cast<std::uint8_t>(byte)));
  const auto [state, place] = walk_text(node.state, node.place, tail.text);
  for (Row row = row_to_end(state, place); row.tokens > 0; row = row_to_end(row.state, row.place))
    tokens.push_back(row.first);
  return tokens;
}

// Only as far as a token goes that stays whole.
std::uint32_t CanonicalConstraint::whole_to_end(std::uint32_t whole, ExprId state, PlaceId place) {
  for (Row row = row_to_end(state, place); whole != Encoder::kOff && row.tokens > 0;
       row = row_to_end(row.state, row.place)) {
    whole = whole_behind(whole, row.first);
  }
  return whole;
}

}  // namespace detent

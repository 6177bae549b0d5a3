// Texts that end a chunk, or the language behind one (machine/canonical.h).
#include <algorithm>
#include <unordered_set>

#include "base/error.h"
#include "runtime/canonical_constraint.h"

namespace detent {

void CanonicalConstraint::grow(std::size_t size) {
  meter_.step();
  if (size % 1024 == 0) meter_.check_headroom(static_cast<std::int64_t>(size) * 96);
}

bool CanonicalConstraint::may_mark(ExprId state, std::uint16_t marks) {
  if (automaton_.accepting(state) && steps_->encoder().split().may_end(marks)) return true;
  return has_text(state, border(marks, true));
}

// Shortest texts first, until what follows is free of what was marked.
bool CanonicalConstraint::has_text(ExprId state, PlaceId place) {
  if (const auto known = texts_.find(id(state, place)); known != texts_.end()) return known->second;
  struct Open {
    ExprId state;
    PlaceId place;
    std::size_t from;
  };
  const PreTokenizer& split = steps_->encoder().split();
  std::vector<Open> open{{state, place, 0}};
  std::unordered_set<Id> seen{id(state, place)};
  const auto succeed = [&](std::size_t at) {
    for (;; at = open[at].from) {
      texts_[id(open[at].state, open[at].place)] = true;
      if (at == 0) return true;
    }
  };
  for (std::size_t i = 0; i < open.size(); ++i) {
    const ExprId* row = automaton_.row(open[i].state);
    meter_.step(32);
    for (unsigned byte = 0; byte < 256; ++byte) {
      const ExprId next = row[automaton_.class_of()[byte]];
      if (next == ExprSet::kEmpty) continue;
      const PlaceId there = steps_->step(open[i].place, static_cast<std::uint8_t>(byte));
      if (there == PretokenTransitions::kDead) continue;
      const PretokenTransitions::Place at = PretokenTransitions::place(there);
      const auto look = [&](PlaceId from_there) {
        if (!seen.insert(id(next, from_there)).second) return false;
        const auto known = texts_.find(id(next, from_there));
        if (known != texts_.end()) return known->second;
        grow(open.size());
        open.push_back({next, from_there, i});
        return false;
      };
      if (at.node != 0) {
        if (look(there)) return succeed(i);
        continue;
      }
      if (automaton_.accepting(next) && split.may_end(at.state)) return succeed(i);
      if (split.free(at.state) && goes_on(next)) return succeed(i);
      if (look(there) || look(border(at.state, true))) return succeed(i);
    }
  }
  meter_.allocate(static_cast<std::int64_t>(open.size()) * 48);
  for (const Open& each : open) texts_[id(each.state, each.place)] = false;
  return false;
}

std::pair<std::uint8_t, ExprId> CanonicalConstraint::towards_end(ExprId state) {
  if (const auto known = towards_.find(state.value); known != towards_.end()) return known->second;
  const ExprId* row = automaton_.row(state);
  std::pair<std::uint8_t, ExprId> found;
  std::uint32_t least = UINT32_MAX;
  for (unsigned byte = 0; byte < 256; ++byte) {
    const ExprId to = row[automaton_.class_of()[byte]];
    if (to == ExprSet::kEmpty || (byte > 0 && to == row[automaton_.class_of()[byte - 1]])) continue;
    const std::uint32_t length = automaton_.completion_bound(to);
    if (length >= least) continue;
    least = length;
    found = {static_cast<std::uint8_t>(byte), to};
  }
  meter_.step(8);
  meter_.allocate(48);
  return towards_[state.value] = found;
}

std::uint32_t CanonicalConstraint::straight(ExprId state) {
  std::vector<std::pair<ExprId, std::uint32_t>> borders;
  std::uint32_t length = 0;
  std::uint16_t node = 0;
  for (ExprId at = state;;) {
    if (node == 0) {
      const auto known = straight_.find(at.value);
      if (known != straight_.end()) {
        length = known->second == kInfinite ? kInfinite : length + known->second;
        break;
      }
      borders.emplace_back(at, length);
      if (automaton_.accepting(at)) break;
    } else if (automaton_.accepting(at)) {
      length = kInfinite;
      break;
    }
    const auto [byte, next] = towards_end(at);
    const CharacterDfa::Step step = steps_->step_character(node, byte);
    if (step.dead) {
      length = kInfinite;
      break;
    }
    if (node != PretokenTransitions::kInSpecial) ++length;
    node = step.node;
    at = next;
  }
  meter_.allocate(static_cast<std::int64_t>(borders.size()) * 40);
  for (const auto& [at, offset] : borders) straight_[at.value] = length == kInfinite ? kInfinite : length - offset;
  return length;
}

bool CanonicalConstraint::goes_on(ExprId state) {
  if (straight(state) != kInfinite) return true;
  if (const auto known = goes_on_.find(state.value); known != goes_on_.end()) return known->second;
  std::vector<std::pair<ExprId, std::uint16_t>> open{{state, 0}};
  std::unordered_set<Id> seen{id(state, 0)};
  for (std::size_t i = 0; i < open.size(); ++i) {
    const ExprId* row = automaton_.row(open[i].first);
    meter_.step(32);
    for (unsigned byte = 0; byte < 256; ++byte) {
      const ExprId next = row[automaton_.class_of()[byte]];
      if (next == ExprSet::kEmpty) continue;
      const CharacterDfa::Step step = steps_->step_character(open[i].second, static_cast<std::uint8_t>(byte));
      if (step.dead) continue;
      if (step.node == 0 && automaton_.accepting(next)) return goes_on_[state.value] = true;
      if (!seen.insert(id(next, step.node)).second) continue;
      grow(open.size());
      open.push_back({next, step.node});
    }
  }
  meter_.allocate(static_cast<std::int64_t>(open.size()) * 40);
  for (const auto& [at, inside] : open) {
    if (inside == 0) goes_on_[at.value] = false;
  }
  return false;
}

std::optional<std::string> CanonicalConstraint::straight_text(ExprId state, std::uint16_t marks) {
  if (straight(state) == kInfinite) return std::nullopt;
  const PreTokenizer& split = steps_->encoder().split();
  std::string text;
  std::vector<PlaceId> places{border(marks, true)}, next;
  for (ExprId at = state; !automaton_.accepting(at) || PretokenTransitions::place(places[0]).node != 0;) {
    const auto [byte, to] = towards_end(at);
    text += static_cast<char>(byte);
    next.clear();
    for (PlaceId place : places) {
      const PlaceId there = steps_->step(place, byte);
      if (there == PretokenTransitions::kDead) continue;
      next.push_back(there);
      if (PretokenTransitions::place(there).node == 0)
        next.push_back(border(PretokenTransitions::place(there).state, true));
    }
    std::ranges::sort(next);
    next.erase(std::unique(next.begin(), next.end()), next.end());
    if (next.empty()) return std::nullopt;
    std::swap(places, next);
    at = to;
  }
  meter_.step(static_cast<std::int64_t>(text.size()) + 1);
  const bool ends = std::ranges::any_of(places, [&](PlaceId id) {
    const PretokenTransitions::Place place = PretokenTransitions::place(id);
    return !place.marked && split.may_end(place.state);
  });
  return ends ? std::optional(text) : std::nullopt;
}

std::string CanonicalConstraint::end_text(ExprId state, std::uint16_t marks) {
  if (automaton_.accepting(state) && steps_->encoder().split().may_end(marks)) return {};
  if (std::optional<std::string> text = straight_text(state, marks)) return *std::move(text);
  if (std::optional<std::string> text = search_end(state, marks, SIZE_MAX)) return *std::move(text);
  throw Error(ErrorKind::empty, "canonical");
}

std::optional<std::string> CanonicalConstraint::search_end(ExprId state, std::uint16_t marks, std::size_t limit) {
  const PreTokenizer& split = steps_->encoder().split();
  const bool whatever_follows = limit != SIZE_MAX;
  struct Open {
    ExprId state;
    PlaceId place;
    std::size_t from;
    std::uint8_t byte;
  };
  std::vector<Open> open{{state, border(marks, true), 0, 0}};
  std::unordered_set<Id> seen{id(state, border(marks, true))};
  for (std::size_t i = 0; i < open.size() && open.size() < limit; ++i) {
    if (whatever_follows && automaton_.accepting(open[i].state)) return std::nullopt;
    const ExprId* row = automaton_.row(open[i].state);
    meter_.step(32);
    for (unsigned byte = 0; byte < 256; ++byte) {
      const ExprId next = row[automaton_.class_of()[byte]];
      if (next == ExprSet::kEmpty) continue;
      const PlaceId there = steps_->step(open[i].place, static_cast<std::uint8_t>(byte));
      if (there == PretokenTransitions::kDead) continue;
      const PretokenTransitions::Place at = PretokenTransitions::place(there);
      const auto look = [&](PlaceId from_there) {
        if (!seen.insert(id(next, from_there)).second) return;
        grow(open.size());
        open.push_back({next, from_there, i, static_cast<std::uint8_t>(byte)});
      };
      const bool accepts = automaton_.accepting(next);
      if (whatever_follows && accepts) return std::nullopt;
      const bool done = at.node == 0 && accepts && split.may_end(at.state);
      if (done || (at.node == 0 && split.free(at.state) && straight(next) != kInfinite)) {
        std::string text{static_cast<char>(byte)};
        for (std::size_t k = i; k != 0; k = open[k].from) text += static_cast<char>(open[k].byte);
        std::ranges::reverse(text);
        for (ExprId to = next; !done && !automaton_.accepting(to);) {
          const auto [more, behind] = towards_end(to);
          text += static_cast<char>(more);
          to = behind;
        }
        return text;
      }
      look(there);
      if (at.node == 0) look(border(at.state, true));
    }
  }
  return std::nullopt;
}

const CanonicalConstraint::Length& CanonicalConstraint::end_of(ExprId state, std::uint16_t marks) {
  const Id key = id(state, border(marks, true));
  if (const auto known = ends_.find(key); known != ends_.end()) return known->second;
  const std::string text = end_text(state, marks);
  const std::vector<std::uint32_t> tokens = encode(text);
  std::size_t bytes = text.size();
  for (std::uint32_t token : tokens) {
    if (steps_->is_special(token)) bytes -= steps_->vocabulary().bytes(token).size() - 1;
  }
  const Length found{static_cast<std::uint32_t>(bytes), static_cast<std::uint32_t>(tokens.size())};
  meter_.step(static_cast<std::int64_t>(text.size()));
  meter_.allocate(64);
  return ends_[key] = found;
}

// It is if every text may follow its first character.
bool CanonicalConstraint::ends_straight(ExprId state, std::uint16_t marks) {
  if (automaton_.accepting(state) || straight(state) == kInfinite) return false;
  PlaceId place = border(marks, true);
  do {
    const auto [byte, next] = towards_end(state);
    place = steps_->step(place, byte);
    state = next;
  } while (place != PretokenTransitions::kDead && PretokenTransitions::place(place).node != 0);
  return place != PretokenTransitions::kDead && steps_->encoder().split().free(PretokenTransitions::place(place).state);
}

std::uint32_t CanonicalConstraint::sure_end(ExprId state, std::uint16_t marks) {
  if (steps_->encoder().one_chunk()) return apart(state).whatever_follows ? apart(state).length : kInfinite;
  if (ends_straight(state, marks)) return straight(state);
  const std::optional<std::string> text = search_end(state, marks, kSureEnds);
  return text ? static_cast<std::uint32_t>(text->size()) : kInfinite;
}

std::uint32_t CanonicalConstraint::reach(ExprId state, std::uint16_t marks) {
  const PreTokenizer& split = steps_->encoder().split();
  const std::uint32_t length = straight(state);
  if (length == 0 && split.may_end(marks)) return 0;
  if (length == 0 || length == kInfinite) return end_of(state, marks).bytes;
  return ends_straight(state, marks) ? length : end_of(state, marks).bytes;
}

CanonicalConstraint::Tails& CanonicalConstraint::tails(ExprId state, PlaceId place) {
  if (const auto known = tails_.find(id(state, place)); known != tails_.end()) return known->second;
  Tails found = steps_->encoder().one_chunk() ? tails_to_end(state, place) : tails_of_chunk(state, place);
  for (const Tail& tail : found.texts) meter_.allocate(static_cast<std::int64_t>(tail.text.size()) + 96);
  return tails_[id(state, place)] = std::move(found);
}

std::uint32_t CanonicalConstraint::first_token(const std::string& text) {
  if (const auto known = first_tokens_.find(text); known != first_tokens_.end()) return known->second;
  meter_.allocate(static_cast<std::int64_t>(text.size()) + 64);
  return first_tokens_[text] = steps_->encoder().merge(text).front();
}

// The shortest texts; of equal length, as many as there are first tokens.
CanonicalConstraint::Tails CanonicalConstraint::tails_of_chunk(ExprId state, PlaceId place) {
  struct Open {
    ExprId state;
    PlaceId place;
    std::size_t from;
    std::size_t depth;
    std::uint8_t byte;
  };
  std::vector<Open> open{{state, place, 0, 0, 0}};
  // How often a place was come to, but for the start: a text may come back to it, and end there. Inside a character
  // several ways count: their first tokens may be others.
  std::unordered_map<Id, std::size_t> seen;
  Tails tails;
  std::vector<Tail>& found = tails.texts;
  for (std::size_t i = 0; i < open.size() && found.size() < kTails; ++i) {
    if (!found.empty() && open[i].depth >= found[0].text.size()) break;
    tails.all = tails.all && !automaton_.accepting(open[i].state);
    const ExprId* row = automaton_.row(open[i].state);
    meter_.step(32);
    for (unsigned byte = 0; byte < 256 && found.size() < kTails; ++byte) {
      const ExprId next = row[automaton_.class_of()[byte]];
      if (next == ExprSet::kEmpty) continue;
      const PlaceId there = steps_->step(open[i].place, static_cast<std::uint8_t>(byte));
      if (there == PretokenTransitions::kDead) continue;
      const PretokenTransitions::Place at = PretokenTransitions::place(there);
      const bool ends = at.node == 0 && may_mark(next, at.state);
      if (at.node == 0 && !ends) tails.all = false;
      if (ends) {
        Tail tail{Tail::Kind::found, kNoToken, {static_cast<char>(byte)}, 0, next, at.state};
        for (std::size_t k = i; k != 0; k = open[k].from) tail.text += static_cast<char>(open[k].byte);
        std::ranges::reverse(tail.text);
        tail.bytes = static_cast<std::uint32_t>(tail.text.size());
        tail.first = first_token(tail.text);
        if (std::ranges::find(found, tail.first, &Tail::first) == found.end()) found.push_back(std::move(tail));
      }
      if (!found.empty() || seen[id(next, there)]++ >= (at.node != 0 ? kTails : 1)) continue;
      grow(open.size());
      open.push_back({next, there, i, open[i].depth + 1, static_cast<std::uint8_t>(byte)});
    }
  }
  if (found.empty()) found.emplace_back().kind = Tail::Kind::none;
  return tails;
}

}  // namespace detent

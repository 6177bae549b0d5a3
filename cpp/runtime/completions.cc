// Completions after a pre-token boundary.
//
// 1. Naively: the shortest text that the language completes with, and that the pre-tokenizer accepts, by breadth-first
//    search over (language state, position of the pre-tokenizer) (search).
// 2. Most often the greedy text of the language is one. It is tried first (fits_greedy), on all placements of
//    boundaries at once. It is accepted without a look at the text if the pre-tokenizer is unconstrained after the
//    first character.
// 3. The search stops early in the same way: where the pre-tokenizer is unconstrained, the greedy completion follows.
// 4. Whether some text goes on at all (has_text) is a search with memory. The path to a success is remembered as
//    successes, all states of a failed search as failures.
#include "runtime/completions.h"

#include <algorithm>
#include <unordered_set>
#include <vector>

#include "base/error.h"

namespace detent {

bool Completions::may_start_pretoken(ExprId state, PreTokenizer::State boundary) {
  if (language_.automaton.accepting(state) && language_.pretokenizer().may_end(boundary)) return true;
  return has_text(state, PositionId::at_start(boundary));
}

bool Completions::has_text(ExprId state, PositionId position) {
  if (const auto known = has_text_.find(state_key(state, position)); known != has_text_.end()) return known->second;
  struct Open {
    ExprId state;
    PositionId position;
    std::size_t from;
  };
  const PreTokenizer& pretokenizer = language_.pretokenizer();
  // Inside a word, the pre-tokenizer refuses every byte that the language allows.
  const bool any_fits = language_.any_byte(state, [&](std::uint8_t byte, ExprId) {
    return language_.transitions.step(position, byte) != PretokenTransitions::kDead;
  });
  if (!any_fits) return false;
  std::vector<Open> open{{state, position, 0}};
  std::unordered_set<StateKey> seen{state_key(state, position)};
  for (std::size_t i = 0; i < open.size(); ++i) {
    const Open from = open[i];
    const bool found = language_.any_byte(from.state, [&](std::uint8_t byte, ExprId next) {
      const PositionId to = language_.transitions.step(from.position, byte);
      if (to == PretokenTransitions::kDead) return false;
      const PretokenPosition at = to.decoded();
      const auto has_known_text = [&](PositionId position_after) {
        const StateKey key = state_key(next, position_after);
        if (!seen.insert(key).second) return false;
        if (const auto known = has_text_.find(key); known != has_text_.end()) return known->second;
        language_.check_growth(open.size());
        open.push_back({next, position_after, i});
        return false;
      };
      if (at.inside_character()) return has_known_text(to);
      if (language_.automaton.accepting(next) && pretokenizer.may_end(at.state)) return true;
      if (pretokenizer.unconstrained(at.state) && greedy_.exists(next)) return true;
      return has_known_text(to) || has_known_text(PositionId::at_start(at.state));
    });
    if (!found) continue;
    for (std::size_t on_path = i;; on_path = open[on_path].from) {
      has_text_[state_key(open[on_path].state, open[on_path].position)] = true;
      if (on_path == 0) return true;
    }
  }
  language_.meter.allocate(static_cast<std::int64_t>(open.size()) * 48);
  for (const Open& each : open) has_text_[state_key(each.state, each.position)] = false;
  return false;
}

// Whether the pre-tokenizer accepts the greedy completion.
bool Completions::fits_greedy(ExprId state, PreTokenizer::State boundary) {
  if (greedy_.length(state) == kInfinite) return false;
  std::vector<PositionId> positions{PositionId::at_start(boundary)}, next;  // one for each placement of boundaries
  GreedyCompletions::Reader reader(greedy_, state);
  while (const std::optional<std::uint8_t> byte = reader.next()) {
    language_.meter.step();
    next.clear();
    for (PositionId position : positions) {
      const PositionId after = language_.transitions.step(position, *byte);
      if (after == PretokenTransitions::kDead) continue;
      next.push_back(after);
      if (!after.decoded().inside_character()) next.push_back(PositionId::at_start(after.decoded().state));
    }
    std::ranges::sort(next);
    next.erase(std::unique(next.begin(), next.end()), next.end());
    if (next.empty()) return false;
    std::swap(positions, next);
    const bool is_unconstrained = std::ranges::any_of(positions, [&](PositionId position) {
      const PretokenPosition after = position.decoded();
      return !after.inside_character() && language_.pretokenizer().unconstrained(after.state);
    });
    if (is_unconstrained) return true;
  }
  return std::ranges::any_of(positions, [&](PositionId position) {
    const PretokenPosition at = position.decoded();
    return !at.starts_pretoken && language_.pretokenizer().may_end(at.state);
  });
}

Completions::Found Completions::find(ExprId state, PreTokenizer::State boundary) {
  if (language_.automaton.accepting(state) && language_.pretokenizer().may_end(boundary)) return {};
  if (fits_greedy(state, boundary)) return {{}, state};
  if (std::optional<Found> found = search(state, boundary, Scope::this_language)) return *std::move(found);
  throw Error(ErrorKind::empty, "canonical");
}

std::string Completions::text(ExprId state, PreTokenizer::State boundary) {
  auto [text, rest] = find(state, boundary);
  if (rest) greedy_.append(*rest, text);
  return text;
}

std::string Completions::text_of(const std::vector<SearchNode>& open, std::size_t last, std::uint8_t byte) const {
  std::string text{static_cast<char>(byte)};
  for (std::size_t k = last; k != 0; k = open[k].from) text += static_cast<char>(open[k].byte);
  std::ranges::reverse(text);
  return text;
}

std::optional<Completions::Found> Completions::search(ExprId state, PreTokenizer::State boundary, Scope scope) {
  Automaton& automaton = language_.automaton;
  const PreTokenizer& pretokenizer = language_.pretokenizer();
  const PositionId start = PositionId::at_start(boundary);
  const std::size_t limit = scope == Scope::any_language ? kMaxAnyLanguage : SIZE_MAX;
  std::vector<SearchNode> open{{state, start, 0, 0}};
  std::unordered_set<StateKey> seen{state_key(state, start)};
  // Where the language accepts, the result depends on what follows it.
  bool differs = scope == Scope::any_language && automaton.accepting(state);
  std::optional<Found> found;
  for (std::size_t i = 0; i < open.size() && open.size() < limit && !differs; ++i) {
    const SearchNode from = open[i];
    const bool done = language_.any_byte(from.state, [&](std::uint8_t byte, ExprId next) {
      const PositionId to = language_.transitions.step(from.position, byte);
      if (to == PretokenTransitions::kDead) return false;
      const PretokenPosition at = to.decoded();
      const bool accepts = automaton.accepting(next);
      if (scope == Scope::any_language && accepts) return differs = true;
      const bool between = !at.inside_character();
      const bool ends = between && accepts && pretokenizer.may_end(at.state);
      if (ends || (between && pretokenizer.unconstrained(at.state) && greedy_.length(next) != kInfinite)) {
        found = Found{text_of(open, i, byte), ends ? std::nullopt : std::optional(next)};
        return true;
      }
      const auto push = [&](PositionId position) {
        if (!seen.insert(state_key(next, position)).second) return;
        language_.check_growth(open.size());
        open.push_back({next, position, i, byte});
      };
      push(to);
      if (between) push(PositionId::at_start(at.state));
      return false;
    });
    if (done) return found;
  }
  return std::nullopt;
}

std::uint32_t Completions::token_count(ExprId state, PreTokenizer::State boundary) {
  const StateKey key = state_key(state, PositionId::at_start(boundary));
  if (const auto known = token_counts_.find(key); known != token_counts_.end()) return known->second;
  const std::string text = this->text(state, boundary);
  language_.meter.step(static_cast<std::int64_t>(text.size()));
  language_.meter.allocate(48);
  return token_counts_[key] = static_cast<std::uint32_t>(language_.transitions.encode(text).size());
}

std::uint32_t Completions::byte_count(ExprId state, PreTokenizer::State boundary) {
  const StateKey key = state_key(state, PositionId::at_start(boundary));
  if (const auto known = byte_counts_.find(key); known != byte_counts_.end()) return known->second;
  const auto [text, rest] = find(state, boundary);
  std::uint32_t count = rest ? greedy_.length(*rest) : 0;
  bool in_special = false;
  for (char byte : text) {  // of the frame of a special token, the last byte counts
    const bool bound = language_.transitions.has_special() && static_cast<std::uint8_t>(byte) == kFrameBound;
    count += in_special || bound ? (in_special && bound ? 1 : 0) : 1;
    in_special ^= bound;
  }
  language_.meter.step(static_cast<std::int64_t>(text.size()));
  language_.meter.allocate(48);
  return byte_counts_[key] = count;
}

// Whether the completion is the greedy text whatever follows the language: every text may follow its first character.
bool Completions::greedy_is_context_free(ExprId state, PreTokenizer::State boundary) {
  if (language_.automaton.accepting(state) || greedy_.length(state) == kInfinite) return false;
  PositionId position = PositionId::at_start(boundary);
  GreedyCompletions::Reader reader(greedy_, state);
  do {
    const std::optional<std::uint8_t> byte = reader.next();
    if (!byte) return false;
    position = language_.transitions.step(position, *byte);
  } while (position != PretokenTransitions::kDead && position.decoded().inside_character());
  return position != PretokenTransitions::kDead && language_.pretokenizer().unconstrained(position.decoded().state);
}

std::uint32_t Completions::context_free_bound(ExprId state, PreTokenizer::State boundary) {
  const StateKey key = state_key(state, PositionId::at_start(boundary));
  if (const auto known = context_free_bounds_.find(key); known != context_free_bounds_.end()) return known->second;
  const std::uint32_t bound = find_context_free_bound(state, boundary);
  language_.meter.allocate(48);
  return context_free_bounds_[key] = bound;
}

std::uint32_t Completions::find_context_free_bound(ExprId state, PreTokenizer::State boundary) {
  if (language_.encoder().single_pretoken()) {
    const ByteFallbackEndings::Ending& ending = byte_fallback_.find(state);
    return ending.context_free ? ending.length : kInfinite;
  }
  if (greedy_is_context_free(state, boundary)) return greedy_.length(state);
  const std::optional<Found> found = search(state, boundary, Scope::any_language);
  if (!found) return kInfinite;
  return static_cast<std::uint32_t>(found->text.size()) + (found->rest ? greedy_.length(*found->rest) : 0);
}

std::uint32_t Completions::length_bound(ExprId state, PreTokenizer::State boundary) {
  const std::uint32_t length = greedy_.length(state);
  if (length == 0 && language_.pretokenizer().may_end(boundary)) return 0;
  if (length == 0 || length == kInfinite) return byte_count(state, boundary);
  return greedy_is_context_free(state, boundary) ? length : byte_count(state, boundary);
}

}  // namespace detent

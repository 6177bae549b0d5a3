#include "runtime/greedy_completions.h"

#include <algorithm>
#include <span>
#include <unordered_set>
#include <utility>
#include <vector>

#include "base/error.h"
#include "expr/lengths.h"

namespace detent {

GreedyCompletions::Step GreedyCompletions::step(ExprId state) {
  if (const auto known = steps_.find(state.value); known != steps_.end()) return known->second;
  const CompletionPaths::Step first = language_.automaton.completion_step(state);
  language_.meter.step(8);
  language_.meter.allocate(48);
  return steps_[state.value] = {first.byte, first.state};
}

// Without a pre-tokenizer, a completion is encoded up to a special token only, and the state there counts.
std::vector<ExprId> GreedyCompletions::parts(ExprId state) {
  const bool needs_states = language_.encoder().single_pretoken() && language_.transitions.has_special();
  return needs_states ? std::vector<ExprId>{} : language_.automaton.completion_parts(state);
}

GreedyCompletions::Rest GreedyCompletions::at_border(Rest rest) {
  while (true) {
    length(rest.head);
    if (lengths_.at(rest.head.value).by_parts) {
      const std::vector<ExprId> parts = this->parts(rest.head);  // the last one first
      for (ExprId part : std::span(parts).first(parts.size() - 1)) {
        const auto [known, is_new] = tail_numbers_.try_emplace(std::uint64_t{part.value} << 32 | rest.tail, 0);
        if (is_new) {
          language_.meter.allocate(64);
          known->second = static_cast<std::uint32_t>(tails_.size());
          tails_.push_back({part, rest.tail});
        }
        rest.tail = known->second;
      }
      rest.head = parts.back();
    } else if (rest.tail != 0 && language_.automaton.accepting(rest.head)) {
      rest = {tails_[rest.tail].part, tails_[rest.tail].next};
    } else {
      return rest;
    }
  }
}

// A work list replaces recursion: what a length rests on comes before it.
std::uint32_t GreedyCompletions::length(ExprId state) {
  std::vector<ExprId> goals{state};
  while (!goals.empty()) {
    const ExprId goal = goals.back();
    if (lengths_.contains(goal.value)) {
      goals.pop_back();
      continue;
    }
    language_.meter.step();
    const std::size_t before = goals.size();
    std::optional<Length> found;
    if (const std::vector<ExprId> parts = this->parts(goal); !parts.empty()) found = length_of_parts(parts, goals);
    if (!found && goals.size() == before) found = length_by_character(goal, goals);
    if (!found) continue;
    language_.meter.allocate(40);
    lengths_[goal.value] = *found;
  }
  return lengths_.at(state.value).bytes;
}

// The sum of the lengths of the parts, unless one is no text. Nothing where some are unknown, which are added to a
// list.
std::optional<GreedyCompletions::Length> GreedyCompletions::length_of_parts(const std::vector<ExprId>& parts,
                                                                            std::vector<ExprId>& unknown) const {
  std::uint64_t sum = 0;
  bool is_known = true, is_text = true;
  for (ExprId part : parts) {
    const auto known = lengths_.find(part.value);
    if (known == lengths_.end()) {
      unknown.push_back(part);
      is_known = false;
    } else {
      is_text = is_text && known->second.bytes != kInfinite;
      sum += known->second.bytes;
    }
  }
  if (!is_known || !is_text) return std::nullopt;
  if (sum > Automaton::kLongestCompletion) {
    throw Error(ErrorKind::limit, "completion", static_cast<std::int64_t>(sum), Automaton::kLongestCompletion);
  }
  return Length{static_cast<std::uint32_t>(sum), true};
}

// Follows the steps through one character, or special token, to a state whose length is known.
std::optional<GreedyCompletions::Length> GreedyCompletions::length_by_character(ExprId state,
                                                                                std::vector<ExprId>& unknown) {
  if (language_.automaton.accepting(state)) return Length{};
  // A state inside a character, whose step would find all steps after it.
  const bool begins_character = language_.any_byte(state, [this](std::uint8_t byte, ExprId) {
    return !language_.transitions.step_character(CharacterDfa::kBorder, byte).dead;
  });
  if (!begins_character) return Length{kInfinite};
  std::uint32_t length = 0;
  std::uint16_t node = CharacterDfa::kBorder;
  do {
    const auto [byte, next] = step(state);
    const CharacterDfa::Step character = language_.transitions.step_character(node, byte);
    if (character.dead) return Length{kInfinite};
    if (node != PretokenTransitions::kInSpecial) ++length;
    node = character.node;
    state = next;
    if (node != CharacterDfa::kBorder && language_.automaton.accepting(state)) return Length{kInfinite};
  } while (node != CharacterDfa::kBorder);
  const auto known = lengths_.find(state.value);
  if (known == lengths_.end()) {
    unknown.push_back(state);
    return std::nullopt;
  }
  return Length{saturating_add(length, known->second.bytes)};
}

std::optional<std::uint8_t> GreedyCompletions::Reader::next() {
  const TokenizedLanguage& language = greedy_.language_;
  while (!open_.empty()) {
    const ExprId at = open_.back();
    if (node_ == CharacterDfa::kBorder) {
      const auto known = greedy_.lengths_.find(at.value);
      const bool by_parts = known != greedy_.lengths_.end() && known->second.by_parts;
      if (by_parts || language.automaton.accepting(at)) {
        open_.pop_back();
        if (!by_parts) continue;
        const std::vector<ExprId> parts = greedy_.parts(at);
        open_.insert(open_.end(), parts.begin(), parts.end());
        continue;
      }
    }
    const auto [byte, next] = greedy_.step(at);
    node_ = language.transitions.step_character(node_, byte).node;
    open_.back() = next;
    return byte;
  }
  return std::nullopt;
}

void GreedyCompletions::append(ExprId state, std::string& text) {
  constexpr std::uint32_t kShort = 1024;  // bytes of a part whose text is kept
  const auto read = [&](ExprId from, std::string& to) {
    Reader reader(*this, from);
    while (const std::optional<std::uint8_t> byte = reader.next()) {
      language_.meter.step();
      to += static_cast<char>(*byte);
    }
  };
  std::vector<ExprId> open{state};
  while (!open.empty()) {
    const ExprId at = open.back();
    open.pop_back();
    const auto [bytes, by_parts] = lengths_.at(at.value);
    language_.meter.step(1 + bytes / 64);
    if (at != state && bytes <= kShort) {
      const auto [known, is_new] = texts_.try_emplace(at.value);
      if (is_new) {
        language_.meter.allocate(bytes + 96);
        read(at, known->second);
      }
      text += known->second;
    } else if (by_parts) {
      const std::vector<ExprId> parts = this->parts(at);
      open.insert(open.end(), parts.begin(), parts.end());
    } else {
      read(at, text);
    }
  }
}

bool GreedyCompletions::exists(ExprId state) {
  if (language_.encoder().characters().has_every_character() && language_.automaton.is_text(state)) return true;
  if (length(state) != kInfinite) return true;
  if (const auto known = exists_.find(state.value); known != exists_.end()) return known->second;
  const auto key = [](ExprId at, std::uint16_t node) { return std::uint64_t{at.value} << 32 | node; };
  std::vector<std::pair<ExprId, std::uint16_t>> open{{state, CharacterDfa::kBorder}};
  std::unordered_set<std::uint64_t> seen{key(state, CharacterDfa::kBorder)};
  for (std::size_t i = 0; i < open.size(); ++i) {
    const auto [at, node] = open[i];
    const bool found = language_.any_byte(at, [&](std::uint8_t byte, ExprId next) {
      const CharacterDfa::Step character = language_.transitions.step_character(node, byte);
      if (character.dead) return false;
      if (character.node == CharacterDfa::kBorder && language_.automaton.accepting(next)) return true;
      if (seen.insert(key(next, character.node)).second) {
        language_.check_growth(open.size());
        open.emplace_back(next, character.node);
      }
      return false;
    });
    if (found) return exists_[state.value] = true;
  }
  language_.meter.allocate(static_cast<std::int64_t>(open.size()) * 40);
  for (const auto& [at, node] : open) {
    if (node == CharacterDfa::kBorder) exists_[at.value] = false;
  }
  return false;
}

}  // namespace detent

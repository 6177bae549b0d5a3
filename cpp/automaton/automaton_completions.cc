// Completions of the states of an Automaton.

#include <algorithm>
#include <optional>
#include <string>
#include <string_view>
#include <unordered_set>
#include <vector>

#include "automaton/automaton.h"
#include "base/error.h"

namespace detent {
namespace {

constexpr std::int64_t kByteOfCompletionBytes = 48;  // of an entry of bytes_of_completions_

}  // namespace

std::string Automaton::shortest_completion(ExprId state) {
  // With lists of distinct items, a breadth-first search would visit a state for each text of an item. The known
  // lengths of such lists are those of their shortest items, so following them gives a short completion.
  if (has_lists_) return some_completion(state).value_or("");
  if (std::string text; descend(state, text)) return text;
  struct Step {
    ExprId state;
    std::size_t from;
    char byte;
  };
  constexpr std::size_t kStepsPerState = 10;
  const std::int64_t question = meter_.limits().question_steps(), work_before = work();
  std::vector<Step> steps{{state, 0, 0}};
  std::unordered_set<std::uint32_t> seen{state.value};
  std::size_t i = 0;
  // Breadth first, bytes ascending: the first accepting state is reached by the least of the shortest strings.
  for (; !accepting(steps[i].state); ++i) {
    const std::int64_t taken = work() - work_before + static_cast<std::int64_t>(kStepsPerState * i);
    if (taken > question) throw Error(ErrorKind::limit, "question_work", question, question);
    const ExprId* next = nullptr;
    try {
      next = row(steps[i].state, question - taken);
    } catch (const Error& error) {
      if (std::string_view(error.subject()) != "work") throw;
      throw Error(ErrorKind::limit, "question_work", question, question);
    }
    for (unsigned byte = 0; byte < 256; ++byte) {
      const ExprId to = next[class_of()[byte]];
      if (to != ExprSet::kEmpty && seen.insert(to.value).second) steps.push_back({to, i, static_cast<char>(byte)});
    }
    if (i + 1 == steps.size()) return {};  // only if `state` was dead
  }
  std::string text;
  for (; i != 0; i = steps[i].from) text += steps[i].byte;
  std::reverse(text.begin(), text.end());
  return text;
}

// Where the lengths of all residuals are exact, follows the smallest byte that shortens the completion, without a
// search. Returns false where they are not exact.
bool Automaton::descend(ExprId state, std::string& text) {
  if (!exprs_[state].exact_length || exprs_[state].min_length == UINT32_MAX) return false;
  // The states on the way differ by their lengths.
  const std::int64_t states = std::int64_t{exprs_[state].min_length} + 1, limit = meter_.limits().states;
  if (states > limit) throw Error(ErrorKind::limit, "states", states, limit);
  while (!accepting(state)) {
    const std::uint32_t wanted = exprs_[state].min_length - 1;
    const ExprId* next = row(state);
    unsigned byte = 0;
    const auto shortens = [&](ExprId to) { return to != ExprSet::kEmpty && exprs_[to].min_length == wanted; };
    while (byte < 256 && !shortens(next[class_of()[byte]])) ++byte;
    if (byte == 256) return false;  // the alphabet lacks the byte, or `state` was dead
    text += static_cast<char>(byte);
    state = next[class_of()[byte]];
  }
  return true;
}

CompletionPaths::Step Automaton::completion_step(ExprId state) {
  return edit([&](ExprSet&, Derivatives&, Liveness&) { return completion_paths_.step(state); });
}

std::vector<ExprId> Automaton::completion_parts(ExprId state) {
  return edit([&](ExprSet&, Derivatives&, Liveness&) { return completion_paths_.parts(state); });
}

// The byte that leads to the state of the least length.
std::uint8_t Automaton::byte_of_completion(const ExprId* next) {
  return edit([&](ExprSet&, Derivatives&, Liveness& liveness) {
    if (const auto known = bytes_of_completions_.find(next); known != bytes_of_completions_.end()) return known->second;
    std::uint32_t least = Liveness::kDead;
    std::uint8_t best = 0;
    for (unsigned byte = 0; byte < 256; ++byte) {
      const ExprId to = next[class_of()[byte]];
      if (to == ExprSet::kEmpty || (byte > 0 && to == next[class_of()[byte - 1]])) continue;
      const std::uint32_t length = liveness.length(to);
      if (length >= least) continue;
      least = length;
      best = static_cast<std::uint8_t>(byte);
    }
    meter_.allocate(kByteOfCompletionBytes);
    return bytes_of_completions_[next] = best;
  });
}

// Lists of distinct items have no completion paths: their rows do not depend on the text of the item that is being
// read. But the lengths of these lists fall byte by byte along their shortest items.
std::optional<std::string> Automaton::some_completion(ExprId state) {
  const bool lacks_text = without_text(state) == state && has_open_item(state);
  std::string text;
  while (!accepting(state)) {
    if (has_closed_item(state)) return std::nullopt;
    if (text.size() > kLongestCompletion)
      throw Error(ErrorKind::limit, "completion", kLongestCompletion + 1, kLongestCompletion);
    if (!has_lists()) {
      const CompletionPaths::Step step = completion_step(state);
      text += static_cast<char>(step.byte);
      state = step.state;
      continue;
    }
    const ExprId* next = row(without_text(state));
    text += static_cast<char>(byte_of_completion(next));
    const std::string_view byte = std::string_view(text).substr(text.size() - 1);
    state = lacks_text ? next[class_of()[static_cast<std::uint8_t>(byte[0])]] : advance(state, byte);
  }
  return text;
}

}  // namespace detent

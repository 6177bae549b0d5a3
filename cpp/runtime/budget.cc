#include "runtime/budget.h"

#include <algorithm>
#include <unordered_set>
#include <utility>

#include "base/fork_guard.h"
#include "runtime/fitting_walk.h"
#include "runtime/item_strings.h"
#include "runtime/language_machine.h"

namespace detent {
namespace {

// Of a search from one state that calls rules, which may not end: several such searches share an allowance.
constexpr std::int64_t kWorkWithRules = 150'000;

}  // namespace

Budget::Budget(LanguageMachine& machine, const Limits& limits)
    : machine_(machine), distances_(machine.vocabulary(), machine.automaton(), machine.masks()), meter_(limits) {}

bool Budget::has_alternatives() const { return has_every_byte() && !machine_.automaton().has_lists(); }

bool Budget::has_every_byte() const { return machine_.vocabulary().tokenizable_texts() == nullptr; }

bool Budget::is_large() const { return machine_.is_full(); }

bool Budget::has_known_completion(ExprId state) const {
  return has_every_byte() && machine_.automaton().completion_bound(state) <= kLongestCompletion;
}

bool Budget::lacks_text(ExprId state) const {
  return machine_.automaton().has_open_item(state) && machine_.automaton().without_text(state) == state;
}

bool Budget::is_recursive(ExprId state) const {
  return (has_every_byte() || machine_.automaton().has_lists()) && machine_.automaton().has_rule(state);
}

// Where some bytes are no tokens, a known completion need not be one that the vocabulary can write.
std::optional<std::vector<std::uint32_t>> Budget::fewest_tokens(std::string_view text) const {
  std::vector<std::uint32_t> tokens = machine_.vocabulary().fewest_tokens(text);
  return tokens.empty() && !text.empty() ? std::nullopt : std::optional(std::move(tokens));
}

Budget::Bounds& Budget::bounds(ExprId state) {
  Bounds& known = bounds_[state.value];
  if (known.initialized) return known;
  if (machine_.accepting(state)) {
    known.lower = known.upper = 0;
  } else if (has_every_byte()) {
    known.upper = machine_.automaton().completion_bound(state);  // may reach a limit
  }
  known.initialized = true;
  return known;
}

// Lists that no longer fit the bound on memory are found again when they are needed.
const std::vector<ExprId>* Budget::successors(ExprId state, Allowance& allowance) {
  constexpr std::size_t kMaxSuccessors = 8 << 20;
  const auto known = successors_.find(state.value);
  if (known != successors_.end()) return &known->second;
  if (allowance.work <= 0) return nullptr;
  if (successor_count_ > kMaxSuccessors) {
    successors_.clear();
    successor_count_ = 0;
  }
  std::int64_t visited = 0;
  const std::int64_t work_before = machine_.automaton().work();
  const std::int64_t max_work = allowance.is_unlimited() ? INT64_MAX : allowance.work / allowance.nodes_per_step + 1;
  std::optional<std::vector<ExprId>> next = machine_.successors(state, visited, max_work);
  // With lists of distinct items, each token is read from the state that has the text of the item.
  constexpr std::int64_t kStepsPerReading = 4;
  const std::int64_t per_token = machine_.automaton().has_lists() ? kStepsPerReading * allowance.nodes_per_step : 1;
  allowance.work -= per_token * visited + allowance.nodes_per_step * (machine_.automaton().work() - work_before);
  if (!next) return nullptr;
  if (allowance.is_unlimited()) meter_.step(visited / 8 + 1);
  successor_count_ += next->size();
  return &(successors_[state.value] = std::move(*next));
}

// Tokenizes a completion of `state`: into the fewest tokens, or into at most `enough` where that is simple.
void Budget::tighten(ExprId state, std::uint32_t enough, Allowance& allowance) {
  const std::int64_t work_before = machine_.automaton().work();
  if (has_alternatives()) {
    const auto known = distances_.known_completion(state, enough, allowance);
    if (known) note_alternative(state, *known);
    bounds_[state.value].tightened = allowance.work > 0 && (!known || known->tokens > enough);
    return;
  }
  constexpr std::int64_t kNodesPerByte = 8;  // of a text that is found and tokenized
  std::int64_t bytes = tighten_by_text(state);
  if (machine_.automaton().without_text(state) != state) bytes += tighten_inside_item(state);
  allowance.work -= kNodesPerByte * bytes + allowance.nodes_per_step * (machine_.automaton().work() - work_before);
}

// Also bounds the states between these tokens, so that a matcher that follows them is never refused.
std::int64_t Budget::tighten_by_text(ExprId state) {
  bounds_[state.value].tightened = true;
  if (machine_.automaton().completion_bound(state) > kLongestCompletion) return 0;  // keep the bound by its bytes
  const std::optional<std::string> text = machine_.automaton().some_completion(state);
  if (!text) return 0;
  if (const auto tokens = fewest_tokens(*text); tokens && lacks_text(state)) {
    Bounds& known = bounds(state);
    known.upper = std::min(known.upper, static_cast<std::uint32_t>(tokens->size()));
  } else if (tokens) {
    note_tokens(state, *tokens);
  }
  return std::ssize(*text);
}

// What a mask has allowed must fit after it, too: it counts completions that hold for most items.
std::int64_t Budget::tighten_inside_item(ExprId state) {
  const std::string item = machine_.automaton().item(state);
  const std::optional<std::string> text = completion_after_item(machine_.automaton().without_text(state), item);
  if (!text || !repeats_no_item(*text, item)) return 0;
  if (const auto tokens = fewest_tokens(*text)) note_tokens(state, *tokens);
  return std::ssize(*text);
}

// Ends at a state whose completion is known already: that one is no longer.
void Budget::note_tokens(ExprId state, const std::vector<std::uint32_t>& tokens) {
  auto left = static_cast<std::uint32_t>(tokens.size());
  for (std::uint32_t token : tokens) {
    const Bounds& known = bounds(state);
    if (known.written <= left && (known.next_token != kUnknown || known.alternative.value != kUnknown)) return;
    meter_.allocate(static_cast<std::int64_t>(sizeof(Bounds)));
    const ExprId next = machine_.advance(state, machine_.vocabulary().bytes(token));
    note_completion(state, left--, next, token);
    state = next;
  }
}

// It is that of an item whose last string is a character that is assigned to nothing.
std::optional<std::string> Budget::completion_after_item(ExprId any_text, std::string_view item) {
  constexpr std::string_view kUnlikely = "\xF4\x8F\xBF\xBD";  // U+10FFFD
  const std::vector<StringSpan> strings = strings_of(item);
  if (strings.empty() || !machine_.automaton().has_one_open_list(any_text)) return std::nullopt;
  if (machine_.automaton().completion_bound(any_text) > kLongestCompletion) return std::nullopt;
  const StringSpan& last = strings.back();
  std::string other(item.substr(0, last.begin + 1));
  other += kUnlikely;
  if (!last.is_open) other += item.substr(last.end - 1);
  return machine_.automaton().some_completion(machine_.automaton().with_item(any_text, other));
}

std::optional<std::uint32_t> Budget::known_token(ExprId state, std::uint32_t tokens) {
  const ForkGuard guard;
  const std::lock_guard lock(mutex_);
  meter_.restart();
  const Bounds& noted = bounds(state);
  if (has_alternatives() && noted.written > tokens && !noted.tightened) {
    Allowance unlimited = Allowance::unlimited();  // a mask without a known completion costs more
    tighten(state, tokens, unlimited);
  }
  if (noted.written <= tokens && noted.next_token != kUnknown) return noted.next_token;
  if (noted.written <= tokens && noted.alternative.value != kUnknown) {
    const std::vector<std::uint32_t> found = distances_.tokens_from(noted.alternative);
    if (found.empty()) return std::nullopt;
    const ExprId next = machine_.advance(state, machine_.vocabulary().bytes(found[0]));
    if (const auto rest = distances_.after_first_token(noted.alternative)) {
      note_alternative(next, *rest);
      return found[0];
    }
    Allowance unlimited = Allowance::unlimited();
    if (!bounds(next).tightened) tighten(next, tokens - 1, unlimited);
    if (bounds(next).written >= tokens) note_tokens(next, {found.begin() + 1, found.end()});
    return found[0];
  }
  if (!has_known_completion(state)) return std::nullopt;
  const std::vector<std::uint32_t> known = known_completion(state);
  return known.empty() || known.size() > tokens ? std::nullopt : std::optional(known[0]);
}

void Budget::note_alternative(ExprId state, AlternativeDistances::Known known) {
  Bounds& at = bounds(state);
  if (known.tokens >= at.written) return;
  at.upper = std::min(at.upper, known.tokens);
  at.written = known.tokens;
  at.next = ExprSet::kEmpty;
  at.next_token = kUnknown;
  at.alternative = known.id;
}

void Budget::note_completion(ExprId state, std::uint32_t tokens, ExprId next, std::uint32_t token) {
  Bounds& known = bounds(state);
  if (tokens >= known.written) return;
  known.upper = std::min(known.upper, tokens);
  known.written = tokens;
  known.next = next;
  known.next_token = token;
  known.alternative = {kUnknown};
}

std::vector<std::uint32_t> Budget::completion_within(ExprId state, std::uint32_t tokens) {
  const ForkGuard guard;
  const std::lock_guard lock(mutex_);
  meter_.restart();
  if (has_alternatives() && bounds(state).written > tokens) {
    Allowance allowance = is_recursive(state) ? Allowance() : Allowance::unlimited();
    if (!bounds(state).tightened) tighten(state, tokens, allowance);
    if (bounds(state).written > tokens && !search(state, tokens, allowance)) return {};
  }
  std::vector<std::uint32_t> found;
  for (std::uint32_t left = tokens; !machine_.accepting(state); --left) {
    if (bounds(state).alternative.value != kUnknown) {
      const std::vector<std::uint32_t> rest = distances_.tokens_from(bounds(state).alternative);
      found.insert(found.end(), rest.begin(), rest.end());
      return found;
    }
    Allowance unlimited = Allowance::unlimited();
    if (bounds(state).next == ExprSet::kEmpty && !bounds(state).tightened) tighten(state, left, unlimited);
    // The first bound is one of bytes; the completion that is known may be another one.
    if (bounds(state).next == ExprSet::kEmpty && !is_recursive(state)) {
      bounds_[state.value].upper = kUnknown;
      search(state, left, unlimited);
    }
    const ExprId next = bounds_[state.value].next;
    if (next == ExprSet::kEmpty || left == 0) return {};
    const std::uint32_t token = bounds_[state.value].next_token;
    found.push_back(token == kUnknown ? machine_.token_between(state, next) : token);
    state = next;
  }
  return found;
}

std::vector<std::uint32_t> Budget::completion_after(ExprId from, std::string_view bytes, ExprId to,
                                                    std::uint32_t tokens) {
  const ForkGuard guard;
  const std::lock_guard lock(mutex_);
  meter_.restart();
  Allowance allowance;
  const AlternativeSet after = alternatives_after(machine_.automaton(), from, bytes);
  const auto found = distances_.completion_within(after, tokens, allowance);
  if (!found) return {};
  note_alternative(to, *found);
  return distances_.tokens_from(found->id);
}

void Budget::write_fitting(ExprId state, std::uint32_t tokens, std::int64_t max_work, std::uint32_t* row) {
  const ForkGuard guard;
  const std::lock_guard lock(mutex_);
  meter_.restart();
  Allowance allowance;
  FittingWalk(machine_.vocabulary(), machine_.automaton(), distances_, tokens, allowance).run(state, max_work, row);
}

bool Budget::completes_within(ExprId state, std::uint32_t tokens, Allowance& allowance) {
  const ForkGuard guard;
  const std::lock_guard lock(mutex_);
  meter_.restart();
  const std::optional<bool> known = decide_by_bounds(state, tokens, allowance);
  return known ? *known : search(state, tokens, allowance);
}

std::optional<bool> Budget::known_to_complete_within(ExprId state, std::uint32_t tokens, Allowance& allowance) {
  const ForkGuard guard;
  const std::lock_guard lock(mutex_);
  meter_.restart();
  return decide_by_bounds(state, tokens, allowance);
}

std::uint32_t Budget::upper_bound(ExprId state) {
  const ForkGuard guard;
  const std::lock_guard lock(mutex_);
  return bounds(state).upper;
}

std::optional<bool> Budget::decide_by_bounds(ExprId state, std::uint32_t tokens, Allowance& allowance) {
  const Bounds& known = bounds(state);
  if (known.upper <= tokens) return true;
  if (known.lower > tokens) return false;
  // What completes whatever the text of an item is, completes after this one.
  const ExprId any_text = machine_.automaton().without_text(state);
  if (any_text != state) {
    if (!bounds(any_text).tightened && allowance.work > 0) tighten(any_text, tokens, allowance);
    if (bounds(any_text).upper <= tokens) return true;
  }
  if (!has_every_byte() && !is_recursive(state)) return std::nullopt;
  if (!known.tightened) {
    if (allowance.work <= 0) return false;
    tighten(state, tokens, allowance);
    if (bounds_[state.value].upper <= tokens) return true;
  }
  if (is_recursive(state) && !has_alternatives()) return false;
  return std::nullopt;
}

// Where the vocabulary lacks bytes, no completion is known without a search, so that only the meter ends one.
bool Budget::search(ExprId state, std::uint32_t tokens, Allowance& allowance) {
  if (!has_every_byte()) {
    Allowance unlimited = Allowance::unlimited();
    return search_states(state, tokens, unlimited);
  }
  if (!has_alternatives()) return search_states(state, tokens, allowance);
  Allowance share = allowance;
  if (is_recursive(state)) share.work = std::min(share.work, kWorkWithRules);
  const std::int64_t work_before = share.work;
  const auto found = distances_.completion_within(state, tokens, share);
  allowance.work -= work_before - share.work;
  if (found) {
    note_alternative(state, *found);
  } else if (share.work > 0) {
    bounds_[state.value].lower = std::max(bounds_[state.value].lower, tokens + 1);
  }
  return found.has_value();
}

// Each state on the path to nodes[last] completes by way of `successor` of that node.
void Budget::lower_upper_bounds(const std::vector<SearchNode>& nodes, std::size_t last, ExprId successor) {
  std::uint32_t length = bounds(successor).upper + 1;
  for (std::size_t k = last;; k = nodes[k].parent, ++length) {
    note_completion(nodes[k].state, length, successor);
    if (k == 0) return;
    successor = nodes[k].state;
  }
}

// Breadth first over token steps, to depth `tokens`. A node is expanded only if its bounds leave the verdict open. A
// search that uses up its allowance proves nothing: it leaves the lower bounds as they were.
bool Budget::search_states(ExprId state, std::uint32_t tokens, Allowance& allowance) {
  std::vector<SearchNode> nodes{{state, 0, 0}};
  std::unordered_set<std::uint32_t> seen{state.value};
  for (std::size_t i = 0; i < nodes.size(); ++i) {
    const std::uint32_t depth = nodes[i].depth + 1;
    if (depth > tokens) continue;
    if (has_every_byte() && is_large()) return false;
    const std::vector<ExprId>* children = successors(nodes[i].state, allowance);
    if (!children) return false;
    for (ExprId next : *children) {
      if (!seen.insert(next.value).second) continue;
      const Bounds& known = bounds(next);
      if (known.lower > tokens - depth) continue;
      if (known.upper <= tokens - depth) {
        lower_upper_bounds(nodes, i, next);
        return true;
      }
      nodes.push_back({next, i, depth});
    }
  }
  for (const SearchNode& node : nodes) {
    Bounds& known = bounds_[node.state.value];
    known.lower = std::max(known.lower, tokens - node.depth + 1);
  }
  return false;
}

bool Budget::all_fit(ExprId state, std::uint32_t tokens) {
  if (has_every_byte() && machine_.automaton().max_completion_bound(state) <= tokens) return true;
  const ForkGuard guard;
  const std::lock_guard lock(mutex_);
  meter_.restart();
  const std::uint32_t worst = bounds(state).worst_successor;
  return worst <= tokens && worst != kUnknown;
}

void Budget::record_successors(ExprId state, const std::vector<ExprId>& successors) {
  const ForkGuard guard;
  const std::lock_guard lock(mutex_);
  std::uint32_t worst = 0;
  for (ExprId next : successors) worst = std::max(worst, bounds(next).upper);
  Bounds& known = bounds(state);
  known.worst_successor = std::min(known.worst_successor, worst);
}

std::vector<std::uint32_t> Budget::known_completion(ExprId state) {
  Allowance unlimited = Allowance::unlimited();
  if (has_alternatives()) {
    if (const auto known = distances_.known_completion(state, 0, unlimited)) return distances_.tokens_from(known->id);
  }
  const std::uint32_t length = machine_.automaton().completion_bound(state);
  if (length > kLongestCompletion) throw Error(ErrorKind::limit, "completion", length, kLongestCompletion);
  const std::string text = machine_.automaton().some_completion(state).value();
  auto tokens = fewest_tokens(text);
  if (!tokens) throw Error(ErrorKind::unsupported, "distinct_gaps");
  return *std::move(tokens);
}

std::vector<std::uint32_t> Budget::short_completion(ExprId state) {
  const ForkGuard guard;
  const std::lock_guard lock(mutex_);
  meter_.restart();
  if (is_recursive(state)) return known_completion(state);
  if (!has_every_byte()) return search_exactly(state);  // the vocabulary may be unable to write the known completion
  Allowance allowance;
  if (machine_.automaton().completion_bound(state) <= kLongestCompletion) {
    if (auto found = find_shortest(state, allowance)) return std::move(*found);
  }
  return known_completion(state);
}

std::vector<std::uint32_t> Budget::shortest_completion(ExprId state) {
  const ForkGuard guard;
  const std::lock_guard lock(mutex_);
  meter_.restart();
  if (!is_recursive(state)) return search_exactly(state);
  std::vector<std::uint32_t> found = known_completion(state);
  while (has_alternatives() && !found.empty()) {
    Allowance allowance{.work = kWorkWithRules};
    const auto shorter = distances_.completion_within(state, static_cast<std::uint32_t>(found.size()) - 1, allowance);
    if (!shorter) break;
    found = distances_.tokens_from(shorter->id);
  }
  return found;
}

}  // namespace detent

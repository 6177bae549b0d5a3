#include "runtime/part_budget_machine.h"

#include <algorithm>
#include <span>
#include <unordered_set>

#include "base/error.h"
#include "base/fork_guard.h"
#include "mask/mask_builder.h"

namespace detent {

PartBudgetMachine::PartBudgetMachine(std::shared_ptr<LanguageMachine> whole, const NodeRef& part, std::uint32_t tokens,
                                     const Limits& limits, const std::shared_ptr<const CancelFlag>& cancel)
    : TokenMachine(whole->shared_vocabulary()),
      whole_(std::move(whole)),
      part_(part, vocabulary_, limits, cancel),
      part_tokens_(tokens) {
  part_.begin_decoding();
  part_.drop_cancel_flag();
  const Node node{whole_->start(), part_.start()};
  if (fits(node, part_tokens_, kNoLimit)) return;
  std::uint32_t needed = tokens;
  while (!fits(node, ++needed, kNoLimit)) {
  }
  throw Error(ErrorKind::limit, "part_tokens", needed, tokens);
}

PartBudgetMachine::PartBudgetMachine(PartBudgetMachine& other)
    : TokenMachine(other.vocabulary_),
      whole_(std::make_shared<LanguageMachine>(*other.whole_)),
      part_(other.part_),
      part_tokens_(other.part_tokens_) {}

void PartBudgetMachine::adopt(TokenMachine& other, std::span<TokenState> states) {
  auto& before = static_cast<PartBudgetMachine&>(other);
  std::vector<TokenState> parts;
  for (const TokenState& state : states) parts.push_back({state.part});
  whole_->adopt(*before.whole_, states);
  part_.adopt(before.part_, parts);
  for (std::size_t i = 0; i < states.size(); ++i) states[i].part = parts[i].language;
}

TokenState PartBudgetMachine::start(std::span<const std::uint32_t>) {
  return state_of({whole_->start(), part_.start()}, part_tokens_);
}

TokenStep PartBudgetMachine::step(const TokenState& state, std::uint32_t token) {
  const TokenStep next = whole_->step(whole_state(state), token);
  if (!is_open(state) || next.refusal != Refusal::none || next.state.is_finished()) return next;
  const Node node{{next.state.language}, after_in_part({state.part}, vocabulary_->bytes(token))};
  if (state.part_tokens == 0) return {state, Refusal::budget};
  if (node.is_open() && !fits(node, state.part_tokens - 1, kNoLimit)) return {state, Refusal::budget};
  return {state_of(node, state.part_tokens - 1)};
}

std::optional<TokenState> PartBudgetMachine::step_bytes(const TokenState& state, std::string_view text) {
  const std::optional<TokenState> next = whole_->step_bytes(whole_state(state), text);
  if (!next || !is_open(state)) return next;
  const Node node{{next->language}, after_in_part({state.part}, text)};
  if (node.is_open() && !fits(node, state.part_tokens, kNoLimit)) return std::nullopt;
  return state_of(node, state.part_tokens);
}

void PartBudgetMachine::fill(const TokenState& state, std::uint32_t* row) {
  if (!is_open(state)) return whole_->fill(whole_state(state), row);
  if (state.part_tokens == 0) return fill_complete(state, row);
  whole_->fill(whole_state(state), row);
  if (!whole_->budget_cannot_bind(whole_state(state), state.part_tokens)) remove_beyond(state, kNoLimit, row);
}

// No token is left for the open part: the text ends here, or it could not be here.
void PartBudgetMachine::fill_complete(const TokenState& state, std::uint32_t* row) {
  std::fill_n(row, vocabulary_->word_count(), 0u);
  if (accepting(state)) allow_eos(row);
}

bool PartBudgetMachine::try_fill_cached(const TokenState& state, std::uint32_t* row) {
  return !is_open(state) && whole_->try_fill_cached(whole_state(state), row);
}

bool PartBudgetMachine::fill_within(const TokenState& state, std::uint32_t tokens_after, std::uint32_t* row) {
  if (!is_open(state)) return whole_->fill_within(whole_state(state), tokens_after, row);
  if (state.part_tokens == 0) {
    fill_complete(state, row);
    return false;
  }
  const bool bound = whole_->fill_within(whole_state(state), tokens_after, row);
  if (!bound && whole_->budget_cannot_bind(whole_state(state), state.part_tokens)) return false;
  return remove_beyond(state, tokens_after, row) || bound;
}

bool PartBudgetMachine::remove_beyond(const TokenState& state, std::uint32_t tokens_after, std::uint32_t* row) {
  std::vector<std::uint32_t> beyond;
  for (const Successor& next : successors(node_of(state))) {
    if (!next.node.is_open() || fits(next.node, state.part_tokens - 1, tokens_after)) continue;
    beyond.resize(vocabulary_->word_count());
    next.tokens->add_to(beyond.data());
  }
  std::uint32_t removed = 0;
  for (std::size_t i = 0; i < beyond.size(); ++i) {
    removed |= row[i] & beyond[i];
    row[i] &= ~beyond[i];
  }
  return removed != 0;
}

bool PartBudgetMachine::completes_within(const TokenState& state, std::uint32_t tokens) {
  return is_open(state) ? fits(node_of(state), state.part_tokens, tokens)
                        : whole_->completes_within(whole_state(state), tokens);
}

// Some tokens close the part in time, or the whole text fits both budgets, or the search finds a completion that does.
bool PartBudgetMachine::fits(const Node& node, std::uint32_t part_tokens, std::uint32_t tokens) {
  if (closes_within(node, part_tokens, tokens)) return true;
  if (whole_->completes_within({node.whole.value}, std::min(part_tokens, tokens))) return true;
  if (tokens != kNoLimit && !whole_->completes_within({node.whole.value}, tokens)) return false;
  return search(node, part_tokens, tokens).has_value();
}

// Whether a search of some nodes finds a closed one from which a completion fits what is left of the whole budget.
bool PartBudgetMachine::closes_within(const Node& start, std::uint32_t part_tokens, std::uint32_t tokens) {
  if (!start.is_open()) return whole_->completes_within({start.whole.value}, tokens);
  std::vector<std::pair<Node, std::uint32_t>> open{{start, 0}};
  std::unordered_set<std::uint64_t> seen{start.key()};
  for (std::size_t i = 0; i < open.size() && i < kMaxClosing; ++i) {
    const std::uint32_t depth = open[i].second + 1;
    if (depth > std::min(part_tokens, tokens)) return false;
    const std::uint32_t left = tokens == kNoLimit ? kNoLimit : tokens - depth;
    for (const Successor& next : successors(open[i].first)) {
      if (!seen.insert(next.node.key()).second) continue;
      if (next.node.is_open()) {
        open.emplace_back(next.node, depth);
      } else if (left == kNoLimit || whole_->completes_within({next.node.whole.value}, left)) {
        return true;
      }
    }
  }
  return false;
}

std::optional<PartBudgetMachine::Found> PartBudgetMachine::search(const Node& start, std::uint32_t part_tokens,
                                                                  std::uint32_t tokens) {
  Found found{{{start, 0, 0}}, 0};
  std::vector<SearchNode>& nodes = found.nodes;
  std::unordered_set<std::uint64_t> seen{start.key()};
  const std::uint32_t depth_limit = std::min(part_tokens, tokens);
  for (std::size_t i = 0; i < nodes.size(); ++i) {
    const std::uint32_t depth = nodes[i].depth + 1;
    if (depth > depth_limit) return std::nullopt;
    if (i == kMaxExpansions) throw Error(ErrorKind::limit, "work", 0, static_cast<std::int64_t>(kMaxExpansions));
    for (const auto& [next, _] : successors(nodes[i].node)) {
      if (!seen.insert(next.key()).second) continue;
      const std::uint32_t left = tokens == kNoLimit ? kNoLimit : tokens - depth;
      const std::uint32_t needed_within = next.is_open() ? std::min(part_tokens - depth, left) : left;
      const bool is_found = needed_within == kNoLimit || whole_->completes_within({next.whole.value}, needed_within);
      if (is_found || next.is_open()) nodes.push_back({next, i, depth});
      if (!is_found) continue;
      found.last = nodes.size() - 1;
      return found;
    }
  }
  return std::nullopt;
}

const std::vector<PartBudgetMachine::Successor>& PartBudgetMachine::successors(const Node& node) {
  {
    const ForkGuard guard;
    const std::lock_guard lock(mutex_);
    const auto known = successors_.find(node.key());
    if (known != successors_.end()) return known->second;
  }
  std::vector<std::pair<Node, MaskBuilder>> found;
  std::unordered_map<std::uint64_t, std::size_t> index;
  expand_node(node, [&](std::span<const std::uint32_t> tokens, const Node& after) {
    const auto [entry, is_new] = index.try_emplace(after.key(), found.size());
    if (is_new) found.emplace_back(after, MaskBuilder(vocabulary_->word_count()));
    MaskBuilder& builder = found[entry->second].second;
    if (tokens.size() == 1) {
      builder.allow(tokens[0]);
    } else {
      builder.allow(tokens.data(), tokens.size());
    }
  });
  std::vector<Successor> next;
  for (auto& [after, builder] : found) next.push_back({after, builder.finish()});
  const ForkGuard guard;
  const std::lock_guard lock(mutex_);
  return successors_.try_emplace(node.key(), std::move(next)).first->second;
}

template <class Visit>
void PartBudgetMachine::expand_node(const Node& node, Visit visit) {
  Automaton& whole = whole_->automaton();
  if (whole.has_lists()) {  // states know the text of the items, which a walk does not
    whole_->expand({node.whole.value}, [&](std::uint32_t token, const TokenState& next) {
      if (next.is_finished()) return;
      visit(std::span(&token, 1), Node{{next.language}, after_in_part(node.part, vocabulary_->bytes(token))});
    });
    return;
  }
  const auto visit_ids = [&](std::span<const std::uint32_t> ids, const Node& after) {
    const auto ends = [&](std::uint32_t id) { return vocabulary_->is_eos(id) && whole.accepting(after.whole); };
    if (std::ranges::none_of(ids, ends)) return visit(ids, after);
    for (const std::uint32_t& id : ids) {
      if (!ends(id)) visit(std::span(&id, 1), after);
    }
  };
  walk_part(*vocabulary_, whole, &part_.automaton(), node, visit_ids);
}

std::uint32_t PartBudgetMachine::token_between(const Node& from, const Node& to) {
  std::uint32_t lowest = UINT32_MAX;
  for (const Successor& next : successors(from)) {
    if (next.node.key() == to.key()) next.tokens->each([&](std::uint32_t token) { lowest = std::min(lowest, token); });
  }
  return lowest;
}

bool PartBudgetMachine::budget_cannot_bind(const TokenState& state, std::uint32_t tokens) {
  return !is_open(state) && whole_->budget_cannot_bind(whole_state(state), tokens);
}

// The completion of the whole text if it closes the part in time; otherwise the fewest tokens that close the part, and
// a completion after them.
std::vector<std::uint32_t> PartBudgetMachine::completion(const TokenState& state, std::uint32_t within) {
  const std::uint32_t least = is_open(state) ? std::min(state.part_tokens, within) : within;
  if (!is_open(state) || whole_->completes_within(whole_state(state), least)) {
    return whole_->completion(whole_state(state), least);
  }
  const std::optional<Found> found = search(node_of(state), state.part_tokens, within);
  if (!found) throw Error(ErrorKind::limit, "part_tokens", kNoLimit, state.part_tokens);
  std::vector<std::uint32_t> tokens;
  for (std::size_t k = found->last; k != 0; k = found->nodes[k].parent) {
    const SearchNode& at = found->nodes[k];
    tokens.push_back(token_between(found->nodes[at.parent].node, at.node));
  }
  std::reverse(tokens.begin(), tokens.end());
  const SearchNode& last = found->nodes[found->last];
  const std::vector<std::uint32_t> rest =
      whole_->completion({last.node.whole.value}, within == kNoLimit ? kNoLimit : within - last.depth);
  tokens.insert(tokens.end(), rest.begin(), rest.end());
  return tokens;
}

Diagnosis PartBudgetMachine::diagnose(const TokenState& state, std::string_view text) {
  return whole_->diagnose(whole_state(state), text);
}

void PartBudgetMachine::expand(const TokenState& state, const VisitToken& visit) {
  whole_->expand(whole_state(state), [&](std::uint32_t token, const TokenState& next) {
    const TokenStep after = is_open(state) ? step(state, token) : TokenStep{next};
    if (after.refusal == Refusal::none) visit(token, after.state);
  });
}

void PartBudgetMachine::expand(const TokenState& state, std::span<const std::uint32_t> tokens,
                               const VisitToken& visit) {
  whole_->expand(whole_state(state), tokens, [&](std::uint32_t token, const TokenState& next) {
    const TokenStep after = is_open(state) ? step(state, token) : TokenStep{next};
    if (after.refusal == Refusal::none) visit(token, after.state);
  });
}

}  // namespace detent

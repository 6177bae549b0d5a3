#include "runtime/canonical_constraint.h"

#include <algorithm>
#include <utility>

#include "base/fork_guard.h"

namespace detent {

class CanonicalConstraint::Call {
 public:
  explicit Call(CanonicalConstraint& constraint) : constraint_(constraint), lock_(constraint.mutex_) {
    constraint.meter_.restart();
  }
  ~Call() { constraint_.is_full_.store(constraint_.meter_.is_full(), std::memory_order_relaxed); }
  Call(const Call&) = delete;
  Call& operator=(const Call&) = delete;

 private:
  CanonicalConstraint& constraint_;
  ForkGuard guard_;
  std::lock_guard<std::mutex> lock_;
};

CanonicalConstraint::CanonicalConstraint(Automaton& automaton, MaskComputer& masks, Automaton* part,
                                         std::shared_ptr<PretokenTransitions> transitions, const Limits& limits,
                                         std::shared_ptr<const CancelFlag> cancel)
    : transitions_(std::move(transitions)),
      meter_(limits),
      language_{automaton, *transitions_, meter_},
      sets_(*transitions_, meter_),
      greedy_(language_),
      byte_fallback_(language_, greedy_),
      completions_(language_, greedy_, byte_fallback_),
      single_(language_, greedy_, completions_),
      endings_(language_, greedy_, completions_, byte_fallback_, single_),
      search_(language_, completions_, byte_fallback_, endings_, greedy_),
      conjuncts_(automaton, meter_),
      known_completions_(language_, completions_, endings_, search_, conjuncts_, part),
      masks_(language_, masks, greedy_, completions_, endings_, search_, conjuncts_, known_completions_) {
  meter_.set_cancel_flag(std::move(cancel));
}

CanonicalConstraint::CanonicalConstraint(Automaton& automaton, MaskComputer& masks, Automaton* part,
                                         CanonicalConstraint& other)
    : CanonicalConstraint(automaton, masks, part, other.transitions_, other.meter_.limits(), nullptr) {
  begin_decoding();
  const Call call(other);
  masks_.continue_from(other.masks_);
  known_completions_.continue_from(other.known_completions_);
}

PositionSetId CanonicalConstraint::adopt(CanonicalConstraint& other, PositionSetId positions) {
  SplitPositionSets::Set set;
  {
    const Call call(other);
    set = other.sets_[positions];
  }
  const Call call(*this);
  return sets_.intern(std::move(set));
}

bool CanonicalConstraint::has_grown() {
  const Call call(*this);
  return meter_.has_grown();
}

std::int64_t CanonicalConstraint::memory_bytes() {
  const Call call(*this);
  return meter_.bytes();
}

void CanonicalConstraint::remove_dead_ends(ExprId state, std::uint32_t last, SplitPositionSets::Set& set) {
  std::erase_if(set, [&](const SplitPosition& at) { return search_.completion_bound({state, at, last}) == kInfinite; });
}

CanonicalConstraint::Context CanonicalConstraint::start(ExprId state, std::span<const std::uint32_t> prompt) {
  const Call call(*this);
  const SplitPositionSets::Set text_start = sets_[SplitPositionSets::kTextStart];
  SplitPositionSets::Set set = text_start;
  std::uint32_t last = kNoToken;
  for (std::uint32_t token : prompt) {
    const bool is_text = transitions_->vocabulary().is_text(token) && !transitions_->is_special(token);
    SplitPositionSets::Set next = is_text ? sets_.after(set, last, token) : SplitPositionSets::Set{};
    if (next.empty() && is_text && last != kNoToken) next = sets_.after(text_start, kNoToken, token);
    meter_.step(static_cast<std::int64_t>(set.size()) + 1);
    last = next.empty() ? kNoToken : token;
    if (next.empty()) next = text_start;
    set = std::move(next);
  }
  if (last == kNoToken) {
    const bool has_text = completions_.may_start_pretoken(state, PreTokenizer::kTextStart);
    return {kNoToken, has_text ? SplitPositionSets::kTextStart : kRefused};
  }
  remove_dead_ends(state, last, set);
  return {last, set.empty() ? kRefused : sets_.intern(std::move(set))};
}

CanonicalConstraint::Context CanonicalConstraint::step(ExprId next, const Context& at, std::uint32_t token) {
  const Call call(*this);
  SplitPositionSets::Set set = sets_.after(sets_[at.positions], at.last, token);
  remove_dead_ends(next, token, set);
  if (set.empty()) return {token, kRefused};
  return transitions_->is_special(token) ? Context{} : Context{token, sets_.intern(std::move(set))};
}

bool CanonicalConstraint::accepting(ExprId state, const Context& at) {
  if (!language_.automaton.accepting(state)) return false;
  const Call call(*this);
  return std::ranges::any_of(sets_[at.positions], [&](const SplitPosition& position) {
    return transitions_->may_end_pretoken(position, at.last) &&
           language_.pretokenizer().may_end(position.position.decoded().state);
  });
}

bool CanonicalConstraint::fill(ExprId state, const Context& at, std::uint32_t* row, const CompletionBudget& budget) {
  const Call call(*this);
  return masks_.fill(state, sets_[at.positions], at.last, budget, row);
}

bool CanonicalConstraint::completes_within(ExprId state, const Context& at, const CompletionBudget& budget) {
  const Call call(*this);
  if (at.last == kNoToken) return known_completions_.completion_of_text(state, budget).has_value();
  return std::ranges::any_of(sets_[at.positions], [&](const SplitPosition& position) {
    return known_completions_.fits({state, position, at.last}, budget);
  });
}

std::optional<std::vector<std::uint32_t>> CanonicalConstraint::completion_within(ExprId state, const Context& at,
                                                                                 const CompletionBudget& budget) {
  const Call call(*this);
  if (at.last == kNoToken) return known_completions_.completion_of_text(state, budget);
  for (const SplitPosition& position : sets_[at.positions]) {
    std::optional<std::vector<std::uint32_t>> found = known_completions_.completion({state, position, at.last}, budget);
    if (found) return found;
  }
  return std::nullopt;
}

std::vector<std::uint32_t> CanonicalConstraint::completion_after(ExprId state, const Context& before, ExprId next,
                                                                 const Context& after, std::uint32_t most) {
  const Call call(*this);
  if (after.last == kNoToken) return {};
  const SplitPositionSets::Set &from = sets_[before.positions], &to = sets_[after.positions];
  std::vector<std::uint32_t> found;
  if (known_completions_.follows_parts(state)) {
    found = known_completions_.completion_of_alternative(state, from, after.last, to, most);
  }
  if (found.empty()) found = masks_.completion_after(state, from, after.last, next, to, most);
  return found;
}

std::uint32_t CanonicalConstraint::completion_length(ExprId state, const Context& at, std::uint32_t within) {
  const Call call(*this);
  if (at.last == kNoToken) return completions_.token_count(state, PreTokenizer::kTextStart);
  std::uint32_t least = kInfinite;
  for (const SplitPosition& position : sets_[at.positions]) {
    least = std::min(least, search_.completion_length({state, position, at.last}, within));
  }
  return least;
}

std::vector<std::uint32_t> CanonicalConstraint::completion(ExprId state, const Context& at) {
  const Call call(*this);
  if (at.last == kNoToken) return encode(completions_.text(state, PreTokenizer::kTextStart));
  std::uint32_t least = kInfinite;
  CompletionNode shortest{};
  for (const SplitPosition& position : sets_[at.positions]) {
    const CompletionNode node{state, position, at.last};
    const std::uint32_t length = search_.completion_length(node, 0);
    if (length < least) least = length, shortest = node;
  }
  return search_.completion(shortest);
}

}  // namespace detent

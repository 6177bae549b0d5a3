#include "runtime/token_bounds.h"

namespace detent {

TokenBounds::TokenBounds(const TokenizedLanguage& language, CompletionSearch& search, ExprId state,
                         const SplitPosition& at)
    : language_(language), search_(search), state_(state), at_(at), row_(language.transitions.row(at.position)) {
  // A token at the start of a pre-token is the whole pre-token so far. Unsplit tokens are those that merging does not
  // give, so no token that merging gives has the text of one.
  const PretokenPosition position = at.position.decoded();
  const bool at_start = !position.inside_character() && position.starts_pretoken;
  no_unsplit_ = at_start || at.unsplit == Encoder::kNoUnsplit;
}

std::uint32_t TokenBounds::of(std::uint32_t token, ExprId next) {
  const std::uint16_t target = row_.target_of(token);
  if (target == TransitionRow::kRefused || next == ExprSet::kEmpty) return kInfinite;
  const PositionId position = row_.targets[target];
  CompletionSearch::Arrival& at = arrival(next, target);
  if (no_unsplit_) {
    const std::uint32_t known = search_.boundary_bound(next, position, at);
    if (known != kInfinite) return known;
  }
  const SplitPosition after{position, language_.transitions.unsplit_after(at_.unsplit, token)};
  return search_.completion_bound({next, after, token}, at);
}

std::uint32_t TokenBounds::bytes_of(std::uint32_t token, ExprId next) {
  const std::uint16_t target = row_.target_of(token);
  if (target == TransitionRow::kRefused || next == ExprSet::kEmpty) return kInfinite;
  const SplitPosition after{row_.targets[target], language_.transitions.unsplit_after(at_.unsplit, token)};
  return search_.immediate_bound({next, after, token}, arrival(next, target)).value_or(kInfinite);
}

bool TokenBounds::leads_on(std::uint32_t token, ExprId next) {
  const std::uint16_t target = row_.target_of(token);
  if (target == TransitionRow::kRefused || next == ExprSet::kEmpty) return false;
  CompletionSearch::Arrival& at = arrival(next, target);
  if (no_unsplit_ && at.may_end) return true;
  const SplitPosition after{row_.targets[target], language_.transitions.unsplit_after(at_.unsplit, token)};
  return search_.leads_on({next, after, token}, at);
}

CompletionSearch::Arrival& TokenBounds::arrival(ExprId next, std::uint16_t target) {
  if (next != last_next_) {
    last_next_ = next;
    of_last_next_ = &arrivals_.try_emplace(next.value, row_.targets.size()).first->second;
  }
  CompletionSearch::Arrival*& known = (*of_last_next_)[target];
  if (!known) known = &search_.arrival(next, row_.targets[target]);
  return *known;
}

ContextFreeBounds::Targets& ContextFreeBounds::targets_of(ExprId next) {
  if (next != last_next_) {  // neighbours in the trie often lead to one state
    last_next_ = next;
    const auto [entry, is_new] = known_.try_emplace(next.value);
    of_last_next_ = &entry->second;
    if (is_new) {
      of_last_next_->verdicts.assign(row_.targets.size() + 1, Verdict::unknown);
      of_last_next_->verdicts.back() = Verdict::refused;
      of_last_next_->targets.resize(row_.targets.size());
    }
  }
  return *of_last_next_;
}

ContextFreeBounds::Verdict ContextFreeBounds::decide(Target& target, ExprId next, PositionId position) {
  const PretokenPosition at = position.decoded();
  if (!at.inside_character()) target.length = completions_.context_free_bound(next, at.state);
  if (target.length != kInfinite) return target.length == 1 ? Verdict::closing : Verdict::accepted;
  target.endings = endings_.find_context_free(next, position);
  if (!target.endings) return Verdict::uncertain;
  if (!target.endings->impossible) return Verdict::by_token;
  return at.inside_character() ? Verdict::refused : Verdict::uncertain;
}

ContextFreeBounds::Bound ContextFreeBounds::of(std::uint32_t token, ExprId next, std::size_t index) {
  if (next == ExprSet::kEmpty) return {Verdict::refused};
  Targets& targets = targets_of(next);
  Verdict& verdict = targets.verdicts[index];
  if (verdict == Verdict::refused) return {verdict};
  Target& target = targets.targets[index];
  const PositionId position = row_.targets[index];
  if (verdict == Verdict::unknown) verdict = decide(target, next, position);
  if (verdict != Verdict::by_token) return {verdict, target.length};
  const Encoder& encoder = language_.encoder();
  const bool inside_character = position.decoded().inside_character();
  if (!encoder.may_have_neighbours(token)) return {inside_character ? Verdict::refused : Verdict::uncertain};
  for (const PretokenEnding& ending : target.endings->endings) {
    if (!encoder.may_follow(token, ending.first)) continue;
    return {Verdict::accepted, ending.bytes + completions_.context_free_bound(ending.state, ending.boundary)};
  }
  if (!inside_character) return {Verdict::uncertain};
  if (!target.short_tokens) target.short_tokens = short_tokens(next, position);
  for (const auto& [follower, length] : *target.short_tokens) {
    if (encoder.may_follow(token, follower)) return {Verdict::accepted, length};
  }
  return {Verdict::uncertain};
}

// The short tokens after which the pre-token may end with every continuation, and their bounds; ascending by bound.
std::vector<std::pair<std::uint32_t, std::uint32_t>> ContextFreeBounds::short_tokens(ExprId state,
                                                                                     PositionId position) {
  std::vector<std::pair<std::uint32_t, std::uint32_t>> found;
  search_.any_edge(state, position, [&](const TokenEdge& edge) {
    const PretokenPosition after = edge.position.decoded();
    if (after.inside_character()) return false;
    const auto bytes = static_cast<std::uint32_t>(language_.vocabulary().bytes(edge.token).size());
    if (bytes > PretokenTransitions::kMaxEndingBytes) return false;
    const std::uint32_t bound = completions_.context_free_bound(edge.state, after.state);
    if (bound != kInfinite) found.emplace_back(edge.token, bytes + bound);
    return false;
  });
  std::ranges::stable_sort(found, {}, &std::pair<std::uint32_t, std::uint32_t>::second);
  return found;
}

}  // namespace detent

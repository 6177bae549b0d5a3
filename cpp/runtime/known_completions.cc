#include "runtime/known_completions.h"

#include <string>

#include "mask/mask_builder.h"
#include "runtime/canonical_alternative_walk.h"
#include "runtime/canonical_conjunction_walk.h"
#include "runtime/walk_limit.h"

namespace detent {
namespace {

// Of all searches for completions in one mask, in steps of the meter: some milliseconds. Beyond, the bytes of a
// searched completion count as its tokens; where alternatives are followed, a token counts as one that does not fit.
constexpr std::int64_t kMostSearchWork = 20'000;

}  // namespace

KnownCompletions::Cost KnownCompletions::cost_of(std::span<const std::uint32_t> tokens, ExprId part) {
  const auto count = static_cast<std::uint32_t>(tokens.size());
  language_.meter.step(count);
  for (std::uint32_t i = 0; i < count && part != ExprSet::kEmpty; ++i) {
    part = part_after(*part_, part, language_.vocabulary().bytes(tokens[i]));
    if (part == ExprSet::kEmpty) return {count, i + 1};
  }
  return {count, part == ExprSet::kEmpty ? 0 : count};
}

KnownCompletions::Cost KnownCompletions::cost_after_end(ExprId state, PreTokenizer::State boundary, ExprId part) {
  if (part == ExprSet::kEmpty) return {completions_.token_count(state, boundary), 0};
  return cost_of(language_.transitions.encode(completions_.text(state, boundary)), part);
}

KnownCompletions::Cost KnownCompletions::cost_through(ExprId state, PositionId position, PretokenEnding& ending,
                                                      ExprId part) {
  if (part != ExprSet::kEmpty) return cost_of(through(state, position, ending), part);
  return {search_.token_count(state, position, ending), 0};
}

const KnownCompletions::Arrival& KnownCompletions::arrival(ExprId state, PositionId position, ExprId part) {
  const Key key{state_key(state, position), part.value};
  if (const auto known = arrivals_.find(key); known != arrivals_.end()) return known->second;
  Arrival at;
  const PretokenPosition decoded = position.decoded();
  at.may_end = !decoded.inside_character() && completions_.may_start_pretoken(state, decoded.state);
  if (at.may_end) at.after_end = cost_after_end(state, decoded.state, part);
  for (PretokenEnding& ending : endings_.find(state, position).endings) {
    at.endings.emplace_back(&ending, cost_through(state, position, ending, part));
  }
  language_.meter.allocate(static_cast<std::int64_t>(at.endings.size()) * 16 + 128);
  return arrivals_[key] = std::move(at);
}

std::vector<std::uint32_t> KnownCompletions::after_end(const CompletionNode& node) {
  return language_.transitions.encode(completions_.text(node.state, node.at.position.decoded().state));
}

// The tokens of an ending and of the completion after it.
std::vector<std::uint32_t> KnownCompletions::through(ExprId state, PositionId position, const PretokenEnding& ending) {
  std::vector<std::uint32_t> tokens = endings_.tokens(state, position, ending);
  const std::string text = completions_.text(ending.state, ending.boundary);
  const std::vector<std::uint32_t> rest = language_.transitions.encode(text);
  tokens.insert(tokens.end(), rest.begin(), rest.end());
  return tokens;
}

KnownCompletions::Cost KnownCompletions::of_search(const CompletionNode& node, ExprId part) {
  const Key key{state_key(node.state, node.at.position), part.value, node.last, node.at.unsplit.value};
  if (const auto known = of_searches_.find(key); known != of_searches_.end()) return known->second;
  language_.meter.allocate(96);
  return of_searches_[key] = cost_of(search_.completion(node), part);
}

template <class Visit>
bool KnownCompletions::any_known(const CompletionNode& node, ExprId part, const Arrival& at, Visit visit) {
  bool is_known = false;
  if (at.may_end && language_.transitions.may_end_pretoken(node.at, node.last)) {
    is_known = true;
    if (visit(at.after_end, [&] { return after_end(node); })) return true;
  }
  for (const auto& [ending, cost] : at.endings) {
    if (!search_.fits_ending(node, *ending)) continue;
    is_known = true;
    if (visit(cost, [&] { return through(node.state, node.at.position, *ending); })) return true;
  }
  return !is_known && visit(of_search(node, part), [&] { return search_.completion(node); });
}

bool KnownCompletions::fits(const CompletionNode& node, const CompletionBudget& budget) {
  if (!budget.has_part()) return search_.completion_length(node) <= budget.tokens;
  return any_known(node, budget.part, arrival(node.state, node.at.position, budget.part),
                   [&](const Cost& cost, const auto&) { return cost.fits(budget); });
}

std::optional<std::vector<std::uint32_t>> KnownCompletions::completion(const CompletionNode& node,
                                                                       const CompletionBudget& budget) {
  std::optional<std::vector<std::uint32_t>> found;
  any_known(node, budget.part, arrival(node.state, node.at.position, budget.part),
            [&](const Cost& cost, const auto& tokens) {
              if (cost.fits(budget)) found = tokens();
              return found.has_value();
            });
  return found;
}

std::optional<std::vector<std::uint32_t>> KnownCompletions::completion_of_text(ExprId state,
                                                                               const CompletionBudget& budget) {
  std::vector<std::uint32_t> tokens = language_.transitions.encode(completions_.text(state, PreTokenizer::kTextStart));
  if (!cost_of(tokens, budget.part).fits(budget)) return std::nullopt;
  return tokens;
}

const std::vector<KnownCompletions::Successor>& KnownCompletions::successors(const PartNode& node) {
  if (const auto known = successors_.find(node.key()); known != successors_.end()) return known->second;
  std::vector<std::pair<PartNode, MaskBuilder>> found;
  std::unordered_map<std::uint64_t, std::size_t> index;
  const Vocabulary& vocabulary = language_.vocabulary();
  const auto visit = [&](std::span<const std::uint32_t> tokens, const PartNode& after) {
    const auto [entry, is_new] = index.try_emplace(after.key(), found.size());
    if (is_new) found.emplace_back(after, MaskBuilder(vocabulary.word_count()));
    found[entry->second].second.allow(tokens.data(), tokens.size());
  };
  language_.meter.step(walk_part(vocabulary, language_.automaton, part_, node, visit) / 8 + 1);
  std::vector<Successor> next;
  std::size_t bytes = 0;
  for (auto& [after, builder] : found) {
    next.push_back({after, builder.finish()});
    bytes += next.back().tokens->bytes() + 64;
  }
  language_.meter.allocate(static_cast<std::int64_t>(bytes));
  return successors_.emplace(node.key(), std::move(next)).first->second;
}

std::pair<KnownCompletions::Cost, bool> KnownCompletions::best_of(const CompletionNode& node, const Arrival& at,
                                                                  const CompletionBudget& budget) {
  if (!budget.has_part()) {
    const Cost cost{search_.completion_length(node), 0};
    return {cost, cost.fits(budget)};
  }
  Cost best{kInfinite, kInfinite};
  const bool is_within = any_known(node, budget.part, at, [&](const Cost& cost, const auto&) {
    if (cost.part_tokens < best.part_tokens) best = cost;
    return cost.fits(budget);
  });
  return {best, is_within};
}

// Adds tokens of a mask to a row: those after which a known completion fits. Tokens that lead to one state and position
// share most of the answer.
class KnownCompletions::TokenFilter {
 public:
  // If `mask` is null, its tokens are those that lead to no dead end.
  TokenFilter(KnownCompletions& known, const Mask* mask, const SplitPosition& at, const CompletionBudget& budget,
              std::uint32_t* row)
      : known_(known),
        at_(at),
        budget_(budget),
        row_(row),
        transitions_(known.language_.transitions.row(at.position)),
        has_mask_(mask != nullptr) {
    if (mask) {
      bits_.resize(known.language_.vocabulary().word_count());
      mask->add_to(bits_.data());
    }
    // As in TokenBounds: no token can make the pre-token the text of an unsplit token.
    const PretokenPosition position = at.position.decoded();
    no_unsplit_ = (!position.inside_character() && position.starts_pretoken) || at.unsplit == Encoder::kNoUnsplit;
  }

  const Cost& worst() const { return worst_; }
  // From here on, all searches together may take kMostSearchWork.
  void limit_searches() { limits_searches_ = true; }

  // Where a token leads the pre-tokenizer; kRefused if it is no token of the mask.
  std::uint16_t target(std::uint32_t token) const {
    const bool is_refused = has_mask_ && (bits_[token >> 5] >> (token & 31) & 1) == 0;
    return is_refused ? TransitionRow::kRefused : transitions_.target_of(token);
  }

  // Whether the last call of add() would have refused each token of the mask that leads to the same states.
  bool refused_whole_target() const { return refused_whole_target_; }
  // Adds a token of the mask that leads to `next` if a known completion of that fits. Returns whether one does.
  bool add(std::uint32_t token, const PartNode& next) {
    const std::uint16_t target = this->target(token);
    refused_whole_target_ = false;
    if (target == TransitionRow::kRefused) return false;
    const CompletionBudget after{budget_.tokens, next.part, budget_.part_tokens};
    const PositionId to = transitions_.targets[target];
    Group& group = groups_of(next)[target];
    if (group.verdict == Verdict::unknown) decide(group, known_.arrival(next.whole, to, next.part), after);
    bool by_token = group.verdict == Verdict::by_token;
    UnsplitNode unsplit = Encoder::kNoUnsplit;
    if (by_token || !no_unsplit_) {
      unsplit = known_.language_.transitions.unsplit_after(at_.unsplit, token);
      by_token |= !no_unsplit_ && unsplit != Encoder::kNoUnsplit;
    }
    if (!by_token && group.verdict == Verdict::none) {
      refused_whole_target_ = no_unsplit_;
      return false;
    }
    if (by_token) {
      const auto [best, fits] = best_of({next.whole, {to, unsplit}, token}, *group.at, after);
      if (best.tokens != kInfinite) worst_.raise_to(best);
      if (!fits) return false;
    }
    row_[token >> 5] |= 1u << (token & 31);
    return true;
  }

 private:
  std::vector<Group>& groups_of(const PartNode& next) {
    if (!of_last_ || next.key() != last_) {  // neighbours in the trie often lead to one state
      last_ = next.key();
      of_last_ = &groups_.try_emplace(last_, transitions_.targets.size()).first->second;
    }
    return *of_last_;
  }

  std::pair<Cost, bool> best_of(const CompletionNode& node, const Arrival& at, const CompletionBudget& after) {
    if (after.has_part()) return known_.best_of(node, at, after);
    CompletionSearch& search = known_.search_;
    Cost cost{search.known_length(node), 0};
    if (cost.tokens != kInfinite) return {cost, cost.fits(after)};
    const bool is_spent = search_work_ > kMostSearchWork;
    if (limits_searches_ && is_spent) {
      worst_.raise_to({kInfinite, 0});  // the token may fit larger budgets
      return {cost, false};
    }
    const std::int64_t before = known_.language_.meter.steps();
    cost.tokens = is_spent ? search.completion_bound(node) : search.completion_length(node, after.tokens);
    search_work_ += known_.language_.meter.steps() - before;
    return {cost, cost.tokens != kInfinite && cost.fits(after)};
  }

  void decide(Group& group, const Arrival& at, const CompletionBudget& after) {
    group.at = &at;
    if (at.may_end) worst_.raise_to(at.after_end);
    group.verdict = at.may_end && at.after_end.fits(after) ? Verdict::all
                    : at.may_end && !at.may_fit(after)     ? Verdict::none
                                                           : Verdict::by_token;
  }

  KnownCompletions& known_;
  const SplitPosition& at_;
  const CompletionBudget& budget_;
  std::uint32_t* row_;
  const TransitionRow& transitions_;
  bool has_mask_;
  std::vector<std::uint32_t> bits_;  // of the mask
  bool no_unsplit_ = false;
  bool refused_whole_target_ = false;  // by the last call of add()
  Cost worst_;
  bool limits_searches_ = false;
  std::int64_t search_work_ = 0;
  std::unordered_map<std::uint64_t, std::vector<Group>> groups_;  // by PartNode::key, then by target
  std::uint64_t last_ = 0;
  std::vector<Group>* of_last_ = nullptr;
};

// For budgets without a part: the walks of add_within().
class KnownCompletions::AlternativeFilter final : public CanonicalAlternativeWalk::Verdicts {
 public:
  explicit AlternativeFilter(TokenFilter& filter) : filter_(filter) {}
  std::uint16_t target(std::uint32_t token) override { return filter_.target(token); }
  Answer take(std::uint32_t token, ExprId next) override {
    if (filter_.add(token, {next, ExprSet::kEmpty})) return Answer::taken;
    return filter_.refused_whole_target() ? Answer::never : Answer::refused;
  }

 private:
  TokenFilter& filter_;
};

// The same for intersections. A token that fits by the completion of another state may not fit a larger budget by a
// completion that is found then: so nothing is known of larger budgets.
class KnownCompletions::ConjunctionFilter final : public CanonicalConjunctionWalk::Verdicts {
 public:
  ConjunctionFilter(TokenFilter& filter, const CompletionBudget& budget) : filter_(filter), budget_(budget) {}
  bool counts() const override { return true; }
  bool fits(std::uint32_t tokens) override { return tokens <= budget_.tokens; }
  bool decide(std::uint32_t token, ExprId next) override { return filter_.add(token, {next, ExprSet::kEmpty}); }

 private:
  TokenFilter& filter_;
  const CompletionBudget& budget_;
};

// Looks at no mask, so that completion_of_conjunction() finds the same completions.
void KnownCompletions::add_by_conjuncts(ExprId state, const SplitPosition& at, const CompletionBudget& budget,
                                        std::uint32_t* row) {
  CanonicalConjunctionWalk walk(language_, completions_, endings_, search_, conjuncts_, state, at);
  TokenFilter filter(*this, nullptr, at, budget, row);
  filter.limit_searches();
  ConjunctionFilter verdicts(filter, budget);
  walk.run(verdicts, row);
}

// The completion by which add_by_conjuncts() has added a token.
std::vector<std::uint32_t> KnownCompletions::completion_of_conjunction(ExprId state,
                                                                       std::span<const SplitPosition> before,
                                                                       std::uint32_t token,
                                                                       std::span<const SplitPosition> after,
                                                                       std::uint32_t most) {
  const PretokenTransitions& transitions = language_.transitions;
  std::vector<SplitPosition> from(before.begin(), before.end());
  for (const SplitPosition& at : before) from.push_back(transitions.pretoken_start(at.position.decoded().state));
  std::vector<std::uint32_t> row(language_.vocabulary().word_count());
  const CompletionBudget budget{most};
  for (const SplitPosition& at : from) {
    const TransitionRow& targets = language_.transitions.row(at.position);
    const std::uint16_t target = targets.target_of(token);
    if (target == TransitionRow::kRefused) continue;
    const SplitPosition reached{targets.targets[target], transitions.unsplit_after(at.unsplit, token)};
    if (std::ranges::find(after, reached) == after.end()) continue;
    CanonicalConjunctionWalk walk(language_, completions_, endings_, search_, conjuncts_, state, at);
    TokenFilter filter(*this, nullptr, at, budget, row.data());
    filter.limit_searches();
    ConjunctionFilter verdicts(filter, budget);
    if (std::optional<std::vector<std::uint32_t>> found = walk.completion_after(verdicts, token)) return *found;
  }
  return {};
}

// Returns false where a walk over states takes too much.
bool KnownCompletions::walk_by_states(ExprId state, TokenFilter& filter) {
  constexpr int kHalvings = 3;  // of the limit, where conjuncts can be followed: such a walk is soon the cheaper one
  WalkLimit limit(language_.automaton, state, has_conjuncts(state) ? kHalvings : 0);
  try {
    language_.each_token(state, [&](std::uint32_t token, ExprId next) {
      filter.add(token, {next, ExprSet::kEmpty});
      limit.check();
    });
  } catch (const WalkLimit::Exceeded&) {
    return false;
  }
  return true;
}

bool KnownCompletions::add_within(const Mask* mask, ExprId state, const SplitPosition& at,
                                  const CompletionBudget& budget, std::uint32_t* row) {
  const bool fits = mask && mask->max_completion_bound() <= std::min(budget.tokens, budget.part_tokens);
  if (fits || is_within_worst(state, at, budget)) {
    mask->add_to(row);
    return false;
  }
  TokenFilter filter(*this, mask, at, budget, row);
  if (budget.has_part()) {  // few states, each near the end of many texts
    for (const Successor& next : successors({state, budget.part})) {
      next.tokens->each([&](std::uint32_t token) { filter.add(token, next.node); });
    }
  } else if (follows_parts(state) || !walk_by_states(state, filter)) {
    if (has_conjuncts(state)) {
      follows_conjuncts_ = true;
      add_by_conjuncts(state, at, budget, row);
      return true;
    }
    follows_alternatives_ = true;
    filter.limit_searches();
    AlternativeFilter verdicts(filter);
    CanonicalAlternativeWalk(language_, verdicts, state).run();
  }
  language_.meter.allocate(96);
  worst_[key(state, at, budget)] = filter.worst();
  return true;
}

std::vector<std::uint32_t> KnownCompletions::completion_of_alternative(ExprId state,
                                                                       std::span<const SplitPosition> before,
                                                                       std::uint32_t token,
                                                                       std::span<const SplitPosition> after,
                                                                       std::uint32_t most) {
  if (has_conjuncts(state)) return completion_of_conjunction(state, before, token, after, most);
  std::optional<CompletionNode> nearest;
  for (ExprId next : CanonicalAlternativeWalk::states_after(language_, state, token)) {
    for (const SplitPosition& at : after) {
      const std::uint32_t length = search_.completion_length({next, at, token}, most);
      if (length > most || length == kInfinite) continue;
      most = length;
      nearest = {next, at, token};
    }
  }
  return nearest ? search_.completion(*nearest) : std::vector<std::uint32_t>{};
}

}  // namespace detent

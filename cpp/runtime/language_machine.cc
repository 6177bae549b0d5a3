#include "runtime/language_machine.h"

#include <algorithm>
#include <bit>
#include <functional>
#include <numeric>
#include <unordered_map>
#include <unordered_set>
#include <utility>

#include "base/error.h"
#include "expr/lengths.h"
#include "expr/special.h"
#include "mask/mask_builder.h"
#include "runtime/exclusion_walk.h"
#include "runtime/item_budget.h"
#include "runtime/trie_walk.h"

namespace detent {
namespace {

// The work limit of the first attempt at a mask near a token budget: usually some 4 ms, at most some 20.
constexpr std::int64_t kMaxWork = 40'000;
// The same where alternatives decide what is left.
constexpr std::int64_t kLittleWork = 4'000;
// Bytes by which the next item may be longer than the shortest one, so that it repeats none.
constexpr std::uint32_t kMoreForItems = 16;

// The state after bytes, from a state that lacks the text of the item that is being read, and lacks it, too.
ExprId after_any_text(Automaton& automaton, ExprId state, std::string_view bytes) {
  for (char byte : bytes) {
    if (state == ExprSet::kEmpty) break;
    state = automaton.row(state)[automaton.class_of()[static_cast<std::uint8_t>(byte)]];
  }
  return state;
}

}  // namespace

class LanguageMachine::WorkLimit {
 public:
  WorkLimit(const Automaton& automaton, std::int64_t max_work)
      : automaton_(automaton), end_(max_work == INT64_MAX ? INT64_MAX : automaton.work() + max_work) {}
  void check() const {
    if (automaton_.work() > end_) throw TooMuchWork{};
  }

 private:
  const Automaton& automaton_;
  std::int64_t end_;
};

LanguageMachine::LanguageMachine(const NodeRef& language, std::shared_ptr<const Vocabulary> vocabulary,
                                 const Limits& limits, const std::shared_ptr<const CancelFlag>& cancel)
    : TokenMachine(std::move(vocabulary)),
      cancel_(cancel),
      automaton_(
          with_special(language, vocabulary_->special_names(), vocabulary_->special_eos()),
          Automaton::Writable{vocabulary_->alphabet(), vocabulary_->tokenizable_texts(), vocabulary_->token_bytes()},
          vocabulary_->max_token_length(), limits, cancel),
      masks_(*vocabulary_, automaton_),
      repeated_(*vocabulary_, automaton_),
      budget_(*this, limits) {
  if (start() == ExprSet::kEmpty) {
    const bool has_text = vocabulary_->alphabet() != ByteSet::all() &&
                          Automaton(language, Automaton::Writable{}, 0, limits, cancel).start() != ExprSet::kEmpty;
    throw Error(ErrorKind::empty, has_text ? "tokenizable" : "language");
  }
  if (!automaton_.is_tokenizable(start())) throw Error(ErrorKind::empty, "tokenizable");
}

LanguageMachine::LanguageMachine(LanguageMachine& other)
    : TokenMachine(other.vocabulary_),
      cancel_(other.cancel_),
      automaton_(other.automaton_),
      masks_(*vocabulary_, automaton_),
      repeated_(*vocabulary_, automaton_),
      budget_(*this, other.budget_.limits()) {}

void LanguageMachine::adopt(TokenMachine& other, std::span<TokenState> states) {
  std::vector<ExprId> ids;
  for (const TokenState& state : states) ids.push_back(state.is_finished() ? start() : ExprId{state.language});
  automaton_.adopt(static_cast<LanguageMachine&>(other).automaton_, ids);
  for (std::size_t i = 0; i < states.size(); ++i) {
    if (!states[i].is_finished()) states[i].language = ids[i].value;
  }
}

ExprId LanguageMachine::advance(ExprId state, std::string_view text) {
  state = automaton_.advance(state, text);
  return state != ExprSet::kEmpty && automaton_.is_tokenizable(state) ? state : ExprSet::kEmpty;
}

// An eos id can be a text token too, if the language contains it as a special token. Then it ends the text if the
// language accepts after it.
TokenStep LanguageMachine::step(const TokenState& state, std::uint32_t token) {
  const bool is_eos = vocabulary_->is_eos(token), is_text = vocabulary_->is_text(token);
  const ExprId next = is_text ? advance(ExprId{state.language}, vocabulary_->bytes(token)) : ExprSet::kEmpty;
  if (next != ExprSet::kEmpty) return {is_eos && accepting(next) ? TokenState::finished() : TokenState{next.value}};
  if (is_eos && accepting(state)) return {TokenState::finished()};
  return {state, is_eos ? Refusal::incomplete : is_text ? Refusal::language : Refusal::no_text};
}

std::optional<TokenState> LanguageMachine::step_bytes(const TokenState& state, std::string_view text) {
  const ExprId next = advance(ExprId{state.language}, text);
  return next == ExprSet::kEmpty ? std::nullopt : std::optional(TokenState{next.value});
}

void LanguageMachine::write(const Mask& mask, ExprId state, std::uint32_t* row) {
  mask.write(row, vocabulary_->word_count());
  if (automaton_.has_lists()) {
    repeated_.remove(state, row,
                     [&](std::uint32_t id) { return advance(state, vocabulary_->bytes(id)) != ExprSet::kEmpty; });
  }
  if (accepting(state)) allow_eos(row);
}

// A state with the same mask, shared by more states: with clamped counts, and without the text of the item being read.
ExprId LanguageMachine::representative_of(ExprId state) {
  return automaton_.clamp_to_horizon(automaton_.without_text(state), Automaton::Horizon::token);
}

std::shared_ptr<const Mask> LanguageMachine::cached_mask(ExprId state) {
  return vocabulary_->cache().find(automaton_.hash(representative_of(state)));
}

std::shared_ptr<const Mask> LanguageMachine::mask_of(ExprId state) {
  const ExprId representative = representative_of(state);
  std::shared_ptr<const Mask> mask = vocabulary_->cache().find(automaton_.hash(representative));
  if (mask) return mask;
  mask = masks_.compute(representative);
  vocabulary_->cache().insert(automaton_.hash(representative), mask);
  return mask;
}

void LanguageMachine::fill(const TokenState& state, std::uint32_t* row) {
  const ExprId at{state.language};
  write(*mask_of(at), at, row);
}

bool LanguageMachine::try_fill_cached(const TokenState& state, std::uint32_t* row) {
  const ExprId at{state.language};
  const std::shared_ptr<const Mask> mask = cached_mask(at);
  if (mask) write(*mask, at, row);
  return mask != nullptr;
}

template <class Visit, class VisitAll>
std::int64_t LanguageMachine::walk(ExprId state, Visit visit, VisitAll visit_all) {
  return walk_tokens(*vocabulary_, automaton_, automaton_.without_text(state), visit, visit_all);
}

template <class Visit>
std::int64_t LanguageMachine::walk_ids(ExprId state, Visit visit) {
  return walk(
      state,
      [&](std::uint32_t token, ExprId next) {
        for_each_id(*vocabulary_, token, [&](std::uint32_t id) { visit(id, next); });
      },
      [&](const Subtree& subtree, ExprId next) {
        any_whole_id(*vocabulary_, subtree, [&](std::uint32_t id) { visit(id, next); });
      });
}

template <class Visit>
std::int64_t LanguageMachine::walk_with_text(ExprId state, Visit visit) {
  if (!automaton_.has_lists()) return walk_ids(state, visit);
  return walk_ids(state, [&](std::uint32_t id, ExprId) {
    const ExprId next = advance(state, vocabulary_->bytes(id));
    if (next != ExprSet::kEmpty) visit(id, next);
  });
}

bool LanguageMachine::budget_cannot_bind(const TokenState& state, std::uint32_t tokens) {
  return has_every_byte() && automaton_.max_completion_bound(ExprId{state.language}) < tokens;
}

bool LanguageMachine::completes_within(const TokenState& state, std::uint32_t tokens) {
  Budget::Allowance allowance;
  return budget_.completes_within(ExprId{state.language}, tokens, allowance);
}

bool LanguageMachine::fill_within(const TokenState& state, std::uint32_t tokens_after, std::uint32_t* row) {
  const ExprId at{state.language};
  const bool by_alternatives = follows_alternatives(at);
  const bool has_many = by_alternatives && masks_.has_many_alternatives(at);
  if (has_many && automaton_.completion_bound(at) > tokens_after && !budget_.is_large()) {
    write_by_alternatives(at, tokens_after, row);  // the mask without a budget would cost as much
    return true;
  }
  const std::shared_ptr<const Mask> mask = mask_of(at);
  write(*mask, at, row);
  // The completion bound of a shared mask is valid only if clamping has kept all lengths. It leaves the texts of items
  // out: after a token such as `],[`, the shortest completion may repeat the item that the token ends.
  const std::uint32_t bound = saturating_add(mask->max_completion_bound(), automaton_.has_lists() ? kMoreForItems : 0);
  if (has_every_byte() && automaton_.clamping_keeps_lengths(at) && bound <= tokens_after) return false;
  if (budget_.is_large() && budget_.has_known_completion(at) && follow_known_completion(at, tokens_after, row))
    return true;
  if (budget_.all_fit(at, tokens_after)) return false;
  if (budget_.has_alternatives() && follows_exclusions(automaton_, at)) {
    if (const std::optional<bool> removed = write_beside_exclusions(at, *mask, tokens_after, row)) return *removed;
  }
  if (by_alternatives) {
    const auto removed = has_many ? std::nullopt : remove_beyond(at, tokens_after, row, kLittleWork, false);
    if (!removed) write_by_alternatives(at, tokens_after, row);
    return removed.value_or(true);
  }
  const std::int64_t max_work = budget_.has_known_completion(at) ? kMaxWork : INT64_MAX;
  if (const std::optional<bool> removed = remove_beyond(at, tokens_after, row, max_work)) return *removed;
  write(*mask, at, row);
  return *remove_beyond(at, tokens_after, row, INT64_MAX);
}

// Whether the tokens that fit a budget are found by alternatives, if a walk by states takes more than a little work.
// Not for grammars, which have many stacks but few unions of these; nor for intersections, each of whose alternatives
// may take a search.
bool LanguageMachine::follows_alternatives(ExprId state) {
  constexpr std::size_t kFew = 4;
  return budget_.has_alternatives() && budget_.has_known_completion(state) && !automaton_.has_rule(state) &&
         !automaton_.has_searches() && automaton_.split(state).size() > kFew;
}

void LanguageMachine::write_by_alternatives(ExprId state, std::uint32_t tokens_after, std::uint32_t* row) {
  std::fill_n(row, vocabulary_->word_count(), 0u);
  budget_.write_fitting(state, tokens_after, kMaxWork, row);
  allow_known_completion(state, tokens_after + 1, row);
  if (accepting(state)) allow_eos(row);
}

// Writes the tokens after which a known completion fits, beside a condition that counts. Returns whether these are
// fewer than those of the mask; nothing where positions do not describe the state.
std::optional<bool> LanguageMachine::write_beside_exclusions(ExprId state, const Mask& mask, std::uint32_t tokens_after,
                                                             std::uint32_t* row) {
  MaskBuilder builder(vocabulary_->word_count());
  ExclusionWalk walk(*vocabulary_, automaton_, builder);
  walk.limit_tokens(tokens_after);
  if (!walk.run(state, 0, vocabulary_->trie().size(), false)) return std::nullopt;
  builder.finish()->write(row, vocabulary_->word_count());
  allow_known_completion(state, tokens_after + 1, row);
  if (accepting(state)) allow_eos(row);
  std::vector<std::uint32_t> whole(vocabulary_->word_count());
  write(mask, state, whole.data());
  if (std::equal(whole.begin(), whole.end(), row)) return false;
  // Where the known texts are long, a walk by states may find shorter ones, for tokens that it reaches.
  const auto count = [](const auto& words) {
    return std::transform_reduce(words.begin(), words.end(), std::int64_t{0}, std::plus<>(),
                                 [](std::uint32_t word) { return std::int64_t{std::popcount(word)}; });
  };
  const std::span found(row, vocabulary_->word_count());
  if (count(found) * 2 < count(whole) && remove_beyond(state, tokens_after, whole.data(), kMaxWork)) {
    std::ranges::transform(found, whole, found.begin(), std::bit_or<>());
  }
  return true;
}

std::vector<std::uint32_t> LanguageMachine::completion_after(const TokenState& from, std::uint32_t token,
                                                             const TokenState& to, std::uint32_t tokens) {
  const ExprId at{from.language};
  if (budget_.has_alternatives() && follows_exclusions(automaton_, at)) {
    return completion_beside_exclusions(*vocabulary_, automaton_, at, vocabulary_->bytes(token), tokens);
  }
  if (!follows_alternatives(at)) return {};
  return budget_.completion_after(at, vocabulary_->bytes(token), ExprId{to.language}, tokens);
}

// If a completion fits that a search has found, or that is known without one, writes a mask of only its first token,
// and eos if the state accepts. Otherwise returns false.
bool LanguageMachine::follow_known_completion(ExprId state, std::uint32_t tokens_after, std::uint32_t* row) {
  const std::optional<std::uint32_t> token =
      accepting(state) ? std::nullopt : budget_.known_token(state, tokens_after + 1);
  if (!token && !accepting(state)) return false;
  std::fill_n(row, vocabulary_->word_count(), 0u);
  if (token) row[*token >> 5] |= 1u << (*token & 31);
  if (accepting(state)) allow_eos(row);
  return true;
}

// Removes the text tokens after which no completion of at most `tokens_after` tokens is known. Returns whether it has
// removed any. Searches come last, those first that are likely to find a completion. Where the walk to the states after
// the tokens exceeds `max_work`, only tokens it has visited are left, and that of a known completion. Nothing is
// returned if that is none, or unless it `keeps_visited` tokens.
std::optional<bool> LanguageMachine::remove_beyond(ExprId state, std::uint32_t tokens_after, std::uint32_t* row,
                                                   std::int64_t max_work, bool keeps_visited) {
  const WorkLimit limit(automaton_, max_work);
  Verdicts verdicts;
  std::vector<TokensToState> fitting, open, refused;
  Budget::Allowance allowance;
  ItemBudget item(*vocabulary_, automaton_, budget_, state, tokens_after);
  constexpr std::uint32_t kRecent = 256;  // neighbouring tokens lead to few states
  std::vector<std::pair<ExprId, std::vector<TokensToState>*>> recent(kRecent, {ExprSet::kEmpty, &fitting});
  const auto visit = [&](const TokensToState& tokens) {
    limit.check();
    if (tokens.state == ExprSet::kEmpty) return fitting.push_back(tokens);
    auto& [state_of_list, list] = recent[tokens.state.value % kRecent];
    if (tokens.state != state_of_list) {
      const auto [verdict, is_new] = verdicts.try_emplace(tokens.state.value);
      if (is_new) verdict->second = budget_.known_to_complete_within(tokens.state, tokens_after, allowance);
      state_of_list = tokens.state;
      list = !verdict->second ? &open : *verdict->second ? &fitting : &refused;
    }
    list->push_back(tokens);
  };
  const ExprId any_text = automaton_.without_text(state);
  const std::optional<StringTokens> string = StringTokens::find(*vocabulary_, automaton_, masks_, any_text);
  const auto each_id = [&](const TokensToState& tokens, auto act) {
    if (const auto* token = std::get_if<std::uint32_t>(&tokens.tokens)) return for_each_id(*vocabulary_, *token, act);
    if (const auto* group = std::get_if<StringTokens::Group>(&tokens.tokens)) return string->each_id(*group, act);
    any_whole_id(*vocabulary_, *std::get<const Subtree*>(tokens.tokens), act);
  };
  bool is_whole = true, removed = false;
  try {
    const bool has_lists = automaton_.has_lists();
    const auto visit_id = [&](std::uint32_t id, ExprId next) {
      visit({has_lists && item.ends_item(id) ? advance(state, vocabulary_->bytes(id)) : next, id});
    };
    if (string) {
      string->each_group([&](const StringTokens::Group& group) {
        const ExprId next = after_any_text(automaton_, any_text, vocabulary_->bytes(group.id));
        group.is_single() ? visit_id(group.id, next) : visit({next, group});
        return false;
      });
      string->each_leaving(automaton_, visit_id);
    } else if (has_lists) {
      walk(
          state,
          [&](std::uint32_t token, ExprId next) {
            for_each_id(*vocabulary_, token, [&](std::uint32_t id) { visit_id(id, next); });
          },
          [&](const Subtree& subtree, ExprId next) {
            if (!subtree.used.contains(',')) return visit({next, &subtree});  // none ends an item
            any_whole_id(*vocabulary_, subtree, [&](std::uint32_t id) { visit_id(id, next); });
          });
    } else {
      walk(
          state, [&](std::uint32_t token, ExprId next) { visit({next, token}); },
          [&](const Subtree& subtree, ExprId next) { visit({next, &subtree}); });
    }
  } catch (const TooMuchWork&) {
    if (!keeps_visited) return std::nullopt;
    is_whole = false;
    removed = true;
    std::vector<std::uint32_t> visited(vocabulary_->word_count());
    for (const auto* found : {&fitting, &open, &refused}) {
      for (const TokensToState& tokens : *found) {
        each_id(tokens, [&visited](std::uint32_t id) { visited[id >> 5] |= 1u << (id & 31); });
      }
    }
    for (std::size_t i = 0; i < visited.size(); ++i) row[i] &= visited[i];
  }
  search_open(verdicts, tokens_after, allowance);
  std::erase_if(open, [&](const TokensToState& tokens) { return *verdicts[tokens.state.value]; });
  std::vector<std::pair<std::uint32_t, ExprId>> escapes;  // each needs a completion of its own: they come last
  const auto decide_with_text = [&](std::uint32_t id, ExprId next) {
    if (item.fits(id, next)) return;
    row[id >> 5] &= ~(1u << (id & 31));
    removed = true;
  };
  for (const auto* found : {&refused, &open}) {
    for (const TokensToState& tokens : *found) {
      const ExprId next = tokens.state;
      const bool may_fit = item.may_fit(next);
      each_id(tokens, [&](std::uint32_t id) {
        if (may_fit && item.has_escape(id)) {
          escapes.emplace_back(id, next);
        } else if (may_fit) {
          decide_with_text(id, next);
        } else {
          row[id >> 5] &= ~(1u << (id & 31));
          removed = true;
        }
      });
    }
  }
  for (const auto& [id, next] : escapes) decide_with_text(id, next);
  if (removed) allow_known_completion(state, tokens_after + 1, row);
  if (!is_whole) {
    const std::span<const std::uint32_t> words(row, vocabulary_->word_count());
    if (!accepting(state) && std::ranges::all_of(words, [](std::uint32_t word) { return word == 0; })) {
      return std::nullopt;
    }
    if (accepting(state)) allow_eos(row);
  }
  if (removed) return true;
  std::vector<ExprId> successors;
  for (const auto& [next, verdict] : verdicts) successors.push_back(ExprId{next});
  budget_.record_successors(state, successors);
  return false;
}

// Searches where the bounds leave a verdict open.
void LanguageMachine::search_open(Verdicts& verdicts, std::uint32_t tokens, Budget::Allowance& allowance) {
  std::vector<std::pair<std::uint32_t, std::uint32_t>> open;  // upper bounds, and the states
  for (const auto& [next, verdict] : verdicts) {
    if (!verdict) open.emplace_back(budget_.upper_bound(ExprId{next}), next);
  }
  std::ranges::sort(open);
  for (const auto& [bound, next] : open) {
    verdicts[next] = budget_.completes_within(ExprId{next}, tokens, allowance);
  }
}

// Allows the first token of a known completion. remove_beyond() may not find that completion: it decides with states
// that lack the text of the item being read, or ends early. So a text that fits its budget always has an allowed token.
void LanguageMachine::allow_known_completion(ExprId state, std::uint32_t tokens, std::uint32_t* row) {
  if (accepting(state)) return;
  const std::optional<std::uint32_t> token = budget_.known_token(state, tokens);
  if (token) row[*token >> 5] |= 1u << (*token & 31);
}

std::vector<std::uint32_t> LanguageMachine::completion(const TokenState& state, std::uint32_t tokens) {
  const ExprId at{state.language};
  std::vector<std::uint32_t> shortest = budget_.short_completion(at);
  if (shortest.size() <= tokens) return shortest;
  std::vector<std::uint32_t> within = budget_.completion_within(at, tokens);
  return within.empty() ? shortest : within;
}

std::vector<std::uint32_t> LanguageMachine::first_completion(const TokenState& start, std::uint32_t tokens) {
  std::vector<std::uint32_t> found = completion(start, tokens);
  if (found.size() > tokens) found.clear();
  return found;
}

std::optional<std::vector<ExprId>> LanguageMachine::successors(ExprId state, std::int64_t& visited,
                                                               std::int64_t max_work) {
  const WorkLimit limit(automaton_, max_work);
  std::vector<ExprId> found;
  std::unordered_set<std::uint32_t> seen;
  const auto add = [&](const auto&, ExprId next) {
    limit.check();
    if (seen.insert(next.value).second) found.push_back(next);
  };
  try {
    if (automaton_.has_lists()) {
      visited += walk_with_text(state, [&](std::uint32_t, ExprId next) { add(0, next); });
    } else {
      visited += walk(state, add, add);
    }
  } catch (const TooMuchWork&) {
    return std::nullopt;
  }
  return found;
}

std::uint32_t LanguageMachine::token_between(ExprId from, ExprId to) {
  std::uint32_t lowest = UINT32_MAX;
  walk_with_text(from, [&](std::uint32_t id, ExprId next) {
    if (next == to) lowest = std::min(lowest, id);
  });
  return lowest;
}

void LanguageMachine::expand(const TokenState& state, const VisitToken& visit) {
  if (cancel_ && cancel_->load(std::memory_order_relaxed)) throw Error(ErrorKind::cancelled, "work");
  walk_with_text(ExprId{state.language}, [&](std::uint32_t id, ExprId next) {
    const bool ends = vocabulary_->is_eos(id) && accepting(next);
    visit(id, ends ? TokenState::finished() : TokenState{next.value});
  });
}

void LanguageMachine::expand(const TokenState& state, std::span<const std::uint32_t> tokens, const VisitToken& visit) {
  if (cancel_ && cancel_->load(std::memory_order_relaxed)) throw Error(ErrorKind::cancelled, "work");
  for (std::uint32_t id : tokens) {
    const ExprId next = advance(ExprId{state.language}, vocabulary_->bytes(id));
    if (next == ExprSet::kEmpty) continue;
    const bool ends = vocabulary_->is_eos(id) && accepting(next);
    visit(id, ends ? TokenState::finished() : TokenState{next.value});
  }
}

Diagnosis LanguageMachine::diagnose(const TokenState& state, std::string_view text) {
  const auto& class_of = automaton_.class_of();
  ExprId at{state.language};
  std::size_t offset = 0;
  for (; offset < text.size(); ++offset) {
    const ExprId next = automaton_.advance(at, text.substr(offset, 1));
    if (next == ExprSet::kEmpty) break;
    at = next;
  }
  ByteSet expected;
  const ExprId* row = automaton_.row(automaton_.without_text(at));
  for (unsigned byte = 0; byte < 256; ++byte) {
    if (row[class_of[byte]] != ExprSet::kEmpty) expected.insert(static_cast<std::uint8_t>(byte));
  }
  return {offset, expected, accepting(at), automaton_.is_tokenizable(at)};
}

}  // namespace detent

#include "runtime/canonical_machine.h"

#include <algorithm>
#include <string>
#include <utility>

#include "base/error.h"
#include "runtime/compile_trial.h"

namespace detent {

namespace {

// The steps that compiling tries, as long as one takes much work: in steps of the automaton's meter, some 0.5 ms.
constexpr int kTrials = 4;
constexpr std::int64_t kLittleWork = 2'000;

// Whether later masks of a language may cost far more than the first one. A trial takes half of the time that most
// schemas need to compile. So languages with JSON strings have none, unless an intersection was made that may be empty.
bool may_get_costly(Automaton& automaton) {
  return automaton.edit([&](const ExprSet& exprs, Derivatives&, Liveness&) {
    bool has_strings = false;
    for (std::uint32_t id = 0; id < exprs.size(); ++id) {
      const Expr& expr = exprs[ExprId{id}];
      if (expr.op == Op::intersection && !expr.nonempty) return true;
      has_strings |= expr.op == Op::json_escaped;
    }
    return !has_strings;
  });
}

// The first token of a trial: after a short one, most of the language is still ahead.
std::optional<std::uint32_t> shortest_token(const Vocabulary& vocabulary, std::span<const std::uint32_t> row) {
  std::optional<std::uint32_t> found;
  for (std::uint32_t token = 0; token < vocabulary.size(); ++token) {
    if ((row[token >> 5] >> (token & 31) & 1) == 0 || !vocabulary.is_text(token)) continue;
    if (!found || vocabulary.bytes(token).size() < vocabulary.bytes(*found).size()) found = token;
  }
  return found;
}

std::shared_ptr<PretokenTransitions> of_vocabulary(std::shared_ptr<PretokenTransitions> transitions,
                                                   const Vocabulary& vocabulary) {
  if (&transitions->vocabulary() != &vocabulary) throw Error(ErrorKind::argument, "transitions");
  return transitions;
}

}  // namespace

CanonicalMachine::CanonicalMachine(const NodeRef& language, std::shared_ptr<const Vocabulary> vocabulary,
                                   std::shared_ptr<PretokenTransitions> transitions, const std::optional<Part>& part,
                                   const Limits& limits, const std::shared_ptr<const CancelFlag>& cancel)
    : TokenMachine(std::move(vocabulary)),
      language_(language, vocabulary_, limits, cancel),
      part_(part ? std::make_unique<LanguageMachine>(part->language, vocabulary_, limits, cancel) : nullptr),
      part_tokens_(part ? part->tokens : 0),
      constraint_(language_.automaton(), language_.masks(), part_automaton(),
                  of_vocabulary(std::move(transitions), *vocabulary_), limits, cancel) {
  if (constraint_.start(language_.start(), {}).positions == CanonicalConstraint::kRefused) {
    throw Error(ErrorKind::empty, "canonical");
  }
  if (part_) {
    part_->begin_decoding();
    part_->drop_cancel_flag();
  }
  compute_first_mask(language, cancel);
  if (!part_) return;
  if (language_.automaton().has_lists()) throw Error(ErrorKind::unsupported, "distinct_canonical_budget");
  check_part(start({}));
}

// Its states belong to compiling, as those of LanguageMachine::compute_first_mask.
void CanonicalMachine::compute_first_mask(const NodeRef& language, const std::shared_ptr<const CancelFlag>& cancel) {
  constexpr std::uint64_t kRefused = 0x63616e6f6e;
  const Automaton& automaton = language_.automaton();
  const Hash128 key = mix(mix(automaton.hash(language_.start()), kRefused), constraint_.cache_key());
  try_and_remember_refusal(vocabulary(), key, automaton.limits(), automaton.limits().compile_steps(),
                           [&] { try_first_steps(language, cancel); });
  language_.drop_cancel_flag();
  constraint_.drop_cancel_flag();
}

// Where masks that are not canonical may be refused, they are tried first: canonical masks look at the states after the
// same tokens, and at a completion of each. A machine of their own holds their states, and is freed before decoding.
void CanonicalMachine::try_first_steps(const NodeRef& language, const std::shared_ptr<const CancelFlag>& cancel) {
  std::vector<std::uint32_t> row(vocabulary().word_count());
  const CanonicalConstraint::Context context = constraint_.start(language_.start(), {});
  Automaton& automaton = language_.automaton();
  const bool is_tried = may_get_costly(automaton);
  const std::int64_t before_first = automaton.work();
  constraint_.fill(automaton.without_text(language_.start()), context, row.data());
  const bool took_much = automaton.work() - before_first > kLittleWork;
  if (automaton.has_searches() || (took_much && (is_tried || automaton.has_lists()))) {
    LanguageMachine(language, vocabulary_, automaton.limits(), cancel).compute_first_mask();
  }
  language_.begin_decoding();
  constraint_.begin_decoding();
  if (!is_tried) return;
  TokenState state = state_of(language_.start(), context);
  limit_work(automaton.limits().compile_steps());
  for (int i = 0; i < kTrials; ++i) {
    const std::optional<std::uint32_t> token = i == 0 ? shortest_token(vocabulary(), row) : middle_bit(row);
    if (!token) break;
    const std::int64_t before = automaton.work();
    const TokenStep next = step(state, *token);
    if (next.refusal != Refusal::none || next.state.is_finished()) break;
    state = next.state;
    constraint_.fill(without_text(state), this->context(state), row.data());
    if (automaton.work() - before < kLittleWork) break;
  }
  limit_work(Meter::kNoTotal);
}

void CanonicalMachine::limit_work(std::int64_t steps) {
  language_.automaton().limit_work(steps);
  constraint_.limit_work(steps);
}

// Throws `limit` if no known completion closes the part in time.
void CanonicalMachine::check_part(TokenState at) {
  const auto fits = [&] {
    return completes_within(at, CanonicalConstraint::kNoLimit) ||
           !followed_completion(at, CanonicalConstraint::kNoLimit).empty();
  };
  if (!is_open(at) || fits()) return;
  while (!fits()) ++at.part_tokens;
  throw Error(ErrorKind::limit, "part_tokens", at.part_tokens, part_tokens_);
}

CanonicalMachine::CanonicalMachine(CanonicalMachine& other)
    : TokenMachine(other.vocabulary_),
      language_(other.language_),
      part_(other.part_ ? std::make_unique<LanguageMachine>(*other.part_) : nullptr),
      part_tokens_(other.part_tokens_),
      constraint_(language_.automaton(), language_.masks(), part_automaton(), other.constraint_) {}

void CanonicalMachine::adopt(TokenMachine& other, std::span<TokenState> states) {
  auto& before = static_cast<CanonicalMachine&>(other);
  std::vector<TokenState> parts;
  for (const TokenState& state : states) parts.push_back({state.part});
  if (part_) part_->adopt(*before.part_, parts);
  language_.adopt(before.language_, states);
  for (std::size_t i = 0; i < states.size(); ++i) states[i].part = parts[i].language;
  for (TokenState& state : states) {
    if (!state.is_finished()) state.positions = constraint_.adopt(before.constraint_, {state.positions}).value;
  }
}

TokenState CanonicalMachine::start(std::span<const std::uint32_t> prompt) {
  const CanonicalConstraint::Context context = constraint_.start(language_.start(), prompt);
  if (context.positions == CanonicalConstraint::kRefused) throw Error(ErrorKind::empty, "after");
  TokenState state = state_of(language_.start(), context);
  if (part_ && !part_->accepting(part_->start())) {
    state.part = part_->start().value;
    state.part_tokens = part_tokens_;
    if (!prompt.empty()) check_part(state);
  }
  return state;
}

TokenStep CanonicalMachine::step_to(const TokenState& state, std::uint32_t token, ExprId next) {
  const ExprId any_text = language_.automaton().without_text(next);
  const CanonicalConstraint::Context after = constraint_.step(any_text, context(state), token);
  if (after.positions == CanonicalConstraint::kRefused) return {state, Refusal::tokenization};
  const bool ends = vocabulary().is_eos(token) && constraint_.accepting(any_text, after);
  if (ends) return {TokenState::finished()};
  TokenState reached = state_of(next, after);
  if (is_open(state)) {
    if (state.part_tokens == 0) return {state, Refusal::budget};
    reached.part = part_after(part_->automaton(), ExprId{state.part}, vocabulary().bytes(token)).value;
    reached.part_tokens = is_open(reached) ? state.part_tokens - 1 : 0;
  }
  return {reached};
}

TokenStep CanonicalMachine::step(const TokenState& state, std::uint32_t token) {
  const bool is_eos = vocabulary().is_eos(token), is_text = vocabulary().is_text(token);
  const ExprId next = is_text ? language_.advance(ExprId{state.language}, vocabulary().bytes(token)) : ExprSet::kEmpty;
  if (next != ExprSet::kEmpty) return step_to(state, token, next);
  if (is_eos && accepting(state)) return {TokenState::finished()};
  return {state, is_eos ? Refusal::incomplete : is_text ? Refusal::language : Refusal::no_text};
}

std::optional<TokenState> CanonicalMachine::step_bytes(const TokenState&, std::string_view) {
  throw Error(ErrorKind::unsupported, "canonical_bytes");
}

bool CanonicalMachine::accepting(const TokenState& state) {
  return constraint_.accepting(without_text(state), context(state));
}

void CanonicalMachine::fill(const TokenState& state, std::uint32_t* row) {
  fill_within(state, CanonicalConstraint::kNoLimit, row);
}

bool CanonicalMachine::fill_within(const TokenState& state, std::uint32_t tokens_after, std::uint32_t* row) {
  if (tokens_after != CanonicalConstraint::kNoLimit) refuse_budget();
  CompletionBudget budget = budget_of(state, tokens_after);
  if (is_open(state)) {
    if (state.part_tokens == 0) {  // the text ends here, or it could not be here
      std::fill_n(row, vocabulary().word_count(), 0u);
      if (accepting(state)) allow_eos(row);
      return true;
    }
    --budget.part_tokens;
  }
  const bool bound = constraint_.fill(without_text(state), context(state), row, budget);
  if (language_.automaton().has_lists()) {
    language_.repeated().remove(ExprId{state.language}, row,
                                [&](std::uint32_t token) { return step(state, token).refusal == Refusal::none; });
  }
  if (accepting(state)) allow_eos(row);
  return bound;
}

bool CanonicalMachine::completes_within(const TokenState& state, std::uint32_t tokens) {
  if (is_open(state)) {
    return constraint_.completes_within(ExprId{state.language}, context(state), budget_of(state, tokens));
  }
  refuse_budget();
  return constraint_.completion_length(without_text(state), context(state), tokens) <= tokens;
}

// A completion that is found without the text of items may repeat one. So its tokens are followed up to the next
// separator, after which the state knows the item.
std::vector<std::uint32_t> CanonicalMachine::completion(const TokenState& state, std::uint32_t within) {
  if (is_open(state)) {
    const auto known = constraint_.completion_within(ExprId{state.language}, context(state), budget_of(state, within));
    if (known) return *known;
    std::vector<std::uint32_t> shortest = shortest_completion(state);
    if (!shortest.empty()) return shortest;
    throw Error(ErrorKind::limit, "part_tokens", state.part_tokens + 1, state.part_tokens);
  }
  if (!language_.automaton().has_lists()) return constraint_.completion(ExprId{state.language}, context(state));
  std::vector<std::uint32_t> tokens;
  TokenState at = state;
  while (!at.is_finished() && !accepting(at)) {
    for (std::uint32_t token : constraint_.completion(without_text(at), context(at))) {
      const TokenStep next = step(at, token);
      if (next.refusal != Refusal::none) throw Error(ErrorKind::unsupported, "distinct_canonical_budget");
      at = next.state;
      tokens.push_back(token);
      if (vocabulary().bytes(token).find(',') != std::string_view::npos) break;
    }
  }
  return tokens;
}

// The lengths of canonical completions are found without the text of items.
void CanonicalMachine::refuse_budget() const {
  if (language_.automaton().has_lists()) throw Error(ErrorKind::unsupported, "distinct_canonical_budget");
}

std::vector<std::uint32_t> CanonicalMachine::followed_completion(const TokenState& state, std::uint32_t tokens) {
  if (is_open(state) && state.part_tokens == 0) return {};
  if (completes_within(state, tokens)) return completion(state, tokens);
  if (!language_.completes_within({state.language}, tokens)) return {};
  std::vector<std::uint32_t> shortest = shortest_completion(state);
  if (shortest.size() > tokens) shortest.clear();
  return shortest;
}

std::vector<std::uint32_t> CanonicalMachine::completion_after(const TokenState& from, std::uint32_t /*token*/,
                                                              const TokenState& to, std::uint32_t tokens) {
  if (is_open(to)) tokens = std::min(tokens, to.part_tokens);
  return constraint_.completion_after(without_text(from), context(from), without_text(to), context(to), tokens);
}

std::vector<std::uint32_t> CanonicalMachine::shortest_completion(const TokenState& state) {
  std::vector<std::uint32_t> tokens = language_.budget().short_completion(ExprId{state.language});
  if (state.last_token == TokenState::kNoToken) {
    std::string text;
    for (std::uint32_t token : tokens) text += vocabulary().bytes(token);
    tokens = constraint_.encode(text);
  }
  TokenState at = state;
  for (std::uint32_t token : tokens) {
    const TokenStep next = step_to(at, token, language_.advance(ExprId{at.language}, vocabulary().bytes(token)));
    if (next.refusal != Refusal::none) return {};
    at = next.state;
  }
  return at.is_finished() || accepting(at) ? tokens : std::vector<std::uint32_t>{};
}

Diagnosis CanonicalMachine::diagnose(const TokenState& state, std::string_view text) {
  Diagnosis diagnosis = language_.diagnose(state, text);
  if (diagnosis.offset == 0) diagnosis.complete = accepting(state);
  return diagnosis;
}

// Visits those tokens of an expansion of the language that the tokenizer may write here.
template <class Expand>
void CanonicalMachine::expand_language(const TokenState& state, const VisitToken& visit, Expand expand) {
  expand([&](std::uint32_t token, const TokenState& next) {
    const TokenStep after = next.is_finished() ? step(state, token) : step_to(state, token, ExprId{next.language});
    if (after.refusal == Refusal::none) visit(token, after.state);
  });
}

void CanonicalMachine::expand(const TokenState& state, const VisitToken& visit) {
  std::vector<std::uint32_t> row(vocabulary().word_count());
  constraint_.fill(without_text(state), context(state), row.data());
  expand_language(state, visit, [&](const VisitToken& take) {
    language_.expand(state, [&](std::uint32_t token, const TokenState& next) {
      if (row[token >> 5] >> (token & 31) & 1) take(token, next);
    });
  });
}

void CanonicalMachine::expand(const TokenState& state, std::span<const std::uint32_t> tokens, const VisitToken& visit) {
  expand_language(state, visit, [&](const VisitToken& take) { language_.expand(state, tokens, take); });
}

}  // namespace detent

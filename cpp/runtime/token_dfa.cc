#include "runtime/token_dfa.h"

#include <algorithm>
#include <utility>

#include "base/error.h"

namespace detent {

namespace {

bool all_below(std::span<const std::uint32_t> values, std::size_t limit) {
  std::uint32_t largest = 0;
  for (std::uint32_t value : values) largest = std::max(largest, value);
  return values.empty() || largest < limit;
}

}  // namespace

TokenDfa::TokenDfa(Arrays arrays) : arrays_(std::move(arrays)) {
  const std::size_t states = arrays_.distance.size(), tokens = arrays_.token_class.size();
  words_ = (tokens + 31) / 32;
  const std::size_t classes = states == 0 ? 0 : arrays_.next.size() / states;
  const std::size_t masks = words_ == 0 ? 0 : arrays_.masks.size() / words_;
  const bool sizes_fit = states > kStart && classes > 0 && arrays_.next.size() == states * classes && masks > 0 &&
                         arrays_.masks.size() == masks * words_ && arrays_.mask_index.size() == states &&
                         states < UINT32_MAX && classes < UINT32_MAX && tokens < UINT32_MAX;
  if (!sizes_fit || !all_below(arrays_.next, states) || !all_below(arrays_.token_class, classes) ||
      !all_below(arrays_.mask_index, masks)) {
    throw Error(ErrorKind::argument, "token_dfa");
  }
  states_ = static_cast<std::uint32_t>(states);
  classes_ = static_cast<std::uint32_t>(classes);
  farthest_.assign(states, 0);
  for (std::uint32_t state = 0; state < states_; ++state) {
    for (std::uint32_t next : transitions(state)) {
      if (next != kRefused) farthest_[state] = std::max(farthest_[state], arrays_.distance[next]);
    }
  }
}

std::int64_t TokenDfa::memory_bytes() const {
  const std::size_t numbers = arrays_.next.size() + arrays_.token_class.size() + arrays_.masks.size() +
                              arrays_.mask_index.size() + arrays_.distance.size();
  return static_cast<std::int64_t>(numbers * sizeof(std::uint32_t));
}

TokenDfaMachine::TokenDfaMachine(std::shared_ptr<const TokenDfa> dfa, std::shared_ptr<const Vocabulary> vocabulary,
                                 std::uint32_t start)
    : TokenMachine(std::move(vocabulary)), dfa_(std::move(dfa)), start_(start) {
  if (dfa_->tokens() != vocabulary_->size()) throw Error(ErrorKind::argument, "token_dfa");
  if (start >= dfa_->states()) throw Error(ErrorKind::argument, "token_dfa_state", start, dfa_->states());
}

TokenStep TokenDfaMachine::step(const TokenState& state, std::uint32_t token) {
  const std::uint32_t next = dfa_->step(state.language, token);
  if (next == TokenDfa::kFinished) return {TokenState::finished()};
  if (next != TokenDfa::kRefused) return {TokenState{next}};
  return {state, vocabulary_->is_eos(token) ? Refusal::incomplete : Refusal::token_dfa};
}

std::optional<TokenState> TokenDfaMachine::step_bytes(const TokenState&, std::string_view) {
  throw Error(ErrorKind::unsupported, "token_dfa_bytes");
}

void TokenDfaMachine::fill(const TokenState& state, std::uint32_t* row) {
  std::ranges::copy(dfa_->mask(state.language), row);
}

bool TokenDfaMachine::try_fill_cached(const TokenState& state, std::uint32_t* row) {
  fill(state, row);
  return true;
}

bool TokenDfaMachine::fill_within(const TokenState& state, std::uint32_t tokens_after, std::uint32_t* row) {
  fill(state, row);
  if (budget_cannot_bind(state, tokens_after + 1)) return false;
  const std::span<const std::uint32_t> transitions = dfa_->transitions(state.language);
  std::vector<char> removed(transitions.size());
  for (std::size_t part = 0; part < transitions.size(); ++part) {
    const std::int32_t distance = dfa_->distance(transitions[part]);
    removed[part] = distance > 0 && static_cast<std::uint32_t>(distance) > tokens_after;
  }
  for (std::uint32_t token = 0; token < dfa_->tokens(); ++token) {
    if (removed[dfa_->token_class(token)]) row[token >> 5] &= ~(1u << (token & 31));
  }
  return true;
}

bool TokenDfaMachine::completes_within(const TokenState& state, std::uint32_t tokens) {
  const std::int32_t distance = dfa_->distance(state.language);
  return distance <= 0 || static_cast<std::uint32_t>(distance) <= tokens;
}

bool TokenDfaMachine::budget_cannot_bind(const TokenState& state, std::uint32_t tokens) {
  return static_cast<std::uint32_t>(dfa_->farthest(state.language)) < tokens;
}

// Follows, at each state, the lowest token id that shortens the distance.
std::vector<std::uint32_t> TokenDfaMachine::completion(const TokenState& state, std::uint32_t) {
  std::vector<std::uint32_t> tokens;
  for (std::uint32_t at = state.language; dfa_->distance(at) > 0;) {
    const std::int32_t nearer = dfa_->distance(at) - 1;
    std::uint32_t token = 0;
    for (; token < dfa_->tokens(); ++token) {
      const std::uint32_t next = dfa_->step(at, token);
      if (next != TokenDfa::kRefused && dfa_->distance(next) <= nearer) break;
    }
    if (token == dfa_->tokens()) throw Error(ErrorKind::argument, "token_dfa");  // the distances are wrong
    tokens.push_back(token);
    at = dfa_->step(at, token);
  }
  return tokens;
}

// A token DFA has no states between tokens, so the expected bytes are the first bytes of the allowed tokens.
Diagnosis TokenDfaMachine::diagnose(const TokenState& state, std::string_view text) {
  Diagnosis diagnosis{0, {}, accepting(state), true};
  expand(state, [&](std::uint32_t token, const TokenState&) {
    const std::string_view bytes = vocabulary_->bytes(token);
    if (!bytes.empty()) diagnosis.expected.insert(static_cast<std::uint8_t>(bytes[0]));
  });
  const bool may_begin = !text.empty() && diagnosis.expected.contains(static_cast<std::uint8_t>(text[0]));
  diagnosis.offset = may_begin ? text.size() : 0;
  return diagnosis;
}

void TokenDfaMachine::expand(const TokenState& state, const VisitToken& visit) {
  const std::span<const std::uint32_t> mask = dfa_->mask(state.language);
  for (std::uint32_t token = 0; token < dfa_->tokens(); ++token) {
    if ((mask[token >> 5] >> (token & 31) & 1) == 0) continue;
    const std::uint32_t next = dfa_->step(state.language, token);
    if (next > TokenDfa::kFinished) visit(token, TokenState{next});
  }
}

void TokenDfaMachine::expand(const TokenState& state, std::span<const std::uint32_t> tokens, const VisitToken& visit) {
  for (std::uint32_t token : tokens) {
    const std::uint32_t next = dfa_->step(state.language, token);
    if (next > TokenDfa::kFinished) visit(token, TokenState{next});
  }
}

}  // namespace detent

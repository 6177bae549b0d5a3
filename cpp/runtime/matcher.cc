#include "runtime/matcher.h"

#include <algorithm>
#include <bit>
#include <utility>

namespace detent {

namespace {

// The subject of the error for a refused token (src/detent/errors.py has the sentences).
const char* error_subject(Refusal refusal) {
  switch (refusal) {
    case Refusal::none: break;
    case Refusal::unknown_token: return "token_id";
    case Refusal::finished: return "finished";
    case Refusal::incomplete: return "early_end";
    case Refusal::no_text: return "no_text";
    case Refusal::language: return "token";
    case Refusal::tokenization: return "not_canonical";
    case Refusal::token_dfa: return "token";
    case Refusal::budget: return "budget";
  }
  return "token";
}

TokenState checked_start(TokenMachine& machine, std::span<const std::uint32_t> prompt) {
  const std::uint32_t size = machine.vocabulary().size();
  for (std::uint32_t token : prompt) {
    if (token >= size) throw Error(ErrorKind::vocabulary, "token_id", token, size);
  }
  return machine.start(prompt);
}

void allow(std::uint32_t* row, std::uint32_t token) { row[token >> 5] |= 1u << (token & 31); }

}  // namespace

Matcher::Matcher(std::shared_ptr<MachineSlot> slot, std::uint32_t max_tokens, std::span<const std::uint32_t> prompt)
    : slot_(std::move(slot)), machine_(slot_->machine()), max_tokens_(max_tokens) {
  if (machine_->is_full()) machine_ = slot_->renew(*machine_);
  history_ = History({checked_start(*machine_, prompt)});
  if (!holds_budget(state()) || machine_->completes_within(state(), max_tokens_)) return;
  std::vector<std::uint32_t> followed = machine_->first_completion(state(), max_tokens_);
  if (followed.empty()) throw Error(ErrorKind::limit, "max_tokens", 0, max_tokens_);
  followed_.push_back(following(0, std::move(followed)));
}

bool Matcher::fits(TokenMachine& machine, std::uint32_t max_tokens, std::span<const std::uint32_t> prompt) {
  const TokenState start = checked_start(machine, prompt);
  return machine.completes_within(start, max_tokens) || !machine.first_completion(start, max_tokens).empty();
}

Matcher::Matcher(const Matcher& other) {
  const BusyGuard guard(other);
  slot_ = other.slot_;
  machine_ = other.machine_;
  history_ = other.history_;
  max_tokens_ = other.max_tokens_;
  budget_bound_at_ = other.budget_bound_at_;
  followed_ = other.followed_;
  given_ = other.given_;
  decision_ = other.decision_;
}

bool Matcher::is_out_of_room(const Error& error) const {
  const std::string_view subject = error.subject();
  return error.kind() == ErrorKind::limit && (subject == "states" || subject == "memory_bytes") &&
         machine_->has_grown();
}

// The new machine lacks the completions that the old one has found. If it does not find one within the budget, the
// matcher takes a completion from the old machine and follows it.
void Matcher::move_to(std::shared_ptr<TokenMachine> next) const {
  if (next == machine_) return;
  History moved = history_.with_states([&](std::span<TokenState> states) { next->adopt(*machine_, states); });
  const bool is_followed = !followed_.empty() && followed_.back().last == steps_taken();
  if (holds_budget(state()) && !state().is_finished() && !is_followed &&
      !next->completes_within(moved.back().state, tokens_left())) {
    std::vector<std::uint32_t> tokens = machine_->completion(state(), tokens_left());
    if (tokens.size() <= tokens_left()) {
      followed_.push_back(following(steps_taken(), std::move(tokens)));
    }
  }
  history_ = std::move(moved);
  machine_ = std::move(next);
  slot_->free_old();
}

std::uint32_t Matcher::tokens_left() const {
  if (max_tokens_ == kNoBudget) return kNoBudget;
  return max_tokens_ - std::min(history_.back().token_count, max_tokens_);
}

std::uint32_t Matcher::tokens_after() const {
  const std::uint32_t left = tokens_left();
  return left == kNoBudget ? left : left - 1;
}

bool Matcher::budget_cannot_bind() const {
  return !holds_budget(state()) || machine_->budget_cannot_bind(state(), tokens_left());
}

std::optional<Matcher::FollowedCompletion> Matcher::followed_completion() const {
  if (!followed_.empty() && followed_.back().last == steps_taken()) return followed_.back();
  std::vector<std::uint32_t> tokens = machine_->followed_completion(state(), tokens_left());
  if (tokens.empty()) return std::nullopt;
  return following(steps_taken(), std::move(tokens));
}

Matcher::Outcome Matcher::try_step(std::uint32_t token) const {
  Outcome outcome{machine_->step(state(), token), std::nullopt};
  TokenStep& step = outcome.step;
  if (step.refusal != Refusal::none || step.state.is_finished() || !holds_budget(step.state)) return outcome;
  if (tokens_left() == 0) {
    step.refusal = Refusal::budget;
    return outcome;
  }
  if (!decision_.row) {
    if (fits(token, outcome)) {
      decision_.accepted.push_back(token);
      return outcome;
    }
    std::vector<std::uint32_t> row(machine_->vocabulary().word_count());
    if (!decide(row.data())) return outcome;
  }
  const bool is_allowed = ((*decision_.row)[token >> 5] >> (token & 31)) & 1;
  if (!is_allowed || !fits(token, outcome)) step.refusal = Refusal::budget;
  return outcome;
}

bool Matcher::fits(std::uint32_t token, Outcome& outcome) const {
  if (machine_->completes_within(outcome.step.state, tokens_after())) return true;
  outcome.followed = followed_completion();
  if (outcome.followed) {
    FollowedCompletion& followed = *outcome.followed;
    const std::size_t done = followed.last - followed.first;
    if (done < followed.tokens->size() && (*followed.tokens)[done] == token) {
      ++followed.last;
      return true;
    }
    outcome.followed.reset();
  }
  std::vector<std::uint32_t> tokens = machine_->completion_after(state(), token, outcome.step.state, tokens_after());
  if (tokens.empty()) return false;
  outcome.followed = following(steps_taken() + 1, std::move(tokens));
  return true;
}

void Matcher::advance(std::int64_t token_id) {
  const BusyGuard guard(*this);
  const std::uint32_t size = machine_->vocabulary().size();
  if (token_id < 0 || token_id >= size) throw Error(ErrorKind::state, "token_id", token_id, size);
  if (state().is_finished()) throw Error(ErrorKind::state, "finished", token_id);
  Outcome outcome = with_room([&] { return try_step(static_cast<std::uint32_t>(token_id)); });
  if (outcome.step.refusal != Refusal::none) {
    throw Error(ErrorKind::state, error_subject(outcome.step.refusal), token_id, tokens_left());
  }
  take(token_id, std::move(outcome));
}

Refusal Matcher::try_advance(std::int64_t token_id) {
  const BusyGuard guard(*this);
  if (token_id < 0 || token_id >= machine_->vocabulary().size()) return Refusal::unknown_token;
  if (state().is_finished()) return Refusal::finished;
  Outcome outcome = with_room([&] { return try_step(static_cast<std::uint32_t>(token_id)); });
  const Refusal refusal = outcome.step.refusal;
  if (refusal == Refusal::none) take(token_id, std::move(outcome));
  return refusal;
}

void Matcher::take(std::int64_t token_id, Outcome outcome) {
  forget_decision();
  history_.push({outcome.step.state, static_cast<std::int32_t>(token_id), history_.back().token_count + 1});
  if (given_) {
    const std::size_t done = given_->last - given_->first;
    if (done < given_->tokens->size() && (*given_->tokens)[done] == static_cast<std::uint32_t>(token_id)) {
      ++given_->last;
    } else {
      given_.reset();
    }
  }
  if (!outcome.followed) return;
  if (!followed_.empty() && followed_.back().first == outcome.followed->first) followed_.pop_back();
  followed_.push_back(std::move(*outcome.followed));
}

Refusal Matcher::refusal(std::int64_t token_id) const {
  const BusyGuard guard(*this);
  if (token_id < 0 || token_id >= machine_->vocabulary().size()) return Refusal::unknown_token;
  if (state().is_finished()) return Refusal::finished;
  return with_room([&] { return try_step(static_cast<std::uint32_t>(token_id)); }).step.refusal;
}

void Matcher::advance_bytes(std::string_view text) {
  const BusyGuard guard(*this);
  if (state().is_finished()) throw Error(ErrorKind::state, "finished", History::kNoToken);
  bool fits = true;
  const std::optional<TokenState> next = with_room([&] {
    const std::optional<TokenState> after = machine_->step_bytes(state(), text);
    fits = !after || max_tokens_ == kNoBudget || machine_->completes_within(*after, tokens_left());
    return after;
  });
  if (!next) throw Error(ErrorKind::state, "bytes", static_cast<std::int64_t>(text.size()));
  if (!fits) {
    throw Error(ErrorKind::state, "budget_bytes", static_cast<std::int64_t>(text.size()), tokens_left());
  }
  history_.push({*next, History::kNoToken, history_.back().token_count});
  forget_decision();
  given_.reset();
}

void Matcher::rollback(std::int64_t steps) {
  const BusyGuard guard(*this);
  const auto count = static_cast<std::int64_t>(steps_taken());
  if (steps < 0) throw Error(ErrorKind::argument, "rollback", steps);
  if (steps > count) throw Error(ErrorKind::state, "rollback", steps, count);
  const auto left = static_cast<std::size_t>(count - steps);
  if (steps == 0) return;
  history_ = with_room([&] {
    History shorter = history_;
    shorter.truncate(left + 1);
    shorter.find_states([&](const TokenState& before, std::int32_t token) {
      const TokenStep step = machine_->step(before, static_cast<std::uint32_t>(token));
      if (step.refusal != Refusal::none) throw Error(ErrorKind::state, error_subject(step.refusal), token);
      return step.state;
    });
    return shorter;
  });
  forget_decision();
  while (!followed_.empty() && followed_.back().first > left) followed_.pop_back();
  if (!followed_.empty()) followed_.back().last = std::min(followed_.back().last, left);
  if (given_ && given_->first > left) given_.reset();
  if (given_) given_->last = std::min(given_->last, left);
  if (budget_bound_at_ != kNever && budget_bound_at_ > left) budget_bound_at_ = kNever;
}

void Matcher::fill(std::uint32_t* row) {
  const BusyGuard guard(*this);
  with_room([&] {
    if (state().is_finished()) {
      machine_->fill_eos(row);
    } else if (budget_cannot_bind()) {
      machine_->fill(state(), row);
    } else {
      fill_within_budget(row);
    }
  });
}

void Matcher::fill_within_budget(std::uint32_t* row) {
  if (tokens_left() == 0) {  // the text is complete: the budget has refused each last token that does not complete it
    machine_->fill_eos(row);
  } else if (!decide(row)) {
    return;
  }
  if (max_tokens_ != kNoBudget && budget_bound_at_ == kNever && !is_full_mask(row)) budget_bound_at_ = steps_taken();
}

bool Matcher::decide(std::uint32_t* row) const {
  if (decision_.row) {
    std::ranges::copy(*decision_.row, row);
    return true;
  }
  if (!machine_->fill_within(state(), tokens_after(), row)) return false;
  if (const auto followed = followed_completion()) {
    const std::size_t done = followed->last - followed->first;
    if (done < followed->tokens->size()) allow(row, (*followed->tokens)[done]);
  }
  for (std::uint32_t token : decision_.accepted) allow(row, token);
  decision_.row = std::make_shared<const std::vector<std::uint32_t>>(row, row + machine_->vocabulary().word_count());
  return true;
}

bool Matcher::is_full_mask(const std::uint32_t* row) const {
  std::vector<std::uint32_t> full(machine_->vocabulary().word_count());
  machine_->fill(state(), full.data());
  for (std::size_t i = 0; i < full.size(); ++i) {  // `row` may also have a token that only a followed completion allows
    if (full[i] & ~row[i]) return false;
  }
  return true;
}

bool Matcher::try_fill_cached(std::uint32_t* row) {
  const BusyGuard guard(*this);
  return !state().is_finished() && budget_cannot_bind() && machine_->try_fill_cached(state(), row);
}

std::optional<Matcher::MaskKey> Matcher::mask_key() const {
  const BusyGuard guard(*this);
  if (!state().is_finished() && !budget_cannot_bind()) return std::nullopt;
  return MaskKey{machine_->serial(), state()};
}

std::shared_ptr<TokenMachine> Matcher::machine_of(const MaskKey& key) const {
  const BusyGuard guard(*this);
  if (machine_->serial() != key.machine) throw Error(ErrorKind::busy, "matcher");
  return machine_;
}

std::int64_t Matcher::budget_bound_at() const {
  const BusyGuard guard(*this);
  return budget_bound_at_ == kNever ? -1 : static_cast<std::int64_t>(budget_bound_at_);
}

Diagnosis Matcher::diagnose(std::string_view text) const {
  const BusyGuard guard(*this);
  if (state().is_finished()) return {0, {}, true, true};
  return with_room([&] { return machine_->diagnose(state(), text); });
}

// The states within a completion may know others, so that a step along it may be refused. It then goes on with theirs.
std::vector<std::uint32_t> Matcher::completion() const {
  std::vector<std::uint32_t> tokens = known_completion();
  Matcher ahead(*this);
  if (!ahead.holds_budget(ahead.state())) return tokens;
  for (std::size_t step = 0, replaced = kNever; step < tokens.size();) {
    if (ahead.try_advance(tokens[step]) == Refusal::none) {
      ++step;
      continue;
    }
    if (replaced == step) break;
    replaced = step;
    const std::vector<std::uint32_t> rest = ahead.known_completion();
    tokens.resize(step);
    tokens.insert(tokens.end(), rest.begin(), rest.end());
  }
  return tokens;
}

std::vector<std::uint32_t> Matcher::known_completion() const {
  const BusyGuard guard(*this);
  if (state().is_finished()) return {};
  if (!followed_.empty() && followed_.back().last == steps_taken()) {
    const FollowedCompletion& followed = followed_.back();
    const auto done = static_cast<std::ptrdiff_t>(followed.last - followed.first);
    return {followed.tokens->begin() + done, followed.tokens->end()};
  }
  std::vector<std::uint32_t> tokens = with_room([&] { return machine_->completion(state(), tokens_left()); });
  if (given_ && !holds_budget(state())) {
    const auto done = static_cast<std::ptrdiff_t>(given_->last - given_->first);
    const std::span rest(given_->tokens->begin() + done, given_->tokens->end());
    if (rest.size() <= tokens.size()) return {rest.begin(), rest.end()};
  }
  given_ = following(steps_taken(), tokens);
  return tokens;
}

std::vector<std::uint32_t> Matcher::forced() const {
  Matcher ahead(*this);
  std::vector<std::uint32_t> row(machine_->vocabulary().word_count()), tokens;
  while (!ahead.finished()) {
    ahead.fill(row.data());
    std::size_t count = 0;
    std::uint32_t only = 0;
    for (std::uint32_t i = 0; i < row.size() && count < 2; ++i) {
      if (row[i] == 0) continue;
      count += static_cast<std::size_t>(std::popcount(row[i]));
      only = i * 32 + static_cast<std::uint32_t>(std::countr_zero(row[i]));
    }
    if (count != 1 || ahead.accepting()) break;
    ahead.advance(only);
    tokens.push_back(only);
  }
  return tokens;
}

bool Matcher::accepting() const {
  const BusyGuard guard(*this);
  return at_end();
}

bool Matcher::finished() const {
  const BusyGuard guard(*this);
  return state().is_finished();
}

std::size_t Matcher::step_count() const {
  const BusyGuard guard(*this);
  return steps_taken();
}

TokenState Matcher::state_key() const {
  const BusyGuard guard(*this);
  return state();
}

std::vector<std::int64_t> Matcher::token_ids() const {
  const BusyGuard guard(*this);
  std::vector<std::int64_t> ids(history_.size());
  std::size_t end = ids.size();
  history_.visit_runs([&](const History::Step* steps, std::size_t count) {
    end -= count;
    for (std::size_t i = 0; i < count; ++i) ids[end + i] = steps[i].token;
    return true;
  });
  ids.erase(ids.begin());  // the start
  return ids;
}

bool Matcher::has_taken(std::span<const std::int64_t> token_ids) const {
  const BusyGuard guard(*this);
  if (token_ids.size() != steps_taken()) return false;
  std::size_t end = history_.size();
  return history_.visit_runs([&](const History::Step* steps, std::size_t count) {
    end -= count;
    for (std::size_t i = end == 0 ? 1 : 0; i < count; ++i) {
      if (steps[i].token != token_ids[end + i - 1]) return false;
    }
    return true;
  });
}

}  // namespace detent

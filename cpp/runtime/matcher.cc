#include "runtime/matcher.h"

#include <algorithm>
#include <bit>

namespace detent {

Matcher::Matcher(std::shared_ptr<Guide> guide, std::uint32_t max_tokens, std::span<const std::uint32_t> prompt)
    : guide_(std::move(guide)), steps_{{guide_->start(), kNoToken}}, max_tokens_(max_tokens) {
  if (CanonicalConstraint* canonical = guide_->canonical()) {
    const CanonicalConstraint::Context start = canonical->start(guide_->start(), prompt);
    if (start.set == CanonicalConstraint::kRefused) throw Error(ErrorKind::empty, "after");
    steps_[0].place = start;
    if (max_tokens_ == kNoBudget || canonical->completion_length(state(), context()) <= max_tokens_) return;
    std::optional<std::vector<std::uint32_t>> other;
    if (guide_->budget().within(state(), max_tokens_)) other = other_end();
    if (!other || other->size() > max_tokens_) throw Error(ErrorKind::limit, "max_tokens", 0, max_tokens_);
    ends_.emplace_back(0, std::move(*other));
    return;
  }
  if (max_tokens_ != kNoBudget && !guide_->budget().within(guide_->start(), max_tokens_)) {
    throw Error(ErrorKind::limit, "max_tokens", 0, max_tokens_);
  }
}

Matcher::Matcher(const Matcher& other) {
  const Use use(other);
  guide_ = other.guide_;
  steps_ = other.steps_;
  max_tokens_ = other.max_tokens_;
  byte_steps_ = other.byte_steps_;
  budget_bound_at_ = other.budget_bound_at_;
  ends_ = other.ends_;
}

std::uint32_t Matcher::tokens_left() const {
  const auto used = static_cast<std::uint32_t>(steps_.size() - 1) - byte_steps_;
  return max_tokens_ - std::min(used, max_tokens_);
}

bool Matcher::roomy() const {
  if (max_tokens_ == kNoBudget) return true;
  const bool every_byte = guide_->vocabulary().tokenizable_texts() == nullptr;
  return every_byte && guide_->max_completion_bound(state()) < tokens_left();
}

void Matcher::advance(std::int64_t token_id) {
  const Use use(*this);
  const Vocabulary& vocabulary = guide_->vocabulary();
  if (token_id < 0 || token_id >= vocabulary.size()) {
    throw Error(ErrorKind::state, "token_id", token_id, vocabulary.size());
  }
  const auto id = static_cast<std::uint32_t>(token_id);
  if (state() == kFinished) throw Error(ErrorKind::state, "finished", token_id);
  const bool ends = vocabulary.is_eos(id);
  if (ends && (!vocabulary.is_text(id) || guide_->advance(state(), vocabulary.bytes(id)) == ExprSet::kEmpty)) {
    if (!at_end()) throw Error(ErrorKind::state, "early_end", token_id);
    steps_.push_back({kFinished, static_cast<std::int32_t>(token_id)});
    return;
  }
  if (!vocabulary.is_text(id)) throw Error(ErrorKind::state, "no_text", token_id);
  const ExprId next = guide_->advance(state(), vocabulary.bytes(id));
  if (next == ExprSet::kEmpty) throw Error(ErrorKind::state, "token", token_id);
  CanonicalConstraint* canonical = guide_->canonical();
  if (!canonical) {
    if (max_tokens_ != kNoBudget && (tokens_left() == 0 || !guide_->budget().within(next, tokens_left() - 1))) {
      throw Error(ErrorKind::state, "budget", token_id, tokens_left());
    }
    // An end-of-text that the language itself asks for ends the text.
    steps_.push_back({ends && guide_->accepting(next) ? kFinished : next, static_cast<std::int32_t>(token_id)});
    return;
  }
  const CanonicalConstraint::Context there = canonical->step(next, context(), id);
  if (there.set == CanonicalConstraint::kRefused) throw Error(ErrorKind::state, "not_canonical", token_id);
  if (max_tokens_ != kNoBudget &&
      (tokens_left() == 0 || canonical->completion_length(next, there) > tokens_left() - 1)) {
    std::vector<std::uint32_t> end = known_end();
    if (end.empty() || end.front() != id || end.size() > tokens_left()) {
      throw Error(ErrorKind::state, "budget", token_id, tokens_left());
    }
    end.erase(end.begin());
    ends_.emplace_back(steps_.size(), std::move(end));
  }
  const bool finished = ends && canonical->accepting(next, there);
  steps_.push_back({finished ? kFinished : next, static_cast<std::int32_t>(token_id), there});
}

std::vector<std::uint32_t> Matcher::known_end() const {
  if (!ends_.empty() && ends_.back().first == steps_.size() - 1) return ends_.back().second;
  return guide_->canonical()->completion(state(), context());
}

std::optional<std::vector<std::uint32_t>> Matcher::other_end() const {
  std::vector<std::uint32_t> tokens;
  try {
    tokens = guide_->budget().shortest(state());
  } catch (const Error& error) {
    if (error.kind() == ErrorKind::limit) return std::nullopt;  // too far away to search for
    throw;
  }
  const Vocabulary& vocabulary = guide_->vocabulary();
  CanonicalConstraint& canonical = *guide_->canonical();
  if (context().last == CanonicalConstraint::kNoToken) {
    std::string text;
    for (std::uint32_t token : tokens) text += vocabulary.bytes(token);
    tokens = canonical.encode(text);
  }
  ExprId at = state();
  CanonicalConstraint::Context there = context();
  for (std::uint32_t token : tokens) {
    at = guide_->advance(at, vocabulary.bytes(token));
    there = canonical.step(at, there, token);
    if (there.set == CanonicalConstraint::kRefused) return std::nullopt;
  }
  return canonical.accepting(at, there) ? std::optional(tokens) : std::nullopt;
}

bool Matcher::at_end() const {
  if (CanonicalConstraint* canonical = guide_->canonical()) return canonical->accepting(state(), context());
  return guide_->accepting(state());
}

void Matcher::advance_bytes(std::string_view text) {
  const Use use(*this);
  if (state() == kFinished) throw Error(ErrorKind::state, "finished", kNoToken);
  if (guide_->canonical()) throw Error(ErrorKind::unsupported, "canonical_bytes");
  const ExprId next = guide_->advance(state(), text);
  if (next == ExprSet::kEmpty) throw Error(ErrorKind::state, "bytes", static_cast<std::int64_t>(text.size()));
  if (max_tokens_ != kNoBudget && !guide_->budget().within(next, tokens_left())) {
    throw Error(ErrorKind::state, "budget_bytes", static_cast<std::int64_t>(text.size()), tokens_left());
  }
  steps_.push_back({next, kNoToken});
  ++byte_steps_;
}

void Matcher::rollback(std::int64_t steps) {
  const Use use(*this);
  const auto count = static_cast<std::int64_t>(steps_.size()) - 1;
  if (steps < 0 || steps > count) throw Error(ErrorKind::state, "rollback", steps, count);
  const std::size_t left = steps_.size() - static_cast<std::size_t>(steps);
  for (std::size_t i = left; i < steps_.size(); ++i) byte_steps_ -= steps_[i].token_id == kNoToken;
  steps_.resize(left, steps_[0]);
  while (!ends_.empty() && ends_.back().first >= left) ends_.pop_back();
  if (budget_bound_at_ != SIZE_MAX && budget_bound_at_ >= left) budget_bound_at_ = SIZE_MAX;
}

void Matcher::fill(std::uint32_t* row) {
  const Use use(*this);
  if (state() == kFinished) {
    guide_->fill_end(row);
  } else if (CanonicalConstraint* canonical = guide_->canonical()) {
    fill_canonical(*canonical, row);
  } else if (roomy()) {
    guide_->fill(state(), row);
  } else if (tokens_left() == 0) {
    // The text is complete, or the tokens spent would have led elsewhere. Whether more could follow but for the budget:
    const bool more = budget_bound_at_ == SIZE_MAX && guide_->allows_text(state());
    if (more) budget_bound_at_ = steps_.size() - 1;
    guide_->fill_end(row);
  } else if (guide_->fill_within(state(), tokens_left() - 1, row) && budget_bound_at_ == SIZE_MAX) {
    budget_bound_at_ = steps_.size() - 1;
  }
}

void Matcher::fill_canonical(CanonicalConstraint& canonical, std::uint32_t* row) {
  const std::uint32_t left = max_tokens_ == kNoBudget ? CanonicalConstraint::kInfinite : tokens_left();
  const std::size_t words = guide_->vocabulary().word_count();
  bool squeezed = left == 0;
  if (left == 0) {
    std::fill_n(row, words, 0u);
  } else if (canonical.fill(state(), context(), row, left == CanonicalConstraint::kInfinite ? left : left - 1)) {
    squeezed = true;
    if (const std::vector<std::uint32_t> end = known_end(); !end.empty()) row[end[0] >> 5] |= 1u << (end[0] & 31);
  }
  if (squeezed && budget_bound_at_ == SIZE_MAX) {
    std::vector<std::uint32_t> all(words);
    canonical.fill(state(), context(), all.data());
    if (!std::equal(all.begin(), all.end(), row)) budget_bound_at_ = steps_.size() - 1;
  }
  if (!at_end()) return;
  for (std::uint32_t id : guide_->vocabulary().eos_ids()) row[id >> 5] |= 1u << (id & 31);
}

bool Matcher::fill_at_once(std::uint32_t* row) {
  const Use use(*this);
  return state() != kFinished && !guide_->canonical() && roomy() && guide_->fill_from_cache(state(), row);
}

std::int64_t Matcher::budget_bound_at() const {
  const Use use(*this);
  return budget_bound_at_ == SIZE_MAX ? -1 : static_cast<std::int64_t>(budget_bound_at_);
}

Matcher::Refusal Matcher::refusal(std::string_view text) const {
  const Use use(*this);
  if (state() == kFinished) return {0, {}, true, true};
  ExprId at = state();
  std::size_t offset = 0;
  for (; offset < text.size(); ++offset) {
    if (!guide_->next_bytes(at).contains(static_cast<std::uint8_t>(text[offset]))) break;
    at = guide_->step(at, static_cast<std::uint8_t>(text[offset]));
  }
  const bool complete = offset == 0 ? at_end() : guide_->accepting(at);
  return {offset, guide_->next_bytes(at), complete, guide_->is_tokenizable(at)};
}

std::vector<std::uint32_t> Matcher::completion() const {
  const Use use(*this);
  if (guide_->canonical() && state() != kFinished) return known_end();
  return state() == kFinished ? std::vector<std::uint32_t>{} : guide_->budget().shortest(state());
}

std::vector<std::uint32_t> Matcher::forced() const {
  Matcher ahead(*this);
  const Vocabulary& vocabulary = guide_->vocabulary();
  std::vector<std::uint32_t> row(vocabulary.word_count()), tokens;
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
  const Use use(*this);
  return state() == kFinished || at_end();
}

bool Matcher::finished() const {
  const Use use(*this);
  return state() == kFinished;
}

std::size_t Matcher::step_count() const {
  const Use use(*this);
  return steps_.size() - 1;
}

std::array<std::int64_t, 3> Matcher::place() const {
  const Use use(*this);
  if (!guide_->canonical()) return {state().value, kNoToken, CanonicalConstraint::kTextStart};
  return {state().value, static_cast<std::int32_t>(context().last), context().set};
}

std::vector<std::int64_t> Matcher::token_ids() const {
  const Use use(*this);
  std::vector<std::int64_t> ids;
  for (std::size_t i = 1; i < steps_.size(); ++i) ids.push_back(steps_[i].token_id);
  return ids;
}

}  // namespace detent

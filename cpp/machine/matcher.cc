#include "machine/matcher.h"

namespace detent {

std::unique_ptr<Matcher> Matcher::fork() const {
  const Use use(*this);
  auto copy = std::make_unique<Matcher>(guide_);
  copy->steps_ = steps_;
  return copy;
}

void Matcher::advance(std::int64_t token_id) {
  const Use use(*this);
  const Vocabulary& vocabulary = guide_->vocabulary();
  if (token_id < 0 || token_id >= vocabulary.size()) {
    throw Error(ErrorKind::state, "token_id", token_id, vocabulary.size());
  }
  const auto id = static_cast<std::uint32_t>(token_id);
  if (state() == kFinished) throw Error(ErrorKind::state, "finished", token_id);
  if (vocabulary.is_end(id)) {
    if (!guide_->accepting(state())) throw Error(ErrorKind::state, "early_end", token_id);
    steps_.push_back({kFinished, static_cast<std::int32_t>(token_id)});
    return;
  }
  if (!vocabulary.is_text(id)) throw Error(ErrorKind::state, "no_text", token_id);
  const ExprId next = guide_->advance(state(), vocabulary.bytes(id));
  if (next == ExprSet::kEmpty) throw Error(ErrorKind::state, "token", token_id);
  steps_.push_back({next, static_cast<std::int32_t>(token_id)});
}

void Matcher::advance_bytes(std::string_view text) {
  const Use use(*this);
  if (state() == kFinished) throw Error(ErrorKind::state, "finished", kNoToken);
  const ExprId next = guide_->advance(state(), text);
  if (next == ExprSet::kEmpty) throw Error(ErrorKind::state, "bytes", static_cast<std::int64_t>(text.size()));
  steps_.push_back({next, kNoToken});
}

void Matcher::rollback(std::int64_t steps) {
  const Use use(*this);
  const auto count = static_cast<std::int64_t>(steps_.size()) - 1;
  if (steps < 0 || steps > count) throw Error(ErrorKind::state, "rollback", steps, count);
  steps_.resize(steps_.size() - static_cast<std::size_t>(steps), steps_[0]);
}

void Matcher::fill(std::uint32_t* row) const {
  const Use use(*this);
  if (state() == kFinished) {
    guide_->fill_end(row);
  } else {
    guide_->fill(state(), row);
  }
}

bool Matcher::accepting() const {
  const Use use(*this);
  return state() == kFinished || guide_->accepting(state());
}

bool Matcher::finished() const {
  const Use use(*this);
  return state() == kFinished;
}

std::size_t Matcher::step_count() const {
  const Use use(*this);
  return steps_.size() - 1;
}

std::vector<std::int64_t> Matcher::token_ids() const {
  const Use use(*this);
  std::vector<std::int64_t> ids;
  for (std::size_t i = 1; i < steps_.size(); ++i) ids.push_back(steps_[i].token_id);
  return ids;
}

}  // namespace detent

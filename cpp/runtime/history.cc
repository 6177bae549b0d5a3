#include "runtime/history.h"

#include <algorithm>
#include <atomic>
#include <utility>

namespace detent {

// Frees a long list without recursion: chunks that no other history shares are unlinked one by one.
History::Chunk::~Chunk() {
  std::shared_ptr<Chunk> next = std::move(previous);
  while (next && next.use_count() == 1) {
    std::atomic_thread_fence(std::memory_order_acquire);  // after the release of those who shared it
    next = std::exchange(next->previous, nullptr);
  }
}

void History::push(const Step& step) {
  if (tail_.size() == kChunk) {
    auto chunk = std::make_shared<Chunk>();
    std::copy(tail_.begin(), tail_.end(), chunk->steps.begin());
    chunk->previous = std::move(chunks_);
    chunks_ = std::move(chunk);
    ++chunk_count_;
    tail_.clear();
  }
  tail_.push_back(step);
}

// In a full chunk, the first step keeps its state, and each step that find_states() could not repeat: bytes are not in
// the history, and whether a part with a budget may take a token is the verdict of a search.
History History::with_states(const std::function<void(std::span<TokenState>)>& replace) const {
  History moved;
  moved.tail_ = tail_;
  moved.chunk_count_ = chunk_count_;
  std::vector<std::shared_ptr<Chunk>> chunks;  // the newest first
  for (const Chunk* chunk = chunks_.get(); chunk; chunk = chunk->previous.get()) {
    chunks.push_back(std::make_shared<Chunk>());
    chunks.back()->steps = chunk->steps;
  }
  std::vector<Step*> kept;
  for (std::size_t i = chunks.size(); i-- > 0;) {
    Chunk& chunk = *chunks[i];
    if (i + 1 < chunks.size()) chunk.previous = chunks[i + 1];
    for (Step& step : chunk.steps) {
      step.has_state &= &step == chunk.steps.data() || step.token == kNoToken || step.state.part != 0;
      if (step.has_state) kept.push_back(&step);
    }
  }
  for (Step& step : moved.tail_) {
    if (step.has_state) kept.push_back(&step);
  }
  if (!chunks.empty()) moved.chunks_ = std::move(chunks.front());
  std::vector<TokenState> states;
  for (const Step* step : kept) states.push_back(step->state);
  replace(states);
  for (std::size_t i = 0; i < kept.size(); ++i) kept[i]->state = states[i];
  return moved;
}

void History::find_states(const std::function<TokenState(const TokenState&, std::int32_t)>& next) {
  for (std::size_t i = 1; i < tail_.size(); ++i) {
    if (tail_[i].has_state) continue;
    tail_[i].state = next(tail_[i - 1].state, tail_[i].token);
    tail_[i].has_state = true;
  }
}

void History::truncate(std::size_t size) {
  if (size > chunk_count_ * kChunk) {
    tail_.erase(tail_.begin() + static_cast<std::ptrdiff_t>(size - chunk_count_ * kChunk), tail_.end());
    return;
  }
  // The chunk that has the last step that stays becomes the tail.
  const std::size_t whole = (size - 1) / kChunk;
  while (chunk_count_ > whole + 1) {
    chunks_ = std::shared_ptr<Chunk>(chunks_->previous);
    --chunk_count_;
  }
  tail_.assign(chunks_->steps.begin(), chunks_->steps.begin() + static_cast<std::ptrdiff_t>(size - whole * kChunk));
  chunks_ = std::shared_ptr<Chunk>(chunks_->previous);
  --chunk_count_;
}

}  // namespace detent

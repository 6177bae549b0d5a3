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

void History::replace_states(std::span<const TokenState> states) {
  std::vector<const Chunk*> chunks;
  for (const Chunk* chunk = chunks_.get(); chunk; chunk = chunk->previous.get()) chunks.push_back(chunk);
  const auto replace = [&](Step& step) {
    step.state = states.front();
    states = states.subspan(1);
  };
  std::shared_ptr<Chunk> replaced;
  for (auto chunk = chunks.rbegin(); chunk != chunks.rend(); ++chunk) {
    auto copy = std::make_shared<Chunk>();
    copy->steps = (*chunk)->steps;
    copy->previous = std::move(replaced);
    std::ranges::for_each(copy->steps, replace);
    replaced = std::move(copy);
  }
  chunks_ = std::move(replaced);
  std::ranges::for_each(tail_, replace);
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

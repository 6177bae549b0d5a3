// History: the steps of a matcher, newest last. Copies share all but the last chunk, so that a copy costs the same
// whatever the length.
//
// Full chunks form a linked list, newest first, and never change. The newest steps, one at least and one chunk at most,
// belong to this history alone. Costs: push, back, copy O(kChunk); truncate O(dropped / kChunk); visit O(size).
//
// When the states move to a new machine (machine_slot.h), most steps of full chunks lose theirs: a state may be as
// large as the text, so that all of them would take the square of it. The owner finds lost states again, from the last
// one before them and the tokens since.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <span>
#include <vector>

#include "runtime/token_machine.h"

namespace detent {

class History {
 public:
  static constexpr std::int32_t kNoToken = -1;

  struct Step {
    TokenState state;               // after the step
    std::int32_t token = kNoToken;  // kNoToken for the start and for steps by bytes
    std::uint32_t token_count = 0;  // tokens up to here
    bool has_state = true;
  };

  explicit History(const Step& start) : tail_{start} {}
  History() = default;  // without steps; assign another history before use

  // The number of steps, the start included.
  std::size_t size() const { return chunk_count_ * kChunk + tail_.size(); }
  const Step& back() const { return tail_.back(); }

  void push(const Step& step);
  // Drops all but the first `size` steps, of which there is one at least.
  void truncate(std::size_t size);
  // The same steps with other states: `replace` gets the states that are kept, oldest first, and replaces them. The
  // last step keeps its state. Shares nothing with this history.
  History with_states(const std::function<void(std::span<TokenState>)>& replace) const;
  // Finds the lost states of the newest steps, that of the last one included: next(state, token).
  void find_states(const std::function<TokenState(const TokenState&, std::int32_t)>& next);
  // Calls visit(steps, count) for runs of steps, newest run first; visit returns whether to go on.
  template <class Visit>
  bool visit_runs(Visit visit) const;

 private:
  static constexpr std::size_t kChunk = 64;
  struct Chunk {
    std::shared_ptr<Chunk> previous;
    std::array<Step, kChunk> steps;
    ~Chunk();
  };

  std::shared_ptr<Chunk> chunks_;
  std::size_t chunk_count_ = 0;
  std::vector<Step> tail_;
};

template <class Visit>
bool History::visit_runs(Visit visit) const {
  if (!visit(tail_.data(), tail_.size())) return false;
  for (const Chunk* chunk = chunks_.get(); chunk; chunk = chunk->previous.get()) {
    if (!visit(chunk->steps.data(), kChunk)) return false;
  }
  return true;
}

}  // namespace detent

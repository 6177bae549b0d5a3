// Matcher: one sequence's place in a guide: the list of the states it went through, so that rolling back and forking are
// list operations. A matcher belongs to one thread at a time; a second one gets `busy`.
#pragma once

#include <atomic>
#include <cstdint>
#include <memory>
#include <string_view>
#include <vector>

#include "base/error.h"
#include "machine/guide.h"

namespace detent {

class Matcher {
 public:
  explicit Matcher(std::shared_ptr<Guide> guide) : guide_(std::move(guide)), steps_{{guide_->start(), kNoToken}} {}

  std::unique_ptr<Matcher> fork() const;

  // Each throws `state` and changes nothing where the step is not allowed.
  void advance(std::int64_t token_id);
  void advance_bytes(std::string_view text);
  void rollback(std::int64_t steps);

  void fill(std::uint32_t* row) const;
  bool accepting() const;
  bool finished() const;
  std::size_t step_count() const;  // tokens and byte strings since the start
  std::vector<std::int64_t> token_ids() const;  // -1 for a step by bytes
  const std::shared_ptr<Guide>& guide() const { return guide_; }

 private:
  // The state after end-of-text. No expression has this index.
  static constexpr ExprId kFinished{UINT32_MAX};
  static constexpr std::int32_t kNoToken = -1;

  struct Step {
    ExprId state;           // after the step
    std::int32_t token_id;  // kNoToken for the start and for a step by bytes
  };

  // Holds the matcher for one call.
  class Use {
   public:
    explicit Use(const Matcher& matcher) : matcher_(matcher) {
      if (matcher_.busy_.exchange(true, std::memory_order_acquire)) throw Error(ErrorKind::busy, "matcher");
    }
    ~Use() { matcher_.busy_.store(false, std::memory_order_release); }
    Use(const Use&) = delete;
    Use& operator=(const Use&) = delete;

   private:
    const Matcher& matcher_;
  };

  ExprId state() const { return steps_.back().state; }

  std::shared_ptr<Guide> guide_;
  std::vector<Step> steps_;  // the first is the start
  mutable std::atomic<bool> busy_{false};
};

}  // namespace detent

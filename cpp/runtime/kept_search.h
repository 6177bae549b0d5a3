// KeptSearch: the sets of conjuncts that the walks of a machine use one after the other.
//
// The states along a text have mostly the same conjuncts. So a walk finds the sets of the walks before it, with their
// transitions. It forgets what they found about texts (conjunct_search.h).
//
// Case: a string that matches one of three excluded patterns, with up to 48 characters: a mask takes three walks, of
// 1,000 to 4,000 sets each, nearly all of which an earlier walk has made.
// Memory: at most 1/16 of Limits::memory_bytes, and 16 MB; above that, the next walk begins anew.
// Safe for any number of threads: one walk at a time has the search; others make one of their own.
#pragma once

#include <algorithm>
#include <atomic>
#include <cstdint>
#include <memory>
#include <mutex>
#include <utility>

#include "base/fork_guard.h"
#include "runtime/conjunct_search.h"

namespace detent {

class KeptSearch {
 public:
  std::unique_ptr<ConjunctSearch> take(Automaton& automaton) {
    {
      const ForkGuard guard;
      const std::lock_guard lock(mutex_);
      if (kept_) return std::exchange(kept_, nullptr);
    }
    return std::make_unique<ConjunctSearch>(automaton);
  }
  // After a walk that has ended without an error.
  void give_back(std::unique_ptr<ConjunctSearch> search, const Limits& limits) {
    constexpr std::int64_t kMost = 16 << 20;
    if (static_cast<std::int64_t>(search->bytes()) > std::min(kMost, limits.memory_bytes / 16)) return;
    search->begin_walk();
    const ForkGuard guard;
    const std::lock_guard lock(mutex_);
    if (kept_) return;
    bytes_ = static_cast<std::int64_t>(search->bytes());
    kept_ = std::move(search);
  }
  // Of the search that was given back last.
  std::int64_t bytes() const { return bytes_; }

 private:
  std::mutex mutex_;
  std::unique_ptr<ConjunctSearch> kept_;  // null while a walk has it
  std::atomic<std::int64_t> bytes_ = 0;
};

}  // namespace detent

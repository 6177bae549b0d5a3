// MaskWorker: computes masks on a separate thread, for a host that does not wait for them.
//
// The thread works on copies of matchers, so that the host may continue with the originals. It starts at the first
// request and serves further ones until the worker is destroyed. In the child of a fork, a new thread is started.
#pragma once

#include <sys/types.h>

#include <chrono>
#include <cstdint>
#include <memory>
#include <optional>
#include <vector>

#include "runtime/matcher.h"

namespace detent {

class MaskWorker {
 public:
  MaskWorker();
  ~MaskWorker();
  MaskWorker(const MaskWorker&) = delete;
  MaskWorker& operator=(const MaskWorker&) = delete;

  // Requests the mask of a matcher whose key is `key`, unless it was requested before.
  void ask(const Matcher::MaskKey& key, const Matcher& matcher);
  // Returns the mask row of a state once it is computed, and forgets it. Throws the error of the computation.
  std::optional<std::vector<std::uint32_t>> take(const Matcher::MaskKey& key);
  // Waits until all requests are computed, or until `end`.
  void wait_until(std::chrono::steady_clock::time_point end);
  // Drops the results that were requested before the last two calls of this function and never taken.
  void drop_old();

 private:
  struct Shared;  // what the thread works on
  void restart_in_child();
  static void work(Shared& shared);

  std::unique_ptr<Shared> shared_;
  pid_t process_;
};

}  // namespace detent

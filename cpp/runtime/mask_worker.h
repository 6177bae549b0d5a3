// MaskWorker: computes masks on a thread of its own, for a host that does not wait for them.
//
// The thread works on copies of matchers, so that the host may go on with its own. It starts at the first request and
// waits for others until the worker is destroyed. In the child of a fork a new thread is started.
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

  // Asks for the mask of a matcher whose key is `key`, unless that was asked for before.
  void ask(const Matcher::MaskKey& key, const Matcher& matcher);
  // Returns the mask row of a state once it is computed, and forgets it. Throws the error of the computation.
  std::optional<std::vector<std::uint32_t>> take(const Matcher::MaskKey& key);
  // Waits until everything is computed, or until a point in time.
  void wait_until(std::chrono::steady_clock::time_point end);
  // Forgets the results that were asked for before the last two calls and not taken.
  void drop_old();

 private:
  struct Shared;  // what the thread works on
  void restart_in_child();
  static void work(Shared& shared);

  std::unique_ptr<Shared> shared_;
  pid_t process_;
};

}  // namespace detent

// ForkGuard: lets a process fork at any time. Every critical section of the core holds the guard shared; fork() takes
// it exclusively, so that the child never inherits a lock that a thread of the parent held, nor a half-written
// structure.
#pragma once

namespace detent {

class ForkGuard {
 public:
  ForkGuard();
  ~ForkGuard();
  ForkGuard(const ForkGuard&) = delete;
  ForkGuard& operator=(const ForkGuard&) = delete;

  // Registers the handlers; called once, at the import of the module.
  static void install();
};

}  // namespace detent

// MachineSlot: holds the machine of a constraint, and replaces it by a new one when it has grown too large (eviction).
//
// A machine stores each state that decoding visits. When these fill half of the limits, the slot gets a new machine
// with only the states of the compiled constraint, as RE2 resets its DFA cache. Each matcher moves to the new machine
// at its next call and takes states of its history along (History::with_states). So no thread that still uses the old
// machine is interrupted. Once the last matcher has left, a thread of the slot frees the old machine: within a step,
// its millions of entries would take some 300 ms.
#pragma once

#include <sys/types.h>
#include <unistd.h>

#include <atomic>
#include <cstdint>
#include <future>
#include <memory>
#include <mutex>
#include <vector>

#include "runtime/token_machine.h"

namespace detent {

class MachineSlot {
 public:
  explicit MachineSlot(std::shared_ptr<TokenMachine> machine)
      : vocabulary_(machine->shared_vocabulary()),
        machine_(std::move(machine)),
        serial_(machine_->serial()),
        process_(getpid()) {}
  ~MachineSlot();
  MachineSlot(const MachineSlot&) = delete;
  MachineSlot& operator=(const MachineSlot&) = delete;

  const std::shared_ptr<const Vocabulary>& vocabulary() const { return vocabulary_; }
  std::shared_ptr<TokenMachine> machine();
  // is_current: whether `known` is the machine of the slot and not full; takes no lock. machine_after: the machine to
  // use instead, if not.
  bool is_current(const TokenMachine& known) const {
    return known.serial() == serial_.load(std::memory_order_relaxed) && !known.is_full();
  }
  std::shared_ptr<TokenMachine> machine_after(const TokenMachine& known);
  // Replaces `known` if it is still the machine of the slot.
  std::shared_ptr<TokenMachine> renew(const TokenMachine& known);
  // Begins to free old machines that no matcher uses any more.
  void free_old();

 private:
  void free_old_locked();

  const std::shared_ptr<const Vocabulary> vocabulary_;
  std::mutex mutex_;
  std::shared_ptr<TokenMachine> machine_;
  std::atomic<std::uint64_t> serial_;               // of the machine
  std::vector<std::shared_ptr<TokenMachine>> old_;  // that matchers may still use
  std::future<void> freed_;                         // of the last thread
  pid_t process_;                                   // of that thread: the child of a fork has none
};

}  // namespace detent

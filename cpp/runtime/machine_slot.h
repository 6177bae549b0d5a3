// MachineSlot: the machine of a constraint, and the machines that take over from it: eviction.
//
// A machine keeps each state that decoding has visited. Once its states fill half of what the limits allow, a new
// machine takes over, which has the states of the compiled constraint only (as RE2 resets the cache of its DFA). Each
// matcher moves to the new machine at its next call, with the states of its history; the last one that leaves a machine
// frees it. So threads that follow the states of the old machine are never interrupted.
#pragma once

#include <atomic>
#include <cstdint>
#include <memory>
#include <mutex>

#include "runtime/token_machine.h"

namespace detent {

class MachineSlot {
 public:
  explicit MachineSlot(std::shared_ptr<TokenMachine> machine)
      : vocabulary_(machine->shared_vocabulary()), machine_(std::move(machine)), serial_(machine_->serial()) {}
  MachineSlot(const MachineSlot&) = delete;
  MachineSlot& operator=(const MachineSlot&) = delete;

  const std::shared_ptr<const Vocabulary>& vocabulary() const { return vocabulary_; }
  std::shared_ptr<TokenMachine> machine();
  // The machine for the next call of a user of `known`: `known` itself, as long as it is the machine of the slot and
  // not full. Takes a lock only if it is not.
  bool is_current(const TokenMachine& known) const {
    return known.serial() == serial_.load(std::memory_order_relaxed) && !known.is_full();
  }
  std::shared_ptr<TokenMachine> machine_after(const TokenMachine& known);
  // Replaces `known` if it is still the machine of the slot.
  std::shared_ptr<TokenMachine> renew(const TokenMachine& known);

 private:
  const std::shared_ptr<const Vocabulary> vocabulary_;
  std::mutex mutex_;
  std::shared_ptr<TokenMachine> machine_;
  std::atomic<std::uint64_t> serial_;  // of the machine
};

}  // namespace detent

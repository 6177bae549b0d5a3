#include "runtime/machine_slot.h"

#include <utility>

#include "base/fork_guard.h"

namespace detent {

std::shared_ptr<TokenMachine> MachineSlot::machine() {
  const ForkGuard guard;
  const std::lock_guard lock(mutex_);
  return machine_;
}

std::shared_ptr<TokenMachine> MachineSlot::machine_after(const TokenMachine& known) {
  return known.is_full() ? renew(known) : machine();
}

std::shared_ptr<TokenMachine> MachineSlot::renew(const TokenMachine& known) {
  const ForkGuard guard;
  const std::lock_guard lock(mutex_);
  if (machine_->serial() != known.serial()) return machine_;
  if (std::shared_ptr<TokenMachine> next = machine_->renewed()) {
    machine_ = std::move(next);
    serial_.store(machine_->serial(), std::memory_order_relaxed);
  }
  return machine_;
}

}  // namespace detent

#include "runtime/machine_slot.h"

#include <algorithm>
#include <iterator>
#include <system_error>
#include <utility>

#include "base/fork_guard.h"

namespace detent {

// The current machine shares what an old one refers to. So the thread must end before the members.
MachineSlot::~MachineSlot() { end_freeing(); }

std::shared_ptr<TokenMachine> MachineSlot::machine() {
  const ForkGuard guard;
  const std::lock_guard lock(mutex_);
  free_old_locked();
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
    old_.push_back(std::exchange(machine_, std::move(next)));
    serial_.store(machine_->serial(), std::memory_order_relaxed);
  }
  return machine_;
}

void MachineSlot::free_old() {
  const ForkGuard guard;
  const std::lock_guard lock(mutex_);
  free_old_locked();
}

void MachineSlot::free_old_locked() {
  if (old_.empty() || (is_freeing_.load(std::memory_order_acquire) && process_ == getpid())) return;
  const auto used = std::ranges::partition(old_, [](const auto& machine) { return machine.use_count() == 1; });
  if (used.begin() == old_.begin()) return;
  end_freeing();
  std::vector<std::shared_ptr<TokenMachine>> unused(std::make_move_iterator(old_.begin()),
                                                    std::make_move_iterator(used.begin()));
  old_.erase(old_.begin(), used.begin());
  is_freeing_.store(true, std::memory_order_relaxed);
  process_ = getpid();
  try {
    freeing_ = std::thread([this, machines = std::move(unused)]() mutable {
      const ForkGuard guard;  // a child could not use a lock that was held here
      machines.clear();
      is_freeing_.store(false, std::memory_order_release);
    });
  } catch (const std::system_error&) {
    is_freeing_.store(false, std::memory_order_relaxed);  // no thread: the machines were freed here
  }
}

void MachineSlot::end_freeing() {
  if (!freeing_.joinable()) return;
  if (process_ == getpid()) {
    freeing_.join();
  } else {
    freeing_.detach();
  }
}

}  // namespace detent

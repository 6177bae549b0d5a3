#include "runtime/machine_slot.h"

#include <algorithm>
#include <chrono>
#include <iterator>
#include <system_error>
#include <thread>
#include <utility>

#include "base/fork_guard.h"

namespace detent {

// The current machine shares what an old one refers to. So the thread must end before the members.
MachineSlot::~MachineSlot() {
  if (freed_.valid() && process_ == getpid()) freed_.wait();
}

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

// The thread is detached: in the child of a fork, its handle might be that of another thread.
void MachineSlot::free_old_locked() {
  if (old_.empty()) return;
  const bool is_freeing =
      freed_.valid() && process_ == getpid() && freed_.wait_for(std::chrono::seconds(0)) != std::future_status::ready;
  if (is_freeing) return;
  const auto used = std::ranges::partition(old_, [](const auto& machine) { return machine.use_count() == 1; });
  if (used.begin() == old_.begin()) return;
  std::vector<std::shared_ptr<TokenMachine>> unused(std::make_move_iterator(old_.begin()),
                                                    std::make_move_iterator(used.begin()));
  old_.erase(old_.begin(), used.begin());
  std::promise<void> promise;
  std::future<void> freed = promise.get_future();
  try {
    std::thread([machines = std::move(unused), promise = std::move(promise)]() mutable {
      {
        const ForkGuard guard;  // a child could not use a lock that was held here
        machines.clear();
      }
      promise.set_value();
    }).detach();
  } catch (const std::system_error&) {
    return;  // no thread: the machines were freed here
  }
  freed_ = std::move(freed);
  process_ = getpid();
}

}  // namespace detent

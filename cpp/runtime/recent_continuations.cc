#include "runtime/recent_continuations.h"

#include <utility>

#include "base/fork_guard.h"

namespace detent {

std::shared_ptr<const Mask> RecentContinuations::find(const ContextDependentTokens* tokens, ExprId continuation) {
  const ForkGuard guard;
  const std::lock_guard lock(mutex_);
  for (const Entry& entry : entries_) {
    if (entry.tokens.get() == tokens && entry.continuation == continuation) return entry.allowed;
  }
  return nullptr;
}

void RecentContinuations::add(std::shared_ptr<const ContextDependentTokens> tokens, ExprId continuation,
                              std::shared_ptr<const Mask> allowed) {
  const ForkGuard guard;
  const std::lock_guard lock(mutex_);
  entries_[oldest_] = {std::move(tokens), continuation, std::move(allowed)};
  oldest_ = (oldest_ + 1) % kCount;
}

}  // namespace detent

// RecentContinuations: the context-dependent tokens that the continuations of slices allowed last.
//
// States inside one name of an object, or inside one string, differ in their prefixes. Most of these have the same
// context-dependent tokens, and all have the same continuation, so one walk decides the tokens for them.
// Safe for any number of threads. Cost: a comparison with each of kCount entries.
#pragma once

#include <array>
#include <cstddef>
#include <memory>
#include <mutex>

#include "expr/expr.h"
#include "mask/context_dependent_tokens.h"
#include "mask/mask.h"

namespace detent {

class RecentContinuations {
 public:
  // Returns the tokens that `add` was given; null if they are not known, or no longer.
  std::shared_ptr<const Mask> find(const ContextDependentTokens* tokens, ExprId continuation);
  // Adds an entry in place of the oldest.
  void add(std::shared_ptr<const ContextDependentTokens> tokens, ExprId continuation,
           std::shared_ptr<const Mask> allowed);

 private:
  static constexpr std::size_t kCount = 32;
  struct Entry {
    std::shared_ptr<const ContextDependentTokens> tokens;
    ExprId continuation;
    std::shared_ptr<const Mask> allowed;
  };

  std::mutex mutex_;
  std::array<Entry, kCount> entries_;
  std::size_t oldest_ = 0;
};

}  // namespace detent

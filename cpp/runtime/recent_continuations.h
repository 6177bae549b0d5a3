// RecentContinuations: a memo of which context-dependent tokens a continuation allows, for the last kCount pairs.
//
// States inside one JSON string have different prefixes. Most of these have the same context-dependent tokens, and all
// have one continuation. So one walk decides the tokens for all of these states.
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
  // Returns the allowed tokens that `add` was given for this pair; null if the memo does not have them.
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

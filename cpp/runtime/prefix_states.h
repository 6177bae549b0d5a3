// PrefixStates: the state to which each token leads from a prefix (automaton/slice_analysis.h).
//
// It is the same at all positions of the pre-tokenizer, and in all languages. So the verdicts at a further position
// need no walk over the trie, but a look at each token.
#pragma once

#include <cstdint>
#include <deque>
#include <memory>
#include <mutex>
#include <optional>
#include <utility>
#include <vector>

#include "automaton/automaton.h"
#include "base/hash.h"
#include "vocab/vocabulary.h"

namespace detent {

struct PrefixStates {
  static constexpr std::uint8_t kLeaves = UINT8_MAX;  // the token does not stay inside the prefix
  std::vector<std::uint8_t> state_of;                 // by token: the index of its state, or kLeaves
  std::vector<std::uint32_t> examples;                // by index: a token that leads to the state
  // The walk over the trie. Nothing where there are too many states.
  static std::optional<PrefixStates> of(const Vocabulary& vocabulary, Automaton& automaton, ExprId prefix);
};

// Those of the last few prefixes, by their hash. Safe for threads.
class RecentPrefixStates {
 public:
  std::shared_ptr<const PrefixStates> find(const Hash128& prefix);
  std::shared_ptr<const PrefixStates> add(const Hash128& prefix, PrefixStates states);

 private:
  static constexpr std::size_t kMost = 16;  // a byte for each id of the vocabulary each
  std::mutex mutex_;
  std::deque<std::pair<Hash128, std::shared_ptr<const PrefixStates>>> known_;
};

}  // namespace detent

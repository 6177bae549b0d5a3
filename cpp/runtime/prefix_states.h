// PrefixStates: the state to which each token leads from the prefix of a slice (automaton/slice_analysis.h).
//
// Canonical masks need it at each position of the pre-tokenizer. It depends neither on the position nor on the
// language, so only the first mask with a prefix walks over the trie. Later masks look up the state of each token.
#pragma once

#include <cstdint>
#include <deque>
#include <memory>
#include <mutex>
#include <utility>
#include <vector>

#include "automaton/automaton.h"
#include "base/hash.h"
#include "runtime/walk_limit.h"
#include "vocab/vocabulary.h"

namespace detent {

struct PrefixStates {
  static constexpr std::uint8_t kLeaves = UINT8_MAX;  // the token does not stay inside the prefix
  std::vector<std::uint8_t> state_of;                 // by token: the index of its state, or kLeaves
  std::vector<std::uint32_t> examples;                // by index: some token that leads to the state
  bool too_many = false;                              // the states were not found
  // Computes the states by a walk over the trie. Throws WalkLimit::Exceeded where that exceeds the limit.
  static PrefixStates of(const Vocabulary& vocabulary, Automaton& automaton, ExprId prefix, WalkLimit& limit);
};

// The PrefixStates of the last few prefixes, by the hash of the prefix. Safe for threads.
class RecentPrefixStates {
 public:
  std::shared_ptr<const PrefixStates> find(const Hash128& prefix);
  std::shared_ptr<const PrefixStates> add(const Hash128& prefix, PrefixStates states);

 private:
  static constexpr std::size_t kMost = 16;  // each entry has one byte for each id of the vocabulary
  std::mutex mutex_;
  std::deque<std::pair<Hash128, std::shared_ptr<const PrefixStates>>> known_;
};

}  // namespace detent

// RecentStates: the last states whose masks were computed from scratch, as references for the masks of similar states.
// Safe for any number of threads.
#pragma once

#include <cstddef>
#include <cstdint>
#include <mutex>
#include <vector>

#include "automaton/automaton.h"
#include "base/hash.h"
#include "runtime/reference_walk.h"
#include "vocab/vocabulary.h"

namespace detent {

// The kind of a mask: a part of its key in the vocabulary's mask cache.
enum class MaskKind : std::uint64_t {
  state = 0,
  slice = 0x736C696365,
  value = 0x76616C7565,
  exits = 0x6578697473,
  byte_class = 0x636C617373,
  condition = 0x636F6E64,  // of texts that a state excludes; its completions need not be tokenizable
};
inline Hash128 mask_key(const Hash128& hash, MaskKind kind) {
  return kind == MaskKind::state ? hash : mix(hash, static_cast<std::uint64_t>(kind));
}

class RecentStates {
 public:
  RecentStates(const Vocabulary& vocabulary, Automaton& automaton, MaskKind kind)
      : vocabulary_(vocabulary), automaton_(automaton), kind_(kind) {}

  // Returns the state whose transition row agrees with that of `state` on the largest part of the trie, with its mask.
  // Agreement is (nodes below bytes with equal entries) - (nodes below other bytes). No mask if the agreement of each
  // state is at most `least`, or if the mask was evicted.
  ReferenceMask nearest_state(ExprId state, std::int64_t least = 0);
  // The states whose agreement with `state` is above `least`, the most similar one first.
  std::vector<ExprId> similar_states(ExprId state, std::int64_t least = 0);
  // Adds a state; the oldest of more than kCount is dropped.
  void add(ExprId state);

 private:
  static constexpr std::size_t kCount = 8;

  std::int64_t agreement(const ExprId* row, const ExprId* other);
  const std::vector<std::int64_t>& nodes_by_class();

  const Vocabulary& vocabulary_;
  Automaton& automaton_;
  MaskKind kind_;
  std::mutex mutex_;
  std::vector<ExprId> states_;
  std::vector<std::int64_t> nodes_by_class_;  // made at the first use
};

}  // namespace detent

// MaskComputer: computes the mask of a state by the cheapest of the methods that apply to it.
//
//   a union, where the automaton is large      walk by alternatives             (alternative_walk.h)
//   alternatives are slices                    share the masks of the slices    (slice_masks.h)
//   alternatives begin with literals           follow these, without rows       (literal_walk.h)
//   a repeat with an upper bound comes first   start from the unbounded state   (unbounded_reference.h)
//   a run of one character class comes first   look up the tokens of the class  (class_run.h)
//   a similar state was visited before         start from its mask              (recent_states.h)
//   none of these                              walk the trie                    (reference_walk.h)
//
// Every method computes the same mask as the plain walk (tests/test_slices.py).
// Cost: about linear in the part of the trie where the state differs from those whose masks it shares.
// Safe for any number of threads.
#pragma once

#include <cstdint>
#include <memory>
#include <vector>

#include "automaton/automaton.h"
#include "automaton/slice_analysis.h"
#include "mask/mask.h"
#include "mask/mask_builder.h"
#include "runtime/kept_search.h"
#include "runtime/literal_walk.h"
#include "runtime/recent_continuations.h"
#include "runtime/recent_states.h"
#include "runtime/slice_masks.h"
#include "vocab/vocabulary.h"

namespace detent {

class MaskComputer {
 public:
  MaskComputer(const Vocabulary& vocabulary, Automaton& automaton)
      : vocabulary_(vocabulary),
        automaton_(automaton),
        analysis_(automaton),
        slice_masks_(vocabulary, automaton, analysis_, kept_),
        recent_(vocabulary, automaton, MaskKind::state),
        recent_remainders_(vocabulary, automaton, MaskKind::state) {}
  MaskComputer(const MaskComputer&) = delete;
  MaskComputer& operator=(const MaskComputer&) = delete;

  // Returns the mask of `state`; does not look it up in the cache.
  std::shared_ptr<const Mask> compute(ExprId state);
  // The same from the cache, where it is known.
  std::shared_ptr<const Mask> mask_of(ExprId state);

  // Whether the mask of a state is computed by its alternatives, and not by states: it has many, and so has the
  // automaton.
  bool has_many_alternatives(ExprId state);

  // The memory beside the automaton's, about.
  std::int64_t memory_bytes() const { return kept_.bytes(); }

  SliceAnalysis& analysis() { return analysis_; }
  SliceMasks& slice_masks() { return slice_masks_; }

 private:
  std::shared_ptr<const Mask> compute_from_alternatives(ExprId state);
  std::shared_ptr<const Mask> compute_by_form(ExprId state);
  void walk_rest(const std::vector<OpenState>& open, ExprId remainder, MaskBuilder& builder);
  void add_slice(const Slice& slice, MaskBuilder& builder);
  std::shared_ptr<const Mask> continued(const ContextDependentTokens& tokens, ExprId continuation);
  std::shared_ptr<const Mask> compute_from_slices(const SlicedState& sliced, TokenCheck check);
  std::shared_ptr<const Mask> compute_from_nearest(ExprId state, TokenCheck check);
  std::shared_ptr<const Mask> walk(ExprId state, const ReferenceMask& reference, TokenCheck check);
  bool is_wide(ExprId state);
  std::shared_ptr<const Mask> mask_of_remainder(ExprId remainder);
  bool can_use(const SlicedState& sliced, TokenCheck check);

  const Vocabulary& vocabulary_;
  Automaton& automaton_;
  SliceAnalysis analysis_;
  KeptSearch kept_;
  SliceMasks slice_masks_;
  RecentStates recent_, recent_remainders_;
  RecentContinuations recent_continuations_;
};

}  // namespace detent

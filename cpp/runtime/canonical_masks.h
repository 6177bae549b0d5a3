// CanonicalMasks: the tokens that may follow a state of the language at a split position, as masks.
//
// A mask is kept by (state, split position), without the last token: the tokens that must not follow that one are taken
// out when a row is filled. Masks of slices are shared by all languages of a vocabulary, in its cache.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <unordered_map>
#include <utility>
#include <vector>

#include "automaton/slice_analysis.h"
#include "mask/mask.h"
#include "mask/mask_builder.h"
#include "mask/mask_cache.h"
#include "runtime/canonical_slices.h"
#include "runtime/completion_search.h"
#include "runtime/conjunct_sets.h"
#include "runtime/known_completions.h"
#include "runtime/mask_computer.h"
#include "runtime/recent_states.h"
#include "runtime/split_positions.h"
#include "runtime/token_bounds.h"
#include "runtime/tokenized_language.h"
#include "runtime/walk_limit.h"

namespace detent {

class CanonicalMasks {
 public:
  CanonicalMasks(const TokenizedLanguage& language, MaskComputer& masks, GreedyCompletions& greedy,
                 Completions& completions, PretokenEndings& endings, CompletionSearch& search, ConjunctSets& conjuncts,
                 KnownCompletions& known_completions)
      : language_(language),
        masks_(masks),
        greedy_(greedy),
        completions_(completions),
        endings_(endings),
        search_(search),
        conjuncts_(conjuncts),
        known_completions_(known_completions),
        slices_(language, masks.analysis(), masks.slice_masks(), completions, endings, search),
        recent_(language.vocabulary(), language.automaton, MaskKind::state) {}

  // What masks of `other`, of the same language, have shown holds here.
  void continue_from(const CanonicalMasks& other) { give_ups_ = other.give_ups_; }

  // Writes the row of the text tokens that may follow `last` at a set of positions; with a budget, only those after
  // which a known completion fits it. The part of a budget is at its state before the token, and the counts are of the
  // tokens after it. Returns whether the budget may have removed any.
  // Cost: at the first visit of a state and position, a walk over the trie.
  bool fill(ExprId state, const SplitPositionSets::Set& set, std::uint32_t last, const CompletionBudget& budget,
            std::uint32_t* row);
  // The tokens of a completion of at most `most` tokens after `token`, which leads `state` at one of the positions
  // `before` to `next` at one of those `after`, where fill() adds the token for a completion of another state: that one
  // completes `next`, too, but the known completion there is longer. Empty where none is found.
  std::vector<std::uint32_t> completion_after(ExprId state, const SplitPositionSets::Set& before, std::uint32_t token,
                                              ExprId next, const SplitPositionSets::Set& after, std::uint32_t most);

 private:
  using BoundedTokens = std::vector<std::pair<std::uint32_t, std::uint32_t>>;  // token, bound on its completion

  // A state whose mask is known.
  struct Reference {
    ExprId state;
    std::shared_ptr<const Mask> mask;
    std::uint32_t equal_length = 0;             // tokens of at most that many bytes follow both states,
    std::shared_ptr<const Mask> far = nullptr;  // except these
  };

  bool add_within(ExprId state, const SplitPosition& at, const CompletionBudget& budget, std::uint32_t* row);
  std::shared_ptr<const Mask> mask_within(ExprId state, const SplitPosition& at, const CompletionBudget& budget);
  Hash128 key(ExprId state, const SplitPosition& at) const;
  std::shared_ptr<const Mask> mask_of(ExprId state, const SplitPosition& at);
  std::shared_ptr<const Mask> compute(ExprId state, const SplitPosition& at);
  std::shared_ptr<const Mask> compute_by_states(ExprId state, const SplitPosition& at, WalkLimit& limit,
                                                WalkLimit& of_slices);
  std::shared_ptr<const Mask> walk(ExprId state, const SplitPosition& at, WalkLimit& limit,
                                   std::shared_ptr<const Mask>* far = nullptr);
  std::shared_ptr<const Mask> walk_by_conjuncts(ExprId state, const SplitPosition& at);
  std::shared_ptr<const Mask> walk_by_alternatives(ExprId state, const SplitPosition& at);
  std::shared_ptr<const Mask> walk_beside_unbounded(ExprId state, const SplitPosition& at, WalkLimit& limit);
  std::shared_ptr<const Mask> walk_beside_similar(ExprId state, const SplitPosition& at, WalkLimit& limit);
  std::shared_ptr<const Mask> walk_beside(const Reference& other, ExprId state, const SplitPosition& at,
                                          WalkLimit& limit);
  std::shared_ptr<const Mask> compute_from_slices(ExprId state, const SplitPosition& at, WalkLimit& limit);
  std::optional<ExprId> after_counted(const CountedString& string, std::uint32_t token, ExprId continuation);
  std::shared_ptr<const Mask> compute_from_slice(ExprId state, const SplitPosition& at, const Slice& slice,
                                                 WalkLimit& limit);

  TokenizedLanguage language_;
  MaskComputer& masks_;
  GreedyCompletions& greedy_;
  Completions& completions_;
  PretokenEndings& endings_;
  CompletionSearch& search_;
  ConjunctSets& conjuncts_;
  KnownCompletions& known_completions_;
  CanonicalSlices slices_;
  RecentStates recent_;  // whose masks a walk by states has found
  int give_ups_ = 0;     // of walks by states, less the other walks since
};

}  // namespace detent

// CanonicalSlices: the tokens that stay inside the prefix of a slice (automaton/slice_analysis.h), with the verdicts
// that do not depend on what follows the prefix. The results are shared by all languages of a vocabulary, in its cache.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <utility>
#include <vector>

#include "automaton/slice_analysis.h"
#include "base/hash.h"
#include "mask/mask.h"
#include "mask/mask_cache.h"
#include "runtime/completion_search.h"
#include "runtime/recent_states.h"
#include "runtime/slice_masks.h"
#include "runtime/token_bounds.h"
#include "runtime/tokenized_language.h"
#include "runtime/walk_limit.h"

namespace detent {

// Accepted tokens have a completion whatever follows the prefix. Uncertain ones are decided by what follows it. All
// other tokens that stay inside the prefix are refused. Of the accepted tokens, `closing` has only such that one byte
// completes the prefix after them: all of them where a walk found the tokens, else perhaps none.
struct SliceTokens {
  std::shared_ptr<const Mask> accepted, uncertain, closing;
  bool is_known() const { return accepted && uncertain && closing; }  // the cache may have dropped one of them
};

class CanonicalSlices {
 public:
  CanonicalSlices(const TokenizedLanguage& language, SliceAnalysis& analysis, SliceMasks& masks,
                  Completions& completions, PretokenEndings& endings, CompletionSearch& search)
      : language_(language),
        analysis_(analysis),
        masks_(masks),
        completions_(completions),
        endings_(endings),
        search_(search),
        recent_(language.vocabulary(), language.automaton, MaskKind::slice) {}

  // The tokens that follow a position. Cost: a cache look-up; at the first visit a walk over the part of the trie where
  // the prefix differs from one without bounds. Throws WalkLimit::Exceeded where that exceeds the limit.
  SliceTokens find(ExprId prefix, const SplitPosition& at, WalkLimit& limit);
  // Reads a prefix as a string with at most n characters; it may ask for one, which each token has. Nothing inside a
  // character.
  std::optional<CountedString> counted_string(ExprId prefix, PositionId from);

 private:
  using UnsplitEdge = PretokenTransitions::UnsplitEdge;
  // A prefix whose verdicts are known. A token of at most `equal_length` bytes has the verdict that it has there.
  struct Reference {
    ExprId prefix;
    SliceTokens tokens;
    std::uint32_t equal_length;
  };
  class SliceWalk;

  SliceTokens find(ExprId prefix, PositionId from, WalkLimit& limit);
  SliceTokens compute(ExprId prefix, PositionId from, WalkLimit& limit);
  std::optional<SliceTokens> find_conditioned(ExprId prefix, PositionId from, WalkLimit& limit);
  std::optional<SliceTokens> find_beside_smaller(ExprId prefix, PositionId from, WalkLimit& limit);
  std::optional<SliceTokens> find_counted(ExprId prefix, PositionId from, WalkLimit& limit);
  SliceTokens limit_characters(ExprId prefix, const BoundedString& string, const SliceTokens& wide, PositionId from,
                               WalkLimit& limit);
  SliceTokens cached(const Hash128& accepted_key, MaskCache::Kind kind) const;
  void insert(const Hash128& accepted_key, const SliceTokens& tokens) const;
  bool differs_widely(ExprId prefix, ExprId other);
  std::shared_ptr<const PrefixStates> states_after(ExprId prefix, WalkLimit& limit);
  UnboundedState without_upper_bounds(ExprId prefix);
  ExprId smaller_prefix(ExprId prefix);
  std::pair<ExprId, std::uint32_t> similar_prefix(ExprId prefix, PositionId from);
  std::optional<Reference> find_reference(ExprId prefix, PositionId from, WalkLimit& limit);
  SliceTokens without_unsplit(ExprId prefix, const SplitPosition& at, const SliceTokens& tokens,
                              const std::vector<UnsplitEdge>& completing, WalkLimit& limit);
  std::uint32_t bound_beside_unsplit(ExprId prefix, const SplitPosition& at, const UnsplitEdge& edge);
  Hash128 key(ExprId prefix, PositionId from, UnsplitNode unsplit) const;

  TokenizedLanguage language_;
  SliceAnalysis& analysis_;
  SliceMasks& masks_;
  Completions& completions_;
  PretokenEndings& endings_;
  CompletionSearch& search_;
  RecentStates recent_;  // prefixes
};

}  // namespace detent

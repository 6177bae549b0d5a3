// SliceMasks: the masks of slices (automaton/slice_analysis.h), shared by all states that begin with the same prefix.
//
// The mask of a slice has the tokens that stay inside the prefix. Its context-dependent tokens are those that leave it;
// the caller decides them by the continuation. Where some bytes are no tokens, the mask is exact only for prefixes that
// stay tokenizable (Automaton::stays_tokenizable) with a tokenizable continuation.
#pragma once

#include <memory>

#include "automaton/slice_analysis.h"
#include "runtime/recent_states.h"
#include "runtime/reference_walk.h"

namespace detent {

class SliceMasks {
 public:
  SliceMasks(const Vocabulary& vocabulary, Automaton& automaton, SliceAnalysis& analysis)
      : vocabulary_(vocabulary),
        automaton_(automaton),
        analysis_(analysis),
        recent_(vocabulary, automaton, MaskKind::slice) {}

  // Returns the mask of a prefix. Cost: a cache look-up; at the first visit a walk over the part of the trie where the
  // prefix differs from a similar one.
  std::shared_ptr<const Mask> mask_of(ExprId prefix);
  // The context-dependent tokens of a prefix alone. Cost: as above, but counts that are larger than tokens do not
  // matter.
  std::shared_ptr<const ContextDependentTokens> leaving(ExprId prefix);
  // As above, for a slice that ends in a value (Slice::is_value). Leaves out the context-dependent tokens that may
  // also stay inside the prefix, such as `12` after `1`; and after a number those that no continuation allows.
  std::shared_ptr<const Mask> mask_of_value(const Slice& value);
  // As above, for the context-dependent tokens of another slice whose continuation begins with the prefix. Cost: a
  // cache look-up; at the first visit a walk over the suffixes of these tokens.
  std::shared_ptr<const Mask> mask_of_value(const Slice& value, const ContextDependentTokens& tokens);

 private:
  Hash128 key_of_value(const Slice& value);
  // The mask of a prefix whose expression tells it without a walk; null otherwise.
  std::shared_ptr<const Mask> compute_by_form(ExprId prefix);
  // The mask of any prefix, from that of a similar one where there is one.
  std::shared_ptr<const Mask> compute_from_reference(ExprId prefix);
  ReferenceMask find_reference(ExprId prefix);
  std::shared_ptr<const Mask> mask_with_leaving(ExprId prefix);
  std::shared_ptr<const Mask> compute_bounded(ExprId prefix, const BoundedString& string);
  std::shared_ptr<const Mask> compute_counted(ExprId prefix, const CountedString& string);
  // The mask of a string that excludes texts, of which all forms are known; null otherwise.
  std::shared_ptr<const Mask> compute_excluding(ExprId prefix);
  // The mask of a choice among literals; null of any other prefix.
  std::shared_ptr<const Mask> compute_literals(ExprId prefix);
  // The mask of a prefix that begins with a run of bytes from one class; null otherwise.
  std::shared_ptr<const Mask> compute_from_class(ExprId prefix);
  // The mask of a string from that of any string, where most tokens have free bytes alone; null otherwise.
  std::shared_ptr<const Mask> compute_from_any_string(ExprId prefix);
  template <class IsBeyond>
  void refuse_beyond(ExprId string, IsBeyond is_beyond, MaskBuilder& builder);
  void limit_characters(std::uint32_t minimum, std::uint32_t maximum, MaskBuilder& builder) const;
  template <class IsLong>
  void limit_quoted(const Mask& mask, std::uint32_t minimum, std::uint32_t maximum, IsLong is_long,
                    MaskBuilder& builder) const;
  template <class String>
  std::shared_ptr<const ContextDependentTokens> keep_exits_of_length(
      const std::shared_ptr<const ContextDependentTokens>& tokens, const String& string) const;
  template <class Keep>
  std::shared_ptr<const ContextDependentTokens> keep_exits(const std::shared_ptr<const ContextDependentTokens>& tokens,
                                                           Keep keep) const;
  std::shared_ptr<const Mask> compute(ExprId prefix, const ReferenceMask& reference);
  template <class Keep>
  std::vector<ContextDependentTokens::TokenSuffix> suffixes_after(const std::vector<std::uint32_t>& exits,
                                                                  Keep keep) const;
  // The tokens that leave at these exits: one object for all slices with the same exits. `find_suffixes` is called
  // where none is known.
  template <class FindSuffixes>
  std::shared_ptr<const ContextDependentTokens> leaving_at(std::vector<std::uint32_t> exits,
                                                           FindSuffixes find_suffixes) const;
  std::shared_ptr<const ContextDependentTokens> merge_exits(const ContextDependentTokens* reference,
                                                            const ExitDelta& delta) const;

  const Vocabulary& vocabulary_;
  Automaton& automaton_;
  SliceAnalysis& analysis_;
  RecentStates recent_;
};

}  // namespace detent

// SliceMasks: the masks of slices (automaton/slice_analysis.h), shared by all states that begin with the same prefix.
//
// The mask of a slice has the tokens that stay inside the prefix. Its context-dependent tokens leave the prefix; the
// continuation decides them, in the caller. Where some bytes are no tokens, the mask is exact only for prefixes that
// stay tokenizable (Automaton::stays_tokenizable) with a tokenizable continuation.
#pragma once

#include <functional>
#include <memory>
#include <string_view>
#include <vector>

#include "automaton/slice_analysis.h"
#include "runtime/recent_states.h"
#include "runtime/reference_walk.h"

namespace detent {

class KeptSearch;

class SliceMasks {
 public:
  SliceMasks(const Vocabulary& vocabulary, Automaton& automaton, SliceAnalysis& analysis, KeptSearch& kept)
      : vocabulary_(vocabulary),
        automaton_(automaton),
        analysis_(analysis),
        kept_(kept),
        recent_(vocabulary, automaton, MaskKind::slice),
        recent_conditions_(vocabulary, automaton, MaskKind::condition) {}

  // Returns the mask of a prefix. Cost: a cache look-up; at the first visit a walk over the part of the trie where the
  // prefix differs from a similar one.
  std::shared_ptr<const Mask> mask_of(ExprId prefix);
  // Only the context-dependent tokens of a prefix. Cost: that of mask_of; but prefixes that differ only in counts above
  // the length of all tokens share the result.
  std::shared_ptr<const ContextDependentTokens> leaving(ExprId prefix);
  // The tokens that keep a condition (split_conditions) alive, as if any text could follow. Cost: a cache look-up; at
  // the first visit a walk over the part of the trie where the condition differs from a similar one.
  std::shared_ptr<const Mask> mask_of_condition(ExprId condition);
  // The mask of a slice that ends in a value (Slice::is_value). Its context-dependent tokens lack those that may also
  // stay inside the prefix, such as `12` after `1`; and after a number, those whose suffix begins with a byte of
  // numbers.
  std::shared_ptr<const Mask> mask_of_value(const Slice& value);
  // The same for only the tokens that leave another slice, whose continuation is `value`: their suffixes are followed
  // through the value. Cost: a cache look-up; at the first visit a walk over these suffixes.
  std::shared_ptr<const Mask> mask_of_value(const Slice& value, const ContextDependentTokens& tokens);

 private:
  Hash128 key_of_value(const Slice& value);
  // The mask of a prefix whose form decides it without a walk, such as a string of at most n characters; otherwise
  // null.
  std::shared_ptr<const Mask> compute_by_form(ExprId prefix);
  // The mask of any prefix, from the mask of a similar prefix if there is one.
  std::shared_ptr<const Mask> compute_from_reference(ExprId prefix);
  ReferenceMask find_reference(ExprId prefix);
  std::shared_ptr<const Mask> mask_with_leaving(ExprId prefix);
  // The mask of a prefix that excludes words, from that of the prefix with the words, and that of all other texts;
  // null where some token that both allow may be a dead end.
  std::shared_ptr<const Mask> compute_conditioned(ExprId prefix);
  std::shared_ptr<const Mask> compute_bounded(ExprId prefix, const BoundedString& string);
  std::shared_ptr<const Mask> compute_counted(ExprId prefix, const CountedString& string);
  // The mask of a string that excludes texts, if all their written forms are known; otherwise null.
  std::shared_ptr<const Mask> compute_excluding(ExprId prefix);
  // The mask of a choice among literals; null for any other prefix.
  std::shared_ptr<const Mask> compute_literals(ExprId prefix);
  // The mask of a prefix that begins with a run of bytes from one class (class_run.h); otherwise null.
  std::shared_ptr<const Mask> compute_from_class(ExprId prefix);
  // The mask of a string from the mask of any string, if most tokens have only free bytes (free_bytes.h); otherwise
  // null.
  std::shared_ptr<const Mask> compute_from_any_string(ExprId prefix, std::int64_t max_work);
  template <class IsBeyond>
  void refuse_beyond(ExprId string, IsBeyond is_beyond, MaskBuilder& builder);
  void limit_characters(std::uint32_t minimum, std::uint32_t maximum, MaskBuilder& builder) const;
  template <class IsLong>
  void limit_quoted(const Mask& mask, std::uint32_t minimum, std::uint32_t maximum, IsLong is_long,
                    MaskBuilder& builder) const;
  template <class String>
  std::shared_ptr<const ContextDependentTokens> keep_exits_of_length(
      const std::shared_ptr<const ContextDependentTokens>& tokens, const String& string) const;
  // Keeps the tokens for which keep(bytes) is true; with the last of `bytes`, the token leaves the slice.
  std::shared_ptr<const ContextDependentTokens> keep_exits(const std::shared_ptr<const ContextDependentTokens>& tokens,
                                                           const std::function<bool(std::string_view)>& keep) const;
  // Keeps the tokens that leave where a state accepts the bytes up to there.
  std::shared_ptr<const ContextDependentTokens> keep_exits_accepted(
      const std::shared_ptr<const ContextDependentTokens>& tokens, ExprId state) const;
  std::shared_ptr<const Mask> compute(ExprId prefix, const ReferenceMask& reference);
  template <class Keep>
  std::vector<ContextDependentTokens::TokenSuffix> suffixes_after(const std::vector<std::uint32_t>& exits,
                                                                  Keep keep) const;
  // The tokens that leave at these exits: one cached object for all slices with the same exits. Calls `find_suffixes`
  // if there is none yet.
  template <class FindSuffixes>
  std::shared_ptr<const ContextDependentTokens> leaving_at(std::vector<std::uint32_t> exits,
                                                           FindSuffixes find_suffixes) const;
  std::shared_ptr<const ContextDependentTokens> merge_exits(const ContextDependentTokens* reference,
                                                            const ExitDelta& delta) const;

  const Vocabulary& vocabulary_;
  Automaton& automaton_;
  SliceAnalysis& analysis_;
  KeptSearch& kept_;
  RecentStates recent_, recent_conditions_;
};

}  // namespace detent

// CanonicalAlternativeWalk: the canonical mask of a state with exponentially many successors, found with sets of
// alternatives (automaton/alternatives.h).
//
// A token leads on if it does from one alternative of the state. So no union of alternatives is made, where a walk by
// states (CanonicalMasks::walk) makes one for each token. Case: `.*a.{10}|.*b.{11}|...|.*p.{25}` on Llama 3: some
// milliseconds for a mask instead of seconds.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <vector>

#include "mask/mask.h"
#include "mask/mask_builder.h"
#include "runtime/alternative_sets.h"
#include "runtime/completion_search.h"
#include "runtime/token_bounds.h"
#include "runtime/tokenized_language.h"

namespace detent {

class CanonicalAlternativeWalk {
 public:
  CanonicalAlternativeWalk(const TokenizedLanguage& language, CompletionSearch& search, ExprId state,
                           const SplitPosition& at)
      : language_(language),
        vocabulary_(language.vocabulary()),
        state_(state),
        alternatives_(language.automaton),
        bounds_(language, search, state, at),
        builder_(language.vocabulary().word_count()) {}

  // The mask. Cost: for each trie node visited, about linear in the number of alternatives.
  std::shared_ptr<const Mask> run();

 private:
  void find_successors(const AlternativeSet& set, std::uint8_t byte_class, AlternativeSet& after);
  bool take_subtree(const AlternativeSet& set, const Subtree& subtree, std::size_t depth);
  AlternativeSet after_token(AlternativeSet set, std::uint32_t token, std::size_t depth);
  const ByteSet& kept_bytes(AlternativeId id);
  bool leads_on(std::uint32_t token, ExprId next);
  void decide(std::uint32_t token, const AlternativeSet& after);

  TokenizedLanguage language_;
  const Vocabulary& vocabulary_;
  ExprId state_;
  AlternativeSets alternatives_;
  TokenBounds bounds_;
  MaskBuilder builder_;
  std::vector<std::optional<ByteSet>> kept_bytes_;  // by id
  AlternativeId last_{UINT32_MAX};                  // the alternative from which the last token led on
};

}  // namespace detent

// CanonicalAlternativeWalk: the canonical tokens that follow a state with exponentially many successors, found with
// sets of alternatives (automaton/alternatives.h).
//
// A token leads on if it does from one alternative of the state. So no union of alternatives is made, where a walk by
// states (CanonicalMasks::walk) makes one for each token. Case: `.*a.{10}|.*b.{11}|...|.*p.{25}` on Llama 3: some
// milliseconds for a mask instead of seconds.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "runtime/alternative_sets.h"
#include "runtime/tokenized_language.h"

namespace detent {

class CanonicalAlternativeWalk {
 public:
  // Decides tokens, each by the alternatives to which it leads.
  class Verdicts {
   public:
    virtual ~Verdicts() = default;
    // Whether a token is refused wherever it leads the language.
    virtual bool is_refused(std::uint32_t token) = 0;
    // Takes a token that leads to `next` if it may follow by way of that state. Returns whether it was taken.
    virtual bool take(std::uint32_t token, ExprId next) = 0;
  };

  CanonicalAlternativeWalk(const TokenizedLanguage& language, Verdicts& verdicts, ExprId state)
      : language_(language),
        vocabulary_(language.vocabulary()),
        verdicts_(verdicts),
        state_(state),
        alternatives_(language.automaton) {}

  // Cost: for each trie node visited, about linear in the number of alternatives.
  void run();
  // The alternatives to which a token leads a state, and others of which each string is allowed there: those by way of
  // which run() may have taken the token.
  static std::vector<ExprId> states_after(const TokenizedLanguage& language, ExprId state, std::uint32_t token);

 private:
  void find_successors(const AlternativeSet& set, std::uint8_t byte_class, AlternativeSet& after);
  bool take_subtree(const AlternativeSet& set, const Subtree& subtree, std::size_t depth);
  AlternativeSet after_token(AlternativeSet set, std::uint32_t token, std::size_t depth);
  bool stays(AlternativeId id, const ByteSet& used, std::uint32_t count);
  const ByteSet& kept_bytes(AlternativeId id);
  bool take(std::uint32_t token, ExprId next);
  void decide(std::uint32_t token, const AlternativeSet& after);

  TokenizedLanguage language_;
  const Vocabulary& vocabulary_;
  Verdicts& verdicts_;
  ExprId state_;
  AlternativeSets alternatives_;
  std::vector<std::optional<ByteSet>> kept_bytes_;  // by id
  AlternativeId last_{UINT32_MAX};                  // the alternative by which the last token was taken
};

}  // namespace detent

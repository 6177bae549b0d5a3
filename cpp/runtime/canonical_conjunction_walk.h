// CanonicalConjunctionWalk: the canonical tokens that follow an intersection, found with sets of its conjuncts.
//
// A walk by states makes an intersection for nearly each token, with a transition row and a search for a completion.
// Here, a token may follow if a text that completes an earlier token is in all conjuncts after this one. The verdict of
// a pre-token that ends, or that an ending ends, depends on that text, the position and the last token alone. Only
// where no known text fits is the state made; its completions are known from then on. So tokens that lead to one set
// and one position (a group) share nearly all.
//
// Case: a JSON string that must match 26 patterns, on Llama 3: 2 s for a mask by states.
#pragma once

#include <cstdint>
#include <deque>
#include <optional>
#include <unordered_map>
#include <vector>

#include "runtime/completion_search.h"
#include "runtime/conjunct_sets.h"
#include "runtime/tokenized_language.h"

namespace detent {

class CanonicalConjunctionWalk {
 public:
  // Judges what the walk finds.
  class Verdicts {
   public:
    virtual ~Verdicts() = default;
    // Whether a completion of so many tokens fits.
    virtual bool fits(std::uint32_t tokens) = 0;
    // Whether the tokens of a completion matter to fits(): counting them costs their encoding.
    virtual bool counts() const = 0;
    // Whether a token that leads to `next` may follow.
    virtual bool decide(std::uint32_t token, ExprId next) = 0;
  };

  // `sets` are of the language.
  CanonicalConjunctionWalk(const TokenizedLanguage& language, Completions& completions, PretokenEndings& endings,
                           CompletionSearch& search, ConjunctSets& sets, ExprId state, const SplitPosition& at);

  // Sets the bits of the tokens that may follow.
  void run(Verdicts& verdicts, std::uint32_t* row);
  // The completion by which run() allows a token, where that is one of an earlier token.
  std::optional<std::vector<std::uint32_t>> completion_after(Verdicts& verdicts, std::uint32_t token);

 private:
  // A text that completes the language from one position on, and how the tokenizer may write it there.
  struct Completion {
    ConjunctSets::TextId text;
    ExprId state;                                         // of which it was found
    PositionId position;                                  // the same
    PretokenEnding* ending = nullptr;                     // with which it begins; null if a pre-token starts
    std::uint32_t first = PretokenTransitions::kNoToken;  // the first token, if a search has found the completion
    std::optional<bool> fits{};                           // computed when needed
  };
  // What is known of the tokens that lead to one set and target.
  struct Group {
    Completion* fits_all = nullptr;     // may follow each of the tokens
    std::vector<Completion*> fit_some;  // others that the set contains
    std::uint32_t checked = 0;          // of the completions of the target
    bool knows_own = false;             // the completions of the state itself were looked at
    bool is_refused = false;            // whichever the token is
  };

  Group& group(ConjunctSets::Id set, std::uint16_t target);
  template <class Visit>
  void walk(Visit visit);
  bool decide(Verdicts& verdicts, std::uint32_t token, ConjunctSets::Id set);
  void check(Verdicts& verdicts, ConjunctSets::Id set, Group& group, Completion& completion);
  bool find(Verdicts& verdicts, std::uint32_t token, ConjunctSets::Id set, std::uint16_t target, Group& group);
  bool fits(Verdicts& verdicts, Completion& completion);
  bool may_follow(std::uint32_t token, const Completion& completion);
  void add_own(Verdicts& verdicts, ConjunctSets::Id set, std::uint16_t target, Group& group);
  void add_searched(std::uint32_t token, ExprId state, std::uint16_t target);
  std::vector<std::uint32_t> tokens(const Completion& completion);

  TokenizedLanguage language_;
  Completions& completions_;
  PretokenEndings& endings_;
  CompletionSearch& search_;
  ConjunctSets& sets_;
  ConjunctSets::Id start_;
  SplitPosition at_;
  const TransitionRow& row_;
  bool no_unsplit_;
  std::deque<Completion> storage_;
  std::vector<std::vector<Completion*>> known_;      // by target
  std::unordered_map<std::uint64_t, Group> groups_;  // by set and target
  ConjunctSets::Id last_set_ = UINT32_MAX;           // neighbours in the trie often lead to one set
  std::vector<Group*> of_last_set_;                  // by target; null: not used since
  const Completion* last_used_ = nullptr;            // by decide(); null where it asked the verdicts
};

}  // namespace detent

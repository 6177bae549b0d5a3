// TokenBounds and ContextFreeBounds: for each token that may follow, a bound on the shortest completion after it.
//
// Canonical masks look the bounds up token by token. Tokens that lead to the same state and position share most of the
// computation.
#pragma once

#include <algorithm>
#include <cstdint>
#include <optional>
#include <span>
#include <unordered_map>
#include <utility>
#include <vector>

#include "runtime/completion_search.h"
#include "runtime/tokenized_language.h"

namespace detent {

// The bounds after the tokens that follow one state and split position.
class TokenBounds {
 public:
  TokenBounds(const TokenizedLanguage& language, CompletionSearch& search, ExprId state, const SplitPosition& at);

  // The state of the language after a token that it allows.
  ExprId next(std::uint32_t token) const { return language_.next(state_, language_.vocabulary().bytes(token)); }
  // Where a token leads the pre-tokenizer; TransitionRow::kRefused if it refuses the token.
  std::uint16_t target(std::uint32_t token) const { return row_.target_of(token); }
  bool ends_inside_character(std::uint32_t token) const {
    const std::uint16_t target = row_.target_of(token);
    return target != TransitionRow::kRefused && row_.targets[target].decoded().inside_character();
  }
  // Clears the bits of the refused tokens; inside a character of none.
  void remove_refused(std::span<std::uint32_t> mask_row) const { row_.remove_refused(mask_row); }
  // The bound after a token that leads to `next`; kInfinite if the token leads to a dead end. `next` may be dead: an
  // uncertain token of a slice is one that some state of the slice allows.
  std::uint32_t of(std::uint32_t token, ExprId next);
  // The same in bytes; kInfinite also where only a search tells it.
  std::uint32_t bytes_of(std::uint32_t token, ExprId next);
  // Whether the token leads to no dead end. Cheaper than of(): it needs no length of a completion.
  bool leads_on(std::uint32_t token, ExprId next);

 private:
  CompletionSearch::Arrival& arrival(ExprId next, std::uint16_t target);

  TokenizedLanguage language_;
  CompletionSearch& search_;
  ExprId state_;
  SplitPosition at_;
  const TransitionRow& row_;
  bool no_unsplit_;  // no token can make the pre-token the text of an unsplit token
  std::unordered_map<std::uint32_t, std::vector<CompletionSearch::Arrival*>> arrivals_;  // by state, then by target
  ExprId last_next_ = ExprSet::kEmpty;
  std::vector<CompletionSearch::Arrival*>* of_last_next_ = nullptr;
};

// The bounds after the tokens that follow the prefix of a slice (automaton/slice_analysis.h) and a position, where they
// are the same for every continuation. Unsplit tokens are ignored.
class ContextFreeBounds {
 public:
  // closing: one more byte completes the prefix. accepted: a longer completion inside the prefix is known. refused: the
  // token is refused with every continuation. by_token: the verdict depends on the token. uncertain: it depends on the
  // continuation.
  enum class Verdict : std::uint8_t { refused, closing, accepted, unknown, by_token, uncertain };
  struct Bound {
    Verdict verdict;
    std::uint32_t length = kInfinite;
  };

  ContextFreeBounds(const TokenizedLanguage& language, Completions& completions, PretokenEndings& endings,
                    CompletionSearch& search, PositionId from)
      : language_(language),
        completions_(completions),
        endings_(endings),
        search_(search),
        row_(language.transitions.row(from)) {}

  // The facts about the tokens that lead to one state, by target of the transition row. `verdicts` has one more entry:
  // for tokens that the pre-tokenizer refuses.
  struct Target {
    std::uint32_t length = kInfinite;  // if it is the same for all tokens that lead there
    const PretokenEndingSet* endings = nullptr;
    std::optional<std::vector<std::pair<std::uint32_t, std::uint32_t>>> short_tokens;  // see short_tokens()
  };
  struct Targets {
    std::vector<Verdict> verdicts;
    std::vector<Target> targets;
  };
  Targets& targets_of(ExprId next);
  std::size_t target_count() const { return row_.targets.size(); }
  std::size_t target_of(std::uint32_t token) const {
    return std::min<std::size_t>(row_.target_of(token), row_.targets.size());
  }
  // Whether the tokens that lead to a target end inside a character.
  bool inside_character(std::size_t target) const {
    return target < row_.targets.size() && row_.targets[target].decoded().inside_character();
  }
  // The bound after a token that leads to `next`, which may be dead, and the target.
  Bound of(std::uint32_t token, ExprId next, std::size_t target);

 private:
  Verdict decide(Target& target, ExprId next, PositionId position);
  std::vector<std::pair<std::uint32_t, std::uint32_t>> short_tokens(ExprId state, PositionId position);

  TokenizedLanguage language_;
  Completions& completions_;
  PretokenEndings& endings_;
  CompletionSearch& search_;
  const TransitionRow& row_;
  std::unordered_map<std::uint32_t, Targets> known_;  // by state
  ExprId last_next_ = ExprSet::kEmpty;
  Targets* of_last_next_ = nullptr;
};

}  // namespace detent

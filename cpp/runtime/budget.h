// Budget: the fewest tokens that complete a text from a state, so that generation ends within its limit.
//
// completes_within(state, k) is true only if a sequence of at most k text tokens leads from the state to acceptance.
// The converse holds but for the cases below. Each state has a lower and an upper bound of the least k.
// docs/algorithms/budgets.md derives the method:
//
// 1. Where every byte is a token, the bytes of the shortest completion are the first upper bound.
// 2. Near the limit, this completion is tokenized into the fewest tokens: a tighter upper bound.
// 3. Between the bounds, a search over token steps decides, and tightens the bounds of the states it saw: by the
//    alternatives of states (alternative_distances.h), or by states where the vocabulary lacks bytes or the language
//    has lists of distinct items.
//
// 4. A step of a matcher searches for a bounded time (Allowance). What is not found by then does not count, so that no
//    step takes long; a path that was found is remembered, so that a matcher can follow it.
//
// So completes_within() may be false after a search that ends early, where only a completion that step 2 does not find
// fits. Rules make infinitely many states: a search that finds nothing ends early, and with lists there is none.
// Safe for threads; one lock.
#pragma once

#include <cstdint>
#include <mutex>
#include <optional>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "base/limits.h"
#include "expr/expr_set.h"
#include "runtime/alternative_distances.h"

namespace detent {

class LanguageMachine;

class Budget {
 public:
  Budget(LanguageMachine& machine, const Limits& limits);
  const Limits& limits() const { return meter_.limits(); }

  // What the searches of one step may do.
  using Allowance = SearchAllowance;
  bool completes_within(ExprId state, std::uint32_t tokens, Allowance& allowance);
  // The same where no search is needed; nothing where one is.
  std::optional<bool> known_to_complete_within(ExprId state, std::uint32_t tokens, Allowance& allowance);
  // Of two such states, a search is more likely to find a completion of the one with the smaller bound.
  std::uint32_t upper_bound(ExprId state);

  // Whether searches, which add states, end here: decoding needs the rest. The next call has a new machine
  // (MachineSlot), so that no mask depends on what other texts have added.
  bool is_large() const;

  // Whether every successor of `state` completes within `tokens`. False may mean "not known".
  bool all_fit(ExprId state, std::uint32_t tokens);
  // Records that `successors` are all successors of `state`, and that their upper bounds are known.
  void record_successors(ExprId state, const std::vector<ExprId>& successors);

  // Inside an item of a list of distinct items that has a string: a completion that holds unless a later item of it is
  // equal to this one (item_strings.h). It depends on `any_text`, a state without the text of items, and hardly on
  // `item`, the text so far. Nothing where the item has no string yet, or has escapes.
  std::optional<std::string> completion_after_item(ExprId any_text, std::string_view item);
  // The first token of a completion of at most `tokens` tokens: one that completes_within() has found, or that is known
  // without a search. The rest of it is noted for the state after this token.
  std::optional<std::uint32_t> known_token(ExprId state, std::uint32_t tokens);

  // Whether searches go on from alternatives of states.
  bool has_alternatives() const;
  // Adds to `row` the tokens after which a completion of at most `tokens` tokens is known, by alternatives. Where that
  // takes more than `max_work` steps of the automaton, it has looked at some tokens only.
  void write_fitting(ExprId state, std::uint32_t tokens, std::int64_t max_work, std::uint32_t* row);
  // After a token with these bytes, which leads from a state to another one: a completion of at most `tokens` tokens,
  // by the alternatives to which the token leads. Those of the union `to` may know only longer ones. Otherwise empty.
  std::vector<std::uint32_t> completion_after(ExprId from, std::string_view bytes, ExprId to, std::uint32_t tokens);

  // The tokens of a shortest completion; with rules, and where the search takes too long, known_completion().
  std::vector<std::uint32_t> short_completion(ExprId state);
  // As above, but throws `limit` ("question_work") instead of a second best. With rules, the shortest that is found by
  // the searches that a matcher makes at its start; with rules in lists of distinct items, known_completion().
  std::vector<std::uint32_t> shortest_completion(ExprId state);
  // Whether known_completion() gives one that the vocabulary can write.
  bool has_known_completion(ExprId state) const;
  // The completion that is found without a search, in the fewest tokens. Throws `limit` ("completion") if it is longer
  // than kLongestCompletion.
  std::vector<std::uint32_t> known_completion(ExprId state);

  // The tokens of a completion of at most `tokens` tokens, where completes_within() has found that there is one:
  // each step leads to a state whose bound is smaller. Nothing where lists of distinct items hide it.
  std::vector<std::uint32_t> completion_within(ExprId state, std::uint32_t tokens);

  // The number of tokens of the longest completion, or nothing where they have no bound.
  std::optional<std::uint32_t> longest_completion(ExprId state);

 private:
  static constexpr std::uint32_t kUnknown = UINT32_MAX;
  static constexpr std::uint32_t kLongestCompletion = 1 << 14;  // bytes; longer completions are not written out
  struct Bounds {
    std::uint32_t lower = 1;
    std::uint32_t upper = kUnknown;
    // A completion of `written` tokens is known: by way of `next`, to which `next_token` leads if that is known; or
    // that of an alternative.
    std::uint32_t written = kUnknown;
    ExprId next;
    std::uint32_t next_token = kUnknown;
    AlternativeId alternative{kUnknown};
    std::uint32_t worst_successor = kUnknown;  // at least the largest `upper` of the successors, once they are known
    bool initialized = false;                  // whether `upper` has its first value
    bool tightened = false;                    // whether the shortest completion was tokenized
  };
  // A state of a breadth-first search, and the index of the state before it.
  struct SearchNode {
    ExprId state;
    std::size_t parent;
    std::uint32_t depth;
  };

  bool has_every_byte() const;
  // Nothing where the vocabulary cannot write a text.
  std::optional<std::vector<std::uint32_t>> fewest_tokens(std::string_view text) const;
  // Whether a search that finds nothing may not end.
  bool is_recursive(ExprId state) const;
  // Whether a state with a list of distinct items does not know the text of the item that is being read.
  bool lacks_text(ExprId state) const;
  Bounds& bounds(ExprId state);
  // Returns null if the allowance is used up.
  const std::vector<ExprId>* successors(ExprId state, Allowance& allowance);
  void tighten(ExprId state, std::uint32_t enough, Allowance& allowance);
  // Both return the bytes of the text that was tokenized.
  std::int64_t tighten_by_text(ExprId state);
  std::int64_t tighten_inside_item(ExprId state);
  void note_tokens(ExprId state, const std::vector<std::uint32_t>& tokens);
  void note_alternative(ExprId state, AlternativeDistances::Known known);
  std::optional<bool> decide_by_bounds(ExprId state, std::uint32_t tokens, Allowance& allowance);
  bool search(ExprId state, std::uint32_t tokens, Allowance& allowance);
  bool search_states(ExprId state, std::uint32_t tokens, Allowance& allowance);
  // All that one question about the language may do; beyond, it throws `limit` ("question_work").
  Allowance allowance_of_question() const;
  [[noreturn]] void refuse_question() const;
  std::vector<std::uint32_t> search_exactly(ExprId state);
  std::uint32_t least_tokens(ExprId state) const;
  // The tokens of a shortest completion, or nothing if the allowance is used up.
  std::optional<std::vector<std::uint32_t>> find_shortest(ExprId state, Allowance& allowance);
  std::optional<std::vector<std::uint32_t>> search_completion(ExprId state, Allowance& allowance);
  // Notes that `state` completes within `tokens` tokens by way of `next`.
  void note_completion(ExprId state, std::uint32_t tokens, ExprId next, std::uint32_t token = kUnknown);
  void lower_upper_bounds(const std::vector<SearchNode>& nodes, std::size_t last, ExprId successor);

  LanguageMachine& machine_;
  AlternativeDistances distances_;
  std::mutex mutex_;
  Meter meter_;
  std::unordered_map<std::uint32_t, Bounds> bounds_;
  std::unordered_map<std::uint32_t, std::vector<ExprId>> successors_;
  std::size_t successor_count_ = 0;  // in all lists of successors_
};

}  // namespace detent

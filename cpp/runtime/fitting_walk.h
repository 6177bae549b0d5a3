// FittingWalk: the tokens after which a state completes within so many tokens, with sets of alternatives.
//
// A walk by states needs a transition row for each union of alternatives that a token leads to, and a completion of
// each. This walk follows the alternatives themselves (alternative_sets.h): a token fits if one alternative of the set
// after it does. The few alternatives are decided once each, whatever sets they are in.
//
// Case: `.*a.{8}|.*b.{9}|...|.*h.{15}` on Llama 3, 14 tokens before a limit: 8 ms instead of 45, and no token is
// missing.
// Cost: as that of AlternativeWalk, and what the allowance permits for completions.
#pragma once

#include <cstdint>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "automaton/automaton.h"
#include "runtime/alternative_distances.h"
#include "runtime/alternative_sets.h"
#include "vocab/vocabulary.h"

namespace detent {

class FittingWalk {
 public:
  FittingWalk(const Vocabulary& vocabulary, Automaton& automaton, AlternativeDistances& distances, std::uint32_t tokens,
              SearchAllowance& allowance)
      : vocabulary_(vocabulary),
        automaton_(automaton),
        distances_(distances),
        tokens_(tokens),
        allowance_(allowance),
        alternatives_(automaton),
        sets_(automaton.class_count()) {}

  // Adds to `row` the tokens after which a completion of `state` is known to fit. Where that takes more than `max_work`
  // steps of the automaton, or much memory, it has looked at some tokens only.
  void run(ExprId state, std::int64_t max_work, std::uint32_t* row);

 private:
  using Table = AlternativeSetTable;
  using SetId = Table::Id;
  struct Found {
    SetId set;
    std::uint32_t token;  // an id, or TrieNode::kShared plus an index
  };
  struct Loops {
    ByteSet bytes;
    bool are_known = false, are_all_known = false;
  };

  void find_tokens(ExprId state, std::int64_t max_work, std::uint32_t* row);
  bool take_subtree(SetId set, const Subtree& subtree, std::uint32_t* row);
  std::uint32_t bound_in_loop(AlternativeId id, const AlternativeLoop& loop);
  const ByteSet& loop_bytes(SetId set, std::uint32_t ids);
  SetId add(AlternativeSet& set);
  SetId in_reach(SetId set, std::size_t node);
  std::uint32_t least_length(AlternativeId id);
  void decide_alternatives();
  template <class Bound>
  void lower_bounds_of_open_sets(Bound bound);
  std::uint32_t& bound_of(AlternativeId id);
  bool fits(SetId set);

  const Vocabulary& vocabulary_;
  Automaton& automaton_;
  AlternativeDistances& distances_;
  std::uint32_t tokens_;
  SearchAllowance& allowance_;
  AlternativeSets alternatives_;
  Table sets_;
  std::vector<std::uint32_t> most_needed_;             // by set: the largest least_length() of its alternatives
  std::unordered_map<std::uint64_t, SetId> in_reach_;  // by set and height
  std::vector<std::uint32_t> least_lengths_;           // by alternative; see least_length
  std::vector<std::uint32_t> bounds_;                  // by alternative; see bound_of
  std::vector<Loops> loops_;                           // by set
  AlternativeSet reachable_;                           // of in_reach()
  std::vector<Found> found_;                           // the tokens to decide
};

// The alternatives to which the bytes of a token lead from those of a state.
AlternativeSet alternatives_after(Automaton& automaton, ExprId state, std::string_view bytes);

}  // namespace detent

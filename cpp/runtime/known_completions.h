// KnownCompletions: which tokens leave a canonical completion within budgets: of the whole text, and of its open part
// (part_budget_machine.h).
//
// The known completions of a node are the one after a pre-token boundary, and those through its endings. Where there is
// none of these, it is the one that a search finds (completion_search.h). Each has two costs: its tokens, and those
// until the part closes. While a part is open, a token may follow if one known completion after it fits both budgets.
// Nothing else is searched: so the answer is a function of the node, and near the end of a budget a longer search might
// find more. After the part, the length of the shortest known completion counts.
#pragma once

#include <algorithm>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <unordered_map>
#include <utility>
#include <vector>

#include "base/hash.h"
#include "mask/mask.h"
#include "runtime/completion_search.h"
#include "runtime/conjunct_sets.h"
#include "runtime/part_walk.h"
#include "runtime/tokenized_language.h"

namespace detent {

// The tokens that a completion may take, and those until the open part closes.
struct CompletionBudget {
  std::uint32_t tokens = kInfinite;
  ExprId part = ExprSet::kEmpty;  // the state of the part; empty if no part is open
  std::uint32_t part_tokens = kInfinite;
  bool has_part() const { return part != ExprSet::kEmpty; }
};

class KnownCompletions {
 public:
  // `part` is the automaton of the part that has a budget, or null.
  KnownCompletions(const TokenizedLanguage& language, Completions& completions, PretokenEndings& endings,
                   CompletionSearch& search, ConjunctSets& conjuncts, Automaton* part)
      : language_(language),
        completions_(completions),
        endings_(endings),
        search_(search),
        conjuncts_(conjuncts),
        part_(part) {}

  // For budgets with a part. Whether a known completion of a node fits; `budget.part` is the state at the node.
  bool fits(const CompletionNode& node, const CompletionBudget& budget);
  // The tokens of one that fits, or nothing.
  std::optional<std::vector<std::uint32_t>> completion(const CompletionNode& node, const CompletionBudget& budget);
  // The same at the start of a text.
  std::optional<std::vector<std::uint32_t>> completion_of_text(ExprId state, const CompletionBudget& budget);

  // Adds the tokens of `mask`, which follow `state` at a position, after which a known completion fits. The part is at
  // `budget.part` before them; the counts are of the tokens after them. Returns whether it may have left out any.
  // Cost: at the first call for a state and position, a walk over the trie; later only near the end of a budget. `mask`
  // may be null if needs_no_mask().
  bool add_within(const Mask* mask, ExprId state, const SplitPosition& at, const CompletionBudget& budget,
                  std::uint32_t* row);
  bool needs_no_mask(ExprId state, const SplitPosition& at, const CompletionBudget& budget) const {
    return follows_parts(state) && !budget.has_part() && budget.tokens != kInfinite &&
           !is_within_worst(state, at, budget);
  }
  // Whether add_within() looks for completions of the alternatives or conjuncts of a state, too: then it may add a
  // token though the known completion of the state after it does not fit.
  bool follows_parts(ExprId state) const { return has_conjuncts(state) ? follows_conjuncts_ : follows_alternatives_; }
  // What add_within() of `other`, of the same language, has shown holds here.
  void continue_from(const KnownCompletions& other) {
    follows_alternatives_ = other.follows_alternatives_;
    follows_conjuncts_ = other.follows_conjuncts_;
  }
  // The tokens of a known completion, of at most `most` tokens, of an alternative after `token`, which leads `state`
  // from one of the positions `before` to one of those `after`; or nothing.
  std::vector<std::uint32_t> completion_of_alternative(ExprId state, std::span<const SplitPosition> before,
                                                       std::uint32_t token, std::span<const SplitPosition> after,
                                                       std::uint32_t most);

 private:
  struct Cost {
    std::uint32_t tokens = 0;
    std::uint32_t part_tokens = 0;  // until the part closes; all if it does not
    bool fits(const CompletionBudget& budget) const {
      return tokens <= budget.tokens && part_tokens <= budget.part_tokens;
    }
    void raise_to(const Cost& other) {
      tokens = std::max(tokens, other.tokens);
      part_tokens = std::max(part_tokens, other.part_tokens);
    }
  };
  struct Key {
    StateKey at;
    std::uint32_t part;
    std::uint32_t last = 0;  // token; not of arrivals
    std::uint32_t unsplit = 0;
    bool operator==(const Key&) const = default;
  };
  struct KeyHash {
    std::size_t operator()(const Key& key) const {
      return mix(mix(mix(mix(key.at, key.part), key.last), key.unsplit), 3);
    }
  };
  // The completions that are known of all nodes at one state and position.
  struct Arrival {
    bool may_end = false;  // the pre-token may end here, if its text is no unsplit token's
    Cost after_end;
    std::vector<std::pair<const PretokenEnding*, Cost>> endings;
    bool may_fit(const CompletionBudget& budget) const {
      return (may_end && after_end.fits(budget)) ||
             std::ranges::any_of(endings, [&](const auto& each) { return each.second.fits(budget); });
    }
  };
  // Which of the tokens that lead to one state and position fit.
  enum class Verdict : std::uint8_t { unknown, all, none, by_token };
  struct Group {
    Verdict verdict = Verdict::unknown;
    const Arrival* at = nullptr;
  };
  // The tokens that lead from a state of the language and the part to a node.
  struct Successor {
    PartNode node;
    std::shared_ptr<const Mask> tokens;
  };
  class TokenFilter;
  class AlternativeFilter;
  class ConjunctionFilter;

  bool has_conjuncts(ExprId state) const {
    return !language_.vocabulary().tokenizable_texts() && conjuncts_.is_near_intersection(state);
  }
  bool walk_by_states(ExprId state, TokenFilter& filter);
  void add_by_conjuncts(ExprId state, const SplitPosition& at, const CompletionBudget& budget, std::uint32_t* row);
  std::vector<std::uint32_t> completion_of_conjunction(ExprId state, std::span<const SplitPosition> before,
                                                       std::uint32_t token, std::span<const SplitPosition> after,
                                                       std::uint32_t most);
  Key key(ExprId state, const SplitPosition& at, const CompletionBudget& budget) const {
    return {state_key(state, at.position), budget.part.value, PretokenTransitions::kNoToken, at.unsplit.value};
  }
  // Whether each token of a mask is known to leave a completion within the budget.
  bool is_within_worst(ExprId state, const SplitPosition& at, const CompletionBudget& budget) const {
    const auto known = worst_.find(key(state, at, budget));
    return known != worst_.end() && known->second.fits(budget);
  }
  Cost cost_of(std::span<const std::uint32_t> tokens, ExprId part);
  Cost cost_after_end(ExprId state, PreTokenizer::State boundary, ExprId part);
  Cost cost_through(ExprId state, PositionId position, PretokenEnding& ending, ExprId part);
  const Arrival& arrival(ExprId state, PositionId position, ExprId part);
  Cost of_search(const CompletionNode& node, ExprId part);
  std::vector<std::uint32_t> after_end(const CompletionNode& node);
  std::vector<std::uint32_t> through(ExprId state, PositionId position, const PretokenEnding& ending);
  // Calls visit(cost, the tokens as a function) for each known completion until one call returns true.
  template <class Visit>
  bool any_known(const CompletionNode& node, ExprId part, const Arrival& at, Visit visit);
  // The cost of a known completion, and whether one fits.
  std::pair<Cost, bool> best_of(const CompletionNode& node, const Arrival& at, const CompletionBudget& budget);
  const std::vector<Successor>& successors(const PartNode& node);

  TokenizedLanguage language_;
  Completions& completions_;
  PretokenEndings& endings_;
  CompletionSearch& search_;
  ConjunctSets& conjuncts_;
  Automaton* part_;
  bool follows_alternatives_ = false;  // once a walk over the states after tokens took too much
  bool follows_conjuncts_ = false;     // once such a walk from an intersection did
  std::unordered_map<Key, Arrival, KeyHash> arrivals_;
  std::unordered_map<Key, Cost, KeyHash> of_searches_;  // by the last token of the node
  std::unordered_map<Key, Cost, KeyHash> worst_;        // over the tokens that follow a state and position
  std::unordered_map<std::uint64_t, std::vector<Successor>> successors_;  // of open nodes, by PartNode::key
};

}  // namespace detent

// Automaton: a language as a deterministic automaton over bytes, built as far as it is visited.
//
// A state is an expression id; state 0 is dead. A published row holds live states only: whoever follows rows never
// meets a dead end. Whether a state is live is known at once for plain expressions and found by a memoised search
// otherwise. Following published rows takes no lock; publishing one does. A limit that is reached leaves everything as
// it was: it is never taken for a verdict.
#pragma once

#include <array>
#include <atomic>
#include <cstdint>
#include <deque>
#include <memory>
#include <mutex>
#include <string>
#include <unordered_map>
#include <vector>

#include "automaton/liveness.h"
#include "base/limits.h"
#include "base/stable_vector.h"
#include "expr/derivative.h"
#include "expr/expr_set.h"
#include "expr/node.h"

namespace detent {

class Automaton {
 public:
  // `tokenizable`, if not null, is the language of the texts that a vocabulary can write.
  // `horizon` is the length of the vocabulary's longest token.
  Automaton(const NodeRef& root, const NodeRef* tokenizable, std::uint32_t horizon, const Limits& limits,
            std::shared_ptr<const CancelFlag> cancel);

  ExprId start() const { return start_; }  // dead if the language is empty
  const std::array<std::uint8_t, 256>& class_of() const { return derivatives_.class_of(); }
  std::uint32_t class_count() const { return derivatives_.class_count(); }

  // The next state for each byte class.
  const ExprId* row(ExprId state) {
    const ExprId* published = rows_[state.value].load(std::memory_order_acquire);
    return published ? published : publish(state);
  }

  // The ASCII bytes, and the lead bytes of whole blocks of characters, by which `state` comes back to itself.
  const ByteSet& self_loop_bytes(ExprId state) {
    const ByteSet* known = self_loop_bytes_[state.value].load(std::memory_order_acquire);
    return known ? *known : find_self_loop_bytes(state);
  }

  bool has_rule(ExprId state) const { return exprs_[state].has_rule; }
  bool accepting(ExprId state) const { return exprs_[state].nullable; }

  // Whether a text that the vocabulary can write leads from `state` to acceptance. Every live state is, where the
  // vocabulary has every byte.
  bool is_tokenizable(ExprId state) { return tokenizable_ == ExprSet::kEmpty || search_tokenizable(state); }

  // A state that allows the same strings of up to that many bytes: counts beyond are all alike to them. Tokens see to
  // `horizon`; most are shorter than kNear.
  enum class Horizon : std::uint8_t { token, near };
  static constexpr std::uint32_t kNear = 32;
  ExprId clamp_to_horizon(ExprId state, Horizon horizon) {
    const std::uint32_t known = normal_[static_cast<int>(horizon)][state.value].load(std::memory_order_acquire);
    return known ? ExprId{known} : normalise(state, horizon);
  }
  // Whether the state at the token horizon has ends of the same lengths behind each token.
  bool clamping_keeps_lengths(ExprId state) const { return exprs_[state].largest_minimum <= horizon_; }
  const Hash128& hash(ExprId state) const { return exprs_[state].hash; }

  // A state as a choice between beginnings whose tokens are worth to be found once for all states that begin so, each
  // with what follows it, and the rest. A beginning has a loop or an escape in it and ends in a byte, or is white
  // space.
  struct SlicedState {
    std::vector<std::pair<ExprId, ExprId>> pairs;
    ExprId rest;
  };
  SlicedState context_independent_prefixes(ExprId state);
  // A state whose first part is a repeat of at most so many rounds, alone or in an intersection, without that bound.
  struct WithoutUpperBound {
    ExprId state;
    std::uint32_t rounds = UINT32_MAX;
    bool alone = false;  // not in an intersection: no completion asks for more rounds
  };
  WithoutUpperBound drop_upper_bound(ExprId state);
  // A beginning that is a repeat of at least so many rounds and a byte behind it, without that bound; itself if it is
  // of another kind. Both have the same tokens up to that byte.
  ExprId drop_lower_bound(ExprId beginning);
  // A beginning with any string in the place of its constrained one; itself if it is of another kind.
  ExprId any_string_like(ExprId beginning);

  // Whether all strings of a state begin with one text of two bytes or more; what `text` then is, and what follows it.
  bool begins_with_literal(ExprId state) const {
    const Expr& expr = exprs_[state];
    return expr.op == Op::text || (expr.op == Op::concat && exprs_[expr.first()].op == Op::text);
  }
  ExprId after_literal(ExprId state, std::string& text);

  // The least of the shortest strings that lead from a live `state` to acceptance.
  std::string shortest_completion(ExprId state);

  // A string that leads from a live `state` to acceptance, found without a search, and a bound on its length; and on
  // that of any state that follows it (UINT32_MAX: unknown).
  std::string some_completion(ExprId state);
  std::uint32_t completion_bound(ExprId state);
  std::uint32_t max_completion_bound(ExprId state) const {
    return exprs_[state].nonempty ? exprs_[state].max_completion_bound : UINT32_MAX;
  }

  std::int64_t state_count();
  std::int64_t memory_bytes();

 private:
  void register_sets(const NodeRef& root);
  ExprId intern(const NodeRef& root);
  std::vector<const Node*> operands_of(const Node* node);
  ExprId build(const Node& node, std::vector<ExprId> parts);
  const ExprId* publish(ExprId state);
  ExprId normalise(ExprId state, Horizon horizon);
  const ByteSet& find_self_loop_bytes(ExprId state);
  bool search_tokenizable(ExprId state);
  void grow_slots();

  std::mutex mutex_;
  Meter meter_;
  ExprSet exprs_;
  Derivatives derivatives_;
  Liveness liveness_;
  std::uint32_t horizon_;
  ExprId start_;
  ExprId tokenizable_;
  ExprId text_expr_;  // all texts, if there are JSON strings
  StableVector<std::atomic<const ExprId*>> rows_;
  StableVector<std::atomic<std::uint32_t>> normal_[2];    // by Horizon
  std::unordered_map<std::uint32_t, ExprId> clamped_[2];  // by Horizon
  StableVector<std::atomic<const ByteSet*>> self_loop_bytes_;
  std::deque<ByteSet> loop_sets_;
  // Only while the automaton is made:
  static constexpr int kMaxScopes = 2;  // inside one another; each may take kMaxDepth levels of stack (lookaround.cc)
  std::unordered_map<const Node*, ExprId> interned_;
  NodeRef text_;  // all texts, where an intersection may have to say so
  bool has_strings_ = false;
  int scope_depth_ = 0;
};

}  // namespace detent

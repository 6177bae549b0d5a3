// LanguageOrder: the order of the items of a list as a language whose bytes are the indexes of kinds.
//
// A state is a number for the structural hash of an expression, with the state and the kind that led to it first. The
// automaton itself is a cache: where it has grown large, it is made anew, and states that are needed again are found by
// the way that led to them. Copies of a language share its orders: one lock.
#pragma once

#include <cstdint>
#include <memory>
#include <mutex>
#include <unordered_map>
#include <utility>
#include <vector>

#include "automaton/automaton.h"
#include "expr/distinct.h"
#include "expr/node.h"

namespace detent {

class LanguageOrder : public ItemOrder {
 public:
  // The sequences of `order` that consist of kinds whose entry in `is_live` is true. Cost: states, at their first
  // visit.
  LanguageOrder(const NodeRef& order, const std::vector<bool>& is_live, const Limits& limits);

  // Sets the lengths of the items of each kind, by which completions are chosen. Without, all kinds are alike.
  void set_lengths(std::vector<std::uint32_t> lengths);

  std::uint32_t start() override { return start_; }
  std::uint32_t next(std::uint32_t state, std::uint32_t kind) override;
  bool may_end(std::uint32_t state) override;
  Hash128 hash(std::uint32_t state) override;
  std::vector<std::uint32_t> completion(std::uint32_t state) override;

 private:
  struct State {
    Hash128 hash{};
    std::uint32_t before = kNone;  // the state and the kind that led to it first; the start has none
    std::uint32_t kind = 0;
    bool may_end = false;
  };

  std::uint32_t next_state(std::uint32_t state, std::uint32_t kind);
  void find_completion(std::uint32_t state);
  ExprId with_items_up_to(ExprId state, std::uint32_t length);
  void make_automaton();
  // The state of the automaton that a number stands for, and the other way round.
  ExprId expr_of(std::uint32_t state);
  std::uint32_t number_of(ExprId expr, std::uint32_t before, std::uint32_t kind);
  ExprId after(ExprId state, std::uint32_t kind) {
    return automaton_->row(state)[automaton_->class_of()[static_cast<std::uint8_t>(kind)]];
  }

  std::mutex mutex_;
  NodeRef language_;
  Limits limits_;
  std::unique_ptr<Automaton> automaton_;
  std::uint32_t start_ = kNone;
  std::vector<State> states_{State{}};  // by number; 0 is none
  struct LowBits {
    std::size_t operator()(const Hash128& hash) const { return hash.low; }
  };
  std::unordered_map<Hash128, std::uint32_t, LowBits> known_;  // numbers by hash
  // Of this automaton: its states, and the next states by kind.
  std::unordered_map<std::uint32_t, ExprId> exprs_;
  std::unordered_map<std::uint32_t, std::vector<std::uint32_t>> next_;
  std::vector<std::uint32_t> lengths_;
  std::unordered_map<std::uint32_t, std::uint32_t> steps_;  // the first kind of the completion of a state
};

}  // namespace detent

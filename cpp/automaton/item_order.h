// LanguageOrder: which kinds of items may follow one another in a list, as an automaton over bytes.
//
// Each byte is the index of a kind. With the kinds `"a"` = 0 and `"b"` = 1, the order "some a, then one b" is
// \x00*\x01. A state is a number that outlives the automaton: it has the structural hash of its expression, and the
// state and kind from which it was reached first. When the automaton has grown large, it is built again; a state is
// then found again by following the kinds from the start. Copies of a language share its orders, under one lock.
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
  // The sequences of `order` that contain only kinds whose value in `is_live` is true. Cost: the start state now, each
  // other state at its first visit.
  LanguageOrder(const NodeRef& order, const std::vector<bool>& is_live, const Limits& limits);

  // Sets the length of an item of each kind; completions avoid long kinds. Before this call, all lengths are equal.
  void set_lengths(std::vector<std::uint32_t> lengths);

  std::uint32_t start() override { return start_; }
  std::uint32_t next(std::uint32_t state, std::uint32_t kind) override;
  bool may_end(std::uint32_t state) override;
  Hash128 hash(std::uint32_t state) override;
  std::vector<std::uint32_t> completion(std::uint32_t state) override;

 private:
  struct State {
    Hash128 hash{};
    std::uint32_t before = kNone;  // the state from which, by `kind`, this one was reached first; the start has none
    std::uint32_t kind = 0;
    bool may_end = false;
  };

  std::uint32_t next_state(std::uint32_t state, std::uint32_t kind);
  void find_completion(std::uint32_t state);
  ExprId with_items_up_to(ExprId state, std::uint32_t length);
  void make_automaton();
  // The automaton's state for a number, and the number of a state that follows `before` by `kind`.
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
  std::vector<State> states_{State{}};  // by number; number 0 is kNone
  struct LowBits {
    std::size_t operator()(const Hash128& hash) const { return hash.low; }
  };
  std::unordered_map<Hash128, std::uint32_t, LowBits> known_;  // numbers by hash
  // By number: the state of the current automaton, and the next numbers by kind.
  std::unordered_map<std::uint32_t, ExprId> exprs_;
  std::unordered_map<std::uint32_t, std::vector<std::uint32_t>> next_;
  std::vector<std::uint32_t> lengths_;
  std::unordered_map<std::uint32_t, std::uint32_t> steps_;  // the first kind of the completion of a state
};

}  // namespace detent

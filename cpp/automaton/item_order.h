// LanguageOrder: the order of the items of a list as a language whose bytes are the indexes of kinds.
#pragma once

#include <cstdint>
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

  // Sets the lengths of the items of each kind, by which completions are chosen.
  void set_lengths(std::vector<std::uint32_t> lengths);

  std::uint32_t start() override { return automaton_.start().value; }
  std::uint32_t next(std::uint32_t state, std::uint32_t kind) override {
    return automaton_.row(ExprId{state})[automaton_.class_of()[kind]].value;
  }
  bool may_end(std::uint32_t state) override { return automaton_.accepting(ExprId{state}); }
  Hash128 hash(std::uint32_t state) override { return automaton_.hash(ExprId{state}); }
  std::vector<std::uint32_t> completion(std::uint32_t state) override;

 private:
  void find_completion(ExprId state);
  ExprId with_items_up_to(ExprId state, std::uint32_t length);

  Automaton automaton_;
  std::vector<std::uint32_t> lengths_;
  std::unordered_map<std::uint32_t, std::uint32_t> steps_;  // the first kind of the completion of a state
};

}  // namespace detent

// RepeatedItems: removes from a mask the tokens that would repeat an item of a list of distinct items.
//
// The mask of a state inside an item is shared: it does not depend on the text of the item. It is exact for tokens that
// end inside the item or with it. But after [1,2,1 it allows the token `,3`, which makes the last item a second 1. Only
// tokens that continue after the item can be wrong; these few are tried one by one. Where bytes are no tokens, so are
// those after which only a longer token goes on: after [1 it may be `,1]`.
#pragma once

#include <cstdint>
#include <memory>
#include <mutex>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "automaton/automaton.h"
#include "vocab/vocabulary.h"

namespace detent {

class RepeatedItems {
 public:
  RepeatedItems(const Vocabulary& vocabulary, Automaton& automaton) : vocabulary_(vocabulary), automaton_(automaton) {}

  // `row` has the mask of `state` without the text of its item, or tokens of this mask. Removes each candidate for
  // which may_follow(token) is false.
  template <class MayFollow>
  void remove(ExprId state, std::uint32_t* row, MayFollow may_follow) {
    for (std::uint32_t id : *candidates(automaton_.without_text(state))) {
      if (row[id >> 5] >> (id & 31) & 1 && !may_follow(id)) row[id >> 5] &= ~(1u << (id & 31));
    }
  }

 private:
  using Tokens = std::shared_ptr<const std::vector<std::uint32_t>>;
  Tokens candidates(ExprId any_text);
  // The candidates: the tokens that may repeat an item in a state without text. They depend on the state alone, and a
  // row of canonical tokens on those before it, too: so no row is asked.
  std::vector<std::uint32_t> find(ExprId state);
  void find_repeating(ExprId state, std::vector<std::uint32_t>& found);
  void find_doubtful(ExprId state, std::vector<std::uint32_t>& found);
  bool may_repeat(ExprId state, std::string_view after_item);
  bool is_loop(ExprId state, const Subtree& subtree);

  const Vocabulary& vocabulary_;
  Automaton& automaton_;
  std::mutex mutex_;
  std::unordered_map<std::uint32_t, Tokens> found_;  // by state
};

}  // namespace detent

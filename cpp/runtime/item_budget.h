// ItemBudget: which tokens fit in a token limit with the text of the item that is being read.
//
// A state inside an item of a list of distinct items, without the text of that item, fits only if one completion is
// right for all items (expr/distinct.h). With the text, most items have a short completion: this class searches it, by
// the state after a token, and asks for each token whether the completion of its state repeats no item. Lives for one
// mask.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "automaton/automaton.h"
#include "base/byte_set.h"
#include "runtime/budget.h"
#include "runtime/item_strings.h"
#include "vocab/vocabulary.h"

namespace detent {

class ItemBudget {
 public:
  // For the tokens that follow `state`; a completion has `tokens_after` tokens at most.
  ItemBudget(const Vocabulary& vocabulary, Automaton& automaton, Budget& budget, ExprId state,
             std::uint32_t tokens_after);

  // Whether `next`, the state after a token, lacks the text of the item: then that text may tell that it fits.
  bool may_fit(ExprId next) const { return automaton_.has_open_item(next) && automaton_.without_text(next) == next; }
  // Whether a completion of such a state fits.
  bool fits(std::uint32_t id, ExprId next);
  // Whether the token ends the item and goes on: then the lengths depend on the text of the items.
  bool ends_item(std::uint32_t id) const { return with_separator_[id] && reads_on_after_item(id); }
  bool has_escape(std::uint32_t id) const { return with_escape_[id]; }

 private:
  struct AfterItem {
    bool is_searched = false;
    bool is_too_long = false;
    std::optional<std::string> completion;  // if it is known and fits
    ByteSet next;                           // the bytes that follow `string_` in this completion
    int failures[2] = {};                   // tokens that lead here and do not fit: without escapes, and with some
  };
  void find(AfterItem& after, ExprId next, std::string_view read);
  bool reads_on_after_item(std::uint32_t id) const;
  std::optional<std::string> item_after(std::uint32_t id) const {
    return automaton_.item_after(any_text_, item_, vocabulary_.bytes(id));
  }

  const Vocabulary& vocabulary_;
  Automaton& automaton_;
  Budget& budget_;
  const ExprId state_, any_text_;
  const std::uint32_t tokens_after_;
  Budget::Allowance allowance_{.work = 2'000'000};
  const std::string item_;
  const std::vector<bool> with_separator_, with_escape_;  // by token; empty where the language has no lists
  const std::string_view string_;                         // that the item ends in; empty if it ends in none
  std::unordered_map<std::uint32_t, AfterItem> known_;    // by the state after the token
};

}  // namespace detent

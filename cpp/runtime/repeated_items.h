// RepeatedItems: the tokens that a mask must lose because they repeat an item of a list of distinct items.
//
// The mask of a state inside an item does not depend on the text of the item, so that it is shared. It is exact for
// tokens that end with the item, or inside it. Only a token that goes on into the next item may repeat the item that it
// ends; these few are tried one by one.
#pragma once

#include <cstdint>
#include <mutex>
#include <span>
#include <unordered_map>
#include <vector>

#include "automaton/automaton.h"
#include "vocab/vocabulary.h"

namespace detent {

class RepeatedItems {
 public:
  RepeatedItems(const Vocabulary& vocabulary, Automaton& automaton) : vocabulary_(vocabulary), automaton_(automaton) {}

  // Removes these tokens from a row, which is the mask of the state without the text of its items; of the tokens to be
  // tried, those for which may_follow(token) is false.
  template <class MayFollow>
  void remove(ExprId state, std::uint32_t* row, MayFollow may_follow) {
    for (std::uint32_t id : candidates(automaton_.without_text(state), row)) {
      if (!may_follow(id)) row[id >> 5] &= ~(1u << (id & 31));
    }
  }

 private:
  std::vector<std::uint32_t> candidates(ExprId any_text, const std::uint32_t* row);
  std::span<const std::uint32_t> tokens_with_separator();
  // The tokens of the row that may repeat an item in a state without text.
  std::vector<std::uint32_t> find(ExprId state, const std::uint32_t* row);
  bool may_repeat(ExprId state, std::string_view text);

  const Vocabulary& vocabulary_;
  Automaton& automaton_;
  std::mutex mutex_;
  std::vector<std::uint32_t> with_separator_;                            // where the vocabulary does not list them
  std::unordered_map<std::uint32_t, std::vector<std::uint32_t>> found_;  // by state
};

}  // namespace detent

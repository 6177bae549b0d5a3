// Masks: which tokens a state allows, found by walking the vocabulary's trie.
#pragma once

#include <cstdint>
#include <memory>
#include <mutex>
#include <vector>

#include "automaton/automaton.h"
#include "mask/mask_cache.h"
#include "vocab/vocabulary.h"

namespace detent {

class Masks {
 public:
  Masks(const Vocabulary& vocabulary, Automaton& automaton) : vocabulary_(vocabulary), automaton_(automaton) {}

  // Cost: about linear in the part of the trie that the state tells apart.
  std::shared_ptr<const Mask> compute(ExprId state);

 private:
  // A state, with its mask, most tokens of which lead where those of a state with this row lead; or no mask.
  struct Like {
    ExprId state;
    std::shared_ptr<const Mask> mask;
  };
  Like find_like(const ExprId* row);
  void remember(ExprId state);

  // Adds the tokens that `state` allows. `at_end` is called with the range of the trie below each node behind which an
  // accepting state lies.
  template <class AtEnd>
  void walk(ExprId state, const Like& like, MaskBuilder& builder, AtEnd at_end);
  // Adds the tokens of which `state` allows what is left.
  void walk(const Crossing& crossing, ExprId state, MaskBuilder& builder);
  std::shared_ptr<const Mask> fragment(ExprId beginning);

  static constexpr std::size_t kExamples = 8;

  const Vocabulary& vocabulary_;
  Automaton& automaton_;
  std::mutex examples_mutex_;
  std::vector<ExprId> examples_;  // states with masks; none is like another
};

}  // namespace detent

// ConditionWalk: the tokens that keep a condition alive which excludes words, such as ~(.* word .*).
//
// A walk over the trie with sets of expressions: what would complete an excluded text, for each one that may have
// started. Where words are excluded, a set is a state of the automaton of Aho and Corasick. Only the sets and the
// transitions that tokens need are made. A set costs less than the expression of its union: for 1,500 words a fifth.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <vector>

#include "automaton/automaton.h"
#include "base/byte_set.h"
#include "mask/mask_builder.h"
#include "runtime/set_table.h"
#include "vocab/vocabulary.h"

namespace detent {

// Lives for one walk.
class ConditionWalk {
 public:
  ConditionWalk(const Vocabulary& vocabulary, Automaton& automaton, MaskBuilder& builder);

  // `condition` is one of exclusions_of() (automaton/conditioned_slices.h). Makes the tokens of the reference, which
  // the builder holds, those of the condition; without a reference it is ExprSet::kEmpty. Returns whether it did:
  // otherwise the sets are large, and the builder is of no use.
  bool run(ExprId condition, ExprId reference);

 private:
  struct HashText {
    std::uint64_t operator()(ExprId id) const { return id.value; }
  };
  using Table = SetTable<ExprId, HashText>;
  using SetId = Table::Id;
  struct Position {
    SetId set, reference;
  };
  static constexpr SetId kDead = 0;  // an excluded text was read

  SetId start(ExprId condition);
  SetId successor(SetId set, std::uint8_t byte_class) {
    const SetId known = sets_.successor(set, byte_class);
    return known != Table::kUnknown ? known : follow(set, byte_class);
  }
  SetId follow(SetId set, std::uint8_t byte_class);
  SetId add(std::vector<ExprId>& texts);
  const ByteSet& loops_of(SetId set);
  bool take_subtree(SetId set, const TrieNode& node);

  const Vocabulary& vocabulary_;
  Automaton& automaton_;
  MaskBuilder& builder_;
  Table sets_;
  std::vector<std::optional<ByteSet>> loops_;  // by set: the bytes that lead back to it
  std::unique_ptr<Position[]> path_;           // path_[d]: after d bytes
  std::vector<ExprId> after_;
  std::int64_t work_ = 0;
};

}  // namespace detent

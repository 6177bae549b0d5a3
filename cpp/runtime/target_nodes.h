// TargetNodes: the nodes of the vocabulary's trie that a walk has to reach.
//
// Where a state allows no text that its reference refuses, a walk has to look only at the tokens that the reference
// allows, and at the positions where it leaves the slice; of these, at the ones where both may differ. An address with
// counts differs from one without only in tokens of some 30 bytes, which are few: 13 on Llama 3. The nodes with a long
// token below them are thousands, and each is a new state.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "mask/mask.h"
#include "vocab/vocabulary.h"

namespace detent {

class TargetNodes {
 public:
  explicit TargetNodes(std::vector<std::uint32_t> nodes) : nodes_(std::move(nodes)) {}  // ascending
  // The tokens that a mask allows, and the positions where they leave its slice, if it is that of one; of these all
  // after at least `length` bytes; of the tokens those of at least `characters` characters.
  TargetNodes(const Vocabulary& vocabulary, const Mask& mask, std::uint32_t length, std::uint32_t characters);

  // Whether a node from `first` on, before `end`, is a target. Later calls have no smaller `first`.
  bool any_between(std::size_t first, std::size_t end) {
    while (passed_ < nodes_.size() && nodes_[passed_] < first) ++passed_;
    return passed_ < nodes_.size() && nodes_[passed_] < end;
  }
  const std::vector<std::uint32_t>& nodes() const { return nodes_; }
  bool are_passed() const { return passed_ == nodes_.size(); }

 private:
  std::vector<std::uint32_t> nodes_;
  std::size_t passed_ = 0;
};

}  // namespace detent

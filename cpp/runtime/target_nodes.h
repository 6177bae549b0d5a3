// TargetNodes: the only trie nodes where the mask of a state may differ from its reference mask.
//
// If the language of the reference contains that of the state, only tokens and exits of the reference can differ; and
// of these only long ones, if the two languages agree on short texts. Case: an e-mail address with its length limits
// differs from one without only in tokens of some 30 bytes: 13 on Llama 3. A walk that visits only these tokens avoids
// thousands of nodes, each with a new state.
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
  // The nodes of the tokens of `mask` with at least `length` bytes and `characters` characters; and for the mask of a
  // slice, its exits after at least `length` bytes. `length` must be at least TokenTrie::kLongToken.
  TargetNodes(const Vocabulary& vocabulary, const Mask& mask, std::uint32_t length, std::uint32_t characters);

  // Whether one of the nodes [first, end) is a target. A later call must not have a smaller `first`.
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

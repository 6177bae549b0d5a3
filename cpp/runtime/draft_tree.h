// DraftTree: guesses at the next tokens of a sequence, which a model verifies in one pass. Each node is a token; its
// parent is an earlier node, or the sequence itself.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

#include "runtime/matcher.h"

namespace detent {

class DraftTree {
 public:
  static constexpr std::int64_t kRoot = -1;

  // Throws `argument` ("draft_parent") unless each parent is kRoot or the index of an earlier node.
  DraftTree(std::span<const std::int64_t> tokens, std::span<const std::int64_t> parents);

  std::size_t size() const { return tokens_.size(); }

  // Writes the masks after the sequence itself and after each node to `rows`. The mask after node i is row index[i];
  // that of the sequence is row index[size()]. Nodes with the same mask share a row. Sets allowed[i] to whether the
  // tokens up to node i may follow; if not, its mask has only the eos ids. Returns the number of rows written, at most
  // size() + 1. Cost: a step for each node, and a mask for each row.
  std::size_t fill(const Matcher& matcher, std::uint32_t* rows, std::size_t words, std::int32_t* index,
                   std::uint8_t* allowed) const;

 private:
  std::span<const std::int64_t> tokens_, parents_;
};

// The length of the longest prefix of `tokens` that may follow.
std::size_t validate(const Matcher& matcher, std::span<const std::int64_t> tokens);

}  // namespace detent

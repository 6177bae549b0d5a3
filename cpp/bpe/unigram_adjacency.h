// UnigramAdjacency: which token may follow which where the best row of pieces is taken (bpe/unigram_model.h).
//
// Each part of a best row is the best row of what it spells, so two neighbours are a valid pair: no other row of their
// text has a larger sum. The reverse does not hold, whatever number of neighbours is looked at: with scores a = b = -1,
// ab = -1.5, ba = -1.4, the row (ab)^n is the best one up to n = 6, and not for n = 7.
//
// Sums that differ by rounding only count as equal here, and so both rows pass: which of them a tokenizer takes depends
// on all the sum before.
//
// Two live tokens are no pair only if a piece across their border is in a better row: with what is best before it in
// the left token, and behind it in the right one. The pieces that go on from the ends of the left token lie below a few
// nodes of the trie; for each of them the right tokens that begin with its rest are a run in the order of their texts.
#pragma once

#include <cstdint>
#include <memory>
#include <mutex>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "bpe/adjacency.h"
#include "bpe/unigram_model.h"

namespace detent {

class UnigramAdjacency final : public AdjacencyRelation {
 public:
  // Time: for each token, that of cutting its text.
  UnigramAdjacency(const UnigramModel& scores, const std::vector<std::string_view>& texts);

  // Cost: the steps of the trie from each character of `left`.
  bool valid(std::uint32_t left, std::uint32_t right) const override;
  // Cost: some 0.1 ms at the first time, less while it is kept.
  void forbid_after(std::uint32_t left, std::uint32_t* row) const override;

 private:
  static constexpr std::size_t kMostKept = std::size_t{4} << 20;  // numbers in all rows: 16 MiB
  // Tokens that must not follow, or where these are many all bits that stay.
  struct Row {
    std::vector<std::uint32_t> tokens, bits;
  };

  std::string_view text(std::uint32_t token) const {
    return {texts_.data() + begin_[token], begin_[token + 1] - begin_[token]};
  }
  // What the first bytes of a live token cost: its score less the best sum of the rest.
  double cost(std::uint32_t token, std::size_t length) const { return costs_[begin_[token] + length - 1]; }
  // Calls visit(gain, node) for each beginning of a piece that ends with the token, until one returns true: what the
  // row before it adds to the sum, less the score of the token. Returns whether one did.
  template <class Visit>
  bool each_open(std::uint32_t token, Visit visit) const;
  Row row_after(std::uint32_t left) const;

  const UnigramModel& scores_;
  std::string texts_;  // of all tokens in a row
  std::vector<std::size_t> begin_;
  std::vector<double> costs_;        // by token and length
  std::vector<double> least_costs_;  // by node of the trie: of its text, of all tokens that begin so
  mutable std::mutex mutex_;
  mutable std::unordered_map<std::uint32_t, std::shared_ptr<const Row>> rows_;
  mutable std::size_t kept_ = 0;
};

}  // namespace detent

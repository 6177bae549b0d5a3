// UnigramAdjacency: which piece may follow which in an encoding of a Unigram model (bpe/unigram_model.h).
//
// Each part of a best sequence is the best sequence of its own text, so two adjacent pieces are the best sequence of
// their joined text. The reverse does not hold, for pairs or for any longer window: with the scores a = b = -1,
// ab = -1.5, ba = -1.4, the sequence (ab)^n is the best one up to n = 6, and not for n = 7.
//
// Two sums count as equal if only rounding separates them, and both sequences pass. Which one a tokenizer takes depends
// on the sum of all the text before.
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
  // Time: for each token, that of encoding its text.
  UnigramAdjacency(const UnigramModel& model, const std::vector<std::string_view>& texts);

  // Cost: a walk in the trie from each character of `left`.
  bool may_follow(std::uint32_t left, std::uint32_t right) const override;
  // Cost: about 0.1 ms for the first time, a look-up while the result is in the memo.
  void forbid_after(std::uint32_t left, std::uint32_t* row) const override;

 private:
  static constexpr std::size_t kMaxMemoWords = std::size_t{4} << 20;  // 16 MiB
  // The tokens that must not follow; or, where they are many, the bits of all tokens that may.
  struct Followers {
    std::vector<std::uint32_t> forbidden, allowed_bits;
  };

  std::string_view text(std::uint32_t token) const {
    return {texts_.data() + begin_[token], begin_[token + 1] - begin_[token]};
  }
  // The prefix cost of the first `length` bytes of a reachable token: its score minus the best sum of its other bytes.
  double prefix_cost(std::uint32_t token, std::size_t length) const { return costs_[begin_[token] + length - 1]; }
  // Calls visit(gain, node) for each trie node whose text is a suffix of the token, until a call returns true. The gain
  // is the best sum of the text before the suffix, minus the score of the token. Returns whether a call returned true.
  template <class Visit>
  bool any_open_piece(std::uint32_t token, Visit visit) const;
  Followers find_followers(std::uint32_t left) const;

  const UnigramModel& model_;
  std::string texts_;  // of all tokens, joined
  std::vector<std::size_t> begin_;
  std::vector<double> costs_;        // by token and prefix length
  std::vector<double> least_costs_;  // by trie node: the least prefix cost of that text, over all tokens that begin so
  mutable std::mutex mutex_;
  mutable std::unordered_map<std::uint32_t, std::shared_ptr<const Followers>> followers_;
  mutable std::size_t memo_words_ = 0;
};

}  // namespace detent

// MergeAdjacency: which token may follow which when a pre-token is encoded by merging.
//
// A token sequence is the encoding of its text if and only if each token is reachable and each adjacent pair is the
// encoding of its own text. (Checked against brute force; docs/algorithms/canonical-masks.md.) The forbidden pairs are
// a union of rectangles in two orders of the tokens: the preorders of the trees in which the parent of a token is its
// left part, or its right part. merge_adjacency.cc derives them. Rectangles assume that ranks rise from parts to merged
// tokens. Tokens with an exception on an edge of their derivation are few; merging step by step decides their pairs.
#pragma once

#include <atomic>
#include <cstdint>
#include <memory>
#include <mutex>
#include <span>
#include <unordered_map>
#include <utility>
#include <vector>

#include "bpe/adjacency.h"
#include "bpe/merge_table.h"

namespace detent {

class MergeAdjacency final : public AdjacencyRelation {
 public:
  static constexpr std::uint32_t kNone = MergeTable::kNone;

  // `symbols_of(t)` returns the symbols that merging starts from for the text of token t, none if no text merges to t.
  // Time: that of merging each token's own text.
  template <class SymbolsOf>
  MergeAdjacency(const MergeTable& merges, SymbolsOf symbols_of)
      : AdjacencyRelation(merges.size()),
        merges_(merges),
        derivations_(merges.size()),
        recent_(std::size_t{1} << kRecentBits) {
    first_symbol_.resize(merges.size() + std::size_t{1});
    for (std::uint32_t t = 0; t < merges.size(); ++t) {
      first_symbol_[t] = symbols_.size();
      const std::vector<std::uint32_t>& symbols = symbols_of(t);
      symbols_.insert(symbols_.end(), symbols.begin(), symbols.end());
    }
    first_symbol_[merges.size()] = symbols_.size();
    find_derivations();
    find_rectangles();
  }

  // Whether the rank of the token's last merge is not above the ranks of all merges inside the token.
  bool is_non_monotone(std::uint32_t token) const { return derivations_[token].non_monotone; }
  std::span<const std::uint32_t> symbols(std::uint32_t token) const {
    return {symbols_.data() + first_symbol_[token], first_symbol_[token + 1] - first_symbol_[token]};
  }

  // Time: linear in the edges of the two derivation trees; recent answers are remembered.
  bool may_follow(std::uint32_t left, std::uint32_t right) const override;
  void forbid_after(std::uint32_t left, std::uint32_t* row) const override;
  bool forbid_most_after(std::uint32_t left, std::uint32_t* row) const override;
  bool is_exception(std::uint32_t right) const override { return derivations_[right].non_monotone_left; }

 private:
  // The derivation tree of a reachable token, whose root is its effective merge.
  struct Derivation {
    std::uint32_t left = kNone, right = kNone;  // the parts
    std::uint32_t rank = 0;                     // of the effective merge
    std::uint32_t time = 0;                     // the largest rank in the tree
    bool non_monotone = false;
    bool non_monotone_left = false, non_monotone_right = false;  // whether such a token is on that edge of the tree
  };
  struct Rectangle {
    std::uint32_t time;
    std::uint32_t first, last;  // ranks in preorder_ of the tokens that must not follow
  };
  // A merge across a border of which one side is a token with an exception.
  struct Meeting {
    std::uint32_t left, right;
  };
  // Ranks in preorder_.
  struct Interval {
    std::uint32_t first, last;
  };
  // A merge on one side of a pair that changes the token at the border of the pair.
  struct EdgeMerge {
    std::uint32_t rank;
    std::uint32_t token;  // at the border after the merge
  };
  struct Edges {
    std::vector<EdgeMerge> left, right;
  };
  // The tokens by left part, each part's tokens by falling rank; the children of t are [first[t], first[t + 1]).
  struct LeftTree {
    std::vector<std::uint32_t> children, first;
  };

  void find_derivations();
  void find_rectangles();
  LeftTree number_by_left_part(const std::vector<std::uint32_t>& by_rank);
  bool decide(std::uint32_t left, std::uint32_t right) const;
  bool decide_by_edges(std::uint32_t left, std::uint32_t right) const;
  bool decide_by_steps(std::uint32_t left, std::uint32_t right) const;
  const std::vector<EdgeMerge>& ancestors(std::uint32_t token, std::uint32_t Derivation::* part,
                                          std::vector<EdgeMerge>& merges) const;
  bool clear_few_after(std::uint32_t left, std::uint32_t* row) const;
  std::size_t clear_after(std::uint32_t left, std::uint32_t* row) const;
  std::size_t clear_rectangles(std::uint32_t left, std::uint32_t* row) const;
  const Edges& edges(std::uint32_t token) const;
  void find_meetings();
  std::vector<std::uint32_t> right_borders(std::uint32_t left) const;
  Interval forbidden_by_meeting(const std::vector<EdgeMerge>& before, std::uint32_t first, std::uint32_t right) const;
  void add_forbidden_by_meetings(std::uint32_t left, std::vector<std::uint32_t>& found) const;
  const std::vector<std::uint32_t>& forbidden_by_steps(std::uint32_t left) const;

  const MergeTable& merges_;
  std::vector<Derivation> derivations_;
  std::vector<std::size_t> first_symbol_;
  std::vector<std::uint32_t> symbols_;
  std::vector<std::uint32_t> preorder_;           // reachable tokens in preorder of the left tree
  std::vector<std::uint32_t> preorder_rank_;      // of each token
  std::vector<std::uint32_t> preorder_end_;       // the rank after the subtree of each token
  std::vector<std::size_t> first_rectangle_;      // of each token as a left part
  std::vector<Rectangle> rectangles_;             // by left part, each part's by falling time
  std::vector<std::uint32_t> non_monotone_left_;  // the tokens with an exception on their left edge
  // These tokens, by each token that is at their left border while they are merged: (border, token), ascending.
  std::vector<std::pair<std::uint32_t, std::uint32_t>> by_left_border_;
  std::vector<Meeting> meetings_;  // ascending by `left`
  // Recent answers of may_follow: left, right and the answer in one number, at the hash of the pair.
  static constexpr std::size_t kRecentBits = 15;
  mutable std::vector<std::atomic<std::uint64_t>> recent_;
  static constexpr std::size_t kMaxLongRows = 1024;
  mutable std::mutex mutex_;  // of the memo tables below
  // For left tokens that forbid many others: a mask row of the tokens that may follow.
  mutable std::unordered_map<std::uint32_t, std::unique_ptr<const std::vector<std::uint32_t>>> long_rows_;
  mutable std::unordered_map<std::uint32_t, std::unique_ptr<const Edges>> edges_;
  mutable std::unordered_map<std::uint32_t, std::unique_ptr<const std::vector<std::uint32_t>>> forbidden_by_steps_;
};

}  // namespace detent

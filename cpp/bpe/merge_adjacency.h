// MergeAdjacency: which token may follow which when a text is merged as a whole.
//
// Without a split a row of tokens is what merging gives if and only if each is live and each adjacent pair is what
// merging gives of the two (checked against brute force; ARCHITECTURE.md). The forbidden pairs are a union of
// rectangles: number the tokens in preorder of two trees, in which the parent of a token is its left, or right, part. A
// merge (x, y) of rank k forbids x, and what has x at its right edge beyond rank k, before y, and what has y at its
// left edge from rank k on. That takes for granted that ranks rise towards the root. Tokens with an edge where they do
// not (a merge that becomes possible late is done at once) are few; their pairs are decided by merging the two step by
// step.
#pragma once

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

  // `spelling(t)` are the symbols that token t begins as, none if no text is merged to it.
  // Time: that of merging each token's own spelling.
  template <class Spelling>
  MergeAdjacency(const MergeTable& merges, Spelling spelling)
      : AdjacencyRelation(merges.size()), merges_(merges), parts_(merges.size()) {
    spelled_.resize(merges.size() + std::size_t{1});
    for (std::uint32_t t = 0; t < merges.size(); ++t) {
      spelled_[t] = symbols_.size();
      const std::vector<std::uint32_t>& symbols = spelling(t);
      symbols_.insert(symbols_.end(), symbols.begin(), symbols.end());
    }
    spelled_[merges.size()] = symbols_.size();
    build();
  }

  // Whether its last merge does not rank behind all merges inside it.
  bool burst(std::uint32_t token) const { return parts_[token].burst; }
  std::span<const std::uint32_t> spelling(std::uint32_t token) const {
    return {symbols_.data() + spelled_[token], spelled_[token + 1] - spelled_[token]};
  }

  // Cost: the edges of their trees.
  bool valid(std::uint32_t left, std::uint32_t right) const override;
  void forbid_after(std::uint32_t left, std::uint32_t* row) const override;

 private:
  struct Parts {
    std::uint32_t left = kNone, right = kNone;  // of the merge that makes it
    std::uint32_t rank = 0;                     // of that merge
    std::uint32_t time = 0;                     // the largest rank inside it
    bool burst = false;
    bool late_left = false, late_right = false;  // whether a burst token is on that edge
  };
  struct Rectangle {
    std::uint32_t time;
    std::uint32_t first, last;  // places in order_ of the tokens that must not follow
  };
  // One merge of one side of a pair, as the other side sees it.
  struct Event {
    std::uint32_t rank;
    std::uint32_t edge;  // the token at the edge after it
  };
  struct Edges {
    std::vector<Event> left, right;  // of the left edge, and of the right one
  };

  void build();
  bool by_edges(std::uint32_t left, std::uint32_t right) const;
  bool by_steps(std::uint32_t left, std::uint32_t right) const;
  const std::vector<Event>& climb(std::uint32_t token, std::uint32_t Parts::* edge, std::vector<Event>& events) const;
  std::size_t take_out_after(std::uint32_t left, std::uint32_t* row) const;
  const Edges& edges(std::uint32_t token) const;
  const std::vector<std::uint32_t>& after_late(std::uint32_t left) const;

  const MergeTable& merges_;
  std::vector<Parts> parts_;
  std::vector<std::size_t> spelled_;
  std::vector<std::uint32_t> symbols_;
  std::vector<std::uint32_t> order_;          // live tokens in preorder by their left parts
  std::vector<std::uint32_t> place_;          // of each token in it
  std::vector<std::size_t> first_rectangle_;  // of each token as a left part
  std::vector<Rectangle> rectangles_;         // the largest time first for each left part
  std::vector<std::uint32_t> late_;           // live tokens with a burst one at their left edge
  static constexpr std::size_t kLongRows = 1024;
  mutable std::unordered_map<std::uint32_t, std::unique_ptr<const std::vector<std::uint32_t>>>
      long_rows_;  // bits that stay
  mutable std::mutex mutex_;
  mutable std::unordered_map<std::uint32_t, std::unique_ptr<const Edges>> edges_;
  mutable std::unordered_map<std::uint32_t, std::unique_ptr<const std::vector<std::uint32_t>>> after_late_;
};

}  // namespace detent

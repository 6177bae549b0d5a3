// AdjacencyRelation: which token may follow which inside a pre-token.
//
// For merged tokens (merge_adjacency.h) the relation decides: a token sequence is the tokenizer's encoding of its
// pre-token if and only if each token is reachable and each adjacent pair is in the relation. For Unigram pieces
// (unigram_adjacency.h) the relation is necessary only: each encoding satisfies it, and so do some other sequences.
#pragma once

#include <cstdint>
#include <vector>

namespace detent {

class AdjacencyRelation {
 public:
  virtual ~AdjacencyRelation() = default;
  AdjacencyRelation(const AdjacencyRelation&) = delete;
  AdjacencyRelation& operator=(const AdjacencyRelation&) = delete;

  // Whether the encoding of some pre-token contains the token.
  bool is_reachable(std::uint32_t token) const { return reachable_[token]; }
  // Whether the joined text of the two tokens is encoded as these two. Safe for threads, as forbid_after is.
  virtual bool may_follow(std::uint32_t left, std::uint32_t right) const = 0;
  // Clears the bits of the tokens that must not follow `left`, which is reachable, in a mask row. Bits of unreachable
  // tokens may stay.
  virtual void forbid_after(std::uint32_t left, std::uint32_t* row) const = 0;
  // The same in some microseconds: leaves the bits of the tokens that are exceptions, which may_follow decides. Returns
  // false where it can tell nothing.
  virtual bool forbid_most_after(std::uint32_t, std::uint32_t*) const { return false; }
  virtual bool is_exception(std::uint32_t) const { return false; }

 protected:
  explicit AdjacencyRelation(std::uint32_t size) : reachable_(size) {}
  void set_reachable(std::uint32_t token, bool reachable) { reachable_[token] = reachable; }

 private:
  std::vector<std::uint8_t> reachable_;
};

}  // namespace detent

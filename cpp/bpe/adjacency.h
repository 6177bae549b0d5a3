// AdjacencyRelation: which token may follow which inside a chunk.
//
// Where tokens come of merging (merge_pairs.h), a row of them is the tokenizer's own if and only if each is live and
// each two neighbours are a valid pair. Where they come of scores (score_pairs.h), that is only necessary: what the
// tokenizer writes passes, and some other rows do too. What asks for pairs need not know which.
#pragma once

#include <cstdint>
#include <vector>

namespace detent {

class AdjacencyRelation {
 public:
  virtual ~AdjacencyRelation() = default;
  AdjacencyRelation(const AdjacencyRelation&) = delete;
  AdjacencyRelation& operator=(const AdjacencyRelation&) = delete;

  // Whether some text has the token in its row.
  bool live(std::uint32_t token) const { return live_[token]; }
  // Whether what the two spell is cut into exactly these two. Safe for threads, like the next.
  virtual bool valid(std::uint32_t left, std::uint32_t right) const = 0;
  // Takes out of a row of bits the tokens that must not follow `left`, which is live. Dead tokens may stay.
  virtual void forbid_after(std::uint32_t left, std::uint32_t* row) const = 0;

 protected:
  explicit AdjacencyRelation(std::uint32_t size) : live_(size) {}
  void set_live(std::uint32_t token, bool live) { live_[token] = live; }

 private:
  std::vector<std::uint8_t> live_;
};

}  // namespace detent

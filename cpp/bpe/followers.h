// Followers: which tokens may follow one token inside a pre-token. Asked about many, it finds all at once.
#pragma once

#include <cstdint>
#include <vector>

#include "bpe/encoder.h"

namespace detent {

class Followers {
 public:
  Followers(const Encoder& encoder, std::uint32_t token) : encoder_(encoder), token_(token) {}

  // As Encoder::may_follow.
  bool has(std::uint32_t token) {
    if (asked_ < kFew) {
      ++asked_;
      if (asked_ == kFew) find_most();
    }
    if (row_.empty() || encoder_.adjacency().is_exception(token)) return encoder_.may_follow(token_, token);
    return (row_[token >> 5] >> (token & 31) & 1) != 0 && encoder_.may_have_neighbours(token);
  }

 private:
  static constexpr std::uint32_t kFew = 32;  // as many answers cost as much as all

  void find_most() {
    if (encoder_.is_byte_token(token_) || !encoder_.may_have_neighbours(token_)) return;
    row_.assign((encoder_.size() + 31) / 32, UINT32_MAX);
    if (!encoder_.adjacency().forbid_most_after(token_, row_.data())) row_.clear();
  }

  const Encoder& encoder_;
  std::uint32_t token_, asked_ = 0;
  std::vector<std::uint32_t> row_;  // a mask row, once many were asked about; exceptions are not meant
};

}  // namespace detent

// MaskBuilder: collects the tokens of one mask: as a list of ids, and once it grows long, as bits.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include "mask/mask.h"

namespace detent {

class MaskBuilder {
 public:
  explicit MaskBuilder(std::size_t word_count) : word_count_(word_count) {}

  void allow(std::uint32_t id) {
    if (is_dense()) {
      words_[id >> 5] |= 1u << (id & 31);
    } else {
      ids_.push_back(id);
      if (ids_.size() > most_ids()) make_dense();
    }
  }
  void allow(const std::uint32_t* ids, std::size_t count);
  // The tokens of a mask row.
  void allow(std::span<const std::uint32_t> row);
  // The mask row so far, without the tokens of masks that `share` added.
  std::vector<std::uint32_t> row() const;
  // Removes the ids that are not in `row`, except those of masks that `share` added.
  void retain(std::span<const std::uint32_t> row);
  // Removes an id, except from masks that `share` added.
  void refuse(std::uint32_t id);
  // Raises Mask::max_completion_bound to at least `length`: a bound on some completion after an allowed token.
  void note_length(std::uint32_t length) { max_completion_bound_ = std::max(max_completion_bound_, length); }

  // Adds the tokens of another mask.
  void copy_from(const Mask& mask);
  // Adds the tokens of another mask: the first mask becomes the base, without a copy. `max_completion_bound` stays.
  void share(std::shared_ptr<const Mask> mask);

  // Returns the mask; the builder is empty afterwards.
  std::shared_ptr<const Mask> finish(std::shared_ptr<const ContextDependentTokens> context_dependent = nullptr);

 private:
  bool is_dense() const { return !words_.empty(); }
  void make_dense();
  void add(const Mask& mask);
  std::size_t most_ids() const { return word_count_ / 4; }  // these take less memory than the words

  std::size_t word_count_;
  std::vector<std::uint32_t> words_;  // empty while sparse
  std::vector<std::uint32_t> ids_;
  std::shared_ptr<const Mask> base_;
  std::uint32_t max_completion_bound_ = 0;
};

}  // namespace detent

// Mask: the text tokens that a state allows. Immutable.
//
// A mask is the union of an optional base mask, which other masks share, and of tokens of its own: as bits, or as ids
// where these take less memory. The mask of a slice also has the tokens that leave the slice.
#pragma once

#include <bit>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <vector>

#include "mask/context_dependent_tokens.h"

namespace detent {

class Mask {
 public:
  // Overwrites a mask row of `count` words.
  void write(std::uint32_t* row, std::size_t count) const;
  // The same for a row that holds the mask `from`. Cost: linear in the ids of both masks, if both have ids and the same
  // base mask; otherwise as `write`.
  void write_after(const Mask& from, std::uint32_t* row, std::size_t count) const;
  // Whether another mask has the same tokens in the same form. False for some masks with the same tokens: one may have
  // bits and the other ids. quick_hash() reads a few tokens only.
  bool has_same_form(const Mask& other) const {
    return base_ == other.base_ && ids_ == other.ids_ && words_ == other.words_;
  }
  std::size_t quick_hash() const;
  // One word of the mask row.
  std::uint32_t word(std::uint32_t index) const;
  // Sets the bits of this mask in a mask row.
  void add_to(std::uint32_t* row) const;
  // Calls visit(id) for each token.
  template <class Visit>
  void each(Visit visit) const {
    if (base_) base_->each(visit);
    for (std::uint32_t id : ids_) visit(id);
    for (std::uint32_t i = 0; i < words_.size(); ++i) {
      for (std::uint32_t word = words_[i]; word != 0; word &= word - 1) {
        visit(i * 32 + static_cast<std::uint32_t>(std::countr_zero(word)));
      }
    }
  }

  // Null unless this is the mask of a slice.
  const std::shared_ptr<const ContextDependentTokens>& context_dependent() const { return context_dependent_; }
  // After each token of the mask, some completion has at most that many bytes.
  std::uint32_t max_completion_bound() const { return max_completion_bound_; }

  // Memory, without that of the base mask.
  std::size_t bytes() const {
    return sizeof(Mask) + (words_.size() + ids_.size()) * sizeof(std::uint32_t) +
           (context_dependent_ ? context_dependent_->bytes() : 0);
  }

 private:
  friend class MaskBuilder;
  void add_without_base(std::uint32_t* row) const;

  std::shared_ptr<const Mask> base_;
  std::vector<std::uint32_t> words_;
  std::vector<std::uint32_t> ids_;
  std::shared_ptr<const ContextDependentTokens> context_dependent_;
  std::uint32_t max_completion_bound_ = 0;
};

}  // namespace detent

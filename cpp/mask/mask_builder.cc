#include "mask/mask_builder.h"

#include <bit>

#include <algorithm>
#include <utility>

namespace detent {

void MaskBuilder::make_dense() {
  if (is_dense()) return;
  words_.assign(word_count_, 0);
  for (std::uint32_t id : ids_) words_[id >> 5] |= 1u << (id & 31);
  ids_.clear();
}

std::vector<std::uint32_t> MaskBuilder::row() const {
  if (is_dense()) return words_;
  std::vector<std::uint32_t> row(word_count_);
  for (std::uint32_t id : ids_) row[id >> 5] |= 1u << (id & 31);
  return row;
}

void MaskBuilder::allow(const std::uint32_t* ids, std::size_t count) {
  if (!is_dense() && ids_.size() + count <= most_ids()) {
    ids_.insert(ids_.end(), ids, ids + count);
    return;
  }
  make_dense();
  std::uint32_t* const row = words_.data();
  for (std::size_t i = 0; i < count; ++i) row[ids[i] >> 5] |= 1u << (ids[i] & 31);
}

void MaskBuilder::allow(std::span<const std::uint32_t> row) {
  std::size_t count = ids_.size();
  for (std::uint32_t word : row) count += static_cast<std::size_t>(std::popcount(word));
  if (count > most_ids()) make_dense();
  if (is_dense()) {
    for (std::size_t i = 0; i < row.size(); ++i) words_[i] |= row[i];
    return;
  }
  for (std::uint32_t i = 0; i < row.size(); ++i) {
    for (std::uint32_t word = row[i]; word != 0; word &= word - 1) {
      ids_.push_back(i * 32 + static_cast<std::uint32_t>(std::countr_zero(word)));
    }
  }
}

void MaskBuilder::retain(std::span<const std::uint32_t> row) {
  make_dense();
  for (std::size_t i = 0; i < words_.size(); ++i) words_[i] &= row[i];
}

void MaskBuilder::refuse(std::uint32_t id) {
  make_dense();
  words_[id >> 5] &= ~(1u << (id & 31));
}

void MaskBuilder::add(const Mask& mask) {
  if (mask.base_) add(*mask.base_);
  if (mask.words_.empty()) return allow(mask.ids_.data(), mask.ids_.size());
  make_dense();
  mask.add_without_base(words_.data());
}

void MaskBuilder::copy_from(const Mask& mask) {
  add(mask);
  note_length(mask.max_completion_bound());
}

void MaskBuilder::share(std::shared_ptr<const Mask> mask) {
  if (mask->base_ && mask->words_.empty() && mask->ids_.empty()) mask = mask->base_;
  const auto has_few_ids = [](const Mask& other) { return !other.base_ && other.words_.empty(); };
  if (base_ && has_few_ids(*base_) && !has_few_ids(*mask)) std::swap(base_, mask);
  if (base_) {
    add(*mask);
  } else {
    base_ = std::move(mask);
  }
}

std::shared_ptr<const Mask> MaskBuilder::finish(std::shared_ptr<const ContextDependentTokens> context_dependent) {
  auto mask = std::make_shared<Mask>();
  mask->context_dependent_ = std::move(context_dependent);
  mask->base_ = std::move(base_);
  mask->max_completion_bound_ = std::exchange(max_completion_bound_, 0);
  if (!is_dense()) {
    mask->ids_ = std::exchange(ids_, {});
    mask->ids_.shrink_to_fit();
    return mask;
  }
  mask->words_ = std::exchange(words_, {});
  return mask;
}

}  // namespace detent

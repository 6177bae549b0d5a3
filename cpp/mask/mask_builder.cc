#include "mask/mask_builder.h"

#include <algorithm>
#include <bit>
#include <utility>

namespace detent {
namespace {

// The number of set bits; any larger number than `most` where there are more. Most blocks of most masks are zero.
std::size_t count_ids(std::span<const std::uint32_t> words, std::size_t most) {
  constexpr std::size_t kBlock = 64;
  std::size_t count = 0;
  for (; !words.empty() && count <= most; words = words.subspan(std::min(kBlock, words.size()))) {
    const std::span<const std::uint32_t> block = words.first(std::min(kBlock, words.size()));
    std::uint32_t any = 0;
    for (std::uint32_t word : block) any |= word;
    if (any == 0) continue;
    for (std::uint32_t word : block) {
      if (word != 0) count += static_cast<std::size_t>(std::popcount(word));
    }
  }
  return count;
}

}  // namespace

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

void MaskBuilder::retain(std::span<const std::uint32_t> row) {
  make_dense();
  for (std::size_t i = 0; i < words_.size(); ++i) words_[i] &= row[i];
}

void MaskBuilder::refuse(std::uint32_t id) {
  make_dense();
  words_[id >> 5] &= ~(1u << (id & 31));
}

void MaskBuilder::add(const Mask& mask) {
  if (!mask.base_ && mask.words_.empty()) return allow(mask.ids_.data(), mask.ids_.size());
  make_dense();
  mask.add_to(words_.data());
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
  const std::size_t most = most_ids();
  const std::size_t count = count_ids(words_, most);
  if (count > most) {
    mask->words_ = std::exchange(words_, {});
    return mask;
  }
  mask->ids_.reserve(count);
  for (std::size_t i = 0; mask->ids_.size() < count; ++i) {
    for (std::uint32_t word = words_[i]; word; word &= word - 1) {
      mask->ids_.push_back(static_cast<std::uint32_t>(i * 32) + static_cast<std::uint32_t>(std::countr_zero(word)));
    }
  }
  words_.clear();
  return mask;
}

}  // namespace detent

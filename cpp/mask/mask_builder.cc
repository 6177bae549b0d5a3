#include "mask/mask_builder.h"

#include <algorithm>
#include <bit>
#include <optional>
#include <utility>

namespace detent {
namespace {

// The ids of a row of bits; nothing where there are more than `most`. Most blocks of words of most masks are zero.
std::optional<std::vector<std::uint32_t>> ids_of(const std::vector<std::uint32_t>& words, std::size_t most) {
  constexpr std::size_t kBlock = 64;
  std::size_t used = 0;  // words that are not zero: one loop of vector instructions a block
  for (std::size_t first = 0; first < words.size() && used <= most; first += kBlock) {
    const std::size_t last = std::min(first + kBlock, words.size());
    for (std::size_t i = first; i < last; ++i) used += words[i] != 0 ? 1 : 0;
  }
  if (used > most) return std::nullopt;
  std::vector<std::uint32_t> ids;
  for (std::size_t first = 0; first < words.size(); first += kBlock) {
    const std::size_t last = std::min(first + kBlock, words.size());
    std::uint32_t any = 0;
    for (std::size_t i = first; i < last; ++i) any |= words[i];
    if (any == 0) continue;
    for (std::size_t i = first; i < last; ++i) {
      for (std::uint32_t word = words[i]; word != 0; word &= word - 1) {
        ids.push_back(static_cast<std::uint32_t>(i * 32) + static_cast<std::uint32_t>(std::countr_zero(word)));
      }
    }
    if (ids.size() > most) return std::nullopt;
  }
  ids.shrink_to_fit();
  return ids;
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
  if (std::optional<std::vector<std::uint32_t>> ids = ids_of(words_, most_ids())) {
    mask->ids_ = std::move(*ids);
    words_.clear();
  } else {
    mask->words_ = std::exchange(words_, {});
  }
  return mask;
}

}  // namespace detent

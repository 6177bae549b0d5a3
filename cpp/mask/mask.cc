#include "mask/mask.h"

#include <algorithm>
#include <functional>

namespace detent {

void Mask::write(std::uint32_t* row, std::size_t count) const {
  if (base_) {
    base_->write(row, count);
    add_without_base(row);
  } else if (!words_.empty()) {
    std::copy(words_.begin(), words_.end(), row);
  } else {
    std::fill_n(row, count, 0u);
    add_without_base(row);
  }
}

void Mask::write_after(const Mask& from, std::uint32_t* row, std::size_t count) const {
  if (&from == this) return;
  const bool base_has_words = !base_ || (!base_->words_.empty() && !base_->base_);
  if (from.base_ != base_ || !base_has_words || !words_.empty() || !from.words_.empty()) return write(row, count);
  for (std::uint32_t id : from.ids_) row[id >> 5] = base_ ? base_->words_[id >> 5] : 0;
  for (std::uint32_t id : ids_) row[id >> 5] |= 1u << (id & 31);
}

std::size_t Mask::quick_hash() const {
  constexpr std::size_t kSamples = 8;
  std::uint64_t hash = std::hash<const void*>()(base_.get());
  for (const std::vector<std::uint32_t>* numbers : {&words_, &ids_}) {
    hash = (hash ^ numbers->size()) * 0x9E3779B97F4A7C15ULL;
    const std::size_t step = std::max<std::size_t>(1, numbers->size() / kSamples);
    for (std::size_t i = 0; i < numbers->size(); i += step) hash = (hash ^ (*numbers)[i]) * 0x9E3779B97F4A7C15ULL;
  }
  return hash ^ hash >> 32;
}

std::uint32_t Mask::word(std::uint32_t index) const {
  std::uint32_t word = (base_ ? base_->word(index) : 0) | (words_.empty() ? 0 : words_[index]);
  for (std::uint32_t id : ids_) word |= id >> 5 == index ? 1u << (id & 31) : 0;
  return word;
}

void Mask::add_to(std::uint32_t* row) const {
  if (base_) base_->add_to(row);
  add_without_base(row);
}

void Mask::add_without_base(std::uint32_t* row) const {
  for (std::size_t i = 0; i < words_.size(); ++i) row[i] |= words_[i];
  for (std::uint32_t id : ids_) row[id >> 5] |= 1u << (id & 31);
}

}  // namespace detent

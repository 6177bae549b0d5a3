#include "mask/mask.h"

#include <algorithm>

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

void Mask::add_to(std::uint32_t* row) const {
  if (base_) base_->add_to(row);
  add_without_base(row);
}

void Mask::add_without_base(std::uint32_t* row) const {
  for (std::size_t i = 0; i < words_.size(); ++i) row[i] |= words_[i];
  for (std::uint32_t id : ids_) row[id >> 5] |= 1u << (id & 31);
}

}  // namespace detent

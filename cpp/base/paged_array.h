// PagedArray: values by index, such as one for each of some expressions; `kDefault` where none was written.
//
// A page is allocated at the first write to it and never moves: a write costs no more than an allocation. Case: the
// rows of a million expressions, in a std::vector, moved 8 MB at one mask.
#pragma once

#include <algorithm>
#include <cstddef>
#include <memory>
#include <vector>

namespace detent {

template <class T, T kDefault>
class PagedArray {
 public:
  PagedArray() = default;
  // A copy of the first `size` values of `other`.
  PagedArray(const PagedArray& other, std::size_t size) {
    for (std::size_t index = 0; index < size && index / kPage < other.pages_.size(); index += kPage) {
      const T* const page = other.pages_[index / kPage].get();
      if (page) std::copy_n(page, std::min(kPage, size - index), page_of(index));
    }
  }

  T operator[](std::size_t index) const {
    const T* const page = index / kPage < pages_.size() ? pages_[index / kPage].get() : nullptr;
    return page ? page[index % kPage] : kDefault;
  }
  void set(std::size_t index, T value) { page_of(index)[index % kPage] = value; }

 private:
  static constexpr std::size_t kPage = 1'024;

  T* page_of(std::size_t index) {
    if (index / kPage >= pages_.size()) pages_.resize(index / kPage + 1);
    std::unique_ptr<T[]>& page = pages_[index / kPage];
    if (!page) {
      page = std::make_unique_for_overwrite<T[]>(kPage);
      std::fill_n(page.get(), kPage, kDefault);
    }
    return page.get();
  }

  std::vector<std::unique_ptr<T[]>> pages_;
};

}  // namespace detent

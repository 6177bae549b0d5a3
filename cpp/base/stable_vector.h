// StableVector: append-only storage whose elements never move, so that readers need no lock while one writer appends.
// Chunk c holds 256 << c elements. Reading costs one bit scan and two loads. Appending constructs one element in memory
// that the operating system provides page by page: it never costs more than an allocation.
// A reader may read index i once it has received i through a release/acquire pair from the writer.
#pragma once

#include <algorithm>
#include <array>
#include <atomic>
#include <bit>
#include <cstddef>
#include <memory>
#include <type_traits>

namespace detent {

template <class T>
class StableVector {
 public:
  StableVector() = default;
  StableVector(const StableVector&) = delete;
  StableVector& operator=(const StableVector&) = delete;
  ~StableVector() {
    static_assert(std::is_trivially_destructible_v<T>);
    for (std::size_t c = 0; c < chunks_.size(); ++c) {
      T* chunk = chunks_[c].load(std::memory_order_relaxed);
      if (chunk) std::allocator<T>().deallocate(chunk, kFirst << c);
    }
  }

  std::size_t size() const { return size_; }

  T& operator[](std::size_t index) {
    const Location location = locate(index);
    return chunks_[location.chunk].load(std::memory_order_relaxed)[location.offset];
  }
  const T& operator[](std::size_t index) const { return const_cast<StableVector&>(*this)[index]; }

  // Appends a value-initialised element and returns a reference to it.
  T& emplace_back() {
    const Location location = locate(size_);
    if (!chunks_[location.chunk].load(std::memory_order_relaxed)) {
      chunks_[location.chunk].store(std::allocator<T>().allocate(kFirst << location.chunk), std::memory_order_release);
    }
    ++size_;
    return *std::construct_at(chunks_[location.chunk].load(std::memory_order_relaxed) + location.offset);
  }

  // Makes this empty vector a copy of the first `count` elements of another one.
  void assign(const StableVector& other, std::size_t count) {
    static_assert(std::is_trivially_copyable_v<T>);
    for (std::size_t chunk = 0; size_ < count; ++chunk) {
      T* const copy = std::allocator<T>().allocate(kFirst << chunk);
      const std::size_t length = std::min(kFirst << chunk, count - size_);
      std::uninitialized_copy_n(other.chunks_[chunk].load(std::memory_order_relaxed), length, copy);
      chunks_[chunk].store(copy, std::memory_order_release);
      size_ += length;
    }
  }

 private:
  static constexpr std::size_t kFirst = 256;
  struct Location {
    unsigned chunk;
    std::size_t offset;
  };
  static Location locate(std::size_t index) {
    const std::size_t shifted = index + kFirst;
    const unsigned chunk = static_cast<unsigned>(std::bit_width(shifted)) - 9;
    return {chunk, shifted - (kFirst << chunk)};
  }

  std::array<std::atomic<T*>, 26> chunks_{};
  std::size_t size_ = 0;
};

}  // namespace detent

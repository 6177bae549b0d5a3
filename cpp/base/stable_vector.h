// StableVector: append-only storage whose elements never move, so that readers need no lock while one writer appends.
// Chunk c holds 256 << c elements. Reading costs one bit scan and two loads. Appending constructs one element in memory
// that the operating system provides page by page: it never costs more than an allocation. Case: a std::vector of the
// operands of all expressions moved 35 MiB at one mask of a schema, which took 20 ms.
// A reader may read index i once it has received i through a release/acquire pair from the writer.
#pragma once

#include <algorithm>
#include <array>
#include <atomic>
#include <bit>
#include <cstddef>
#include <memory>
#include <span>
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
    T* const added = memory_at(locate(size_));
    ++size_;
    return *std::construct_at(added);
  }

  // Appends `values` side by side in one chunk, and returns the index of the first one. Indices that are left in chunks
  // too small for them are skipped: their elements must not be read.
  std::size_t append(std::span<const T> values) {
    Location location = locate(size_);
    for (; location.offset + values.size() > kFirst << location.chunk; location = locate(size_)) {
      size_ += (kFirst << location.chunk) - location.offset;
    }
    std::uninitialized_copy_n(values.data(), values.size(), memory_at(location));
    const std::size_t first = size_;
    size_ += values.size();
    return first;
  }

  // Makes this empty vector a copy of the first `count` elements of another one.
  void assign(const StableVector& other, std::size_t count) {
    static_assert(std::is_trivially_copyable_v<T>);
    for (std::size_t chunk = 0; size_ < count; ++chunk) {
      const std::size_t length = std::min(kFirst << chunk, count - size_);
      if (const T* const source = other.chunks_[chunk].load(std::memory_order_relaxed)) {  // null: skipped by append()
        T* const copy = std::allocator<T>().allocate(kFirst << chunk);
        std::uninitialized_copy_n(source, length, copy);
        chunks_[chunk].store(copy, std::memory_order_release);
      }
      size_ += length;
    }
  }

 private:
  static constexpr std::size_t kFirst = 256;
  struct Location {
    unsigned chunk;
    std::size_t offset;
  };
  T* memory_at(Location location) {
    std::atomic<T*>& chunk = chunks_[location.chunk];
    if (!chunk.load(std::memory_order_relaxed)) {
      chunk.store(std::allocator<T>().allocate(kFirst << location.chunk), std::memory_order_release);
    }
    return chunk.load(std::memory_order_relaxed) + location.offset;
  }
  static Location locate(std::size_t index) {
    const std::size_t shifted = index + kFirst;
    const unsigned chunk = static_cast<unsigned>(std::bit_width(shifted)) - 9;
    return {chunk, shifted - (kFirst << chunk)};
  }

  std::array<std::atomic<T*>, 26> chunks_{};
  std::size_t size_ = 0;
};

}  // namespace detent

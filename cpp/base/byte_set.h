// ByteSet: a set of byte values as 256 bits. All operations take constant time.
#pragma once

#include <array>
#include <bit>
#include <cstdint>

namespace detent {

class ByteSet {
 public:
  constexpr ByteSet() = default;

  static constexpr ByteSet all() {
    ByteSet set;
    set.words_.fill(~std::uint64_t{0});
    return set;
  }
  static constexpr ByteSet of(std::uint8_t byte) {
    ByteSet set;
    set.insert(byte);
    return set;
  }
  static constexpr ByteSet range(unsigned first, unsigned last) {
    ByteSet set;
    for (unsigned byte = first; byte <= last; ++byte) set.insert(static_cast<std::uint8_t>(byte));
    return set;
  }

  constexpr void insert(std::uint8_t byte) { words_[byte >> 6] |= std::uint64_t{1} << (byte & 63); }
  constexpr void remove(std::uint8_t byte) { words_[byte >> 6] &= ~(std::uint64_t{1} << (byte & 63)); }
  constexpr bool contains(std::uint8_t byte) const { return (words_[byte >> 6] >> (byte & 63)) & 1; }
  constexpr bool empty() const { return !(words_[0] | words_[1] | words_[2] | words_[3]); }
  constexpr int size() const {
    return std::popcount(words_[0]) + std::popcount(words_[1]) + std::popcount(words_[2]) + std::popcount(words_[3]);
  }
  // Whether the set has more than `count` bytes. For a small count, this costs less than size().
  constexpr bool has_more_than(int count) const {
    for (std::uint64_t word : words_) {
      for (; word != 0; word &= word - 1) {
        if (count-- == 0) return true;
      }
    }
    return false;
  }
  // Calls visit(byte) for each byte, ascending.
  template <class Visit>
  constexpr void each(Visit visit) const {
    for (unsigned i = 0; i < 4; ++i) {
      for (std::uint64_t word = words_[i]; word != 0; word &= word - 1) {
        visit(static_cast<std::uint8_t>(i * 64 + static_cast<unsigned>(std::countr_zero(word))));
      }
    }
  }
  // The least byte of a set that is not empty.
  constexpr std::uint8_t first() const {
    unsigned i = 0;
    while (words_[i] == 0) ++i;
    return static_cast<std::uint8_t>(i * 64 + static_cast<unsigned>(std::countr_zero(words_[i])));
  }
  constexpr bool is_subset_of(const ByteSet& other) const { return (*this & other) == *this; }
  constexpr const std::array<std::uint64_t, 4>& words() const { return words_; }

  constexpr ByteSet operator|(const ByteSet& other) const {
    ByteSet set = *this;
    for (unsigned i = 0; i < 4; ++i) set.words_[i] |= other.words_[i];
    return set;
  }
  constexpr ByteSet operator&(const ByteSet& other) const {
    ByteSet set = *this;
    for (unsigned i = 0; i < 4; ++i) set.words_[i] &= other.words_[i];
    return set;
  }
  constexpr bool operator==(const ByteSet&) const = default;

 private:
  std::array<std::uint64_t, 4> words_{};
};

}  // namespace detent

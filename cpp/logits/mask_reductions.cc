#include "logits/mask_reductions.h"

#include <algorithm>
#include <bit>
#include <cstring>

namespace detent {
namespace {

// Vector types of GCC and Clang, available on every machine. In plain loops neither compiler keeps these sums in
// registers.
using Floats = float __attribute__((vector_size(16)));
using Words = std::uint32_t __attribute__((vector_size(16)));

constexpr std::size_t kWordsAtOnce = 8;

// Adds the 32 numbers of a mask word to `allowed` or to `masked`, by their bits, without branches.
void add(const float* numbers, std::uint32_t word, Floats& allowed, Floats& masked) {
  const Words spread = {word, word, word, word};
  Words bits = {1, 2, 4, 8};
  for (unsigned i = 0; i < 32; i += 4, bits <<= 4) {
    const auto selected = reinterpret_cast<Words>((spread & bits) == bits);
    Words four;
    std::memcpy(&four, numbers + i, sizeof(four));
    allowed += reinterpret_cast<Floats>(four & selected);
    masked += reinterpret_cast<Floats>(four & ~selected);
  }
}

double sum(const Floats& four) {
  double sum = 0;
  for (unsigned i = 0; i < 4; ++i) sum += static_cast<double>(four[i]);
  return sum;
}

}  // namespace

std::optional<std::vector<std::uint32_t>> few_allowed(const std::uint32_t* mask, std::size_t words, std::size_t most) {
  std::size_t count = 0;
  for (std::size_t i = 0; i < words; ++i) {
    if (mask[i] != 0) count += static_cast<std::size_t>(std::popcount(mask[i]));
    if (count > most) return std::nullopt;
  }
  std::vector<std::uint32_t> ids;
  ids.reserve(count);
  for (std::size_t i = 0; ids.size() < count; ++i) {
    for (std::uint32_t word = mask[i]; word != 0; word &= word - 1) {
      ids.push_back(static_cast<std::uint32_t>(i * 32 + static_cast<std::size_t>(std::countr_zero(word))));
    }
  }
  return ids;
}

MaskedSums allowed_sums(const float* numbers, std::size_t width, const std::uint32_t* mask, std::size_t words) {
  const std::size_t whole = std::min(width / 32, words);
  MaskedSums sums{0, 0};
  for (std::size_t first = 0; first < whole; first += kWordsAtOnce) {
    Floats allowed{}, masked{};
    for (std::size_t i = first; i < std::min(first + kWordsAtOnce, whole); ++i)
      add(numbers + i * 32, mask[i], allowed, masked);
    sums.allowed += sum(allowed);
    sums.masked += sum(masked);
  }
  for (std::size_t i = whole * 32; i < width; ++i) {
    const bool allowed = i / 32 < words && (mask[i / 32] >> (i & 31)) & 1;
    (allowed ? sums.allowed : sums.masked) += static_cast<double>(numbers[i]);
  }
  return sums;
}

}  // namespace detent

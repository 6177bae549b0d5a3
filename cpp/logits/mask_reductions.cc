#include "logits/mask_reductions.h"

#include <algorithm>
#include <bit>
#include <cstring>

namespace detent {
namespace {

// Vectors as GCC and Clang have them on every machine: in plain loops, neither keeps these sums in registers.
using Floats = float __attribute__((vector_size(16)));
using Words = std::uint32_t __attribute__((vector_size(16)));

constexpr std::size_t kWordsAtOnce = 8;

// Adds the numbers of a word's bits to the one, the others to the other; without a branch for each.
void add(const float* numbers, std::uint32_t word, Floats& inside, Floats& outside) {
  const Words spread = {word, word, word, word};
  Words bits = {1, 2, 4, 8};
  for (unsigned i = 0; i < 32; i += 4, bits <<= 4) {
    const auto keep = reinterpret_cast<Words>((spread & bits) == bits);
    Words four;
    std::memcpy(&four, numbers + i, sizeof(four));
    inside += reinterpret_cast<Floats>(four & keep);
    outside += reinterpret_cast<Floats>(four & ~keep);
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
  for (std::size_t at = 0; at < whole; at += kWordsAtOnce) {
    Floats inside{}, outside{};
    for (std::size_t i = at; i < std::min(at + kWordsAtOnce, whole); ++i)
      add(numbers + i * 32, mask[i], inside, outside);
    sums.allowed += sum(inside);
    sums.masked += sum(outside);
  }
  for (std::size_t i = whole * 32; i < width; ++i) {
    const bool allowed = i / 32 < words && (mask[i / 32] >> (i & 31)) & 1;
    (allowed ? sums.allowed : sums.masked) += static_cast<double>(numbers[i]);
  }
  return sums;
}

}  // namespace detent

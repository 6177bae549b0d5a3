#include "logits/allowed.h"

#include <algorithm>
#include <array>
#include <bit>
#include <cstring>
#include <numeric>

namespace detent {
namespace {

constexpr std::size_t kLanes = 32;  // the bits of a word
constexpr std::size_t kWordsAtOnce = 32;

using Lanes = std::array<float, kLanes>;

void add_all(Lanes& lanes, const float* numbers) {
  for (std::size_t i = 0; i < kLanes; ++i) lanes[i] += numbers[i];
}

constexpr std::array<std::uint32_t, kLanes> kBits = [] {
  std::array<std::uint32_t, kLanes> bits{};
  for (unsigned i = 0; i < kLanes; ++i) bits[i] = std::uint32_t{1} << i;
  return bits;
}();

// Without branches and in the lanes' own width, which compilers turn into vector instructions.
void add_each(Lanes& inside, Lanes& outside, const float* numbers, std::uint32_t word) {
  std::array<std::uint32_t, kLanes> keep, number;
  for (std::size_t i = 0; i < kLanes; ++i) keep[i] = (word & kBits[i]) == kBits[i] ? UINT32_MAX : 0;
  std::memcpy(number.data(), numbers, sizeof(number));
  Lanes in, out;
  for (std::size_t i = 0; i < kLanes; ++i) in[i] = std::bit_cast<float>(number[i] & keep[i]);
  for (std::size_t i = 0; i < kLanes; ++i) out[i] = std::bit_cast<float>(number[i] & ~keep[i]);
  add_all(inside, in.data());
  add_all(outside, out.data());
}

double sum(const Lanes& lanes) { return std::accumulate(lanes.begin(), lanes.end(), 0.0); }

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

Sums allowed_sums(const float* numbers, std::size_t width, const std::uint32_t* mask, std::size_t words) {
  const std::size_t whole = std::min(width / kLanes, words);
  Sums sums{0, 0};
  for (std::size_t at = 0; at < whole; at += kWordsAtOnce) {
    Lanes inside{}, outside{};
    for (std::size_t i = at; i < std::min(at + kWordsAtOnce, whole); ++i) {
      if (mask[i] == 0) {
        add_all(outside, numbers + i * kLanes);
      } else if (mask[i] == UINT32_MAX) {
        add_all(inside, numbers + i * kLanes);
      } else {
        add_each(inside, outside, numbers + i * kLanes, mask[i]);
      }
    }
    sums.inside += sum(inside);
    sums.outside += sum(outside);
  }
  for (std::size_t i = whole * kLanes; i < width; ++i) {
    const bool allowed = i / 32 < words && (mask[i / 32] >> (i & 31)) & 1;
    (allowed ? sums.inside : sums.outside) += static_cast<double>(numbers[i]);
  }
  return sums;
}

}  // namespace detent

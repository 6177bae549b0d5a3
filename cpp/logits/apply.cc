#include "logits/apply.h"

#include <algorithm>
#include <array>
#include <bit>
#include <cstring>

namespace detent {
namespace {

// kBits<Lane>[i]: the mask bit of the i-th token of a lane.
template <class Lane>
constexpr std::array<Lane, 8 * sizeof(Lane)> kBits = [] {
  std::array<Lane, 8 * sizeof(Lane)> bits{};
  for (unsigned i = 0; i < bits.size(); ++i) bits[i] = static_cast<Lane>(Lane{1} << i);
  return bits;
}();

// Compares and selects in lanes of the logits' width, which compilers vectorise. Without branches, random masks take
// little longer than empty ones.
template <class Lane>
void select(const Lane* from, Lane* to, Lane word, Lane minus_infinity) {
  std::array<Lane, kBits<Lane>.size()> keep, logits;
  std::memcpy(logits.data(), from, sizeof(logits));
  for (unsigned i = 0; i < keep.size(); ++i) {
    const Lane bit = static_cast<Lane>(word & kBits<Lane>[i]);
    keep[i] = static_cast<Lane>(bit == kBits<Lane>[i] ? ~Lane{0} : Lane{0});
  }
  for (unsigned i = 0; i < keep.size(); ++i) {
    logits[i] = static_cast<Lane>(minus_infinity ^ ((logits[i] ^ minus_infinity) & keep[i]));
  }
  std::memcpy(to, logits.data(), sizeof(logits));
}

template <class Lane>
void apply_row(const Lane* from, Lane* to, std::size_t width, const std::uint32_t* mask, std::size_t mask_words,
               Lane minus_infinity) {
  const std::size_t whole = std::min(width / 32, mask_words);
  for (std::size_t i = 0; i < whole; ++i, from += 32, to += 32) {
    const std::uint32_t word = mask[i];
    if (word == UINT32_MAX) {
      if (from != to) std::copy_n(from, 32, to);
      continue;
    }
    if (word == 0) {
      std::fill_n(to, 32, minus_infinity);
      continue;
    }
    constexpr unsigned kLanes = 8 * sizeof(Lane);
    for (unsigned at = 0; at < 32; at += kLanes)
      select(from + at, to + at, static_cast<Lane>(word >> at), minus_infinity);
  }
  for (std::size_t i = whole * 32; i < width; ++i, ++from, ++to) {
    const bool allowed = i / 32 < mask_words && (mask[i / 32] >> (i & 31)) & 1;
    *to = allowed ? *from : minus_infinity;
  }
}

template <class Lane>
void apply_rows(void* logits, std::size_t rows, std::size_t width, std::size_t logit_stride, const std::uint32_t* mask,
                std::size_t mask_words, std::size_t mask_stride, Lane minus_infinity) {
  for (std::size_t row = 0; row < rows; ++row) {
    Lane* const at = static_cast<Lane*>(logits) + row * logit_stride;
    apply_row(at, at, width, mask + row * mask_stride, mask_words, minus_infinity);
  }
}

constexpr std::uint32_t kMinusInfinity = 0xFF800000u;  // float32

}  // namespace

void apply_mask(void* logits, LogitType type, std::size_t rows, std::size_t width, std::size_t logit_stride,
                const std::uint32_t* mask, std::size_t mask_words, std::size_t mask_stride) {
  switch (type) {
    case LogitType::float32:
      return apply_rows<std::uint32_t>(logits, rows, width, logit_stride, mask, mask_words, mask_stride,
                                       kMinusInfinity);
    case LogitType::float16:
      return apply_rows<std::uint16_t>(logits, rows, width, logit_stride, mask, mask_words, mask_stride, 0xFC00u);
    case LogitType::bfloat16:
      return apply_rows<std::uint16_t>(logits, rows, width, logit_stride, mask, mask_words, mask_stride, 0xFF80u);
  }
}

std::size_t allowed_beyond(std::size_t width, const std::uint32_t* mask, std::size_t rows, std::size_t mask_words,
                           std::size_t mask_stride) {
  std::size_t end = 0;
  for (std::size_t row = 0; row < rows; ++row) {
    for (std::size_t i = mask_words; i-- > (width + 31) / 32;) {
      const std::uint32_t word = mask[row * mask_stride + i];
      if (word == 0) continue;
      end = std::max(end, i * 32 + static_cast<std::size_t>(std::bit_width(word)));
      break;
    }
  }
  return end;
}

void copy_masked(const float* logits, float* to, std::size_t width, const std::uint32_t* mask, std::size_t mask_words) {
  apply_row(reinterpret_cast<const std::uint32_t*>(logits), reinterpret_cast<std::uint32_t*>(to), width, mask,
            mask_words, kMinusInfinity);
}

}  // namespace detent

#include "logits/apply.h"

#include <algorithm>
#include <array>
#include <cstring>

namespace detent {
namespace {

// For 4 mask bits, 4 lanes of all ones or zeros. Selecting by lanes has no branch to mispredict: half of the tokens
// allowed costs no more than none, and the compiler turns the loop into vector instructions.
template <class Lane>
constexpr std::array<std::array<Lane, 4>, 16> kLanes = [] {
  std::array<std::array<Lane, 4>, 16> lanes{};
  for (unsigned bits = 0; bits < 16; ++bits) {
    for (unsigned i = 0; i < 4; ++i) lanes[bits][i] = (bits >> i) & 1 ? static_cast<Lane>(~Lane{0}) : Lane{0};
  }
  return lanes;
}();

template <class Lane>
void apply_row(Lane* logits, std::size_t width, const std::uint32_t* mask, std::size_t mask_words, Lane minus_infinity) {
  const std::size_t whole = std::min(width / 32, mask_words);
  for (std::size_t i = 0; i < whole; ++i, logits += 32) {
    const std::uint32_t word = mask[i];
    if (word == UINT32_MAX) continue;
    if (word == 0) {
      std::fill_n(logits, 32, minus_infinity);
      continue;
    }
    for (unsigned nibble = 0; nibble < 8; ++nibble) {
      const auto& keep = kLanes<Lane>[(word >> (nibble * 4)) & 15];
      Lane* lane = logits + nibble * 4;
      for (unsigned j = 0; j < 4; ++j) {
        lane[j] = static_cast<Lane>((lane[j] & keep[j]) | (minus_infinity & static_cast<Lane>(~keep[j])));
      }
    }
  }
  for (std::size_t i = whole * 32; i < width; ++i, ++logits) {
    if (i / 32 >= mask_words || !((mask[i / 32] >> (i & 31)) & 1)) *logits = minus_infinity;
  }
}

template <class Lane>
void apply_rows(void* logits, std::size_t rows, std::size_t width, std::size_t logit_stride, const std::uint32_t* mask,
                std::size_t mask_words, std::size_t mask_stride, Lane minus_infinity) {
  for (std::size_t row = 0; row < rows; ++row) {
    apply_row(static_cast<Lane*>(logits) + row * logit_stride, width, mask + row * mask_stride, mask_words,
              minus_infinity);
  }
}

}  // namespace

void apply_mask(void* logits, LogitType type, std::size_t rows, std::size_t width, std::size_t logit_stride,
                const std::uint32_t* mask, std::size_t mask_words, std::size_t mask_stride) {
  switch (type) {
    case LogitType::float32:
      return apply_rows<std::uint32_t>(logits, rows, width, logit_stride, mask, mask_words, mask_stride, 0xFF800000u);
    case LogitType::float16:
      return apply_rows<std::uint16_t>(logits, rows, width, logit_stride, mask, mask_words, mask_stride, 0xFC00u);
    case LogitType::bfloat16:
      return apply_rows<std::uint16_t>(logits, rows, width, logit_stride, mask, mask_words, mask_stride, 0xFF80u);
  }
}

}  // namespace detent

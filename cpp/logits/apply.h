// Apply: masks applied to logits in CPU memory.
#pragma once

#include <cstddef>
#include <cstdint>

namespace detent {

enum class LogitType : std::uint8_t { float32, float16, bfloat16 };

// Sets every logit whose mask bit is 0, and every logit past the mask, to -inf. Each of `rows` logits rows has `width`
// logits; strides are in elements. Reads and writes memory once.
void apply_mask(void* logits, LogitType type, std::size_t rows, std::size_t width, std::size_t logit_stride,
                const std::uint32_t* mask, std::size_t mask_words, std::size_t mask_stride);

// One more than the last id that some row of a mask allows in the words that `width` logits do not need; 0 if there is
// none. The last needed word may have bits of padding: hosts set whole words for "all ids".
std::size_t allowed_beyond(std::size_t width, const std::uint32_t* mask, std::size_t rows, std::size_t mask_words,
                           std::size_t mask_stride);

// Copies one row of float32 logits and masks the copy.
void copy_masked(const float* logits, float* to, std::size_t width, const std::uint32_t* mask, std::size_t mask_words);

}  // namespace detent

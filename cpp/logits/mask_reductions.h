// Mask reductions: the allowed ids of a mask row, and sums over the allowed and the masked numbers. One pass; nothing
// is written to the row.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <vector>

namespace detent {

// Returns the allowed ids, ascending, if there are at most `most`.
std::optional<std::vector<std::uint32_t>> few_allowed(const std::uint32_t* mask, std::size_t words, std::size_t most);

struct MaskedSums {
  double allowed, masked;
};

// Returns the sum of the numbers whose bits are set and the sum of all others; numbers past the mask are masked. Four
// lanes of float32 are added up in float64 after 64 additions each, which bounds the rounding error.
MaskedSums allowed_sums(const float* numbers, std::size_t width, const std::uint32_t* mask, std::size_t words);

}  // namespace detent

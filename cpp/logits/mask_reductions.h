// Allowed: what a mask leaves of one row in CPU memory, told in one pass and without writing to the row.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <vector>

namespace detent {

// The ids of the bits that are set, ascending, if these are at most `most`.
std::optional<std::vector<std::uint32_t>> few_allowed(const std::uint32_t* mask, std::size_t words, std::size_t most);

struct MaskedSums {
  double allowed, masked;
};

// The sums of the numbers whose bits are set and of the others, those past the mask among them. In four lanes of
// float32, which are emptied into float64 after 64 additions each.
MaskedSums allowed_sums(const float* numbers, std::size_t width, const std::uint32_t* mask, std::size_t words);

}  // namespace detent

// The masks of many matchers at once, on several threads.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

#include "runtime/matcher.h"

namespace detent {

// Writes the mask of matchers[i] to row i, at `rows + i * stride` words: first the rows that need only a look-up, then
// the others on several threads. Throws the error of the lowest row.
void fill_batch(std::span<Matcher* const> matchers, std::uint32_t* rows, std::size_t stride, unsigned threads);

}  // namespace detent

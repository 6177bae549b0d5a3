// The masks of many matchers at once, on several threads.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

#include "runtime/matcher.h"

namespace detent {

// Fills the mask row i, at `rows + i * stride` words, from matchers[i]: first the rows that take a look-up only, then
// the others on several threads. Throws the error of the lowest row.
void fill_batch(std::span<Matcher* const> matchers, std::uint32_t* rows, std::size_t stride, unsigned threads);

}  // namespace detent

// Batch: the masks of many matchers at once, on several threads.
#pragma once

#include <cstdint>
#include <span>

#include "runtime/matcher.h"

namespace detent {

// Fills row i (at `rows + i * stride` words) from matchers[i]. Threads live for the call only, so that a process may
// fork between calls; the first error of the lowest row is thrown when all threads have ended.
void fill_rows(std::span<Matcher* const> matchers, std::uint32_t* rows, std::size_t stride, unsigned threads);

}  // namespace detent

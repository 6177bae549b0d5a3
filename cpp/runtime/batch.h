// The masks of many matchers at once, on several threads.
#pragma once

#include <cstdint>
#include <span>

#include "runtime/matcher.h"

namespace detent {

// Fills the mask row i, at `rows + i * stride` words, from matchers[i]. Threads live for one call, so that a process
// may fork between calls. When all threads have ended, the error of the lowest row is thrown.
void fill_batch(std::span<Matcher* const> matchers, std::uint32_t* rows, std::size_t stride, unsigned threads);

}  // namespace detent

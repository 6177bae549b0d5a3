// Lengths of strings, saturated at UINT32_MAX: a budget needs "at least this long" only.
#pragma once

#include <algorithm>
#include <cstdint>

namespace detent {

inline std::uint32_t saturating_add(std::uint64_t x, std::uint64_t y) {
  return static_cast<std::uint32_t>(std::min<std::uint64_t>(x + y, UINT32_MAX));
}

inline std::uint32_t saturating_multiply(std::uint64_t x, std::uint64_t y) {
  return static_cast<std::uint32_t>(std::min<std::uint64_t>(x * y, UINT32_MAX));
}

}  // namespace detent

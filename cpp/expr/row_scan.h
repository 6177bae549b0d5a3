// Passing over the entries of a transition row. Inside a word, one of up to 256 has a successor.
#pragma once

#include <algorithm>
#include <cstdint>

#include "expr/expr_set.h"

namespace detent {

// Whether all of a block of entries are the empty language.
inline constexpr std::uint32_t kRowBlock = 16;
inline bool is_empty_block(const ExprId* entries) {
  static_assert(ExprSet::kEmpty == ExprId{0});
  std::uint32_t any = 0;
  for (std::uint32_t i = 0; i < kRowBlock; ++i) any |= entries[i].value;
  return any == 0;
}

// Calls visit(byte class) for each entry that is not the empty language, ascending, until one call returns true.
// Returns whether one did.
template <class Visit>
bool any_successor(const ExprId* row, std::uint32_t class_count, Visit visit) {
  for (std::uint32_t c = 0; c < class_count;) {
    const std::uint32_t end = std::min(c + kRowBlock, class_count);
    if (end == c + kRowBlock && is_empty_block(row + c)) c = end;
    for (; c < end; ++c) {
      if (row[c] != ExprSet::kEmpty && visit(c)) return true;
    }
  }
  return false;
}

}  // namespace detent

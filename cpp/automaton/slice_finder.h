// find_slices: splits a state into slices (slice_analysis.h) and other alternatives.
#pragma once

#include <cstdint>
#include <optional>
#include <unordered_map>
#include <utility>
#include <vector>

#include "automaton/byte_resets.h"
#include "automaton/liveness.h"
#include "expr/derivative.h"
#include "expr/expr_set.h"

namespace detent {

// The bytes of JSON numbers.
inline constexpr ByteSet kNumberBytes = ByteSet::range('0', '9') | ByteSet::of('+') | ByteSet::of('-') |
                                        ByteSet::of('.') | ByteSet::of('e') | ByteSet::of('E');

struct Slice {
  ExprId prefix;  // ends in one byte after a loop or a JSON string; or is white space, a value, or an item of a list
  ExprId continuation;       // the slice is the concatenation of both
  bool is_value = false;     // found by SliceAnalysis::split only; a token may leave it at more than one position
  bool ends_number = false;  // a value that ends in a number; the continuation begins with no byte of numbers
};

// The declared members, with literal names, that may come next in an object. Undeclared members are other alternatives.
struct DeclaredMembers {
  ExprId state;                        // Op::ordered after a separator, and what follows it
  std::optional<std::uint8_t> before;  // a byte, such as a space
};

// A state as the union of slices, of declared members and of other alternatives.
struct SplitState {
  std::vector<Slice> slices;
  std::vector<DeclaredMembers> declared;  // found by SliceAnalysis::split only
  std::vector<ExprId> others;             // live
};

// Returns the slices of `state` and its other alternatives. With `numbers`, a memo of the expressions whose bytes are
// those of numbers, slices may also end in a value, and choices at the head are alternatives (SliceAnalysis::split).
// Needs the lock of the automaton.
SplitState find_slices(ExprSet& exprs, Derivatives& derivatives, Liveness& liveness, ExprId state, ByteResets& resets,
                       std::unordered_map<std::uint32_t, bool>* numbers);

}  // namespace detent

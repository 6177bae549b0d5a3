// Free bytes: bytes over which no text makes a state dead, unless it makes a given larger language dead too.
//
// Case: a name that excludes the pattern `netdir_projects` dies only after "_". So a token without "_" is allowed
// wherever any JSON string allows it. The search works by exclusion:
//   1. All bytes are free at first. Follow all texts over free bytes; the states are few.
//   2. Where such a text leads to a dead state, its rarest byte is not free: start again without it.
//   3. A byte that is dead only at the start stays free; the tokens that begin with it are refused.
//   4. A byte that is dead at the start and in each state found, such as "a" in names without "a", is dead: all tokens
//      over free bytes and dead bytes with at least one dead byte are refused.
//
// Figures: names by the pattern `netdir_(projects|work)` and two others, on Llama 3: 1 ms for a mask instead of 4.
// Cost: for each byte that is not free, the rows of the states found.
#pragma once

#include <cstdint>
#include <optional>

#include "automaton/automaton.h"
#include "base/byte_set.h"
#include "vocab/vocabulary.h"

namespace detent {

struct FreeBytes {
  ByteSet dead_first;                  // tokens that begin with one of these are refused
  ByteSet dead;                        // tokens over these and free bytes are refused, if they have one of these
  ByteSet others;                      // neither dead nor free; the vocabulary lists the tokens of each
  std::uint32_t completion_bound = 0;  // of the states after texts over free bytes
};

// Returns the free bytes of `state` relative to `larger`, whose language contains that of `state`. Nothing where many
// tokens have bytes that are not free, many states follow, or the search takes more than `max_work`.
std::optional<FreeBytes> find_free_bytes(const Vocabulary& vocabulary, Automaton& automaton, ExprId state,
                                         ExprId larger, std::int64_t max_work);

}  // namespace detent

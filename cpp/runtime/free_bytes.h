// Free bytes: bytes over which no text makes a state dead, unless it makes a given larger language dead too.
//
// Case: a name that excludes the pattern `netdir_projects` dies only after "_". So a token without "_" is allowed
// wherever any JSON string allows it. The search works by exclusion:
//   1. All bytes are free at first. Follow all texts over free bytes; the states are few.
//   2. Where such a text leads to a dead state, its rarest byte is not free: start again without it.
//   3. A byte that is dead only at the start stays free; the tokens that begin with it are refused.
//   4. A byte that is dead at the start and in each state found, such as "a" in names without "a", is dead: all tokens
//      over free bytes and dead bytes with at least one dead byte are refused.
//   5. A byte that is not free leads most of the states found to another one of them: "_" does, but for the states
//      after "netdir". Only tokens with the byte after one that may lead to such a state, such as "r_", are followed.
//
// Figures: names by the pattern `netdir_(projects|work)` and two others, on Llama 3: 1 ms for a mask instead of 4.
// Inside a class of a regular expression (format `regex`), 3 ms instead of 8: seven searches of 100 states each.
// Cost: for each byte that is not free, the rows of the states found, and the texts of its tokens.
#pragma once

#include <cstdint>
#include <optional>
#include <string_view>
#include <vector>

#include "automaton/automaton.h"
#include "base/byte_set.h"
#include "vocab/vocabulary.h"

namespace detent {

// A byte that is neither dead nor free, and leads some of the states found to none of these.
struct OtherByte {
  std::uint8_t byte;
  ByteSet after;      // the bytes that lead to such a state
  bool leaves_start;  // whether the first state is one

  // Whether a token may leave the states found by this byte.
  bool may_leave(std::string_view token) const;
};

struct FreeBytes {
  ByteSet dead_first;                  // tokens that begin with one of these are refused
  ByteSet dead;                        // tokens with one of these that leave by no other byte are refused
  std::vector<OtherByte> others;       // those by which a token may leave; the vocabulary lists the tokens of each
  std::uint32_t completion_bound = 0;  // of the states found
};

// Returns the free bytes of `state` relative to `larger`, whose language contains that of `state`. Nothing where many
// tokens have bytes that are not free, many states follow, or the search takes more than `max_work`.
std::optional<FreeBytes> find_free_bytes(const Vocabulary& vocabulary, Automaton& automaton, ExprId state,
                                         ExprId larger, std::int64_t max_work);

}  // namespace detent

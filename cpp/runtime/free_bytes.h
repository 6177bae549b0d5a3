// Free bytes: bytes over which no text makes a slice dead that would not make a similar, larger one dead.
//
// A name that matches `netdrv_[a-z]+` anywhere, and matches no other pattern, dies only where another pattern matches.
// So a token without "_" is allowed wherever any string allows it. The states after texts over the free bytes are
// followed, which are few. Where one of these is dead, the rarest byte on the way to it is not free, and the search
// starts again. A byte that is dead at the start alone stays free; the tokens that begin with it are dead.
//
// A byte that leads the start and each of these states to a dead one is not followed either, such as "a" in names
// without "a": all tokens over such bytes and free ones are dead.
//
// Case: names by the pattern `netdir_(projects|work)` and two others, on Llama 3: 1 ms for a mask instead of 4.
// Cost: for each byte that is not free, the rows of the states found.
#pragma once

#include <cstdint>
#include <optional>

#include "automaton/automaton.h"
#include "base/byte_set.h"
#include "vocab/vocabulary.h"

namespace detent {

struct FreeBytes {
  ByteSet dead_first;                  // a token that begins with one of these is dead
  ByteSet dead;                        // a token over these and free bytes is dead if it has one of these
  ByteSet others;                      // neither these nor free; the vocabulary lists the tokens of each
  std::uint32_t completion_bound = 0;  // of each state after a text over free bytes
};

// Returns what the free bytes of `state` tell of the tokens, where the language of `larger` includes that of `state`;
// nothing where many tokens have other bytes, or many states follow.
std::optional<FreeBytes> find_free_bytes(const Vocabulary& vocabulary, Automaton& automaton, ExprId state,
                                         ExprId larger);

}  // namespace detent

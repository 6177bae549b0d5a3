// Special tokens: tokens without text that a language refers to by name.
//
// To an automaton, a special token is a *frame*: 0xFF, the name in units of six bits as continuation bytes, 0xFF. UTF-8
// never contains 0xFF, and no frame is a prefix of another. So a language of texts and special tokens is a language of
// bytes.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "expr/node.h"

namespace detent {

inline constexpr std::uint8_t kFrameBound = 0xFF;  // the first byte of a frame and the last

std::string special_frame(std::string_view name);

// The names of the special tokens without a fallback, sorted: a vocabulary must have them.
std::vector<std::string> special_names(const NodeRef& root);

// Returns the language for a vocabulary whose special tokens are `names`, sorted.
//   1. A special token among `names` becomes its frame; another one becomes its fallback, or the empty language.
//   2. In an intersection, an operand without special tokens applies to the text without frames.
//   3. No byte string contains 0xFF outside of frames.
//   4. Below a complement, the special tokens in `eos`, a sorted subset of `names`, occur at the end only, and none
//      stands inside a character of UTF-8.
// Throws `unsupported`.
NodeRef with_special(const NodeRef& root, const std::vector<std::string>& names, const std::vector<std::string>& eos);

// Returns the language where the special tokens in `names`, sorted, are their names as plain text.
NodeRef special_as_text(const NodeRef& root, const std::vector<std::string>& names);

// Returns the language of the texts without their special tokens.
NodeRef without_special(const NodeRef& root);

}  // namespace detent

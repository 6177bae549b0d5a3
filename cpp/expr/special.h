// Special tokens: tokens without text that a language asks for by name. To an automaton each is a string of bytes that
// no text has: 0xFF, the name in units of six bits as continuation bytes, 0xFF. So a language of texts and special
// tokens is a language of bytes, no search for a word finds one, and none begins another.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "expr/node.h"

namespace detent {

inline constexpr std::uint8_t kFrameBound = 0xFF;  // the first byte of a frame and the last

std::string special_frame(std::string_view name);

// The names of the special tokens that a language asks for and that have no other spelling, sorted.
std::vector<std::string> special_names(const NodeRef& root);

// The language for a vocabulary whose special tokens are `names`, sorted: a token that is not among them is its other
// spelling, or nothing. In an intersection, what asks for no special token is about the text that is left without them.
// No other byte strings with 0xFF are left. Those of `ends`, among the names and sorted, end a text: where there is a
// complement, they stand at the end alone. Throws `unsupported`.
NodeRef with_special(const NodeRef& root, const std::vector<std::string>& names, const std::vector<std::string>& ends);

// The language where these names, sorted, are plain texts.
NodeRef special_as_text(const NodeRef& root, const std::vector<std::string>& names);

// The texts that are left when special tokens, which have none, are taken out.
NodeRef without_special(const NodeRef& root);

}  // namespace detent

// The texts that a vocabulary can write: all texts, or (t1|t2|...)* where some byte has no token of its own.
#pragma once

#include <cstdint>
#include <string_view>
#include <vector>

#include "expr/node.h"

namespace detent {

// Returns the language of the concatenations of `tokens`, none of which is empty; null if every byte up to
// `highest_byte` is a token, so that every text is one. Cost: linear in the bytes of the tokens, up to a limit on the
// work that only makes the expression smaller.
NodeRef tokenizable_texts(std::vector<std::string_view> tokens, std::uint8_t highest_byte);

}  // namespace detent

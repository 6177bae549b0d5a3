// The texts that a vocabulary can write: all texts over its alphabet, or (t1|t2|...)* where some byte of the alphabet
// occurs inside longer tokens only.
#pragma once

#include <cstdint>
#include <string_view>
#include <vector>

#include "base/byte_set.h"
#include "expr/node.h"

namespace detent {

// Returns the language of the concatenations of `tokens`, none of which is empty; null if every byte of `required` is a
// token, so that every text over these bytes is one. Cost: linear in the bytes of the tokens, up to a limit on the
// work that only makes the expression smaller.
NodeRef tokenizable_texts(std::vector<std::string_view> tokens, const ByteSet& required);

}  // namespace detent

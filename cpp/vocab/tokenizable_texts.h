// The texts that a vocabulary can write, (t1|t2|...)*, where a byte occurs inside longer tokens only.
#pragma once

#include <string_view>
#include <vector>

#include "expr/node.h"

namespace detent {

// Returns the language of the concatenations of `tokens`, none of which is empty. Cost: linear in the bytes of the
// tokens, up to a limit on the work that only makes the expression smaller.
NodeRef tokenizable_texts(std::vector<std::string_view> tokens);

}  // namespace detent

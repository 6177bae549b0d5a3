// Tokenizable texts: the language (t1|t2|...)* of all concatenations of tokens. It is needed only for vocabularies with
// a byte that is no token by itself, such as one that has "ab" and "b" but not "a".
#pragma once

#include <string_view>
#include <vector>

#include "expr/node.h"

namespace detent {

// Returns the language of the concatenations of `tokens`, none of which is empty. Tokens that are concatenations of
// shorter ones are left out, as far as a work limit allows. Cost: linear in the bytes of the tokens, up to this limit.
NodeRef tokenizable_texts(std::vector<std::string_view> tokens);

}  // namespace detent

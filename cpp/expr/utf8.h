// UTF-8: a set of code points as a language of bytes, exactly: no surrogates, no overlong forms.
#pragma once

#include <cstdint>
#include <string_view>
#include <utility>
#include <vector>

#include "expr/node.h"

namespace detent {

using CodePointRange = std::pair<std::uint32_t, std::uint32_t>;  // inclusive

// Ranges may overlap and come in any order; surrogates in them are dropped. Equal suffixes are shared, so that the
// result is as small as the minimal automaton. Throws `argument` for a reversed range or one above U+10FFFF.
NodeRef utf8_chars(std::vector<CodePointRange> ranges);

// Whether a byte string is valid UTF-8.
bool is_utf8(std::string_view text);

}  // namespace detent

// A string as JSON text, in quotes.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "expr/node.h"

namespace detent {

// Returns the literals of a UTF-8 string: raw, with escapes only where JSON requires them. With `is_serialized`, a
// string that is not ASCII also gets its ASCII form with \u escapes. Serialisers write one of these two forms.
std::vector<NodeRef> written_string(std::string_view text, bool is_serialized);

}  // namespace detent

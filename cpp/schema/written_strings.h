// A string as JSON writes it, in quotes.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "expr/node.h"

namespace detent {

// The texts of a string, which is UTF-8: with escapes where JSON needs them; where `is_written`, of a string with other
// characters than ASCII, the text in ASCII too. Serialisers write these two.
std::vector<NodeRef> written_string(std::string_view text, bool is_written);

}  // namespace detent

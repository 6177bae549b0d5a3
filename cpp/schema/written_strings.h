// A string as JSON text, in quotes.
#pragma once

#include <string>
#include <string_view>

#include "expr/node.h"

namespace detent {

// The literals of a string: raw, with escapes only where JSON requires them; and its ASCII form with \u escapes, null
// where that is the same. Serialisers write one of these two forms.
struct WrittenString {
  NodeRef raw, ascii;
};

// `text` is UTF-8. Without `is_serialized`, the ASCII form is left out.
WrittenString written_string(std::string_view text, bool is_serialized);

}  // namespace detent

// A string as JSON writes it, in quotes.
#pragma once

#include <string>
#include <string_view>

#include "expr/node.h"

namespace detent {

// The texts of a string that serialisers write: with escapes where JSON needs them; and the text in ASCII, null where
// that is the same.
struct WrittenString {
  NodeRef text, in_ascii;
};

// `text` is UTF-8. Unless `is_written`, the text in ASCII is left out.
WrittenString written_string(std::string_view text, bool is_written);

}  // namespace detent

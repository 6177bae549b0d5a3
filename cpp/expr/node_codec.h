// Codec: nodes as bytes and back, for pickles and caches. The bytes are data only: children come before their parents,
// so that reading needs no recursion, and a checksum catches damage.
#pragma once

#include <string>
#include <string_view>

#include "expr/node.h"

namespace detent {

std::string encode_node(const NodeRef& root);

// Throws `argument` ("node_bytes") for bytes that encode_node does not write. Without `with_orders`, lists whose items
// have an order are such bytes: the order itself contains none, so that reading never nests deeper than once.
NodeRef decode_node(std::string_view bytes, bool with_orders = false);

}  // namespace detent

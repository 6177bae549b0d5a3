// Node codec: writes nodes as bytes and reads them back, for pickles and caches. Children come before their parents, so
// that reading needs no recursion. A checksum detects damage.
#pragma once

#include <string>
#include <string_view>

#include "expr/node.h"

namespace detent {

std::string encode_node(const NodeRef& root);

// Throws `argument` ("node_bytes") for bytes that encode_node does not write. An order of kinds is encoded inside its
// list and contains no such list: it is read without `with_orders`, so that reading nests only once.
NodeRef decode_node(std::string_view bytes, bool with_orders = false);

}  // namespace detent

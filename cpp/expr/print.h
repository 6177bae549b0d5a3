// Print: a short textual form of nodes and expressions, for golden files and debugging.
//
//   ∅ ε            the empty language, the empty string
//   [a-z] "text"   one byte of a set, a literal; char: one character of UTF-8 (nodes only)
//   x y  x|y  x&y  ~x  x*  x+  x?  x{2,5}
//   (?=x) (?!x) (?<=x) (?<!x)   lookarounds; scope(x) is their text
//   <0>            a rule; grammar(<0> where <0> = x; <1> = y)
//   json(x)        x with JSON escapes; json@hex2(x) inside an escape
//   ordered(sep; a, b?, others*)   unordered(sep; a, b?, others*){minimum,maximum}
//   distinct(sep; key rest){minimum,maximum}   names(...)   with the excluded texts of keys after a minus sign
//   munch(x of y)  maximal munch        not_before(x)  not followed by
//   <|name|>       a special token      Σ*  all byte strings
//
// The walk is iterative, and the text is cut at `max_bytes`, since a shared part is printed each time that it occurs.
#pragma once

#include <cstddef>
#include <string>

#include "expr/expr_set.h"
#include "expr/node.h"

namespace detent {

std::string print_bytes(const ByteSet& set);    // such as [0-9a-f]
std::string print_text(std::string_view text);  // such as "a\n", with \xFF for bytes outside ASCII
std::string print_node(const Node& node, std::size_t max_bytes);
std::string print_expr(const ExprSet& exprs, ExprId id, std::size_t max_bytes);

}  // namespace detent

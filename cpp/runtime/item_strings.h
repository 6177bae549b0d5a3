// ItemStrings: the strings in the text of an item of a list of distinct items, by which it differs from other items.
#pragma once

#include <cstddef>
#include <string_view>
#include <vector>

namespace detent {

// A string in the text of an item, from its quotation mark to the one at its end, if that was read.
struct StringSpan {
  std::size_t begin;
  std::size_t end;
  bool is_open;
};

// The strings by which an item differs from others: the one that it begins with, which is the item or the name of a
// member; or all strings of an array or object. None where the item has escapes or ends inside a character.
std::vector<StringSpan> strings_of(std::string_view item);
// The string that the item ends in, with its quotation mark; empty where it ends in none.
std::string_view open_string(std::string_view item);
// Whether all later items of a completion that has no escapes are known to differ from the item: an equal one contains
// the bytes of each of its strings.
bool repeats_no_item(std::string_view completion, std::string_view item);

}  // namespace detent

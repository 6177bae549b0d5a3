#include "runtime/item_strings.h"

#include <algorithm>
#include <cstdint>

namespace detent {
namespace {

bool ends_inside_character(std::string_view text) {
  std::size_t continuations = 0;
  while (continuations < text.size() && (text[text.size() - 1 - continuations] & 0xC0) == 0x80) ++continuations;
  if (continuations == text.size()) return true;
  const auto lead = static_cast<std::uint8_t>(text[text.size() - 1 - continuations]);
  const std::size_t expected = lead < 0xC0 ? 0 : lead < 0xE0 ? 1 : lead < 0xF0 ? 2 : 3;
  return continuations < expected;
}

}  // namespace

std::vector<StringSpan> strings_of(std::string_view item) {
  if (item.empty() || std::string_view("\"[{").find(item[0]) == std::string_view::npos) return {};
  if (item.find('\\') != std::string_view::npos || ends_inside_character(item)) return {};
  std::vector<StringSpan> found;
  for (std::size_t begin = item.find('"'); begin != std::string_view::npos;) {
    const std::size_t quote = item.find('"', begin + 1);
    const bool is_open = quote == std::string_view::npos;
    found.push_back({begin, is_open ? item.size() : quote + 1, is_open});
    if (is_open || item[0] == '"') break;
    begin = item.find('"', quote + 1);
  }
  return found;
}

std::string_view open_string(std::string_view item) {
  const std::vector<StringSpan> strings = strings_of(item);
  return !strings.empty() && strings.back().is_open ? item.substr(strings.back().begin) : std::string_view();
}

bool repeats_no_item(std::string_view completion, std::string_view item) {
  return completion.find('\\') == std::string_view::npos &&
         std::ranges::any_of(strings_of(item), [&](const StringSpan& each) {
           return completion.find(item.substr(each.begin, each.end - each.begin)) == std::string_view::npos;
         });
}

}  // namespace detent

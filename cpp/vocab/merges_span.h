// The position of the merges in a Hugging Face tokenizer.json.
//
// The tokens of a vocabulary do not depend on the merges, which take four fifths of a file: 280,000 pairs of strings
// for Llama 3. So a loader cuts them out before it parses the file, and parses the whole file where canonical tokens
// need the merges.
#pragma once

#include <cstddef>
#include <optional>
#include <string_view>
#include <utility>

namespace detent {

// The first position of the array `model.merges` and the position after it. Nothing where the text is not UTF-8 JSON in
// the usual form: a member is missing or doubled, a name has an escape, or the array contains anything but strings and
// arrays. If the text with `[]` in the array's position is JSON, so is the text, but for errors inside the array: the
// caller must parse the array before it uses it. Time: a pass over the text, without recursion.
std::optional<std::pair<std::size_t, std::size_t>> merges_span(std::string_view json);

}  // namespace detent

// MergeReader: the merge table of a Hugging Face tokenizer.json, from the JSON text of its array `model.merges`.
//
// An entry is a string of two names with a space between, "a b", or an array of two names, ["a", "b"]. Each name, and
// the two joined, is the name of a token. A table of 280,000 merges takes some 50 ms.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "bpe/merge_table.h"

namespace detent {

class MergeReader {
 public:
  // The names, in UTF-8, and the ids of all tokens. The names must outlive the reader.
  explicit MergeReader(const std::vector<std::pair<std::string_view, std::uint32_t>>& ids);

  // The merges in order, with their position as rank. Leaves out merges whose right name contains `unmerged`, if that
  // is not empty. Throws `argument` ("merges", position) at an entry of another form, or a name that is no token's.
  std::vector<Merge> read(std::string_view json, std::string_view unmerged) const;

 private:
  struct Slot {
    std::uint32_t hash = 0;
    std::uint32_t index = MergeTable::kNone;  // in names_
  };
  std::optional<std::uint32_t> find(std::string_view name) const;

  std::vector<std::pair<std::string_view, std::uint32_t>> names_;
  std::vector<Slot> slots_;  // open addressing
};

}  // namespace detent

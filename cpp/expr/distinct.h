// Distinct: lists of JSON values of which no two are equal, and lists of members of which no two have one name.
//
// 1. A list is: a key (a value, or a name), the rest of the item, a separator, the next key, and so on. The state of a
//    list has the texts of the keys that were read, as an expression: the next key is over all other texts.
// 2. While an item is being read, the list after it is `open`: it does not know the key of this item yet. So the states
//    inside an item, and their masks, do not depend on the text of the item.
// 3. The first byte after the item makes the list `closed`: a list without keys, so that what follows the item does not
//    depend on the items before. Then `bind` gives it the keys of the open list, and the key that the text tells. A
//    state with an open list needs its text for that: it is a `remembered` expression, a pair of both.
// (docs/algorithms/distinct.md.)
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "expr/expr.h"
#include "expr/members.h"

namespace detent {

enum class DistinctKind : std::uint8_t { values, names };

enum class ItemPhase : std::uint8_t {
  bound,   // the keys of all items that were read are known
  open,    // the key of the item before the list is not: it is being read
  closed,  // it is not: the item was read
};

struct DistinctList {
  ExprId separator, key, rest;
  DistinctKind kind = DistinctKind::values;
  bool may_shift = true;      // Decimal::may_shift of the numbers in keys
  bool is_unbounded = false;  // there are more keys than a text can hold
  // Some shortest keys: a text, its JsonValue::key(), and the length of the item. The lengths ascend. They are those
  // that the states on the way through the text are known to have, which may be longer.
  std::vector<std::string> texts{};
  std::vector<std::string> keys{};
  std::vector<std::uint32_t> lengths{};
  bool has_all_keys = false;  // there are no other keys
};

// A list from a position on.
struct DistinctState {
  std::uint32_t list = 0;     // index of its DistinctList
  ExprId excluded;            // the texts of the keys that were read, but for strings
  ExprId excluded_strings;    // the strings that were read, without escapes
  ExprId key;                 // the keys of the list without them
  std::uint32_t minimum = 0;  // items that must still come
  std::uint32_t maximum = 0;  // items that may still come
  MemberPosition position = MemberPosition::start;
  ItemPhase phase = ItemPhase::bound;
  std::vector<std::uint64_t> used{};  // those of the shortest keys that were read, as bits
  bool operator==(const DistinctState&) const = default;
};

}  // namespace detent

// Distinct: lists of JSON values of which no two are equal, and lists of members of which no two have one name.
//
// 1. A list is: a key (a value, or a name), the rest of the item, a separator, the next key, and so on. The state of a
//    list has the texts of the keys that were read, as an expression: the next key is over all other texts.
// 2. While an item is being read, the list after it is `open`: it does not know the key of this item yet. So the states
//    inside an item, and their masks, do not depend on the text of the item.
// 3. The first byte after the item makes the list `closed`: a list without keys, so that what follows the item does not
//    depend on the items before. Then `bind` gives it the keys of the open list, and the key that the text tells. A
//    state with an open list needs its text for that: it is a `remembered` expression, a pair of both.
// 4. A list may have items of several kinds: with a key, or without one. Then `order` says which sequences of kinds the
//    list may be, such as the members of a JSON object that a formula allows.
// (docs/algorithms/distinct.md.)
#pragma once

#include <cstdint>
#include <memory>
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

// The keys that an item may have.
struct DistinctKeys {
  ExprId key;
  bool is_unbounded = false;  // there are more keys than a text can hold
  // Some shortest keys: a text, its JsonValue::key(), and its length. The lengths ascend. They are those that the
  // states on the way through the text are known to have, which may be longer.
  std::vector<std::string> texts{};
  std::vector<std::string> keys{};
  std::vector<std::uint32_t> lengths{};
  bool has_all_keys = false;    // there are no other keys
  std::uint32_t first_bit = 0;  // of these keys in DistinctState::used
};

struct ItemKind {
  static constexpr std::uint32_t kNoKey = UINT32_MAX;
  std::uint32_t keys = kNoKey;  // index of its DistinctKeys
  ExprId rest;                  // what follows the key; the whole item where it has none
  std::uint32_t rest_length = 0;
};

// The sequences of kinds that a list may be: a language over the indexes of kinds. Its states are numbers; each is
// live.
class ItemOrder {
 public:
  static constexpr std::uint32_t kNone = 0;
  virtual ~ItemOrder() = default;
  virtual std::uint32_t start() = 0;  // kNone: no list at all
  virtual std::uint32_t next(std::uint32_t state, std::uint32_t kind) = 0;
  virtual bool may_end(std::uint32_t state) = 0;
  virtual Hash128 hash(std::uint32_t state) = 0;  // structural
  // The kinds of the items of some completion, as short as it is known: after the first one, those of the next state.
  virtual std::vector<std::uint32_t> completion(std::uint32_t state) = 0;
};

struct DistinctList {
  ExprId separator;
  Expr traits{};  // what all states of the list have in common, filled in by ExprSet::add_list
  std::vector<DistinctKeys> keys{};
  std::vector<ItemKind> kinds{};
  std::shared_ptr<ItemOrder> order{};  // null: all items are of the one kind
  DistinctKind kind = DistinctKind::values;
  bool may_shift = true;  // Decimal::may_shift of the numbers in keys
};

// A list from a position on.
struct DistinctState {
  std::uint32_t list = 0;       // index of its DistinctList
  ExprId excluded;              // the texts of the keys that were read, but for strings
  ExprId excluded_strings;      // the strings that were read, without escapes
  std::vector<ExprId> keys{};   // each of the list's keys without them
  std::uint32_t minimum = 0;    // items that must still come; 0 beside an order
  std::uint32_t maximum = 0;    // items that may still come
  std::uint32_t order = 0;      // the state of the list's order
  std::uint32_t open_keys = 0;  // the keys of the item that is being read, in an open or closed list
  MemberPosition position = MemberPosition::start;
  ItemPhase phase = ItemPhase::bound;
  std::vector<std::uint64_t> used{};  // those of the shortest keys that were read, as bits
  bool operator==(const DistinctState&) const = default;
};

}  // namespace detent

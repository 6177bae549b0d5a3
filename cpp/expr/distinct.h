// Distinct: lists of JSON values of which no two are equal, and lists of members of which no two have one name.
//
// 1. An item is a key (a value, or the name of a member) and a rest. The state of a list excludes the keys that were
//    read, by an expression of their texts: after [1, the next key is any number except 1, 1.0, 10e-1, ...
// 2. While an item is being read, the list after it is `open`: its state does not hold the key of this item. So the
//    states inside an item, and their masks, do not depend on the text of the item.
// 3. The first byte after the item makes the list `closed`: a list without any keys. So the transition row does not
//    depend on the items before. Then `bind` adds the keys of the open list and the key of the text just read. For this
//    an automaton pairs a state that has an open list with the text of its item: Op::remembered.
// 4. Items may be of several kinds, each with or without a key. Then `order` decides which sequences of kinds are
//    lists, such as the members of a JSON object that a formula allows.
// (docs/algorithms/distinct.md.)
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "expr/decimal.h"
#include "expr/expr.h"
#include "expr/members.h"

namespace detent {

enum class DistinctKind : std::uint8_t { values, names };

enum class ItemPhase : std::uint8_t {
  bound,   // the state holds the keys of all items before
  open,    // it lacks the key of the item that is being read
  closed,  // it lacks the keys of all items before; the last one was just read
};

// The keys that an item may have.
struct DistinctKeys {
  ExprId key;
  bool is_unbounded = false;  // there are more keys than a text can hold
  // Some shortest keys, by ascending length: a text, its JsonValue::key(), and a length. The length is the largest
  // bound that Liveness has for a state along the text; it may be above the size of the text.
  std::vector<std::string> texts{};
  std::vector<std::string> keys{};
  std::vector<std::uint32_t> lengths{};
  bool has_all_keys = false;    // there are no other keys
  std::size_t sought = 0;       // how many were searched for; 0 where the rules of the items are not defined yet
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
  virtual std::uint32_t start() = 0;  // kNone: no sequence is a list
  virtual std::uint32_t next(std::uint32_t state, std::uint32_t kind) = 0;
  virtual bool may_end(std::uint32_t state) = 0;
  virtual Hash128 hash(std::uint32_t state) = 0;  // structural
  // The kinds of the items of some short completion. Without its first kind, it is the completion of the next state.
  virtual std::vector<std::uint32_t> completion(std::uint32_t state) = 0;
};

struct DistinctList {
  ExprId separator;
  Expr traits{};  // the facts that all states of the list share, filled in by ExprSet::add_list
  std::vector<DistinctKeys> keys{};
  std::vector<ItemKind> kinds{};
  std::shared_ptr<ItemOrder> order{};  // null: all items are of the one kind
  DistinctKind kind = DistinctKind::values;
  NumberForms numbers = NumberForms::all;  // in keys
};

// The rest of a list, from a position between or inside items.
struct DistinctState {
  std::uint32_t list = 0;       // index of its DistinctList
  ExprId excluded;              // the texts of the keys that were read, except the following
  ExprId excluded_strings;      // the strings among these keys, without escapes
  ExprId excluded_integers;     // the integers among these keys, where numbers have NumberForms::integers
  std::vector<ExprId> keys{};   // the remaining keys, for each of DistinctList::keys
  std::uint32_t minimum = 0;    // items that must still come; 0 beside an order
  std::uint32_t maximum = 0;    // items that may still come
  std::uint32_t order = 0;      // the state of the list's order
  std::uint32_t open_keys = 0;  // in an open or closed list: index of the DistinctKeys of the item that is being read
  MemberPosition position = MemberPosition::start;
  ItemPhase phase = ItemPhase::bound;
  std::vector<std::uint64_t> used{};  // a bit for each of the shortest keys: whether it was read
  bool operator==(const DistinctState&) const = default;
};

}  // namespace detent

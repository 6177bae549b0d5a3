#include "expr/included_lists.h"

#include <algorithm>
#include <cstdint>
#include <span>

#include "expr/parts.h"

namespace detent {
namespace {

// A list of members in any order, and what follows it. The signatures are sets of the ids of its members, modulo 64.
struct List {
  ExprId operand, tail;
  std::span<const ExprId> parts;
  UnorderedState state;
  std::uint64_t members = 0, required = 0;
};

// Whether each text of `x` is one of `y`, as far as the members show it: those of `x` are members of `y`, and those
// that `y` requires are required by `x`.
bool is_included(const List& x, const List& y) {
  if ((x.members & ~y.members) != 0 || (y.required & ~x.required) != 0) return false;
  if (x.tail != y.tail || x.parts[0] != y.parts[0] || x.state.position != y.state.position) return false;
  if (x.parts[1] != y.parts[1] && x.parts[1] != ExprSet::kEmpty) return false;
  if (x.parts.size() > y.parts.size() || y.state.required > x.state.required) return false;
  if (y.state.minimum > std::max(x.state.minimum, x.state.required) || y.state.maximum < x.state.maximum) return false;
  const auto contains = [](std::span<const ExprId> many, std::span<const ExprId> few) {
    return std::ranges::all_of(
        few, [&](ExprId each) { return std::ranges::count(many, each) >= std::ranges::count(few, each); });
  };
  return contains(x.parts.subspan(2, x.state.required), y.parts.subspan(2, y.state.required)) &&
         contains(y.parts.subspan(2), x.parts.subspan(2));
}

}  // namespace

void drop_included_lists(const ExprSet& exprs, std::vector<ExprId>& parts) {
  constexpr std::size_t kMaxLists = 128;
  std::vector<List> lists;
  for (ExprId part : parts) {
    const auto [head, tail] = split_first(exprs, part);
    if (exprs[head].op != Op::unordered) continue;
    List list{part, tail, exprs.operands(head), exprs.unordered_state(head)};
    for (std::size_t i = 2; i < list.parts.size(); ++i) {
      const std::uint64_t bit = std::uint64_t{1} << (list.parts[i].value % 64);
      list.members |= bit;
      if (i - 2 < list.state.required) list.required |= bit;
    }
    lists.push_back(list);
    if (lists.size() > kMaxLists) return;
  }
  if (lists.size() < 2) return;
  std::vector<ExprId> dropped;
  for (const List& list : lists) {
    // Of lists that include each other, with members in another order, the first one stays.
    const bool is_in_other = std::ranges::any_of(lists, [&](const List& other) {
      return other.operand != list.operand && is_included(list, other) &&
             (other.operand < list.operand || !is_included(other, list));
    });
    if (is_in_other) dropped.push_back(list.operand);
  }
  std::erase_if(parts, [&](ExprId part) { return std::ranges::find(dropped, part) != dropped.end(); });
}

}  // namespace detent

// Lists of members, from the expressions of their parts (grammar.h). Where the separator has no text, as in a
// vocabulary without a comma, no second member follows the first.
#include <algorithm>
#include <cstdint>
#include <span>
#include <utility>
#include <vector>

#include "automaton/grammar.h"

namespace detent {

ExprId make_unordered(ExprSet& exprs, const Node& node, std::span<const ExprId> parts) {
  std::vector<ExprId> members, optional;
  for (std::size_t i = 2; i < parts.size(); ++i) {
    const bool required = node.text()[i - 2] == '1';
    if (exprs[parts[i]].nullable) throw Error(ErrorKind::argument, "nullable_member", static_cast<std::int64_t>(i - 2));
    if (parts[i] == ExprSet::kEmpty && required) return ExprSet::kEmpty;
    if (parts[i] != ExprSet::kEmpty) (required ? members : optional).push_back(parts[i]);
  }
  if (exprs[parts[1]].nullable) throw Error(ErrorKind::argument, "nullable_member", -1);
  const auto required = static_cast<std::uint32_t>(members.size());
  members.insert(members.end(), optional.begin(), optional.end());
  std::uint32_t maximum = node.kind() == NodeKind::ordered ? ExprSet::kUnbounded : node.maximum();
  if (parts[0] == ExprSet::kEmpty) maximum = std::min(maximum, 1u);
  return exprs.unordered({node.minimum(), maximum, required, MemberPosition::start}, parts[0], parts[1], members);
}

ExprId make_ordered(ExprSet& exprs, const Node& node, std::span<const ExprId> parts) {
  if (parts[0] == ExprSet::kEmpty) return make_unordered(exprs, node, parts);
  OrderedMembers members;
  members.separator = parts[0];
  members.others = parts[1];
  for (std::size_t i = 2; i < parts.size(); ++i) {
    const bool required = node.text()[i - 2] == '1';
    if (exprs[parts[i]].nullable) throw Error(ErrorKind::argument, "nullable_member", static_cast<std::int64_t>(i - 2));
    if (parts[i] == ExprSet::kEmpty && required) return ExprSet::kEmpty;
    if (parts[i] == ExprSet::kEmpty) continue;
    members.members.push_back(parts[i]);
    members.required.push_back(required);
  }
  if (exprs[parts[1]].nullable) throw Error(ErrorKind::argument, "nullable_member", -1);
  const auto position = node.minimum() > 0 ? MemberPosition::after_separator : MemberPosition::start;
  return exprs.ordered(exprs.add_members(std::move(members)), 0, position);
}

}  // namespace detent

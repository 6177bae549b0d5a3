// DistinctKeys: the list of a `distinct` node: how many keys there are, and the shortest ones.
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include "automaton/item_order.h"
#include "automaton/liveness.h"
#include "expr/expr_set.h"
#include "expr/node.h"

namespace detent {

// The kinds of the items of a list with an order.
struct NamedKinds {
  std::vector<DistinctKeys> keys{};
  std::vector<std::uint32_t> of_kind{};  // the index of its keys, or ItemKind::kNoKey
  std::shared_ptr<LanguageOrder> order{};
  std::vector<std::size_t> wanted{};  // how many of each keys a shortest list has
  std::vector<std::size_t> count_keys(std::span<const std::uint32_t> completion) const;
  std::uint32_t length_of_names() const;  // the wanted ones
};

// `keys` has for each kind its key, epsilon for none, or the empty language where no such item exists; `lengths` has
// the lengths of what follows the keys. Throws `unsupported` ("distinct_few_names") where the names may be too few for
// the order.
NamedKinds find_kinds(ExprSet& exprs, Derivatives& derivatives, Liveness& liveness, Meter& meter, const Node& node,
                      std::span<const ExprId> keys, std::vector<std::uint32_t> lengths);

// Whether the form shows that there are more values than a text can hold: some strings of the values are free. Other
// values may be infinitely many texts of few values, such as 1, 1.0, 1.00.
bool has_many_values(const ExprSet& exprs, ExprId root);

// Whether a text of a node may have the node's child of an index, as far as the number of members or rounds decides.
bool may_occur(const Node& node, std::size_t index);

// Returns the list at its start. `parts` are the expressions of the node's children; those without text must be the
// empty language. `has_many_keys`: whether there are more keys than a text can hold; not read for nodes with an order.
// `is_nested`: whether the list is inside the values of another one, which exclude values of it. Few keys are then
// members in any order. Throws `unsupported` ("distinct_keys") if the node asks for more items than keys are found, and
// ("distinct_nested") if lists are nested in items of which there may be few, or the nested ones may have few items of
// unknown number.
ExprId make_distinct(ExprSet& exprs, Derivatives& derivatives, Liveness& liveness, Meter& meter, const Node& node,
                     std::span<const ExprId> parts, bool is_nested, bool has_many_keys);

}  // namespace detent

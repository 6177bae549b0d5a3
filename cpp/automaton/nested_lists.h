// NestedLists: the lists of distinct items inside the values of other ones.
//
// The outer list excludes values, so the inner one may have to go on: after [[1,2],[1 it cannot end with 2. An open
// list does not exclude the item that is being read. Where its values are few, that item may be the only way to go on.
#pragma once

#include <unordered_set>
#include <vector>

#include "expr/node.h"

namespace detent {

class NestedLists {
 public:
  // Adds the lists inside the values of `list`. Each node is visited once.
  void add_inside(const Node& list) {
    if (list.has_order() || list.text() != "values") return;  // names are no lists
    std::vector<const Node*> pending{list.children()[1].get()};
    while (!pending.empty()) {
      const Node* node = pending.back();
      pending.pop_back();
      are_all_nested_ |= node->is_open();  // a rule may have any of the lists
      if (!node->has_distinct() || !nodes_.insert(node).second) continue;
      for (const NodeRef& child : node->children()) pending.push_back(child.get());
    }
  }
  bool contain(const Node& list) const { return are_all_nested_ || nodes_.contains(&list); }

 private:
  std::unordered_set<const Node*> nodes_;  // all nodes around and inside these lists
  bool are_all_nested_ = false;
};

}  // namespace detent

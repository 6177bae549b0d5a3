#include "automaton/shared_parts.h"

#include <algorithm>
#include <deque>
#include <mutex>
#include <utility>
#include <vector>

#include "base/fork_guard.h"
#include "base/pointer_map.h"

namespace detent {
namespace {

constexpr std::size_t kMostParts = 32;

struct Shared {
  std::mutex mutex;
  std::deque<NodeRef> nodes;
  std::deque<std::shared_ptr<const SharedPart>> parts;
};

Shared& shared() {
  static Shared instance;
  return instance;
}

// The first of `nodes` that `root` contains.
const NodeRef* find_inside(const NodeRef& root, const std::deque<NodeRef>& nodes) {
  std::uint32_t least_depth = UINT32_MAX;
  for (const NodeRef& node : nodes) least_depth = std::min(least_depth, node->depth());
  if (root->depth() < least_depth) return nullptr;
  PointerMap<bool> seen;
  std::vector<const Node*> pending{root.get()};
  while (!pending.empty()) {
    const Node* next = pending.back();
    pending.pop_back();
    const auto found = std::ranges::find(nodes, next, &NodeRef::get);
    if (found != nodes.end()) return &*found;
    for (const NodeRef& child : next->children()) {
      if (child->depth() >= least_depth && seen.insert(child.get(), true)) pending.push_back(child.get());
    }
  }
  return nullptr;
}

}  // namespace

void share(const NodeRef& node) {
  const ForkGuard guard;
  const std::lock_guard lock(shared().mutex);
  shared().nodes.push_back(node);
  if (shared().nodes.size() > kMostSharedNodes) shared().nodes.pop_front();
}

// The part is made without the lock: two threads may make the same one.
std::shared_ptr<const SharedPart> find_shared_part(const NodeRef& root, const ByteSet& alphabet) {
  NodeRef node;
  {
    const ForkGuard guard;
    const std::lock_guard lock(shared().mutex);
    const NodeRef* found = find_inside(root, shared().nodes);
    if (!found) return nullptr;
    for (const auto& part : shared().parts) {
      if (part->root.get() == found->get() && part->alphabet == alphabet)
        return part->nodes.has_json_strings ? part : nullptr;
    }
    node = *found;
  }
  auto part = std::make_shared<const SharedPart>(node, alphabet);
  const ForkGuard guard;
  const std::lock_guard lock(shared().mutex);
  shared().parts.push_back(part);
  if (shared().parts.size() > kMostParts) shared().parts.pop_front();
  return part->nodes.has_json_strings ? part : nullptr;
}

}  // namespace detent

#include "runtime/alternative_walk.h"

#include <algorithm>

#include "base/utf8_position.h"
#include "expr/lengths.h"
#include "runtime/reference_walk.h"
#include "runtime/trie_walk.h"

namespace detent {
namespace {}  // namespace

void AlternativeWalk::run(ExprId state, ExprId reference, std::size_t first, std::size_t end) {
  const auto& class_of = automaton_.class_of();
  const std::uint32_t depth = trie_[first].depth;
  path_.resize(vocabulary_.max_token_length() - depth + std::size_t{1});
  path_[0] = {automaton_.split(state), reference};
  for (std::size_t i = first; i < end;) {
    const TrieNode& node = trie_[i];
    const bool is_passed = targets_ && !targets_->any_between(i, node.next);
    if (is_passed || is_shorter_below(vocabulary_, i, equal_below_)) {
      i = node.next;
      continue;
    }
    const std::uint8_t byte_class = class_of[node.byte];
    const Position& at = path_[node.depth - depth];
    Position& after = path_[node.depth - depth + std::size_t{1}];
    after.reference = at.reference == ExprSet::kEmpty ? at.reference : automaton_.row(at.reference)[byte_class];
    if (node.subtree && take_subtree(at, after.reference, i)) {
      i = node.next;
      continue;
    }
    alternatives_.find_successors(at.set, byte_class, after.set);
    alternatives_.drop_included(after.set);
    if (after.set.empty() && after.reference == ExprSet::kEmpty) {
      i = node.next;
      continue;
    }
    if (exits_) {
      exits_->note(i, node.next, {!after.set.empty(), accepts(after.set)},
                   {after.reference != ExprSet::kEmpty, automaton_.accepting(after.reference)});
    }
    if (after.set.empty()) {
      for (; i < node.next; ++i) for_each_id(vocabulary_, trie_[i].token, [this](auto id) { builder_.refuse(id); });
      continue;
    }
    if (node.token != TrieNode::kNoToken) {
      for_each_id(vocabulary_, node.token, [this](auto id) { builder_.allow(id); });
      builder_.note_length(completion_bound(after.set));
    }
    ++i;
  }
}

// Allows the whole subtree at once if one alternative stays live throughout. In a slice, no token may leave it.
bool AlternativeWalk::take_subtree(const Position& at, ExprId reference_next, std::size_t i) {
  const Subtree& subtree = vocabulary_.subtrees()[trie_[i].subtree];
  std::uint32_t bound = UINT32_MAX;
  bool is_live = false;
  for (AlternativeId id : at.set) {
    if (exits_ && !(alternatives_[id].last_bytes & subtree.used).empty()) return false;
    const AlternativeLoop* each = alternatives_.loop(id, subtree.last - subtree.first);
    if (!each || subtree.height > each->reach || !subtree.used.is_subset_of(each->loop.bytes)) continue;
    is_live = true;
    bound = std::min(bound, each->loop.completion_bound);
  }
  if (!is_live) return false;
  if (exits_ && reference_next != ExprSet::kEmpty) {
    exits_->removed.emplace_back(static_cast<std::uint32_t>(i), trie_[i].next);
  }
  builder_.allow(vocabulary_.ids_in_order().data() + subtree.first, subtree.last - subtree.first);
  builder_.note_length(subtree.whole ? bound : saturating_add(bound, kMaxContinuationBytes));
  return true;
}

bool AlternativeWalk::accepts(const AlternativeSet& set) {
  return std::ranges::any_of(set, [this](AlternativeId id) { return alternatives_[id].accepting; });
}

std::uint32_t AlternativeWalk::completion_bound(const AlternativeSet& set) {
  std::uint32_t least = UINT32_MAX;
  for (AlternativeId id : set) least = std::min(least, alternatives_[id].completion_bound);
  return least;
}

}  // namespace detent

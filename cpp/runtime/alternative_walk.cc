#include "runtime/alternative_walk.h"

#include <algorithm>

#include "base/utf8_position.h"
#include "expr/lengths.h"
#include "runtime/reference_walk.h"
#include "runtime/trie_walk.h"

namespace detent {
namespace {

// Of the sets that a walk remembers, about; and of one beside its elements and successors.
constexpr std::size_t kMostBytes = 16 << 20, kSetBytes = 128;

}  // namespace

void AlternativeWalk::run(ExprId state, ExprId reference, std::size_t first, std::size_t end) {
  const auto& class_of = automaton_.class_of();
  const std::uint32_t depth = trie_[first].depth;
  path_.resize(vocabulary_.max_token_length() - depth + std::size_t{1});
  AlternativeSet start = automaton_.split(state);
  path_[0] = {add(start), reference};
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
    if (bytes_ > kMostBytes) forget_sets(node.depth - depth);
    after.set = alternatives_.successor(sets_, at.set, byte_class, [this](AlternativeSet& set) { return add(set); });
    const bool is_live = !sets_[after.set].empty();
    if (!is_live && after.reference == ExprSet::kEmpty) {
      i = node.next;
      continue;
    }
    if (exits_) {
      exits_->note(i, node.next, {is_live, known_[after.set].accepting},
                   {after.reference != ExprSet::kEmpty, automaton_.accepting(after.reference)});
    }
    if (!is_live) {
      for (; i < node.next; ++i) for_each_id(vocabulary_, trie_[i].token, [this](auto id) { builder_.refuse(id); });
      continue;
    }
    if (node.token != TrieNode::kNoToken) {
      for_each_id(vocabulary_, node.token, [this](auto id) { builder_.allow(id); });
      builder_.note_length(known_[after.set].completion_bound);
    }
    ++i;
  }
}

AlternativeWalk::SetId AlternativeWalk::add(AlternativeSet& set) {
  if (!std::ranges::is_sorted(set)) std::ranges::sort(set);
  const SetId id = sets_.add(set);
  if (id < known_.size()) return id;
  Known& known = known_.emplace_back();
  for (AlternativeId each : set) {
    const Alternative& alternative = alternatives_[each];
    known.accepting = known.accepting || alternative.accepting;
    known.completion_bound = std::min(known.completion_bound, alternative.completion_bound);
    if (exits_) known.last_bytes = known.last_bytes | alternative.last_bytes;
  }
  bytes_ += sizeof(Known) + kSetBytes + sizeof(AlternativeId) * set.size() + sizeof(SetId) * automaton_.class_count();
  return id;
}

// Forgets all sets but those of the path up to a depth.
void AlternativeWalk::forget_sets(std::size_t depth) {
  std::vector<AlternativeSet> kept;
  for (std::size_t i = 0; i <= depth; ++i) kept.emplace_back(sets_[path_[i].set].begin(), sets_[path_[i].set].end());
  sets_ = Table(automaton_.class_count());
  known_.clear();
  bytes_ = 0;
  for (std::size_t i = 0; i <= depth; ++i) path_[i].set = add(kept[i]);
}

// The bytes of all loops in a set that are known, or worth finding for a subtree of `ids` ids.
const ByteSet& AlternativeWalk::loop_bytes(SetId set, std::uint32_t ids) {
  const bool finds_all = ids >= AlternativeSets::kWorthwhile;
  Known& known = known_[set];
  if (known.knows_all_loops || (known.knows_loops && !finds_all)) return known.loop_bytes;
  for (AlternativeId id : sets_[set]) {
    if (const AlternativeLoop* each = alternatives_.loop(id, ids))
      known.loop_bytes = known.loop_bytes | each->loop.bytes;
  }
  known.knows_loops = true;
  known.knows_all_loops = finds_all;
  return known.loop_bytes;
}

// Allows the whole subtree at once if one alternative stays live throughout. In a slice, no token may leave it.
bool AlternativeWalk::take_subtree(const Position& at, ExprId reference_next, std::size_t i) {
  const Subtree& subtree = vocabulary_.subtrees()[trie_[i].subtree];
  const std::uint32_t ids = subtree.last - subtree.first;
  if (exits_ && !(known_[at.set].last_bytes & subtree.used).empty()) return false;
  if (!subtree.used.is_subset_of(loop_bytes(at.set, ids))) return false;
  std::uint32_t bound = UINT32_MAX;
  bool is_live = false;
  for (AlternativeId id : sets_[at.set]) {
    const AlternativeLoop* each = alternatives_.loop(id, ids);
    if (!each || subtree.height > each->reach || !subtree.used.is_subset_of(each->loop.bytes)) continue;
    is_live = true;
    bound = std::min(bound, each->loop.completion_bound);
  }
  if (!is_live) return false;
  if (exits_ && reference_next != ExprSet::kEmpty) {
    exits_->removed.emplace_back(static_cast<std::uint32_t>(i), trie_[i].next);
  }
  builder_.allow(vocabulary_.ids_in_order().data() + subtree.first, ids);
  builder_.note_length(subtree.whole ? bound : saturating_add(bound, kMaxContinuationBytes));
  return true;
}

}  // namespace detent

#include "machine/masks.h"

#include <algorithm>
#include <utility>

#include "base/fork_guard.h"

namespace detent {
namespace {

constexpr std::uint32_t kCharacter = 4 * ExprSet::kEscape;  // bytes that the rest of a character may take at most
constexpr std::uint64_t kFragment = 0x66726167;  // sets the keys of fragments apart from those of masks

std::uint32_t sum(std::uint64_t x, std::uint64_t y) { return static_cast<std::uint32_t>(std::min<std::uint64_t>(x + y, UINT32_MAX)); }

}  // namespace

std::shared_ptr<const Mask> Masks::compute(ExprId state) {
  Automaton::Beginnings beginnings{{}, state};
  if (!vocabulary_.spelling()) beginnings = automaton_.beginnings(state);
  std::vector<std::shared_ptr<const Mask>> fragments;
  for (const auto& [beginning, then] : beginnings.pairs) fragments.push_back(fragment(beginning));
  // From here on the thread builds one mask only (MaskBuilder).
  MaskBuilder builder(vocabulary_.word_count());
  const auto nothing = [](std::uint32_t, std::uint32_t) {};
  for (std::size_t i = 0; i < fragments.size(); ++i) {
    builder.add(fragments[i]);
    builder.reach(sum(fragments[i]->farthest(), automaton_.completion_length(beginnings.pairs[i].second)));
    walk(fragments[i]->crossing(), beginnings.pairs[i].second, builder);
  }
  const ExprId rest = beginnings.rest;
  if (rest == ExprSet::kEmpty) return builder.finish();
  if (rest != state) {
    walk(rest, {}, builder, nothing);
    return builder.finish();
  }
  const Like like = find_like(automaton_.row(state));
  if (like.mask) builder.copy_from(*like.mask);
  walk(state, like, builder, nothing);
  if (!like.mask) remember(state);
  return builder.finish();
}

std::shared_ptr<const Mask> Masks::fragment(ExprId beginning) {
  const Hash128 key = mix(automaton_.hash(beginning), kFragment);
  if (std::shared_ptr<const Mask> known = vocabulary_.cache().find(key)) return known;
  MaskBuilder builder(vocabulary_.word_count());
  std::vector<std::pair<std::string_view, std::uint32_t>> rests;
  const std::vector<TrieNode>& trie = vocabulary_.trie();
  walk(beginning, {}, builder, [&](std::uint32_t first, std::uint32_t last) {
    for (std::uint32_t i = first; i < last; ++i) {
      const std::uint32_t token = trie[i].token;
      if (token == TrieNode::kNoToken) continue;
      const std::size_t read = trie[first].depth;
      if (token & TrieNode::kShared) {
        for (std::uint32_t id : vocabulary_.shared_ids(token)) rests.emplace_back(vocabulary_.bytes(id).substr(read), id);
      } else {
        rests.emplace_back(vocabulary_.bytes(token).substr(read), token);
      }
    }
  });
  std::shared_ptr<const Mask> mask = builder.finish(Crossing::of(std::move(rests)));
  vocabulary_.cache().insert(key, mask);
  return mask;
}

void Masks::walk(const Crossing& crossing, ExprId state, MaskBuilder& builder) {
  const auto& class_of = automaton_.class_of();
  thread_local std::vector<const ExprId*> path;
  path.resize(vocabulary_.longest() + std::size_t{1});
  path[0] = automaton_.row(state);
  ExprId reached = ExprSet::kEmpty;  // by the last token
  for (std::size_t i = 0; i < crossing.nodes.size();) {
    const Crossing::Node& node = crossing.nodes[i];
    const ExprId next = path[node.depth][class_of[node.byte]];
    if (next == ExprSet::kEmpty) {
      i = node.next;
      continue;
    }
    for (std::uint32_t k = node.first; k < node.last; ++k) builder.allow(crossing.ids[k]);
    if (node.first < node.last && next != reached) builder.reach(automaton_.completion_length(reached = next));
    if (++i < node.next) path[node.depth + std::size_t{1}] = automaton_.row(next);
  }
}

Masks::Like Masks::find_like(const ExprId* row) {
  const ForkGuard guard;
  const std::lock_guard lock(examples_mutex_);
  ExprId best;
  std::int64_t most = 0;
  for (ExprId example : examples_) {
    const ExprId* other = automaton_.row(example);
    std::int64_t agreement = 0;  // trie nodes that lead to the same state, less those that do not
    for (unsigned byte = 0; byte < 256; ++byte) {
      const std::uint8_t c = automaton_.class_of()[byte];
      if (row[c] == ExprSet::kEmpty && other[c] == ExprSet::kEmpty) continue;
      const std::uint32_t nodes = vocabulary_.nodes_below(static_cast<std::uint8_t>(byte));
      agreement += row[c] == other[c] ? std::int64_t{nodes} : -std::int64_t{nodes};
    }
    if (agreement > most) {
      most = agreement;
      best = example;
    }
  }
  if (best == ExprSet::kEmpty) return {};
  std::shared_ptr<const Mask> mask = vocabulary_.cache().find(automaton_.hash(best));
  if (!mask) std::erase(examples_, best);
  return {best, std::move(mask)};
}

void Masks::remember(ExprId state) {
  const ForkGuard guard;
  const std::lock_guard lock(examples_mutex_);
  if (examples_.size() == kExamples) examples_.erase(examples_.begin());
  examples_.push_back(state);
}

// Among thousands of banned words nearly every state is new, but after a byte or two most of its tokens lead where they lead
// from some state before. So start from the mask of a state that is like this one, and walk only where the two part.
// 10,000 English words on Llama 3: 20 us a new state instead of 2 ms; the price is below 1 us where no state is like it.
template <class AtEnd>
void Masks::walk(ExprId state, const Like& like, MaskBuilder& builder, AtEnd at_end) {
  struct Place {
    ExprId state;
    const ExprId* row;
    const ExprId* like;  // the row where the like state's path leads, or null if it leads nowhere
  };
  const std::vector<TrieNode>& trie = vocabulary_.trie();
  const auto& class_of = automaton_.class_of();
  const bool every_byte = vocabulary_.spelling() == nullptr;
  thread_local std::vector<Place> path_buffer;
  path_buffer.resize(vocabulary_.longest() + std::size_t{1});
  Place* const path = path_buffer.data();  // path[d] is where the first d bytes of the present token lead
  path[0] = {state, automaton_.row(state), like.mask ? automaton_.row(like.state) : nullptr};
  const auto each = [this](std::uint32_t token, auto act) {
    if (token == TrieNode::kNoToken) return;
    if (token & TrieNode::kShared) {
      for (std::uint32_t id : vocabulary_.shared_ids(token)) act(id);
    } else {
      act(token);
    }
  };
  ExprId reached = ExprSet::kEmpty;  // by the last token
  const auto allow = [&builder](std::uint32_t id) { builder.allow(id); };
  const auto refuse = [&builder](std::uint32_t id) { builder.refuse(id); };

  for (unsigned byte = 0; byte < 256; ++byte) {
    const std::uint8_t first_class = class_of[byte];
    if (path[0].row[first_class] == (path[0].like ? path[0].like[first_class] : ExprSet::kEmpty)) continue;
    const std::size_t begin = vocabulary_.root(static_cast<std::uint8_t>(byte));
    const std::size_t end = begin + vocabulary_.nodes_below(static_cast<std::uint8_t>(byte));
    for (std::size_t i = begin; i < end;) {
      const TrieNode& node = trie[i];
      const Place at = path[node.depth];
      const ExprId next = at.row[class_of[node.byte]];
      const ExprId like_next = at.like ? at.like[class_of[node.byte]] : ExprSet::kEmpty;
      if (next == like_next) {  // from here on both allow the same
        i = node.next;
        continue;
      }
      if (next == ExprSet::kEmpty) {
        for (; i < node.next; ++i) each(trie[i].token, refuse);
        continue;
      }
      // The whole subtree at once, if the state loops over all of it. A counted loop does, as far as the subtree can see.
      if (node.subtree && every_byte) {
        const Subtree& subtree = vocabulary_.subtrees()[node.subtree];
        const bool near = subtree.height <= Automaton::kNear;
        const ExprId from = near ? automaton_.at_horizon(at.state, Automaton::Horizon::near) : at.state;
        // Finding the loops costs a row: first see whether this byte rules one out.
        const bool may_loop = next == at.state || from != at.state || node.byte >= 0x80;
        if (may_loop && subtree.used.within(automaton_.loops(from))) {
          builder.allow(vocabulary_.ids_in_order().data() + subtree.first, subtree.last - subtree.first);
          // A token may end inside a character.
          if (from != reached) builder.reach(sum(automaton_.completion_length(reached = from), kCharacter));
          i = node.next;
          continue;
        }
      }
      if (every_byte || automaton_.spellable(next)) {
        each(node.token, allow);
        if (node.token != TrieNode::kNoToken && next != reached) builder.reach(automaton_.completion_length(reached = next));
      } else if (path[0].like) {
        each(node.token, refuse);
      }
      ++i;
      if (i < node.next) {
        if (automaton_.accepting(next)) at_end(static_cast<std::uint32_t>(i), node.next);
        path[node.depth + std::size_t{1}] = {next, next == at.state ? at.row : automaton_.row(next),
                                             like_next == ExprSet::kEmpty ? nullptr : automaton_.row(like_next)};
      }
    }
  }
}

}  // namespace detent

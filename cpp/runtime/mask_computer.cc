#include "runtime/mask_computer.h"

#include <algorithm>
#include <functional>
#include <span>
#include <utility>

#include "base/fork_guard.h"
#include "expr/json_string.h"

namespace detent {
namespace {

constexpr std::uint32_t kCharacter = 4 * kMaxEscapeLength;  // bytes that the rest of a character may take at most
constexpr std::uint64_t kSliceKey = 0x66726167;             // sets the keys of fragments apart from those of masks

std::uint32_t sum(std::uint64_t x, std::uint64_t y) {
  return static_cast<std::uint32_t>(std::min<std::uint64_t>(x + y, UINT32_MAX));
}

}  // namespace

std::shared_ptr<const Mask> MaskComputer::compute(ExprId state) {
  if (!vocabulary_.tokenizable_texts() && automaton_.begins_with_literal(state)) {
    MaskBuilder builder(vocabulary_.word_count());
    walk(state, {}, builder, nullptr);
    return builder.finish();
  }
  Automaton::SlicedState beginnings{{}, state};
  if (!vocabulary_.tokenizable_texts()) beginnings = automaton_.context_independent_prefixes(state);
  std::vector<std::shared_ptr<const Mask>> fragments;
  for (const auto& [beginning, then] : beginnings.pairs) fragments.push_back(slice_mask(beginning));
  ReferenceMask like;
  if (beginnings.rest == state) {
    if (!vocabulary_.tokenizable_texts()) like = relaxed(state, [this](ExprId wide) { return cached(wide); });
    if (like.mask && like.safe >= vocabulary_.max_token_length()) return like.mask;
    if (!like.mask) like = nearest_state(state, masks_, 0);
  }
  // From here on the thread builds one mask only (MaskBuilder).
  MaskBuilder builder(vocabulary_.word_count());
  for (std::size_t i = 0; i < fragments.size(); ++i) {
    builder.add(fragments[i]);
    builder.note_length(
        sum(fragments[i]->max_completion_bound(), automaton_.completion_bound(beginnings.pairs[i].second)));
    ExprId reached = ExprSet::kEmpty;  // by the last token
    walk(*fragments[i]->context_dependent(), beginnings.pairs[i].second, [&](std::uint32_t id, ExprId next) {
      builder.allow(id);
      if (next != reached) builder.note_length(automaton_.completion_bound(reached = next));
    });
  }
  const ExprId rest = beginnings.rest;
  if (rest == ExprSet::kEmpty) return builder.finish();
  if (rest != state) {
    walk(rest, {}, builder, nullptr);
    return builder.finish();
  }
  if (like.mask) builder.copy_from(*like.mask);
  walk(state, like, builder, nullptr);
  if (!like.mask) remember(state, masks_);
  return builder.finish();
}

std::shared_ptr<const Mask> MaskComputer::cached(ExprId state) {
  const Hash128& own = automaton_.hash(state);
  if (std::shared_ptr<const Mask> known = vocabulary_.cache().find(own, MaskCache::Kind::reference)) return known;
  std::shared_ptr<const Mask> mask = compute(state);
  vocabulary_.cache().insert(own, mask, MaskCache::Kind::reference);
  return mask;
}

template <class MaskOf>
MaskComputer::ReferenceMask MaskComputer::relaxed(ExprId state, MaskOf mask_of) {
  const Automaton::WithoutUpperBound wide = automaton_.drop_upper_bound(state);
  if (wide.state == state) return {};
  ReferenceMask like{wide.state, mask_of(wide.state)};
  // Behind a token the completion that is known without the bound must fit into the rounds that are left.
  const std::uint32_t needed = wide.alone ? 0 : like.mask->max_completion_bound();
  like.safe = wide.rounds > needed ? wide.rounds - needed : 0;
  return like;
}

std::shared_ptr<const Mask> MaskComputer::slice_mask(ExprId beginning) {
  const Hash128 own = key(automaton_.hash(beginning), kSliceKey);
  constexpr auto kind = MaskCache::Kind::slice;
  if (std::shared_ptr<const Mask> known = vocabulary_.cache().find(own, kind)) return known;
  ReferenceMask like = relaxed(beginning, [this](ExprId state) { return slice_mask(state); });
  if (like.mask && like.safe >= vocabulary_.max_token_length()) {
    vocabulary_.cache().insert(own, like.mask, kind);
    return like.mask;
  }
  if (const ExprId sooner = like.mask ? beginning : automaton_.drop_lower_bound(beginning); sooner != beginning) {
    like = {.state = sooner, .mask = slice_mask(sooner), .inside = true};
  }
  if (!like.mask) {
    // A constrained string differs from any string in few tokens: begin with that.
    const ExprId model = automaton_.any_string_like(beginning);
    if (model != beginning) {
      slice_mask(model);
      remember(model, fragments_);
    }
    like = nearest_state(beginning, fragments_, kSliceKey);
  }
  MaskBuilder builder(vocabulary_.word_count());
  if (like.mask) builder.copy_from(*like.mask);
  if (like.inside) builder.note_length(sum(automaton_.completion_bound(beginning), kCharacter));
  ExitDelta exits;
  walk(beginning, like, builder, &exits);
  std::shared_ptr<const ContextDependentTokens> crossing = like.mask ? like.mask->context_dependent() : nullptr;
  if (!crossing || !exits.added.empty() || !exits.lost.empty()) crossing = merge_exits(crossing.get(), exits);
  std::shared_ptr<const Mask> mask = builder.finish(std::move(crossing));
  vocabulary_.cache().insert(own, mask, kind);
  remember(beginning, fragments_);
  return mask;
}

std::shared_ptr<const ContextDependentTokens> MaskComputer::merge_exits(const ContextDependentTokens* like,
                                                                        const ExitDelta& exits) const {
  std::vector<ContextDependentTokens::TokenSuffix> added;
  const std::vector<TrieNode>& trie = vocabulary_.trie();
  for (std::uint32_t node : exits.added) {
    for (std::uint32_t i = node + 1; i < trie[node].next; ++i) {
      const std::uint32_t token = trie[i].token;
      if (token == TrieNode::kNoToken) continue;
      const std::size_t read = trie[node].depth + std::size_t{1};
      if (token & TrieNode::kShared) {
        for (std::uint32_t id : vocabulary_.shared_ids(token)) {
          added.push_back({vocabulary_.bytes(id).substr(read), id, node});
        }
      } else {
        added.push_back({vocabulary_.bytes(token).substr(read), token, node});
      }
    }
  }
  std::sort(added.begin(), added.end());
  if (!like) return ContextDependentTokens::of(std::move(added), exits.added);
  const auto is_lost = [&exits](std::uint32_t place) {
    const auto behind = std::ranges::upper_bound(exits.lost, place, {}, [](const auto& range) { return range.first; });
    return behind != exits.lost.begin() && place < std::prev(behind)->second;
  };
  const auto merged = [&is_lost]<class T>(const std::vector<T>& known, const std::vector<T>& more, auto place_of) {
    std::vector<T> kept;
    kept.reserve(known.size());
    std::ranges::remove_copy_if(known, std::back_inserter(kept), is_lost, place_of);
    std::vector<T> all(kept.size() + more.size());
    std::ranges::merge(kept, more, all.begin());
    return all;
  };
  return ContextDependentTokens::of(merged(like->suffixes, added, &ContextDependentTokens::TokenSuffix::place),
                                    merged(like->exits, exits.added, std::identity{}));
}

MaskComputer::ReferenceMask MaskComputer::nearest_state(ExprId state, RecentStates& examples, std::uint64_t kind) {
  const ExprId* row = automaton_.row(state);
  const ForkGuard guard;
  const std::lock_guard lock(examples.mutex);
  ExprId best;
  std::int64_t most = 0;
  for (ExprId example : examples.states) {
    const ExprId* other = automaton_.row(example);
    std::int64_t agreement = 0;  // trie nodes that lead to the same state, less those that do not
    for (unsigned byte = 0; byte < 256; ++byte) {
      const std::uint8_t c = automaton_.class_of()[byte];
      if (row[c] == ExprSet::kEmpty && other[c] == ExprSet::kEmpty) continue;
      const std::uint32_t nodes = vocabulary_.nodes_below(static_cast<std::uint8_t>(byte));
      agreement += row[c] == other[c] || near(row[c]) == near(other[c]) ? std::int64_t{nodes} : -std::int64_t{nodes};
    }
    if (agreement > most) {
      most = agreement;
      best = example;
    }
  }
  if (best == ExprSet::kEmpty) return {};
  std::shared_ptr<const Mask> mask =
      vocabulary_.cache().find(key(automaton_.hash(best), kind), MaskCache::Kind::reference);
  if (!mask) std::erase(examples.states, best);
  return {best, std::move(mask)};
}

void MaskComputer::remember(ExprId state, RecentStates& examples) {
  const ForkGuard guard;
  const std::lock_guard lock(examples.mutex);
  if (std::ranges::find(examples.states, state) != examples.states.end()) return;
  if (examples.states.size() == kExamples) examples.states.erase(examples.states.begin());
  examples.states.push_back(state);
}

// Among thousands of banned words nearly every state is new, but after a byte or two most of its tokens lead where they
// lead from some state before. So start from the mask of a state that is like this one, and walk only where the two
// part. 10,000 English words on Llama 3: 20 us a new state instead of 2 ms; the price is below 1 us where no state is
// like it.
void MaskComputer::walk(ExprId state, const ReferenceMask& like, MaskBuilder& builder, ExitDelta* exits) {
  struct Place {
    ExprId state;
    const ExprId* row;
    const ExprId* like;  // the row where the like state's path leads, or null if it leads nowhere
  };
  // Where a state begins with a text, only one path can go on: from its end to `end`, and behind that at `then`.
  struct Detour {
    std::size_t end, then;
  };
  const std::vector<TrieNode>& trie = vocabulary_.trie();
  const auto& class_of = automaton_.class_of();
  const bool every_byte = vocabulary_.tokenizable_texts() == nullptr;
  thread_local std::vector<Place> path_buffer;
  path_buffer.resize(vocabulary_.max_token_length() + std::size_t{1});
  Place* const path = path_buffer.data();  // path[d] is where the first d bytes of the present token lead
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
  // Where tokens leave the like state; only there need one look that stays as it does inside.
  std::span<const std::uint32_t> stops;
  if (like.inside) stops = like.mask->context_dependent()->exits;

  std::vector<Detour> detours;
  std::string text;
  // Allows what begins a text among the children from `i` on; returns where to go on.
  const auto follow_text = [&](ExprId from, std::size_t i, std::size_t end) {
    builder.note_length(automaton_.completion_bound(from));
    const ExprId behind = automaton_.after_literal(from, text);
    std::size_t last = i, stop = end;
    for (char byte : text) {
      while (i < stop && trie[i].byte != static_cast<std::uint8_t>(byte)) i = trie[i].next;
      if (i >= stop) return end;
      each(trie[i].token, allow);
      last = i++;
      stop = trie[last].next;
    }
    if (i >= stop) return end;
    path[trie[last].depth + std::size_t{1}] = {behind, automaton_.row(behind), nullptr};
    detours.push_back({stop, end});
    return i;
  };
  const auto scan = [&](std::size_t i, std::size_t end) {
    while (true) {
      while (!detours.empty() && i >= detours.back().end) {
        i = detours.back().then;
        detours.pop_back();
      }
      if (i >= end) return;
      const TrieNode& node = trie[i];
      if (std::uint32_t{node.depth} + vocabulary_.height(i) < like.safe && vocabulary_.height(i) < 255) {
        i = node.next;
        continue;
      }
      if (like.inside) {
        while (!stops.empty() && stops.front() < i) stops = stops.subspan(1);
        if (stops.empty()) return;
        if (stops.front() >= node.next) {
          i = node.next;
          continue;
        }
      }
      const Place at = path[node.depth];
      const ExprId next = at.row[class_of[node.byte]];
      const ExprId like_next = at.like ? at.like[class_of[node.byte]] : ExprSet::kEmpty;
      // From here on both allow the same, or do as far as the tokens reach.
      const bool is_near = vocabulary_.height(i) < Automaton::kNear;
      if (next == like_next ||
          (like_next != ExprSet::kEmpty && is_near && every_byte && near(next) == near(like_next))) {
        if (next != like_next && next != reached) builder.note_length(automaton_.completion_bound(reached = next));
        i = node.next;
        continue;
      }
      if (exits && like_next != ExprSet::kEmpty) {
        const bool ends = automaton_.accepting(next), like_ends = automaton_.accepting(like_next);
        if (next == ExprSet::kEmpty)
          exits->lost.emplace_back(static_cast<std::uint32_t>(i), node.next);
        else if (like_ends && !ends)
          exits->lost.emplace_back(static_cast<std::uint32_t>(i), static_cast<std::uint32_t>(i) + 1);
        else if (ends && !like_ends)
          exits->added.push_back(static_cast<std::uint32_t>(i));
      } else if (exits && automaton_.accepting(next)) {
        exits->added.push_back(static_cast<std::uint32_t>(i));
      }
      if (next == ExprSet::kEmpty) {
        for (; i < node.next; ++i) each(trie[i].token, refuse);
        continue;
      }
      // The whole subtree at once, if the state loops over all of it. A counted loop does, as far as the subtree can
      // see.
      if (node.subtree && every_byte && !like.inside) {
        const Subtree& subtree = vocabulary_.subtrees()[node.subtree];
        const bool near = subtree.height <= Automaton::kNear;
        const ExprId from = near ? automaton_.clamp_to_horizon(at.state, Automaton::Horizon::near) : at.state;
        // Finding the loops costs a row: first see whether this byte rules one out.
        const bool may_loop = next == at.state || from != at.state || node.byte >= 0x80;
        const bool may_leave = exits && automaton_.accepting(next);
        if (may_loop && !may_leave && subtree.used.is_subset_of(automaton_.self_loop_bytes(from))) {
          if (exits && like_next != ExprSet::kEmpty) exits->lost.emplace_back(static_cast<std::uint32_t>(i), node.next);
          builder.allow(vocabulary_.ids_in_order().data() + subtree.first, subtree.last - subtree.first);
          // A token may end inside a character.
          if (from != reached) builder.note_length(sum(automaton_.completion_bound(reached = from), kCharacter));
          i = node.next;
          continue;
        }
      }
      if (every_byte || automaton_.is_tokenizable(next)) {
        each(node.token, allow);
        if (node.token != TrieNode::kNoToken && next != reached)
          builder.note_length(automaton_.completion_bound(reached = next));
      } else if (path[0].like) {
        each(node.token, refuse);
      }
      ++i;
      if (i < node.next && like_next == ExprSet::kEmpty && every_byte && !exits &&
          automaton_.begins_with_literal(next)) {
        i = follow_text(next, i, node.next);
      } else if (i < node.next) {
        path[node.depth + std::size_t{1}] = {next, next == at.state ? at.row : automaton_.row(next),
                                             like_next == ExprSet::kEmpty ? nullptr : automaton_.row(like_next)};
      }
    }
  };
  if (every_byte && !like.mask && !exits && automaton_.begins_with_literal(state)) {
    scan(follow_text(state, 0, trie.size()), trie.size());
    return;
  }
  path[0] = {state, automaton_.row(state), like.mask ? automaton_.row(like.state) : nullptr};
  for (unsigned byte = 0; byte < 256; ++byte) {
    const std::uint8_t first_class = class_of[byte];
    if (path[0].row[first_class] == (path[0].like ? path[0].like[first_class] : ExprSet::kEmpty)) continue;
    const std::uint32_t root = vocabulary_.root(static_cast<std::uint8_t>(byte));
    if (root < trie.size() && vocabulary_.height(root) < like.safe && vocabulary_.height(root) < 255) continue;
    scan(root, root + std::size_t{vocabulary_.nodes_below(static_cast<std::uint8_t>(byte))});
  }
}

}  // namespace detent

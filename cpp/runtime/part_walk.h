// Part walk: follows a language and its first part together through the trie (part_budget_machine.h). The part may have
// a token budget of its own, such as the thinking of a turn.
#pragma once

#include <cstdint>
#include <span>
#include <string_view>
#include <vector>

#include "automaton/automaton.h"
#include "runtime/trie_walk.h"
#include "vocab/vocabulary.h"

namespace detent {

// The state of the open part after a byte; 0 where the part is complete or the text has left it.
inline ExprId part_after(Automaton& part, ExprId state, std::uint8_t byte) {
  if (state == ExprSet::kEmpty || part.accepting(state)) return ExprSet::kEmpty;
  const ExprId next = part.row(state)[part.class_of()[byte]];
  return next != ExprSet::kEmpty && part.accepting(next) ? ExprSet::kEmpty : next;
}

inline ExprId part_after(Automaton& part, ExprId state, std::string_view text) {
  for (char byte : text) state = part_after(part, state, static_cast<std::uint8_t>(byte));
  return state;
}

// A state of the whole language, and a state of the part; 0 if the part is closed.
struct PartNode {
  ExprId whole;
  ExprId part;
  bool is_open() const { return part.value != 0; }
  std::uint64_t key() const { return std::uint64_t{whole.value} << 32 | part.value; }
};

// Calls visit(tokens, node after them) for spans of text tokens that the whole language allows. A subtree of the trie
// over which both states loop gives one span; its tokens lead back to `from`. Returns the number of trie nodes visited.
// `part` may be null if it is closed.
template <class Visit>
std::int64_t walk_part(const Vocabulary& vocabulary, Automaton& whole, Automaton* part, const PartNode& from,
                       Visit visit) {
  const std::vector<TrieNode>& trie = vocabulary.trie();
  std::vector<PartNode> path(vocabulary.max_token_length() + std::size_t{1});  // path[d]: after d bytes
  path[0] = from;
  std::int64_t visited = 0;
  for (std::size_t i = 0; i < trie.size(); ++visited) {
    const TrieNode& at = trie[i];
    const PartNode& before = path[at.depth];
    const ExprId next_part = before.is_open() ? part_after(*part, before.part, at.byte) : ExprSet::kEmpty;
    const PartNode after{whole.row(before.whole)[whole.class_of()[at.byte]], next_part};
    if (after.whole == ExprSet::kEmpty) {
      i = at.next;
      continue;
    }
    if (after.key() == before.key() && at.subtree && whole.is_tokenizable(after.whole)) {
      const Subtree& subtree = vocabulary.subtrees()[at.subtree];
      const bool whole_stays = subtree.used.is_subset_of(whole.self_loop_bytes(after.whole));
      if (subtree.whole && whole_stays &&
          (!after.is_open() || subtree.used.is_subset_of(part->self_loop_bytes(after.part)))) {
        visit(std::span(vocabulary.ids_in_order()).subspan(subtree.first, subtree.last - subtree.first), after);
        i = at.next;
        continue;
      }
    }
    if (at.token != TrieNode::kNoToken && whole.is_tokenizable(after.whole)) {
      for_each_id(vocabulary, at.token,
                  [&](std::uint32_t id) { visit(std::span<const std::uint32_t>(&id, 1), after); });
    }
    path[at.depth + std::size_t{1}] = after;
    ++i;
  }
  return visited;
}

}  // namespace detent

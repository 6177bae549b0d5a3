// Walk: the tokens that a state of a language allows, each with the state behind it.
#pragma once

#include <cstdint>
#include <vector>

#include "automaton/automaton.h"
#include "vocab/vocabulary.h"

namespace detent {

// Visits them: visit(node, state behind it), or for many at once visit_all(subtree, that state). Returns the trie nodes
// seen.
template <class Visit, class VisitAll>
std::int64_t walk_tokens(const Vocabulary& vocabulary, Automaton& automaton, ExprId state, Visit visit,
                         VisitAll visit_all) {
  const std::vector<TrieNode>& trie = vocabulary.trie();
  const auto& class_of = automaton.class_of();
  const bool every_byte = vocabulary.tokenizable_texts() == nullptr;
  std::vector<ExprId> path(vocabulary.max_token_length() + std::size_t{1});
  path[0] = state;
  std::int64_t visited = 0;
  for (std::size_t i = 0; i < trie.size(); ++visited) {
    const TrieNode& node = trie[i];
    const ExprId next = automaton.row(path[node.depth])[class_of[node.byte]];
    if (next == ExprSet::kEmpty) {
      i = node.next;
      continue;
    }
    // A subtree through which the state comes back to itself, but for tokens that end inside a character.
    if (every_byte && next == path[node.depth] && node.subtree) {
      const Subtree& subtree = vocabulary.subtrees()[node.subtree];
      if (subtree.whole && subtree.used.is_subset_of(automaton.self_loop_bytes(next))) {
        visit_all(subtree, next);
        i = node.next;
        continue;
      }
    }
    if (node.token != TrieNode::kNoToken && (every_byte || automaton.is_tokenizable(next))) visit(node, next);
    path[node.depth + std::size_t{1}] = next;
    ++i;
  }
  return visited;
}

}  // namespace detent

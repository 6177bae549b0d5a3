// Trie walks: the tokens that a state allows, each with the state after it (docs/algorithms/trie-walk.md).
#pragma once

#include <algorithm>
#include <cstdint>
#include <span>
#include <type_traits>
#include <vector>

#include "automaton/automaton.h"
#include "base/utf8_position.h"
#include "mask/context_dependent_tokens.h"
#include "vocab/vocabulary.h"

namespace detent {

// Calls a function; returns its result if it is bool, and false if it returns nothing.
template <class Function, class... Arguments>
bool is_true(Function& function, const Arguments&... arguments) {
  if constexpr (std::is_void_v<std::invoke_result_t<Function&, const Arguments&...>>) {
    function(arguments...);
    return false;
  } else {
    return function(arguments...);
  }
}

inline constexpr std::uint8_t kTallSubtree = 255;  // Vocabulary::height of this much or more

// Whether every token through trie node `i` has at most `length` bytes, as far as the trie knows the heights.
inline bool is_shorter_below(const Vocabulary& vocabulary, std::size_t i, std::uint32_t length) {
  const std::uint8_t height = vocabulary.height(i);
  return std::uint32_t{vocabulary.trie()[i].depth} + height < length && height < kTallSubtree;
}

// Calls act(id) for each id of a trie node's token.
template <class Act>
void for_each_id(const Vocabulary& vocabulary, std::uint32_t token, Act act) {
  if (token == TrieNode::kNoToken) return;
  if (token & TrieNode::kShared) {
    for (std::uint32_t id : vocabulary.shared_ids(token)) act(id);
  } else {
    act(token);
  }
}

// The ids of the tokens of a subtree.
inline std::span<const std::uint32_t> ids_below(const Vocabulary& vocabulary, const Subtree& subtree) {
  return std::span(vocabulary.ids_in_order()).subspan(subtree.first, subtree.last - subtree.first);
}

// Those that end inside a character, as indices of ids_in_order().
inline std::span<const std::uint32_t> open_tokens_below(const Vocabulary& vocabulary, const Subtree& subtree) {
  const std::vector<std::uint32_t>& open = vocabulary.open_tokens();
  const auto first = std::ranges::lower_bound(open, subtree.first);
  return {first, std::lower_bound(first, open.end(), subtree.last)};
}

// Calls act(id) for each token of a subtree that ends with a complete character, until a call returns true. Returns
// whether one did.
template <class Act>
bool any_whole_id(const Vocabulary& vocabulary, const Subtree& subtree, Act act) {
  std::uint32_t next = subtree.first;
  const auto any_before = [&](std::uint32_t end) {
    for (; next < end; ++next) {
      if (is_true(act, vocabulary.ids_in_order()[next])) return true;
    }
    return false;
  };
  for (std::uint32_t open : open_tokens_below(vocabulary, subtree)) {
    if (any_before(open)) return true;
    ++next;
  }
  return any_before(subtree.last);
}

// Calls act(id) for each token that begins with a byte of a set.
template <class Act>
void each_token_from(const Vocabulary& vocabulary, const ByteSet& bytes, Act act) {
  const std::vector<TrieNode>& trie = vocabulary.trie();
  for (std::size_t i = 0; i < trie.size(); i = trie[i].next) {
    if (!bytes.contains(trie[i].byte)) continue;
    if (trie[i].subtree) {
      for (std::uint32_t id : ids_below(vocabulary, vocabulary.subtrees()[trie[i].subtree])) act(id);
    } else {
      for (std::size_t below = i; below < trie[i].next; ++below) for_each_id(vocabulary, trie[below].token, act);
    }
  }
}

// Calls act(id) for each token that contains a byte of `bytes`, a set of ASCII bytes and lead bytes.
template <class Act>
void each_token_with(const Vocabulary& vocabulary, const ByteSet& bytes, Act act) {
  const std::vector<TrieNode>& trie = vocabulary.trie();
  for (std::size_t i = 0; i < trie.size();) {
    const TrieNode& node = trie[i];
    if (bytes.contains(node.byte)) {
      for (; i < node.next; ++i) for_each_id(vocabulary, trie[i].token, act);
    } else if (node.subtree && (vocabulary.subtrees()[node.subtree].used & bytes).empty()) {
      i = node.next;
    } else {
      ++i;
    }
  }
}

// Calls visit(token, state) for each allowed token, an id or TrieNode::kShared plus an index, with the state after it.
// Where all tokens of a subtree that end with a complete character lead to one state, calls visit_all(subtree, state)
// for these. A call that returns true ends the walk. Returns the number of trie nodes visited.
template <class Visit, class VisitAll>
std::int64_t walk_tokens(const Vocabulary& vocabulary, Automaton& automaton, ExprId state, Visit visit,
                         VisitAll visit_all) {
  const std::vector<TrieNode>& trie = vocabulary.trie();
  const auto& class_of = automaton.class_of();
  struct Reached {
    ExprId state;
    const ExprId* row;
  };
  std::vector<Reached> path(vocabulary.max_token_length() + std::size_t{1});  // path[d]: after d bytes
  path[0] = {state, automaton.row(state)};
  std::int64_t visited = 0;
  for (std::size_t i = 0; i < trie.size(); ++visited) {
    const TrieNode& node = trie[i];
    const Reached& at = path[node.depth];
    const ExprId next = at.row[class_of[node.byte]];
    if (next == ExprSet::kEmpty) {
      i = node.next;
      continue;
    }
    if (node.subtree && (next == at.state || is_lead_byte(node.byte)) && automaton.is_tokenizable(at.state)) {
      const Subtree& subtree = vocabulary.subtrees()[node.subtree];
      if (subtree.used.is_subset_of(automaton.self_loop_bytes(at.state))) {
        if (is_true(visit_all, subtree, at.state)) break;
        if (std::ranges::any_of(open_tokens_below(vocabulary, subtree), [&](std::uint32_t index) {
              const std::uint32_t id = vocabulary.ids_in_order()[index];
              ExprId inside = at.state;
              for (char byte : open_character(vocabulary.bytes(id))) {
                inside = automaton.row(inside)[class_of[static_cast<std::uint8_t>(byte)]];
                ++visited;
              }
              return automaton.is_tokenizable(inside) && is_true(visit, id, inside);
            })) {
          break;
        }
        i = node.next;
        continue;
      }
    }
    if (node.token != TrieNode::kNoToken && automaton.is_tokenizable(next) && is_true(visit, node.token, next)) break;
    if (++i < node.next) path[node.depth + std::size_t{1}] = {next, next == at.state ? at.row : automaton.row(next)};
  }
  return visited;
}

// Calls visit(id, next) for each context-dependent token whose suffix is at the nodes [first, end) and leads from
// `state` to the live state `next`. These nodes are the whole trie of suffixes, or the nodes below one node.
template <class Visit>
void walk_suffixes(const ContextDependentTokens& tokens, std::size_t first, std::size_t end,
                   const Vocabulary& vocabulary, Automaton& automaton, ExprId state, Visit visit) {
  if (first == end) return;
  const auto& class_of = automaton.class_of();
  std::vector<const ExprId*> path(vocabulary.max_token_length() + std::size_t{1});  // transition rows
  path[tokens.nodes[first].depth] = automaton.row(state);
  for (std::size_t i = first; i < end;) {
    const ContextDependentTokens::Node& node = tokens.nodes[i];
    const ExprId next = path[node.depth][class_of[node.byte]];
    if (next == ExprSet::kEmpty) {
      i = node.next;
      continue;
    }
    for (std::uint32_t k = node.first; k < node.last; ++k) visit(tokens.ids[k], next);
    if (++i < node.next) path[node.depth + std::size_t{1}] = automaton.row(next);
  }
}

// As above, for all suffixes.
template <class Visit>
void walk_suffixes(const ContextDependentTokens& tokens, const Vocabulary& vocabulary, Automaton& automaton,
                   ExprId state, Visit visit) {
  walk_suffixes(tokens, 0, tokens.nodes.size(), vocabulary, automaton, state, visit);
}

}  // namespace detent

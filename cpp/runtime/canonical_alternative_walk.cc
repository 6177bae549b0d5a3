#include "runtime/canonical_alternative_walk.h"

#include <algorithm>
#include <span>
#include <utility>

namespace detent {

std::shared_ptr<const Mask> CanonicalAlternativeWalk::run() {
  const std::vector<TrieNode>& trie = vocabulary_.trie();
  const auto& class_of = language_.automaton.class_of();
  std::vector<AlternativeSet> path(vocabulary_.max_token_length() + std::size_t{1});  // path[d]: after d bytes
  path[0] = language_.automaton.split(state_);
  for (std::size_t i = 0; i < trie.size();) {
    const TrieNode& node = trie[i];
    const AlternativeSet& at = path[node.depth];
    if (node.subtree && take_subtree(at, vocabulary_.subtrees()[node.subtree], node.depth)) {
      i = node.next;
      continue;
    }
    AlternativeSet& after = path[node.depth + std::size_t{1}];
    find_successors(at, class_of[node.byte], after);
    if (after.empty()) {
      i = node.next;
      continue;
    }
    for_each_id(vocabulary_, node.token, [&](std::uint32_t token) { decide(token, after); });
    ++i;
  }
  builder_.note_length(kInfinite - 1);  // a budget asks the state for its completion after each token
  return builder_.finish();
}

void CanonicalAlternativeWalk::find_successors(const AlternativeSet& set, std::uint8_t byte_class,
                                               AlternativeSet& after) {
  alternatives_.find_successors(set, byte_class, after);
  alternatives_.drop_included(after);
  language_.meter.step(static_cast<std::int64_t>(set.size()) / 8 + 1);
}

// The ASCII bytes that lead an alternative to itself, and perhaps to others, and the lead bytes of characters that lead
// it to itself alone.
const ByteSet& CanonicalAlternativeWalk::kept_bytes(AlternativeId id) {
  if (id.value >= kept_bytes_.size()) kept_bytes_.resize(id.value * 3 / 2 + 64);
  std::optional<ByteSet>& known = kept_bytes_[id.value];
  if (!known) {
    known = language_.automaton.self_loop_bytes(alternatives_[id].state);
    for (std::uint8_t byte = 0; byte < 0x80; ++byte) {
      const std::span<const AlternativeId> next = alternatives_[id].after(language_.automaton.class_of()[byte]);
      if (std::ranges::find(next, id) != next.end()) known->insert(byte);
    }
  }
  return *known;
}

bool CanonicalAlternativeWalk::leads_on(std::uint32_t token, ExprId next) {
  return bounds_.leads_on(token, next) && language_.automaton.is_tokenizable(next);
}

// Decides the tokens of a subtree if an alternative stays throughout. Nearly all tokens lead on from there, or from
// nowhere.
bool CanonicalAlternativeWalk::take_subtree(const AlternativeSet& set, const Subtree& subtree, std::size_t depth) {
  if (!subtree.whole) return false;
  const auto stays = [&](AlternativeId id) { return subtree.used.is_subset_of(kept_bytes(id)); };
  const auto found = std::ranges::find_if(set, stays);
  if (found == set.end()) return false;
  const ExprId state = alternatives_[*found].state;
  const auto ids = std::span(vocabulary_.ids_in_order()).subspan(subtree.first, subtree.last - subtree.first);
  for (std::uint32_t token : ids) {
    if (leads_on(token, state)) {
      builder_.allow(token);
    } else if (!bounds_.is_refused(token)) {
      decide(token, after_token(set, token, depth));
    }
  }
  language_.meter.step(static_cast<std::int64_t>(ids.size()) / 8 + 1);
  return true;
}

// The alternatives after the bytes of a token from `depth` on.
AlternativeSet CanonicalAlternativeWalk::after_token(AlternativeSet set, std::uint32_t token, std::size_t depth) {
  AlternativeSet next;
  for (char byte : vocabulary_.bytes(token).substr(depth)) {
    find_successors(set, language_.automaton.class_of()[static_cast<std::uint8_t>(byte)], next);
    std::swap(set, next);
  }
  return set;
}

void CanonicalAlternativeWalk::decide(std::uint32_t token, const AlternativeSet& after) {
  if (bounds_.is_refused(token)) return;
  const auto leads_on_from = [&](AlternativeId id) { return leads_on(token, alternatives_[id].state); };
  if (std::ranges::find(after, last_) != after.end() && leads_on_from(last_)) return builder_.allow(token);
  const auto found = std::ranges::find_if(after, leads_on_from);
  if (found == after.end()) return;
  last_ = *found;
  builder_.allow(token);
}

}  // namespace detent

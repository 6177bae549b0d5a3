#include "runtime/canonical_alternative_walk.h"

#include <algorithm>
#include <span>
#include <string_view>
#include <utility>

namespace detent {
namespace {

bool is_continuation(char byte) { return (static_cast<std::uint8_t>(byte) & 0xC0) == 0x80; }

// The ASCII bytes and lead bytes of a text.
ByteSet bytes_used(std::string_view text) {
  ByteSet used;
  for (char byte : text) {
    if (!is_continuation(byte)) used.insert(static_cast<std::uint8_t>(byte));
  }
  return used;
}

}  // namespace

void CanonicalAlternativeWalk::run() {
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
}

void CanonicalAlternativeWalk::find_successors(const AlternativeSet& set, std::uint8_t byte_class,
                                               AlternativeSet& after) {
  alternatives_.find_successors(set, byte_class, after);
  alternatives_.drop_included(after);
  language_.meter.step(static_cast<std::int64_t>(set.size()) / 8 + 1);
}

// Whether each text over some bytes, which are ASCII bytes and lead bytes, leads an alternative to itself, to states of
// which it is one, or to one that allows all that it allows. `count` is the number of such texts.
bool CanonicalAlternativeWalk::stays(AlternativeId id, const ByteSet& used, std::uint32_t count) {
  if (used.is_subset_of(kept_bytes(id))) return true;
  const AlternativeLoop* found = alternatives_.loop(id, count);
  return found && found->loop.keeps_all && used.is_subset_of(found->loop.bytes);
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

bool CanonicalAlternativeWalk::take(std::uint32_t token, ExprId next) {
  return language_.automaton.is_tokenizable(next) && verdicts_.take(token, next);
}

// Decides the tokens of a subtree if an alternative stays throughout, and nearly all tokens may follow by way of it.
bool CanonicalAlternativeWalk::take_subtree(const AlternativeSet& set, const Subtree& subtree, std::size_t depth) {
  if (!subtree.whole) return false;
  const auto found = std::ranges::find_if(
      set, [&](AlternativeId id) { return stays(id, subtree.used, subtree.last - subtree.first); });
  if (found == set.end()) return false;
  const ExprId state = alternatives_[*found].state;
  const auto ids = std::span(vocabulary_.ids_in_order()).subspan(subtree.first, subtree.last - subtree.first);
  std::vector<std::uint32_t> others;
  for (std::uint32_t token : ids) {
    if (!verdicts_.is_refused(token) && !take(token, state)) others.push_back(token);
  }
  language_.meter.step(static_cast<std::int64_t>(ids.size()) / 8 + 1);
  if (others.size() > ids.size() / 2) return false;
  for (std::uint32_t token : others) decide(token, after_token(set, token, depth));
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
  if (verdicts_.is_refused(token)) return;
  const auto takes = [&](AlternativeId id) { return take(token, alternatives_[id].state); };
  if (std::ranges::find(after, last_) != after.end() && takes(last_)) return;
  if (const auto found = std::ranges::find_if(after, takes); found != after.end()) last_ = *found;
}

std::vector<ExprId> CanonicalAlternativeWalk::states_after(const TokenizedLanguage& language, ExprId state,
                                                           std::uint32_t token) {
  class TakeAll final : public Verdicts {
    bool is_refused(std::uint32_t) override { return false; }
    bool take(std::uint32_t, ExprId) override { return true; }
  } verdicts;
  CanonicalAlternativeWalk walk(language, verdicts, state);
  std::vector<ExprId> states;
  const auto add = [&](AlternativeId id) {
    const ExprId next = walk.alternatives_[id].state;
    if (language.automaton.is_tokenizable(next)) states.push_back(next);
  };
  const std::string_view text = language.vocabulary().bytes(token);
  AlternativeSet set = language.automaton.split(state), after;
  for (std::size_t depth = 0; depth < text.size(); ++depth) {
    if (!is_continuation(text[depth])) {  // as take_subtree(), which knows which bytes follow
      const ByteSet used = bytes_used(text.substr(depth));
      for (AlternativeId id : set) {
        if (walk.stays(id, used, UINT32_MAX)) add(id);
      }
    }
    walk.find_successors(set, language.automaton.class_of()[static_cast<std::uint8_t>(text[depth])], after);
    std::swap(set, after);
  }
  for (AlternativeId id : set) add(id);
  return states;
}

}  // namespace detent

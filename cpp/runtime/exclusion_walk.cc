#include "runtime/exclusion_walk.h"

#include <algorithm>

#include "base/utf8_position.h"
#include "expr/lengths.h"
#include "runtime/trie_walk.h"

namespace detent {
namespace {

constexpr std::size_t kMostBytes = 16 << 20;  // of the positions that a walk remembers, about

}  // namespace

bool follows_exclusions(Automaton& automaton, ExprId state) {
  return automaton.is_intersection(state) && automaton.has_rule(state) && !automaton.has_lists() &&
         !automaton.live_bytes(state).bytes.empty();
}

bool ExclusionWalk::run(ExprId state, std::size_t first, std::size_t end, bool has_reference) {
  has_reference_ = has_reference;
  const std::uint32_t depth = trie_[first].depth;
  path_.resize(vocabulary_.max_token_length() + std::size_t{1});
  sets_.resize(path_.size());
  if (!search_ && !begin(state)) return false;
  const std::optional<PositionId> start = search_->start(state);
  if (!start || !search_->is_padded(*start)) return false;
  path_[0] = {*start, 0};
  std::int64_t visited = 0;
  for (std::size_t i = first; i < end; ++visited) {
    const TrieNode& node = trie_[i];
    const std::size_t before = node.depth - depth;
    if (node.subtree && take_subtree(path_[before].position, i)) {
      i = node.next;
      continue;
    }
    if (search_->bytes() > kMostBytes && !forget_positions(state, before)) return false;
    const PositionId after = search_->follow(path_[before].position, static_cast<std::uint8_t>(node.byte));
    if (search_->has_failed()) return false;
    if (after == ExclusionSearch::kDead) {
      refuse_nodes(i, node.next);
      i = node.next;
      continue;
    }
    path_[before + 1] = {after, static_cast<std::uint8_t>(node.byte)};
    if (node.token != TrieNode::kNoToken && (!texts_ || texts_->has_within(after, *tokens_))) {
      for_each_id(vocabulary_, node.token, [this](auto id) { builder_.allow(id); });
      builder_.note_length(search_->completion_bound(after));
    }
    ++i;
  }
  automaton_.add_work(search_->take_work() + visited / 8);
  return true;
}

bool ExclusionWalk::begin(ExprId state) {
  texts_.reset();
  search_ = std::make_unique<ExclusionSearch>(automaton_);
  if (tokens_) texts_ = std::make_unique<ExclusionTexts>(vocabulary_, automaton_, *search_);
  return search_->start(state).has_value();
}

// Takes a whole subtree at once if all of its bytes lead g back to a superset of itself.
bool ExclusionWalk::take_subtree(PositionId at, std::size_t i) {
  if (!search_->is_padded(at)) return false;
  const std::uint32_t most_tokens = texts_ ? texts_->most_tokens(at) : 0;  // may move the paddings
  const LiveLoops::Padded& padding = search_->padding(at);
  const Subtree& subtree = vocabulary_.subtrees()[trie_[i].subtree];
  if (!subtree.used.is_subset_of(padding.kept)) return false;
  const std::uint32_t open = subtree.whole ? 0 : kMaxContinuationBytes;  // a token may end inside a character
  if (texts_ && saturating_add(std::min(most_tokens, padding.completion_bound), open) > *tokens_) return false;
  builder_.note_length(saturating_add(padding.completion_bound, open));
  if (subtree.used.is_subset_of(padding.safe)) {
    allow_nodes(i, trie_[i].next);
  } else {
    walk_inside(at, i);
  }
  return true;
}

// Allows the tokens below a node that end no match.
void ExclusionWalk::walk_inside(PositionId at, std::size_t i) {
  const std::size_t end = trie_[i].next, depth = trie_[i].depth;
  const auto within = [this](SetId set, std::uint32_t height) {
    return height < kTallSubtree ? search_->matches_within(set, height) : set;
  };
  sets_[0] = within(search_->excluded(at), std::uint32_t{vocabulary_.height(i)} + 1);
  if (search_->is_empty(sets_[0])) return allow_nodes(i, end);
  while (i < end) {
    const TrieNode& node = trie_[i];
    const SetId after = search_->follow_set(sets_[node.depth - depth], static_cast<std::uint8_t>(node.byte));
    const SetId next = within(after, vocabulary_.height(i));
    if (search_->is_match(after)) {
      refuse_nodes(i, node.next);
      i = node.next;
    } else if (search_->is_empty(next)) {
      allow_nodes(i, node.next);
      i = node.next;
    } else {
      for_each_id(vocabulary_, node.token, [this](auto id) { builder_.allow(id); });
      sets_[node.depth - depth + 1] = next;
      ++i;
    }
  }
}

void ExclusionWalk::allow_nodes(std::size_t first, std::size_t end) {
  if (trie_[first].subtree && trie_[first].next == end) {
    const Subtree& subtree = vocabulary_.subtrees()[trie_[first].subtree];
    builder_.allow(vocabulary_.ids_in_order().data() + subtree.first, subtree.last - subtree.first);
    return;
  }
  for (std::size_t i = first; i < end; ++i) {
    for_each_id(vocabulary_, trie_[i].token, [this](auto id) { builder_.allow(id); });
  }
}

void ExclusionWalk::refuse_nodes(std::size_t first, std::size_t end) {
  if (!has_reference_) return;
  for (std::size_t i = first; i < end; ++i) {
    for_each_id(vocabulary_, trie_[i].token, [this](auto id) { builder_.refuse(id); });
  }
}

// Forgets all positions but those of the path up to a depth.
bool ExclusionWalk::forget_positions(ExprId state, std::size_t depth) {
  automaton_.add_work(search_->take_work());
  if (!begin(state)) return false;
  path_[0].position = *search_->start(state);
  for (std::size_t i = 1; i <= depth; ++i) {
    path_[i].position = search_->follow(path_[i - 1].position, path_[i].byte);
  }
  return !search_->has_failed();
}

std::vector<std::uint32_t> completion_beside_exclusions(const Vocabulary& vocabulary, Automaton& automaton, ExprId from,
                                                        std::string_view bytes, std::uint32_t tokens) {
  ExclusionSearch search(automaton);
  ExclusionTexts texts(vocabulary, automaton, search);
  std::optional<ExclusionSearch::PositionId> at = search.start(from);
  if (!at) return {};
  for (char byte : bytes) at = search.follow(*at, static_cast<std::uint8_t>(byte));
  if (search.has_failed() || *at == ExclusionSearch::kDead) return {};
  return texts.within(*at, tokens).value_or(std::vector<std::uint32_t>{});
}

}  // namespace detent

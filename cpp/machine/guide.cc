#include "machine/guide.h"

#include <algorithm>
#include <vector>

#include "base/error.h"

namespace detent {

Guide::Guide(const NodeRef& language, std::shared_ptr<const Vocabulary> vocabulary, const Limits& limits,
             std::shared_ptr<const CancelFlag> cancel)
    : vocabulary_(std::move(vocabulary)),
      automaton_(language, vocabulary_->spelling(), vocabulary_->longest(), limits, std::move(cancel)) {
  if (start() == ExprSet::kEmpty) throw Error(ErrorKind::empty, "language");
  if (!automaton_.spellable(start())) throw Error(ErrorKind::empty, "spelling");
}

ExprId Guide::advance(ExprId state, std::string_view text) {
  const auto& class_of = automaton_.class_of();
  for (char byte : text) {
    if (state == ExprSet::kEmpty) return state;
    state = automaton_.row(state)[class_of[static_cast<std::uint8_t>(byte)]];
  }
  return state != ExprSet::kEmpty && automaton_.spellable(state) ? state : ExprSet::kEmpty;
}

void Guide::fill_end(std::uint32_t* row) const {
  std::fill_n(row, vocabulary_->word_count(), 0u);
  for (std::uint32_t id : vocabulary_->end_ids()) row[id >> 5] |= 1u << (id & 31);
}

void Guide::fill(ExprId state, std::uint32_t* row) {
  const ExprId representative = automaton_.at_horizon(state);
  MaskCache& cache = vocabulary_->cache();
  const Hash128& key = automaton_.hash(representative);
  std::shared_ptr<const Mask> mask = cache.find(key);
  if (!mask) {
    mask = compute(representative);
    cache.insert(key, mask);
  }
  mask->write(row, vocabulary_->word_count());
  if (accepting(state)) {
    for (std::uint32_t id : vocabulary_->end_ids()) row[id >> 5] |= 1u << (id & 31);
  }
}

std::shared_ptr<const Mask> Guide::compute(ExprId state) {
  const std::vector<TrieNode>& trie = vocabulary_->trie();
  const auto& class_of = automaton_.class_of();
  const bool every_byte = vocabulary_->spelling() == nullptr;
  thread_local std::vector<std::uint32_t> words;
  thread_local std::vector<const ExprId*> rows;  // of the states along the path to the present node
  words.assign(vocabulary_->word_count(), 0);
  rows.resize(vocabulary_->longest() + std::size_t{1});
  rows[0] = automaton_.row(state);
  const std::size_t size = trie.size();
  for (std::size_t i = 0; i < size;) {
    const TrieNode node = trie[i];
    const ExprId next = rows[node.depth][class_of[node.byte]];
    if (next == ExprSet::kEmpty) {
      i = node.next;
      continue;
    }
    if (node.token != TrieNode::kNoToken && (every_byte || automaton_.spellable(next))) {
      if (node.token & TrieNode::kShared) {
        for (std::uint32_t id : vocabulary_->shared_ids(node.token)) words[id >> 5] |= 1u << (id & 31);
      } else {
        words[node.token >> 5] |= 1u << (node.token & 31);
      }
    }
    ++i;
    if (i < node.next) rows[node.depth + std::size_t{1}] = automaton_.row(next);
  }
  return Mask::of(words);
}

}  // namespace detent

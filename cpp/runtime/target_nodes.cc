#include "runtime/target_nodes.h"

#include <algorithm>
#include <iterator>

namespace detent {

TargetNodes::TargetNodes(const Vocabulary& vocabulary, const Mask& mask, std::uint32_t length) {
  const std::vector<TrieNode>& trie = vocabulary.trie();
  std::vector<std::uint32_t> row(vocabulary.word_count());
  mask.add_to(row.data());
  for (std::uint32_t node : vocabulary.long_token_nodes()) {
    if (trie[node].depth + std::uint32_t{1} < length) continue;
    const std::uint32_t token = trie[node].token;
    const std::uint32_t id = token & TrieNode::kShared ? vocabulary.shared_ids(token)[0] : token;
    if (row[id >> 5] >> (id & 31) & 1) nodes_.push_back(node);
  }
  if (!mask.context_dependent()) return;
  const auto tokens_end = static_cast<std::ptrdiff_t>(nodes_.size());
  std::ranges::copy_if(mask.context_dependent()->exits, std::back_inserter(nodes_),
                       [&](std::uint32_t exit) { return trie[exit].depth + std::uint32_t{1} >= length; });
  std::inplace_merge(nodes_.begin(), nodes_.begin() + tokens_end, nodes_.end());
}

}  // namespace detent

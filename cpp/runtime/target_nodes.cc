#include "runtime/target_nodes.h"

#include <algorithm>
#include <iterator>
#include <string_view>

namespace detent {
namespace {

std::ptrdiff_t character_count(std::string_view text) {
  return std::ranges::count_if(text, [](char byte) { return (static_cast<std::uint8_t>(byte) & 0xC0) != 0x80; });
}

}  // namespace

TargetNodes::TargetNodes(const Vocabulary& vocabulary, const Mask& mask, std::uint32_t length,
                         std::uint32_t characters) {
  const std::vector<TrieNode>& trie = vocabulary.trie();
  std::vector<std::uint32_t> row(vocabulary.word_count());
  mask.add_to(row.data());
  for (std::uint32_t node : vocabulary.long_token_nodes()) {
    if (trie[node].depth + std::uint32_t{1} < length) continue;
    const std::uint32_t token = trie[node].token;
    const std::uint32_t id = token & TrieNode::kShared ? vocabulary.shared_ids(token)[0] : token;
    if ((row[id >> 5] >> (id & 31) & 1) && character_count(vocabulary.bytes(id)) >= std::ptrdiff_t{characters})
      nodes_.push_back(node);
  }
  if (!mask.context_dependent()) return;
  const auto tokens_end = static_cast<std::ptrdiff_t>(nodes_.size());
  std::ranges::copy_if(mask.context_dependent()->exits, std::back_inserter(nodes_),
                       [&](std::uint32_t exit) { return trie[exit].depth + std::uint32_t{1} >= length; });
  std::inplace_merge(nodes_.begin(), nodes_.begin() + tokens_end, nodes_.end());
}

}  // namespace detent

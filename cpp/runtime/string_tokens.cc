#include "runtime/string_tokens.h"

#include <string>
#include <utility>

namespace detent {
namespace {

// Adds the tokens with which a text begins.
void add_beginnings(const Vocabulary& vocabulary, const std::string& text, std::vector<std::uint32_t>& ids) {
  const std::vector<TrieNode>& trie = vocabulary.trie();
  std::size_t i = 0, end = trie.size();
  for (char byte : text) {
    while (i < end && trie[i].byte != static_cast<std::uint8_t>(byte)) i = trie[i].next;
    if (i >= end) return;
    for_each_id(vocabulary, trie[i].token, [&ids](std::uint32_t id) { ids.push_back(id); });
    end = trie[i++].next;
  }
}

}  // namespace

StringTokens::StringTokens(const Vocabulary& vocabulary, ExprId continuation, std::shared_ptr<const Mask> mask,
                           bool is_bounded, std::vector<std::uint32_t> others)
    : vocabulary_(&vocabulary),
      continuation_(continuation),
      mask_(std::move(mask)),
      is_bounded_(is_bounded),
      others_(std::move(others)),
      row_(vocabulary.word_count()) {
  mask_->write(row_.data(), row_.size());
  std::ranges::sort(others_);
  others_.erase(std::ranges::unique(others_).begin(), others_.end());
  for (std::uint32_t id : others_) row_[id >> 5] &= ~(1u << (id & 31));
}

std::optional<StringTokens> StringTokens::find(const Vocabulary& vocabulary, Automaton& automaton, MaskComputer& masks,
                                               ExprId state) {
  if (vocabulary.tokenizable_texts()) return std::nullopt;
  const SlicedState sliced = masks.analysis().slice(state);
  if (sliced.slices.size() != 1) return std::nullopt;
  const ExprId prefix = sliced.slices[0].prefix;
  ExprId all = prefix;
  std::vector<std::uint32_t> others, excluded;
  if (const auto string = masks.analysis().excluding_string(prefix)) {
    if (!string->written) return std::nullopt;
    all = string->all;
    for (const std::string& text : *string->written) add_beginnings(vocabulary, text, excluded);
  }
  const std::optional<BoundedString> string = masks.analysis().string_of_characters(all);
  if (!string || string->is_before) return std::nullopt;
  std::shared_ptr<const Mask> mask = masks.slice_masks().mask_of(prefix);
  std::ranges::copy_if(excluded, std::back_inserter(others),
                       [&mask](std::uint32_t id) { return (mask->word(id >> 5) >> (id & 31) & 1) != 0; });
  if (sliced.remainder != ExprSet::kEmpty) {
    const auto add = [&others](std::uint32_t id) { others.push_back(id); };
    walk_tokens(
        vocabulary, automaton, sliced.remainder,
        [&](std::uint32_t token, ExprId) { for_each_id(vocabulary, token, add); },
        [&](const Subtree& subtree, ExprId) { any_whole_id(vocabulary, subtree, add); });
  }
  return StringTokens(vocabulary, sliced.slices[0].continuation, std::move(mask), string->unbounded != all,
                      std::move(others));
}

}  // namespace detent

#include "mask/context_dependent_tokens.h"

#include <algorithm>
#include <atomic>
#include <iterator>
#include <utility>

namespace detent {

namespace {

std::shared_ptr<ContextDependentTokens> trie_of(std::vector<ContextDependentTokens::TokenSuffix> suffixes,
                                                std::vector<std::uint32_t> exits) {
  static std::atomic<std::uint64_t> made;
  auto tokens = std::make_shared<ContextDependentTokens>();
  tokens->serial = made.fetch_add(1, std::memory_order_relaxed);
  std::vector<std::uint32_t> path;  // the nodes from the root to the last suffix
  std::string_view last;
  const auto close = [&](std::size_t depth) {
    for (; path.size() > depth; path.pop_back()) {
      tokens->nodes[path.back()].next = static_cast<std::uint32_t>(tokens->nodes.size());
    }
  };
  for (const auto& [text, id, exit] : suffixes) {
    const auto common = static_cast<std::size_t>(
        std::mismatch(last.begin(), last.end(), text.begin(), text.end()).second - text.begin());
    close(common);
    const auto index = static_cast<std::uint32_t>(tokens->ids.size());
    for (std::size_t depth = common; depth < text.size(); ++depth) {
      path.push_back(static_cast<std::uint32_t>(tokens->nodes.size()));
      tokens->nodes.push_back(
          {0, index, index, static_cast<std::uint32_t>(depth) & 0xFFFFFF, static_cast<std::uint8_t>(text[depth])});
    }
    tokens->ids.push_back(id);
    tokens->nodes[path.back()].last = index + 1;
    last = text;
  }
  close(0);
  const auto count = static_cast<std::uint32_t>(tokens->nodes.size());
  tokens->roots.fill(count);
  for (std::uint32_t node = 0; node < count; node = tokens->nodes[node].next)
    tokens->roots[tokens->nodes[node].byte] = node;
  tokens->suffixes = std::move(suffixes);
  tokens->exits = std::move(exits);
  return tokens;
}

// The first bytes of a text as a number. Of two texts, that of the smaller number comes first.
std::uint64_t first_bytes(std::string_view text) {
  std::uint64_t number = 0;
  for (std::size_t i = 0; i < sizeof(number); ++i) {
    number = number << 8 | (i < text.size() ? static_cast<std::uint8_t>(text[i]) : 0);
  }
  return number;
}

}  // namespace

void ContextDependentTokens::sort(std::vector<TokenSuffix>& suffixes) {
  std::vector<std::pair<std::uint64_t, TokenSuffix>> keyed;
  keyed.reserve(suffixes.size());
  for (const TokenSuffix& suffix : suffixes) keyed.emplace_back(first_bytes(suffix.text), suffix);
  std::ranges::sort(keyed);
  std::ranges::transform(keyed, suffixes.begin(), [](const auto& each) { return each.second; });
}

std::shared_ptr<const ContextDependentTokens> ContextDependentTokens::of(std::vector<TokenSuffix> suffixes,
                                                                         std::vector<std::uint32_t> exits) {
  return trie_of(std::move(suffixes), std::move(exits));
}

std::shared_ptr<const ContextDependentTokens> ContextDependentTokens::without_exits(
    std::shared_ptr<const ContextDependentTokens> all, const std::vector<std::uint32_t>& removed) {
  const auto is_removed = [&removed](std::uint32_t exit) { return std::ranges::find(removed, exit) != removed.end(); };
  std::vector<TokenSuffix> suffixes;
  suffixes.reserve(all->suffixes.size());
  std::vector<std::uint32_t> exits, left_out;
  for (const TokenSuffix& suffix : all->suffixes) {
    if (is_removed(suffix.exit)) {
      left_out.push_back(suffix.id);
    } else {
      suffixes.push_back(suffix);
    }
  }
  std::ranges::copy_if(all->exits, std::back_inserter(exits), [&](std::uint32_t exit) { return !is_removed(exit); });
  std::ranges::sort(left_out);
  const std::shared_ptr<ContextDependentTokens> tokens = trie_of(std::move(suffixes), std::move(exits));
  tokens->all = std::move(all);
  tokens->left_out = std::move(left_out);
  return tokens;
}

}  // namespace detent

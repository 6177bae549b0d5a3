#include "mask/context_dependent_tokens.h"

#include <algorithm>
#include <utility>

namespace detent {

std::shared_ptr<const ContextDependentTokens> ContextDependentTokens::of(std::vector<TokenSuffix> suffixes,
                                                                         std::vector<std::uint32_t> exits) {
  auto tokens = std::make_shared<ContextDependentTokens>();
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

}  // namespace detent

// ContextDependentTokens: the tokens that leave a slice, as the suffixes that follow the slice's last byte.
//
// Inside a JSON string, the token `ab",` leaves the string at its quotation mark; its suffix is `,`. The mask of a
// slice decides the tokens that stay inside. A token that leaves is allowed if the continuation of the state has a text
// that begins with the suffix. The suffixes form a trie, stored depth first: one walk over it decides all of them.
#pragma once

#include <array>
#include <compare>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <string_view>
#include <vector>

namespace detent {

struct ContextDependentTokens {
  struct Node {
    std::uint32_t next;         // the first node after this node's subtree
    std::uint32_t first, last;  // ids[first..last) end at this node
    std::uint32_t depth : 24;
    std::uint32_t byte : 8;
  };
  struct TokenSuffix {
    std::string_view text;  // the bytes of the token after the position where it leaves; the vocabulary owns them
    std::uint32_t id;
    std::uint32_t exit;  // the node of the vocabulary's trie that leads to that position
    auto operator<=>(const TokenSuffix&) const = default;
  };

  // Sorts by text. Cost: most comparisons compare the first bytes of two texts as one number.
  static void sort(std::vector<TokenSuffix>& suffixes);

  std::uint64_t serial;  // no other object of the process has this number
  std::vector<Node> nodes;
  std::vector<std::uint32_t> ids;
  std::vector<TokenSuffix> suffixes;  // sorted
  // Null, or the tokens of a similar slice: it has the suffixes of this one, and those of the tokens in `left_out`.
  std::shared_ptr<const ContextDependentTokens> all;
  std::vector<std::uint32_t> left_out;   // ascending
  std::vector<std::uint32_t> exits;      // nodes of the vocabulary's trie where tokens leave, ascending
  std::array<std::uint32_t, 256> roots;  // by first byte: its node; the number of nodes if there is none

  // Builds the trie of sorted suffixes. Cost: linear in their bytes.
  static std::shared_ptr<const ContextDependentTokens> of(std::vector<TokenSuffix> suffixes,
                                                          std::vector<std::uint32_t> exits);
  // Returns the tokens without those that leave at some exits. Each token of `all` leaves at one exit only.
  static std::shared_ptr<const ContextDependentTokens> without_exits(std::shared_ptr<const ContextDependentTokens> all,
                                                                     const std::vector<std::uint32_t>& removed);

  // Memory, without that of `all`.
  std::size_t bytes() const {
    return nodes.size() * sizeof(Node) + (left_out.size() + ids.size() + exits.size()) * sizeof(std::uint32_t) +
           suffixes.size() * sizeof(TokenSuffix) + sizeof(roots);
  }
};

}  // namespace detent

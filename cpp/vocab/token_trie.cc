#include "vocab/token_trie.h"

#include <algorithm>
#include <cstring>
#include <functional>
#include <numeric>
#include <utility>

#include "base/error.h"
#include "base/utf8_position.h"

namespace detent {

TokenTrie::TokenTrie(std::vector<std::uint32_t> ids, const BytesOf& bytes_of) : ids_in_order_(std::move(ids)) {
  std::vector<std::pair<std::string_view, std::uint32_t>> tokens;
  tokens.reserve(ids_in_order_.size());
  for (std::uint32_t id : ids_in_order_) tokens.emplace_back(bytes_of(id), id);
  std::sort(tokens.begin(), tokens.end());
  for (std::size_t i = 0; i < tokens.size(); ++i) ids_in_order_[i] = tokens[i].second;
  add_nodes(bytes_of);
  find_heights();
  find_subtrees();
  find_open_tokens(bytes_of);
  find_roots();
  find_wide_nodes();
  index_bytes();
}

void TokenTrie::find_open_tokens(const BytesOf& bytes_of) {
  for (std::uint32_t i = 0; i < ids_in_order_.size(); ++i) {
    if (!open_character(bytes_of(ids_in_order_[i])).empty()) open_tokens_.push_back(i);
  }
}

void TokenTrie::find_roots() {
  roots_.fill(static_cast<std::uint32_t>(nodes_.size()));
  for (std::uint32_t i = 0; i < nodes_.size(); i = nodes_[i].next) roots_[nodes_[i].byte] = i;
}

// Indexes the children of nodes with many of them. A search through siblings jumps in memory at each one; along a
// literal, it would take longer than the rest of the walk.
void TokenTrie::find_wide_nodes() {
  wide_of_.assign(nodes_.size(), 0);
  wide_nodes_.assign(1, {0, 0});
  for (std::uint32_t node = 0; node < nodes_.size(); ++node) {
    const auto first = static_cast<std::uint32_t>(child_nodes_.size());
    for (std::uint32_t child = node + 1; child < nodes_[node].next; child = nodes_[child].next) {
      child_bytes_.push_back(static_cast<std::uint8_t>(nodes_[child].byte));
      child_nodes_.push_back(child);
    }
    const auto count = static_cast<std::uint32_t>(child_nodes_.size()) - first;
    if (count > kFewChildren) {
      wide_of_[node] = static_cast<std::uint32_t>(wide_nodes_.size());
      wide_nodes_.push_back({first, count});
    } else {
      child_bytes_.resize(first);
      child_nodes_.resize(first);
    }
  }
  child_bytes_.shrink_to_fit();
  child_nodes_.shrink_to_fit();
}

void TokenTrie::index_bytes() {
  for (const TrieNode& node : nodes_) ++first_with_byte_[node.byte + std::size_t{1}];
  for (std::size_t byte = 0; byte < 256; ++byte) first_with_byte_[byte + 1] += first_with_byte_[byte];
  nodes_by_byte_.resize(nodes_.size());
  std::array<std::uint32_t, 257> next = first_with_byte_;
  for (std::uint32_t i = 0; i < nodes_.size(); ++i) nodes_by_byte_[next[nodes_[i].byte]++] = i;
  std::iota(bytes_by_count_.begin(), bytes_by_count_.end(), std::uint8_t{0});
  const auto count_of = [this](std::size_t byte) { return first_with_byte_[byte + 1] - first_with_byte_[byte]; };
  std::ranges::stable_sort(bytes_by_count_.begin(), bytes_by_count_.begin() + 0x80, std::greater{}, count_of);
}

std::span<const std::uint32_t> TokenTrie::nodes_with(std::uint8_t byte, std::size_t first, std::size_t end) const {
  const std::uint32_t index = first_with_byte_[byte];
  const auto all = std::span(nodes_by_byte_).subspan(index, first_with_byte_[byte + std::size_t{1}] - index);
  const auto begin = std::ranges::lower_bound(all, first);
  return {begin, std::lower_bound(begin, all.end(), end)};
}

std::uint32_t TokenTrie::child(std::uint32_t node, std::uint8_t byte) const {
  const std::uint32_t end = nodes_[node].next;
  if (wide_of_[node] != 0) {
    const auto [first, count] = wide_nodes_[wide_of_[node]];
    const std::uint8_t* const bytes = child_bytes_.data() + first;
    const void* const found = std::memchr(bytes, byte, count);
    return found ? child_nodes_[first + static_cast<std::size_t>(static_cast<const std::uint8_t*>(found) - bytes)]
                 : end;
  }
  std::uint32_t child = node + 1;
  while (child < end && nodes_[child].byte < byte) child = nodes_[child].next;
  return child < end && nodes_[child].byte == byte ? child : end;
}

std::optional<std::uint32_t> TokenTrie::find(std::string_view text) const {
  std::uint32_t node = root(static_cast<std::uint8_t>(text[0])), end = static_cast<std::uint32_t>(nodes_.size());
  for (std::size_t i = 1; i < text.size() && node < end; ++i) {
    end = nodes_[node].next;
    node = child(node, static_cast<std::uint8_t>(text[i]));
  }
  return node < end ? std::optional(node) : std::nullopt;
}

void TokenTrie::add_nodes(const BytesOf& bytes_of) {
  std::vector<std::uint32_t> path;  // the nodes from the root to the last token
  std::string_view last;
  const auto close = [&](std::size_t depth) {
    for (; path.size() > depth; path.pop_back()) nodes_[path.back()].next = static_cast<std::uint32_t>(nodes_.size());
  };
  for (std::uint32_t id : ids_in_order_) {
    const std::string_view token = bytes_of(id);
    max_token_length_ = std::max(max_token_length_, static_cast<std::uint32_t>(token.size()));
    const auto common = static_cast<std::size_t>(
        std::mismatch(last.begin(), last.end(), token.begin(), token.end()).second - token.begin());
    close(common);
    for (std::size_t depth = common; depth < token.size(); ++depth) {
      path.push_back(static_cast<std::uint32_t>(nodes_.size()));
      TrieNode node{};
      node.token = TrieNode::kNoToken;
      node.depth = static_cast<std::uint32_t>(depth) & 0xFFFFFF;
      node.byte = static_cast<std::uint8_t>(token[depth]);
      nodes_.push_back(node);
      if (nodes_.size() >= UINT32_MAX) {
        throw Error(ErrorKind::vocabulary, "trie_nodes", static_cast<std::int64_t>(nodes_.size()), UINT32_MAX);
      }
    }
    add_token(path.back(), id);
    last = token;
  }
  close(0);
  nodes_.shrink_to_fit();
}

void TokenTrie::add_token(std::uint32_t node, std::uint32_t id) {
  std::uint32_t& token = nodes_[node].token;
  if (token == TrieNode::kNoToken) {
    token = id;
    return;
  }
  if (!(token & TrieNode::kShared)) {
    shared_ids_.push_back({token});
    token = TrieNode::kShared | static_cast<std::uint32_t>(shared_ids_.size() - 1);
  }
  shared_ids_[token & ~TrieNode::kShared].push_back(id);
}

void TokenTrie::find_heights() {
  heights_.assign(nodes_.size(), 0);
  for (std::size_t i = nodes_.size(); i-- > 0;) {
    for (std::size_t k = i + 1; k < nodes_[i].next; k = nodes_[k].next) {
      heights_[i] = static_cast<std::uint8_t>(std::max<unsigned>(heights_[i], std::min(heights_[k] + 1, 255)));
    }
    const bool is_long = nodes_[i].depth + std::uint32_t{1} >= kLongToken;
    if (is_long && nodes_[i].token != TrieNode::kNoToken) long_token_nodes_.push_back(static_cast<std::uint32_t>(i));
  }
  std::ranges::reverse(long_token_nodes_);
}

namespace {

// A node whose subtree is not complete yet, with the facts about the part of the subtree seen so far.
struct OpenNode {
  std::uint32_t node;
  Utf8Position before, after;
  ByteSet used;
  bool is_text;
  std::uint32_t height;
  std::uint32_t first;  // index of its first id
  bool whole;
};

}  // namespace

void TokenTrie::find_subtrees() {
  constexpr std::uint32_t kWorthwhile = 4;  // ids; with fewer, walking the nodes is as fast
  std::vector<OpenNode> path;
  std::uint32_t count = 0;  // ids so far
  const auto close = [&] {
    const OpenNode done = path.back();
    path.pop_back();
    if (done.is_text && done.before.remaining == 0 && count - done.first >= kWorthwhile) {
      nodes_[done.node].subtree = static_cast<std::uint32_t>(subtrees_.size());
      subtrees_.push_back({done.used, done.height, done.first, count, done.whole});
    }
    if (path.empty()) return;
    path.back().used = path.back().used | done.used;
    path.back().is_text &= done.is_text;
    path.back().whole &= done.whole;
    path.back().height = std::max(path.back().height, done.height + 1);
  };
  for (std::uint32_t i = 0; i < nodes_.size(); ++i) {
    while (path.size() > nodes_[i].depth) close();
    const auto byte = static_cast<std::uint8_t>(nodes_[i].byte);
    const Utf8Position before = path.empty() ? Utf8Position{} : path.back().after;
    const Utf8Position after = before.after(byte);
    const std::uint32_t token = nodes_[i].token;
    const bool is_whole = token == TrieNode::kNoToken || after.remaining == 0;
    const ByteSet used = before.remaining == 0 ? ByteSet::of(byte) : ByteSet{};
    path.push_back({i, before, after, used, after.valid, 1, count, is_whole});
    if (token == TrieNode::kNoToken) continue;
    count += token & TrieNode::kShared ? static_cast<std::uint32_t>(shared_ids(token).size()) : 1;
  }
  while (!path.empty()) close();
}

}  // namespace detent

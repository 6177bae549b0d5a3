#include "vocab/vocabulary.h"

#include <algorithm>
#include <utility>

#include "base/error.h"
#include "base/fork_guard.h"
#include "expr/special.h"
#include "vocab/tokenizable_texts.h"

namespace detent {

Vocabulary::Vocabulary(const std::vector<std::string_view>& tokens, const std::vector<std::uint32_t>& special,
                       std::vector<std::uint32_t> eos_ids, std::uint32_t size, std::size_t cache_bytes,
                       std::string_view saved_trie)
    : size_(size), eos_ids_(std::move(eos_ids)), cache_(cache_bytes) {
  if (size_ > kMaxSize) throw Error(ErrorKind::vocabulary, "size", size_, kMaxSize);
  if (tokens.size() > size_) {
    throw Error(ErrorKind::vocabulary, "tokens", static_cast<std::int64_t>(tokens.size()), size_);
  }
  std::size_t total = 0;
  for (std::string_view token : tokens) total += token.size();
  pool_.reserve(total);
  offsets_.reserve(tokens.size() + 1);
  for (std::string_view token : tokens) {
    if (token.size() >= kMaxSize) {
      throw Error(ErrorKind::vocabulary, "token_bytes", static_cast<std::int64_t>(token.size()), kMaxSize - 1);
    }
    add_token(token, !token.empty());
  }
  for (const std::vector<std::uint32_t>* ids : {&special, &std::as_const(eos_ids_)}) {
    for (std::uint32_t id : *ids) {
      if (id >= size_) throw Error(ErrorKind::vocabulary, "token_id", id, size_);
      if (id < is_text_.size()) is_text_[id] = false;
    }
  }
  std::sort(eos_ids_.begin(), eos_ids_.end());
  eos_ids_.erase(std::unique(eos_ids_.begin(), eos_ids_.end()), eos_ids_.end());
  index_text(false, saved_trie);
}

std::shared_ptr<const Vocabulary> Vocabulary::with_special(const Vocabulary& plain) {
  std::shared_ptr<Vocabulary> framed(new Vocabulary(plain.cache_.limit_bytes()));
  framed->size_ = plain.size_;
  framed->eos_ids_ = plain.eos_ids_;
  for (std::uint32_t id = 0; id < plain.is_text_.size(); ++id) {
    const std::string_view bytes = plain.bytes(id);
    const bool is_special = !plain.is_text_[id] && !bytes.empty();
    if (!is_special) {
      framed->add_token(bytes, plain.is_text_[id] && bytes.find('\xFF') == std::string_view::npos);
      continue;
    }
    framed->special_names_.emplace_back(bytes);
    if (plain.is_eos(id)) framed->special_eos_.emplace_back(bytes);
    framed->add_token(special_frame(bytes), true);
  }
  for (std::vector<std::string>* names : {&framed->special_names_, &framed->special_eos_}) {
    std::ranges::sort(*names);
    names->erase(std::unique(names->begin(), names->end()), names->end());
  }
  framed->index_text(true);
  return framed;
}

void Vocabulary::add_token(std::string_view bytes, bool is_text) {
  pool_ += bytes;
  offsets_.push_back(pool_.size());
  is_text_.push_back(is_text);
}

const StringLengths& Vocabulary::string_lengths() const {
  const ForkGuard guard;
  const std::lock_guard lock(string_lengths_mutex_);
  if (!string_lengths_) {
    std::vector<std::uint32_t> ids;  // ascending, as their bytes lie in memory
    for (std::uint32_t id = 0; id < is_text_.size(); ++id) {
      if (is_text_[id]) ids.push_back(id);
    }
    const auto bytes_of = [this](std::uint32_t id) { return bytes(id); };
    string_lengths_ = std::make_unique<const StringLengths>(ids, size_, bytes_of);
  }
  return *string_lengths_;
}

// Builds the members that depend on the text tokens. With frames, kFrameBound counts as a token: it occurs only at both
// ends of a frame, which is a token.
void Vocabulary::index_text(bool has_frames, std::string_view saved_trie) {
  std::vector<std::uint32_t> ids;
  std::vector<std::string_view> texts;
  for (std::uint32_t id = 0; id < is_text_.size(); ++id) {
    if (!is_text_[id]) continue;
    ids.push_back(id);
    texts.push_back(bytes(id));
    for (char byte : bytes(id)) alphabet_.insert(static_cast<std::uint8_t>(byte));
    if (bytes(id).size() == 1) token_bytes_.insert(static_cast<std::uint8_t>(bytes(id)[0]));
  }
  index_bytes(ids);
  if (saved_trie.empty()) {
    trie_ = TokenTrie(std::move(ids), [this](std::uint32_t id) { return bytes(id); });
  } else {
    trie_ = TokenTrie::load(saved_trie, is_text_, [this](std::uint32_t id) { return bytes(id); });
  }
  if (has_frames) token_bytes_.insert(kFrameBound);
  if (!alphabet_.is_subset_of(token_bytes_)) tokenizable_texts_ = detent::tokenizable_texts(std::move(texts));
  string_lengths();  // built now: it takes milliseconds, too long for a step of decoding
}

// For each byte that few tokens contain, lists these tokens.
void Vocabulary::index_bytes(const std::vector<std::uint32_t>& ids) {
  const auto each_byte = [this](std::uint32_t id, auto act) {
    const std::string_view text = bytes(id);
    for (std::size_t i = 0; i < text.size(); ++i) {
      const bool is_first = text.find(text[i]) == i;
      if (is_first) act(static_cast<std::uint8_t>(text[i]));
    }
  };
  for (std::uint32_t id : ids) each_byte(id, [this](std::uint8_t byte) { ++byte_counts_[byte]; });
  std::array<std::uint32_t, 256> next{};
  std::uint32_t size = 0;
  for (std::size_t byte = 0; byte < 256; ++byte) {
    const bool is_rare = byte_counts_[byte] <= ids.size() / kFewTokens;
    first_with_byte_[byte] = next[byte] = is_rare ? size : kManyTokens;
    if (is_rare) size += byte_counts_[byte];
  }
  tokens_with_byte_.resize(size);
  for (std::uint32_t id : ids) {
    each_byte(id, [&](std::uint8_t byte) {
      if (next[byte] != kManyTokens) tokens_with_byte_[next[byte]++] = id;
    });
  }
}

bool Vocabulary::is_eos(std::uint32_t id) const { return std::binary_search(eos_ids_.begin(), eos_ids_.end(), id); }

std::string_view Vocabulary::text_of_node(std::uint32_t node) const {
  const std::size_t length = trie()[node].depth + std::size_t{1};
  while (trie()[node].token == TrieNode::kNoToken) ++node;  // some token below
  const std::uint32_t token = trie()[node].token;
  return bytes(token & TrieNode::kShared ? shared_ids(token)[0] : token).substr(0, length);
}

std::vector<std::uint32_t> Vocabulary::ids_with_bytes(std::string_view text) const {
  const auto first = std::ranges::lower_bound(ids_in_order(), text, {}, [this](std::uint32_t id) { return bytes(id); });
  auto last = first;
  while (last != ids_in_order().end() && bytes(*last) == text) ++last;
  return {first, last};
}

std::vector<std::uint32_t> Vocabulary::fewest_tokens(std::string_view text) const {
  struct Best {
    std::uint32_t count = UINT32_MAX;
    std::uint32_t token = 0;
    std::size_t next = 0;
  };
  std::vector<Best> best(text.size() + 1);
  best[text.size()].count = 0;
  for (std::size_t i = text.size(); i-- > 0;) {
    std::uint32_t node = root(static_cast<std::uint8_t>(text[i]));
    for (std::size_t k = i; k < text.size() && node < trie().size();) {
      const std::uint32_t token = trie()[node].token;
      ++k;
      if (token != TrieNode::kNoToken && best[k].count != UINT32_MAX && best[k].count + 1 < best[i].count) {
        best[i] = {best[k].count + 1, token & TrieNode::kShared ? shared_ids(token)[0] : token, k};
      }
      if (k == text.size()) break;
      const std::uint32_t end = trie()[node].next;
      std::uint32_t child = node + 1;
      while (child < end && trie()[child].byte != static_cast<std::uint8_t>(text[k])) child = trie()[child].next;
      if (child >= end) break;
      node = child;
    }
  }
  std::vector<std::uint32_t> tokens;
  if (best[0].count == UINT32_MAX) return tokens;
  for (std::size_t i = 0; i < text.size(); i = best[i].next) tokens.push_back(best[i].token);
  return tokens;
}

}  // namespace detent

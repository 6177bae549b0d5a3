#include "vocab/vocabulary.h"

#include <algorithm>
#include <numeric>
#include <unordered_map>

#include "base/error.h"
#include "expr/special.h"

namespace detent {

Vocabulary::Vocabulary(const std::vector<std::string_view>& tokens, const std::vector<std::uint32_t>& special,
                       std::vector<std::uint32_t> eos_ids, std::uint32_t size, std::size_t cache_bytes)
    : size_(size), eos_ids_(std::move(eos_ids)), cache_(cache_bytes) {
  if (size_ > kMaxSize) throw Error(ErrorKind::vocabulary, "size", size_, kMaxSize);
  if (tokens.size() > size_) {
    throw Error(ErrorKind::vocabulary, "tokens", static_cast<std::int64_t>(tokens.size()), size_);
  }
  std::size_t total = 0;
  for (std::string_view token : tokens) total += token.size();
  pool_.reserve(total);
  offsets_.reserve(tokens.size() + 1);
  offsets_.push_back(0);
  text_.reserve(tokens.size());
  for (std::string_view token : tokens) {
    if (token.size() >= kMaxSize) {
      throw Error(ErrorKind::vocabulary, "token_bytes", static_cast<std::int64_t>(token.size()), kMaxSize - 1);
    }
    pool_ += token;
    offsets_.push_back(pool_.size());
    text_.push_back(!token.empty());
  }
  const auto take_out = [this](const std::vector<std::uint32_t>& ids) {
    for (std::uint32_t id : ids) {
      if (id >= size_) throw Error(ErrorKind::vocabulary, "token_id", id, size_);
      if (id < text_.size()) text_[id] = false;
    }
  };
  take_out(special);
  take_out(eos_ids_);
  std::sort(eos_ids_.begin(), eos_ids_.end());
  eos_ids_.erase(std::unique(eos_ids_.begin(), eos_ids_.end()), eos_ids_.end());
  build_trie();
  find_subtrees();
  find_tokenizable_texts(0xFF);
}

std::shared_ptr<const Vocabulary> Vocabulary::with_special(const Vocabulary& plain) {
  std::shared_ptr<Vocabulary> framed(new Vocabulary(plain.cache_.limit_bytes()));
  framed->size_ = plain.size_;
  framed->eos_ids_ = plain.eos_ids_;
  framed->offsets_.push_back(0);
  for (std::uint32_t id = 0; id < plain.text_.size(); ++id) {
    const std::string_view bytes = plain.bytes(id);
    const bool is_special = !plain.text_[id] && !bytes.empty();
    if (is_special) framed->special_names_.emplace_back(bytes);
    if (is_special && plain.is_eos(id)) framed->special_eos_.emplace_back(bytes);
    framed->pool_ += is_special ? special_frame(bytes) : std::string(bytes);
    framed->offsets_.push_back(framed->pool_.size());
    framed->text_.push_back(is_special || (plain.text_[id] && bytes.find('\xFF') == std::string_view::npos));
  }
  for (std::vector<std::string>* names : {&framed->special_names_, &framed->special_eos_}) {
    std::ranges::sort(*names);
    names->erase(std::unique(names->begin(), names->end()), names->end());
  }
  framed->build_trie();
  framed->find_subtrees();
  framed->find_tokenizable_texts(0xFE);
  return framed;
}

bool Vocabulary::is_eos(std::uint32_t id) const { return std::binary_search(eos_ids_.begin(), eos_ids_.end(), id); }

void Vocabulary::build_trie() {
  std::vector<std::uint32_t>& order = ids_in_order_;
  for (std::uint32_t id = 0; id < text_.size(); ++id) {
    if (text_[id]) order.push_back(id);
  }
  std::sort(order.begin(), order.end(), [this](std::uint32_t x, std::uint32_t y) {
    const int compared = bytes(x).compare(bytes(y));
    return compared != 0 ? compared < 0 : x < y;
  });
  std::vector<std::uint32_t> path;  // the nodes from the root to the last token
  std::string_view last;
  const auto close = [&](std::size_t depth) {
    for (; path.size() > depth; path.pop_back()) trie_[path.back()].next = static_cast<std::uint32_t>(trie_.size());
  };
  for (std::uint32_t id : order) {
    const std::string_view token = bytes(id);
    max_token_length_ = std::max(max_token_length_, static_cast<std::uint32_t>(token.size()));
    const auto common = static_cast<std::size_t>(
        std::mismatch(last.begin(), last.end(), token.begin(), token.end()).second - token.begin());
    close(common);
    for (std::size_t depth = common; depth < token.size(); ++depth) {
      path.push_back(static_cast<std::uint32_t>(trie_.size()));
      TrieNode node{};
      node.token = TrieNode::kNoToken;
      node.depth = static_cast<std::uint32_t>(depth) & 0xFFFFFF;
      node.byte = static_cast<std::uint8_t>(token[depth]);
      trie_.push_back(node);
      if (trie_.size() >= UINT32_MAX) {
        throw Error(ErrorKind::vocabulary, "trie_nodes", static_cast<std::int64_t>(trie_.size()), UINT32_MAX);
      }
    }
    std::uint32_t& place = trie_[path.back()].token;
    if (place == TrieNode::kNoToken) {
      place = id;
    } else {
      if (!(place & TrieNode::kShared)) {
        shared_ids_.push_back({place});
        place = TrieNode::kShared | static_cast<std::uint32_t>(shared_ids_.size() - 1);
      }
      shared_ids_[place & ~TrieNode::kShared].push_back(id);
    }
    last = token;
  }
  close(0);
  trie_.shrink_to_fit();
  heights_.assign(trie_.size(), 0);
  for (std::size_t i = trie_.size(); i-- > 0;) {
    for (std::size_t k = i + 1; k < trie_[i].next; k = trie_[k].next) {
      heights_[i] = static_cast<std::uint8_t>(std::max<unsigned>(heights_[i], std::min(heights_[k] + 1, 255)));
    }
  }
  roots_.fill(static_cast<std::uint32_t>(trie_.size()));
  for (std::uint32_t i = 0; i < trie_.size(); i = trie_[i].next) roots_[trie_[i].byte] = i;
}

namespace {

// Steps through UTF-8: the bytes that may come next inside a character.
struct Utf8Place {
  int left = 0;  // continuation bytes still to come
  std::uint8_t low = 0x80, high = 0xBF;
  bool valid = true;

  Utf8Place after(std::uint8_t byte) const {
    if (!valid) return *this;
    if (left > 0) return {left - 1, 0x80, 0xBF, byte >= low && byte <= high};
    if (byte < 0x80) return {};
    if (byte < 0xC2 || byte > 0xF4) return {0, 0x80, 0xBF, false};
    if (byte < 0xE0) return {1, 0x80, 0xBF, true};
    if (byte < 0xF0)
      return {2, std::uint8_t(byte == 0xE0 ? 0xA0 : 0x80), std::uint8_t(byte == 0xED ? 0x9F : 0xBF), true};
    return {3, std::uint8_t(byte == 0xF0 ? 0x90 : 0x80), std::uint8_t(byte == 0xF4 ? 0x8F : 0xBF), true};
  }
};

}  // namespace

void Vocabulary::find_subtrees() {
  constexpr std::uint32_t kWorthwhile = 4;  // ids; below, walking is as fast
  struct Open {
    std::uint32_t node;
    Utf8Place before, after;
    ByteSet used;
    bool text;
    std::uint32_t height;
    std::uint32_t first;
    bool whole;
  };
  std::vector<Open> path;
  std::uint32_t count = 0;  // ids seen so far
  const auto close = [&] {
    const Open done = path.back();
    path.pop_back();
    if (done.text && done.before.left == 0 && count - done.first >= kWorthwhile) {
      trie_[done.node].subtree = static_cast<std::uint32_t>(subtrees_.size());
      subtrees_.push_back({done.used, done.height, done.first, count, done.whole});
    }
    if (path.empty()) return;
    path.back().used = path.back().used | done.used;
    path.back().text &= done.text;
    path.back().whole &= done.whole;
    path.back().height = std::max(path.back().height, done.height + 1);
  };
  for (std::uint32_t i = 0; i < trie_.size(); ++i) {
    while (path.size() > trie_[i].depth) close();
    const auto byte = static_cast<std::uint8_t>(trie_[i].byte);
    const Utf8Place before = path.empty() ? Utf8Place{} : path.back().after;
    const Utf8Place after = before.after(byte);
    const bool is_whole = trie_[i].token == TrieNode::kNoToken || after.left == 0;
    path.push_back(
        {i, before, after, before.left == 0 ? ByteSet::of(byte) : ByteSet{}, after.valid, 1, count, is_whole});
    const std::uint32_t token = trie_[i].token;
    if (token == TrieNode::kNoToken) continue;
    count += token & TrieNode::kShared ? static_cast<std::uint32_t>(shared_ids(token).size()) : 1;
  }
  while (!path.empty()) close();
}

std::vector<std::uint32_t> Vocabulary::ids_with_bytes(std::string_view text) const {
  const auto first = std::ranges::lower_bound(ids_in_order_, text, {}, [this](std::uint32_t id) { return bytes(id); });
  auto last = first;
  while (last != ids_in_order_.end() && bytes(*last) == text) ++last;
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
    std::uint32_t node = roots_[static_cast<std::uint8_t>(text[i])];
    for (std::size_t k = i; k < text.size() && node < trie_.size();) {
      const std::uint32_t token = trie_[node].token;
      ++k;
      if (token != TrieNode::kNoToken && best[k].count + 1 < best[i].count) {
        best[i] = {best[k].count + 1, token & TrieNode::kShared ? shared_ids(token)[0] : token, k};
      }
      if (k == text.size()) break;
      const std::uint32_t end = trie_[node].next;
      std::uint32_t child = node + 1;
      while (child < end && trie_[child].byte != static_cast<std::uint8_t>(text[k])) child = trie_[child].next;
      if (child >= end) break;
      node = child;
    }
  }
  std::vector<std::uint32_t> tokens;
  for (std::size_t i = 0; i < text.size(); i = best[i].next) tokens.push_back(best[i].token);
  return tokens;
}

// Where some byte is no token, a live state may still be out of the vocabulary's reach. The texts within reach are
// (t1|t2|...)*; tokens that shorter ones already write add nothing. Dropping these is an optimisation: it stops, and
// keeps what is left, when it has cost enough. Bytes above `highest` need not be tokens.
void Vocabulary::find_tokenizable_texts(std::uint8_t highest) {
  std::vector<bool> single(std::size_t{highest} + 1);
  std::vector<std::string_view> order;
  for (std::uint32_t id = 0; id < text_.size(); ++id) {
    if (!text_[id]) continue;
    const auto first = static_cast<std::uint8_t>(bytes(id)[0]);
    if (bytes(id).size() == 1 && first <= highest) single[first] = true;
    order.push_back(bytes(id));
  }
  if (std::find(single.begin(), single.end(), false) == single.end()) return;
  std::sort(order.begin(), order.end(),
            [](std::string_view x, std::string_view y) { return x.size() != y.size() ? x.size() < y.size() : x < y; });
  order.erase(std::unique(order.begin(), order.end()), order.end());

  struct Step {
    std::unordered_map<std::uint64_t, std::uint32_t> next;  // (node << 8 | byte) -> node
    std::vector<bool> whole{false};
  } trie;
  std::int64_t budget = 20'000'000;
  std::vector<NodeRef> kept;
  std::vector<bool> reached;
  for (std::string_view token : order) {
    reached.assign(token.size() + 1, false);
    reached[0] = true;
    for (std::size_t from = 0; from < token.size() && budget > 0; ++from) {
      if (!reached[from]) continue;
      std::uint32_t node = 0;
      for (std::size_t to = from; to < token.size(); ++to) {
        --budget;
        const auto found = trie.next.find(std::uint64_t{node} << 8 | static_cast<std::uint8_t>(token[to]));
        if (found == trie.next.end()) break;
        node = found->second;
        if (trie.whole[node]) reached[to + 1] = true;
      }
    }
    if (reached[token.size()]) continue;
    kept.push_back(Node::literal(std::string(token)));
    std::uint32_t node = 0;
    for (char byte : token) {
      const auto [place, is_new] =
          trie.next.try_emplace(std::uint64_t{node} << 8 | static_cast<std::uint8_t>(byte), trie.whole.size());
      if (is_new) trie.whole.push_back(false);
      node = place->second;
    }
    trie.whole[node] = true;
  }
  tokenizable_texts_ = Node::repeat(Node::union_of(std::move(kept)), 0, Node::kUnbounded);
}

}  // namespace detent

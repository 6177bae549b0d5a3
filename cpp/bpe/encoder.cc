#include "bpe/encoder.h"

#include <algorithm>
#include <array>

#include "base/error.h"
#include "bpe/merge_adjacency.h"
#include "bpe/unigram_adjacency.h"

namespace detent {
namespace {

// The code point at `text[at]`, which is valid UTF-8; moves `at` to the next one.
std::uint32_t decode(std::string_view text, std::size_t& at) {
  const auto byte = [&] { return static_cast<std::uint8_t>(text[at++]); };
  const std::uint32_t lead = byte();
  if (lead < 0x80) return lead;
  const int more = lead < 0xE0 ? 1 : lead < 0xF0 ? 2 : 3;
  std::uint32_t point = lead & (0x3Fu >> more);
  for (int i = 0; i < more; ++i) point = point << 6 | (byte() & 0x3F);
  return point;
}

std::vector<std::uint32_t> base_tokens_of(const Encoder::Config& config) {
  std::vector<std::uint32_t> base(256, Encoder::kNone);
  for (const auto& [symbol, token] : config.base_symbols) {
    if (token >= config.size || symbol > 0x10FFFF) throw Error(ErrorKind::argument, "merge", token, config.size);
    if (symbol >= base.size()) base.resize(symbol + std::size_t{1}, Encoder::kNone);
    base[symbol] = token;
  }
  return base;
}

bool is_utf8(std::string_view text) {
  static const CharacterDfa any({{0, 0}});
  CharacterDfa::Step step{CharacterDfa::kBorder, 0, false};
  for (char byte : text) {
    step = any.step(step.node, static_cast<std::uint8_t>(byte));
    if (step.dead) return false;
  }
  return step.node == CharacterDfa::kBorder;
}

}  // namespace

Encoder::Encoder(const Config& config)
    : pieces_(config.pieces),
      single_pretoken_(config.single_pretoken),
      merges_(config.size, config.merges),
      characters_(config.class_ranges),
      pretokenizer_(config.pretokenizer, config.class_count),
      base_tokens_(base_tokens_of(config)),
      byte_tokens_(config.byte_tokens),
      is_byte_token_(byte_tokens_.empty() ? 0 : config.size),
      first_tokens_(std::size_t{1} << kRecentBits) {
  if (!pieces_) forbid_missing_bytes();
  if (!byte_tokens_.empty() && byte_tokens_.size() != 256) {
    throw Error(ErrorKind::argument, "byte_pieces", static_cast<std::int64_t>(byte_tokens_.size()), 256);
  }
  for (std::uint32_t token : byte_tokens_) {
    if (token >= config.size) throw Error(ErrorKind::argument, "merge", token, config.size);
    is_byte_token_[token] = true;
  }
  for (const Merge& merge : config.merges) {
    if (is_byte_token(merge.left) || is_byte_token(merge.right)) {
      throw Error(ErrorKind::unsupported, "merged_bytes", is_byte_token(merge.left) ? merge.left : merge.right);
    }
  }
  if (!config.scores.empty()) {
    if (config.scores.size() != config.size || config.texts.size() != config.size) {
      throw Error(ErrorKind::argument, "merge", static_cast<std::int64_t>(config.scores.size()), config.size);
    }
    unigram_.emplace(config.texts, config.scores, config.unknown_score, config.split_at_spaces);
    adjacency_ = std::make_unique<const UnigramAdjacency>(*unigram_, config.texts);
  } else {
    adjacency_ = std::make_unique<const MergeAdjacency>(merges_, [&](std::uint32_t t) {
      return t < config.texts.size() ? symbols_of(config.texts[t]) : std::vector<std::uint32_t>{};
    });
  }
  unsplit_token_.push_back(kNone);
  if (config.ignore_merges) build_unsplit_trie(config);
}

// Removes the characters that have a byte without a token: a text with such a byte has no encoding.
void Encoder::forbid_missing_bytes() {
  std::array<bool, 256> missing{};
  for (std::size_t byte = 0; byte < missing.size(); ++byte) missing[byte] = base_tokens_[byte] == kNone;
  if (std::ranges::find(missing, true) != missing.end()) characters_.forbid(missing);
}

void Encoder::build_unsplit_trie(const Config& config) {
  is_unsplit_.resize(config.size);
  for (std::uint32_t t = 0; t < config.texts.size(); ++t) {
    if (config.texts[t].empty() || adjacency_->is_reachable(t)) continue;
    if (!pieces_ && symbols_of(config.texts[t]).empty()) {
      throw Error(ErrorKind::unsupported, "unsplit_bytes", t);
    }
    is_unsplit_[t] = true;
    std::uint32_t node = 0;
    for (char byte : config.texts[t]) {
      const std::uint64_t key = std::uint64_t{node} << 8 | static_cast<std::uint8_t>(byte);
      const auto [entry, is_new] = unsplit_next_.try_emplace(key, static_cast<std::uint32_t>(unsplit_token_.size()));
      if (is_new) unsplit_token_.push_back(kNone);
      node = entry->second;
    }
    unsplit_token_[node] = t;
  }
}

// The symbols that merging starts from; empty if some symbol has no token.
std::vector<std::uint32_t> Encoder::symbols_of(std::string_view text) const {
  std::vector<std::uint32_t> symbols;
  for (std::size_t at = 0; at < text.size();) {
    const std::size_t from = at;
    const std::uint32_t symbol = pieces_ ? decode(text, at) : static_cast<std::uint8_t>(text[at++]);
    if (symbol < base_tokens_.size() && base_tokens_[symbol] != kNone) {
      symbols.push_back(base_tokens_[symbol]);
    } else if (pieces_ && !byte_tokens_.empty()) {
      for (std::size_t i = from; i < at; ++i) symbols.push_back(byte_tokens_[static_cast<std::uint8_t>(text[i])]);
    } else {
      return {};
    }
  }
  return symbols;
}

std::vector<std::uint32_t> Encoder::merge(std::string_view part) const {
  if (unigram_) return best_pieces(part);
  std::vector<std::uint32_t> symbols = symbols_of(part);
  merges_.merge(symbols);
  return symbols;
}

std::uint32_t Encoder::first_merged(std::string_view part) const {
  const std::vector<std::uint32_t> merged = merge(part);
  return merged.empty() ? kNone : merged.front();
}

std::uint32_t Encoder::first_token(std::string_view part) const {
  constexpr std::uint64_t kTokens = std::uint64_t{1} << 29;  // that fit beside a part
  if (part.empty() || part.size() > 4 || size() >= kTokens) return first_merged(part);
  std::uint64_t key = 0;
  for (char byte : part) key = key << 8 | static_cast<std::uint8_t>(byte);
  key = key << 3 | part.size();
  std::atomic<std::uint64_t>& recent = first_tokens_[(key * 0x9E3779B97F4A7C15ULL) >> (64 - kRecentBits)];
  constexpr auto order = std::memory_order_relaxed;
  if (const std::uint64_t known = recent.load(order); known / kTokens == key) {
    return static_cast<std::uint32_t>(known % kTokens);
  }
  const std::uint32_t token = first_merged(part);
  if (token != kNone) recent.store(key * kTokens | token, order);
  return token;
}

std::vector<std::uint32_t> Encoder::best_pieces(std::string_view part) const {
  std::vector<std::uint32_t> tokens;
  bool has_token = true;
  // The caller has seen that there is a Unigram model.
  unigram_->encode(
      part, [&](std::uint32_t token) { tokens.push_back(token); },
      [&](std::string_view character) {
        std::size_t at = 0;
        has_token &= !byte_tokens_.empty() && characters_.of_class(decode(character, at)) != CharacterDfa::kNoClass;
        for (char byte : character) {
          if (has_token) tokens.push_back(byte_tokens_[static_cast<std::uint8_t>(byte)]);
        }
      });
  return has_token ? tokens : std::vector<std::uint32_t>{};
}

void Encoder::append_pretoken(std::string_view pretoken, std::vector<std::uint32_t>& tokens) const {
  if (const std::uint32_t unsplit = unsplit_token(unsplit_step(unsplit_root(), pretoken)); unsplit != kNone) {
    tokens.push_back(unsplit);
    return;
  }
  const std::vector<std::uint32_t> merged = merge(pretoken);
  if (merged.empty() && !pretoken.empty()) throw Error(ErrorKind::argument, "no_token");
  tokens.insert(tokens.end(), merged.begin(), merged.end());
}

std::vector<std::uint32_t> Encoder::encode(std::string_view text) const {
  if (!is_utf8(text)) throw Error(ErrorKind::argument, "not_text");
  std::vector<std::uint32_t> tokens;
  if (single_pretoken_) {
    append_pretoken(text, tokens);
    return tokens;
  }
  // The class and the first byte of each character.
  std::vector<std::uint8_t> classes;
  std::vector<std::size_t> begins;
  std::size_t begin = 0;
  std::uint16_t node = CharacterDfa::kBorder;
  for (std::size_t i = 0; i < text.size(); ++i) {
    const CharacterDfa::Step step = characters_.step(node, static_cast<std::uint8_t>(text[i]));
    if (step.dead) throw Error(ErrorKind::argument, "no_token");
    node = step.node;
    if (node != CharacterDfa::kBorder) continue;
    classes.push_back(step.of_class);
    begins.push_back(begin);
    begin = i + 1;
  }
  begins.push_back(text.size());
  std::size_t first = 0;
  for (std::size_t end : pretokenizer_.pretoken_ends(classes)) {
    append_pretoken(text.substr(begins[first], begins[end] - begins[first]), tokens);
    first = end;
  }
  return tokens;
}

UnsplitNode Encoder::unsplit_step(UnsplitNode node, std::string_view text) const {
  for (char byte : text) {
    if (node == kNoUnsplit) break;
    const auto next = unsplit_next_.find(std::uint64_t{node.value} << 8 | static_cast<std::uint8_t>(byte));
    node = next == unsplit_next_.end() ? kNoUnsplit : UnsplitNode{next->second};
  }
  return node;
}

}  // namespace detent

#include "bpe/encoder.h"

#include <algorithm>

#include "base/error.h"
#include "bpe/merge_adjacency.h"
#include "bpe/unigram_adjacency.h"

namespace detent {
namespace {

// The code point at `text[at]`, which is valid UTF-8; moves behind it.
std::uint32_t decode(std::string_view text, std::size_t& at) {
  const auto byte = [&] { return static_cast<std::uint8_t>(text[at++]); };
  const std::uint32_t lead = byte();
  if (lead < 0x80) return lead;
  const int more = lead < 0xE0 ? 1 : lead < 0xF0 ? 2 : 3;
  std::uint32_t point = lead & (0x3Fu >> more);
  for (int i = 0; i < more; ++i) point = point << 6 | (byte() & 0x3F);
  return point;
}

std::vector<std::uint32_t> base_of(const Encoder::Recipe& recipe) {
  std::vector<std::uint32_t> base(256, Encoder::kNone);
  for (const auto& [symbol, token] : recipe.base) {
    if (token >= recipe.size || symbol > 0x10FFFF) throw Error(ErrorKind::argument, "merge", token, recipe.size);
    if (symbol >= base.size()) base.resize(symbol + std::size_t{1}, Encoder::kNone);
    base[symbol] = token;
  }
  return base;
}

bool is_utf8(std::string_view text) {
  static const CharacterDfa any({{0, 0}});
  CharacterDfa::Step step{0, 0, false};
  for (char byte : text) {
    step = any.step(step.node, static_cast<std::uint8_t>(byte));
    if (step.dead) return false;
  }
  return step.node == 0;
}

}  // namespace

Encoder::Encoder(const Recipe& recipe)
    : pieces_(recipe.pieces),
      one_chunk_(recipe.one_chunk),
      merges_(recipe.size, recipe.merges),
      characters_(recipe.ranges),
      split_(recipe.program, recipe.class_count),
      base_(base_of(recipe)),
      byte_pieces_(recipe.byte_pieces),
      is_byte_piece_(byte_pieces_.empty() ? 0 : recipe.size) {
  if (!byte_pieces_.empty() && byte_pieces_.size() != 256) {
    throw Error(ErrorKind::argument, "byte_pieces", static_cast<std::int64_t>(byte_pieces_.size()), 256);
  }
  for (std::uint32_t token : byte_pieces_) {
    if (token >= recipe.size) throw Error(ErrorKind::argument, "merge", token, recipe.size);
    is_byte_piece_[token] = true;
  }
  for (const Merge& merge : recipe.merges) {
    if (is_byte_piece(merge.left) || is_byte_piece(merge.right)) {
      throw Error(ErrorKind::unsupported, "merged_bytes", is_byte_piece(merge.left) ? merge.left : merge.right);
    }
  }
  if (!recipe.scores.empty()) {
    if (recipe.scores.size() != recipe.size || recipe.texts.size() != recipe.size) {
      throw Error(ErrorKind::argument, "merge", static_cast<std::int64_t>(recipe.scores.size()), recipe.size);
    }
    scores_.emplace(recipe.texts, recipe.scores, recipe.unknown, recipe.words);
    adjacency_ = std::make_unique<const UnigramAdjacency>(*scores_, recipe.texts);
  } else {
    adjacency_ = std::make_unique<const MergeAdjacency>(merges_, [&](std::uint32_t t) {
      return t < recipe.texts.size() ? spell(recipe.texts[t]) : std::vector<std::uint32_t>{};
    });
  }
  whole_token_.push_back(kNone);
  if (!recipe.ignore_merges) return;
  is_whole_.resize(recipe.size);
  for (std::uint32_t t = 0; t < recipe.texts.size(); ++t) {
    if (recipe.texts[t].empty() || adjacency_->live(t)) continue;
    is_whole_[t] = true;
    std::uint32_t node = kRoot;
    for (char byte : recipe.texts[t]) {
      const std::uint64_t key = std::uint64_t{node} << 8 | static_cast<std::uint8_t>(byte);
      const auto [place, is_new] = whole_next_.try_emplace(key, static_cast<std::uint32_t>(whole_token_.size()));
      if (is_new) whole_token_.push_back(kNone);
      node = place->second;
    }
    whole_token_[node] = t;
  }
}

// Empty if some symbol has no token.
std::vector<std::uint32_t> Encoder::spell(std::string_view text) const {
  std::vector<std::uint32_t> symbols;
  for (std::size_t at = 0; at < text.size();) {
    const std::size_t from = at;
    const std::uint32_t symbol = pieces_ ? decode(text, at) : static_cast<std::uint8_t>(text[at++]);
    if (symbol < base_.size() && base_[symbol] != kNone) {
      symbols.push_back(base_[symbol]);
    } else if (pieces_ && !byte_pieces_.empty()) {
      for (std::size_t i = from; i < at; ++i) symbols.push_back(byte_pieces_[static_cast<std::uint8_t>(text[i])]);
    } else {
      return {};
    }
  }
  return symbols;
}

std::vector<std::uint32_t> Encoder::merge(std::string_view part) const {
  if (scores_) return best_row(part);
  std::vector<std::uint32_t> symbols = spell(part);
  merges_.encode(symbols);
  return symbols;
}

std::vector<std::uint32_t> Encoder::best_row(std::string_view part) const {
  std::vector<std::uint32_t> tokens;
  bool has_token = true;
  scores_->encode(
      part, [&](std::uint32_t token) { tokens.push_back(token); },
      [&](std::string_view character) {
        std::size_t at = 0;
        has_token &= !byte_pieces_.empty() && characters_.of_class(decode(character, at)) != CharacterDfa::kNoClass;
        for (char byte : character) {
          if (has_token) tokens.push_back(byte_pieces_[static_cast<std::uint8_t>(byte)]);
        }
      });
  return has_token ? tokens : std::vector<std::uint32_t>{};
}

std::vector<std::uint32_t> Encoder::encode(std::string_view text) const {
  if (!is_utf8(text)) throw Error(ErrorKind::argument, "not_text");
  if (one_chunk_) {
    if (const std::uint32_t whole = whole_at(whole_step(kRoot, text)); whole != kNone) return {whole};
    std::vector<std::uint32_t> tokens = merge(text);
    if (tokens.empty() && !text.empty()) throw Error(ErrorKind::argument, "no_token");
    return tokens;
  }
  // The class and the beginning of each character.
  std::vector<std::uint8_t> classes;
  std::vector<std::size_t> begins;
  std::size_t begin = 0;
  std::uint16_t node = 0;
  for (std::size_t i = 0; i < text.size(); ++i) {
    const CharacterDfa::Step step = characters_.step(node, static_cast<std::uint8_t>(text[i]));
    node = step.node;
    if (node != 0) continue;
    classes.push_back(step.of_class);
    begins.push_back(begin);
    begin = i + 1;
  }
  begins.push_back(text.size());
  std::vector<std::uint32_t> tokens;
  for (std::size_t i = 0; i < classes.size();) {
    const std::size_t end = split_.chunk_end(classes, i);
    const std::string_view chunk = text.substr(begins[i], begins[end] - begins[i]);
    if (const std::uint32_t whole = whole_at(whole_step(kRoot, chunk)); whole != kNone) {
      tokens.push_back(whole);
    } else {
      const std::vector<std::uint32_t> merged = merge(chunk);
      if (merged.empty()) throw Error(ErrorKind::argument, "no_token");
      tokens.insert(tokens.end(), merged.begin(), merged.end());
    }
    i = end;
  }
  return tokens;
}

std::uint32_t Encoder::whole_step(std::uint32_t node, std::string_view text) const {
  if (!has_wholes()) return kOff;
  for (char byte : text) {
    if (node == kOff) return kOff;
    const auto next = whole_next_.find(std::uint64_t{node} << 8 | static_cast<std::uint8_t>(byte));
    node = next == whole_next_.end() ? kOff : next->second;
  }
  return node;
}

}  // namespace detent

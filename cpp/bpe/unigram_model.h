// UnigramModel: a Unigram model: pieces, each with a score, of which a text is cut into the row of the largest sum
// (Viterbi 1967; Kudo 2018).
//
// Equal to the package tokenizers to the last bit: sums are taken from the left, in 64-bit floats, and of equal sums
// the one whose last piece is the longest stays. A character that is no piece may be unknown, at a score below all
// others.
#pragma once

#include <cstdint>
#include <cstring>
#include <string_view>
#include <utility>
#include <vector>

namespace detent {

class UnigramModel {
 public:
  static constexpr std::uint32_t kNone = UINT32_MAX;
  static constexpr std::uint32_t kRoot = 0;

  // By token: its text, empty for what is no piece, and its score. Of tokens with one text the last holds.
  // `words`: a text is cut before each space, and no piece has one but at its start.
  UnigramModel(const std::vector<std::string_view>& texts, std::vector<double> scores, double unknown, bool words);

  // The tokens of a text, which is UTF-8: calls token(id), and unknown(character) where none is known.
  template <class Token, class Unknown>
  void encode(std::string_view text, Token token, Unknown unknown) const {
    std::size_t at = 0;
    for (const Cut& cut : cuts(text)) {
      if (cut.token != kNone) {
        token(cut.token);
      } else {
        unknown(text.substr(at, cut.end - at));
      }
      at = cut.end;
    }
  }

  double score(std::uint32_t token) const { return scores_[token]; }
  double unknown() const { return unknown_; }

  // The pieces as a trie. A node has the places, in their order, of the pieces that begin with its text.
  struct Node {
    std::uint32_t token = kNone;  // the piece that the text is
    std::uint32_t first_child = 0;
    std::uint32_t child_count = 0;
    std::uint32_t first = 0, last = 0;
  };
  const Node& node(std::uint32_t at) const { return nodes_[at]; }
  std::uint8_t byte(std::uint32_t at) const { return bytes_[at]; }
  std::size_t node_count() const { return nodes_.size(); }
  // The node one byte on, or kNone.
  std::uint32_t child(std::uint32_t at, char byte) const {
    const Node& from = nodes_[at];
    if (from.child_count == 0) return kNone;
    const std::uint8_t* first = bytes_.data() + from.first_child;
    const void* found = std::memchr(first, static_cast<std::uint8_t>(byte), from.child_count);
    return found ? from.first_child + static_cast<std::uint32_t>(static_cast<const std::uint8_t*>(found) - first)
                 : kNone;
  }
  // The tokens of the pieces, in the order of their texts.
  const std::vector<std::uint32_t>& sorted() const { return sorted_; }

  static std::size_t width(char lead) {  // in bytes, of the character that begins so
    const auto byte = static_cast<std::uint8_t>(lead);
    return byte < 0x80 ? 1 : byte < 0xE0 ? 2 : byte < 0xF0 ? 3 : 4;
  }

 private:
  struct Cut {
    std::uint32_t token;  // kNone for an unknown character
    std::size_t end;
  };
  std::vector<Cut> cuts(std::string_view text) const;

  std::vector<double> scores_;
  double unknown_;
  bool words_;
  std::vector<Node> nodes_;
  std::vector<std::uint8_t> bytes_;  // before each node
  std::vector<std::uint32_t> sorted_;
};

}  // namespace detent

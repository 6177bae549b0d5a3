// UnigramModel: pieces with scores; a text is encoded as the piece sequence of the largest sum (Viterbi 1967; Kudo
// 2018).
//
// The result equals that of the package `tokenizers`, rounding included: sums are taken from the left, in 64-bit
// floats. Among equal sums, the sequence with the longest last piece wins. A character that is no piece becomes an
// unknown piece with a score below all others.
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

  // By token: its text, empty if it is no piece, and its score. Of tokens with one text the last counts.
  // `split_at_spaces`: a text is cut before each space, and no piece has a space but at its start.
  UnigramModel(const std::vector<std::string_view>& texts, std::vector<double> scores, double unknown_score,
               bool split_at_spaces);

  // Encodes a text, which is UTF-8: calls piece(token), or unknown(character) for an unknown character.
  template <class Piece, class Unknown>
  void encode(std::string_view text, Piece piece, Unknown unknown) const {
    std::size_t begin = 0;
    for (const Segment& segment : segments(text)) {
      if (segment.token != kNone) {
        piece(segment.token);
      } else {
        unknown(text.substr(begin, segment.end - begin));
      }
      begin = segment.end;
    }
  }

  double score(std::uint32_t token) const { return scores_[token]; }
  double unknown_score() const { return unknown_score_; }

  // The pieces as a trie. The pieces that begin with the text of a node are sorted()[first..last).
  struct Node {
    std::uint32_t token = kNone;  // the piece with exactly this text
    std::uint32_t first_child = 0;
    std::uint32_t child_count = 0;
    std::uint32_t first = 0, last = 0;
  };
  const Node& node(std::uint32_t id) const { return nodes_[id]; }
  std::uint8_t byte(std::uint32_t id) const { return bytes_[id]; }  // on the edge to the node
  std::size_t node_count() const { return nodes_.size(); }
  // The node after one more byte, or kNone.
  std::uint32_t child(std::uint32_t id, char byte) const {
    const Node& from = nodes_[id];
    if (from.child_count == 0) return kNone;
    const std::uint8_t* first = bytes_.data() + from.first_child;
    const void* found = std::memchr(first, static_cast<std::uint8_t>(byte), from.child_count);
    return found ? from.first_child + static_cast<std::uint32_t>(static_cast<const std::uint8_t*>(found) - first)
                 : kNone;
  }
  // The tokens of the pieces, in the order of their texts.
  const std::vector<std::uint32_t>& sorted() const { return sorted_; }

  // The length in bytes of the character with this first byte.
  static std::size_t width(char lead) {
    const auto byte = static_cast<std::uint8_t>(lead);
    return byte < 0x80 ? 1 : byte < 0xE0 ? 2 : byte < 0xF0 ? 3 : 4;
  }

 private:
  struct Segment {
    std::uint32_t token;  // kNone for an unknown character
    std::size_t end;
  };
  std::vector<Segment> segments(std::string_view text) const;

  std::vector<double> scores_;
  double unknown_score_;
  bool split_at_spaces_;
  std::vector<Node> nodes_;
  std::vector<std::uint8_t> bytes_;  // by node
  std::vector<std::uint32_t> sorted_;
};

}  // namespace detent

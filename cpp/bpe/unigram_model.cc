#include "bpe/unigram_model.h"

#include <algorithm>

namespace detent {

UnigramModel::UnigramModel(const std::vector<std::string_view>& texts, std::vector<double> scores, double unknown_score,
                           bool split_at_spaces)
    : scores_(std::move(scores)), unknown_score_(unknown_score), split_at_spaces_(split_at_spaces) {
  for (std::uint32_t t = 0; t < texts.size(); ++t) {
    if (!texts[t].empty()) sorted_.push_back(t);
  }
  std::ranges::stable_sort(sorted_, {}, [&](std::uint32_t t) { return texts[t]; });
  const auto last_of_equal = std::unique(sorted_.rbegin(), sorted_.rend(),
                                         [&](std::uint32_t a, std::uint32_t b) { return texts[a] == texts[b]; });
  sorted_.erase(sorted_.begin(), last_of_equal.base());
  // Breadth first, so that the children of a node are contiguous.
  nodes_.push_back({kNone, 0, 0, 0, static_cast<std::uint32_t>(sorted_.size())});
  bytes_.push_back(0);
  std::vector<std::uint32_t> depths{0};
  for (std::uint32_t i = 0; i < nodes_.size(); ++i) {
    const std::uint32_t depth = depths[i], last = nodes_[i].last;
    std::uint32_t at = nodes_[i].first;
    nodes_[i].first_child = static_cast<std::uint32_t>(nodes_.size());
    if (at < last && texts[sorted_[at]].size() == depth) nodes_[i].token = sorted_[at++];
    while (at < last) {
      const char byte = texts[sorted_[at]][depth];
      const std::uint32_t begin = at;
      while (at < last && texts[sorted_[at]][depth] == byte) ++at;
      nodes_.push_back({kNone, 0, 0, begin, at});
      bytes_.push_back(static_cast<std::uint8_t>(byte));
      depths.push_back(depth + 1);
    }
    nodes_[i].child_count = static_cast<std::uint32_t>(nodes_.size()) - nodes_[i].first_child;
  }
}

std::vector<UnigramModel::Segment> UnigramModel::segments(std::string_view text) const {
  struct Best {  // the best sequence for a prefix of the text
    double sum = 0;
    std::size_t begin = SIZE_MAX;  // of its last piece
    std::uint32_t token = kNone;
  };
  std::vector<Best> best(text.size() + 1);
  for (std::size_t at = 0; at < text.size();) {
    if (split_at_spaces_ && text[at] == ' ') best[at].sum = 0;
    const double sum = best[at].sum;
    const std::size_t next = at + width(text[at]);
    const auto offer = [&](std::size_t end, double score, std::uint32_t token) {
      if (best[end].begin == SIZE_MAX || sum + score > best[end].sum) best[end] = {sum + score, at, token};
    };
    bool is_piece = false;  // the character by itself
    std::uint32_t node = kRoot;
    for (std::size_t end = at; end < text.size();) {
      node = child(node, text[end++]);
      if (node == kNone) break;
      const std::uint32_t token = nodes_[node].token;
      if (token == kNone) continue;
      offer(end, scores_[token], token);
      is_piece |= end == next;
    }
    if (!is_piece) offer(next, unknown_score_, kNone);
    at = next;
  }
  std::vector<Segment> found;
  for (std::size_t end = text.size(); end > 0; end = best[end].begin) found.push_back({best[end].token, end});
  std::ranges::reverse(found);
  return found;
}

}  // namespace detent

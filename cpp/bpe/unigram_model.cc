#include "bpe/unigram_model.h"

#include <algorithm>

namespace detent {

UnigramModel::UnigramModel(const std::vector<std::string_view>& texts, std::vector<double> scores, double unknown,
                           bool words)
    : scores_(std::move(scores)), unknown_(unknown), words_(words) {
  for (std::uint32_t t = 0; t < texts.size(); ++t) {
    if (!texts[t].empty()) sorted_.push_back(t);
  }
  std::ranges::stable_sort(sorted_, {}, [&](std::uint32_t t) { return texts[t]; });
  const auto first_of_equal = std::unique(sorted_.rbegin(), sorted_.rend(),
                                          [&](std::uint32_t a, std::uint32_t b) { return texts[a] == texts[b]; });
  sorted_.erase(sorted_.begin(), first_of_equal.base());
  // Breadth first, so that the children of a node stand in a row.
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

std::vector<UnigramModel::Cut> UnigramModel::cuts(std::string_view text) const {
  struct End {  // of the best row up to there
    double sum = 0;
    std::size_t begin = SIZE_MAX;  // of its last piece
    std::uint32_t token = kNone;
  };
  std::vector<End> ends(text.size() + 1);
  for (std::size_t at = 0; at < text.size();) {
    if (words_ && text[at] == ' ') ends[at].sum = 0;
    const double sum = ends[at].sum;
    const std::size_t next = at + width(text[at]);
    const auto offer = [&](std::size_t end, double score, std::uint32_t token) {
      if (ends[end].begin == SIZE_MAX || sum + score > ends[end].sum) ends[end] = {sum + score, at, token};
    };
    bool single = false;
    for (std::size_t end = at, here = kRoot; end < text.size();) {
      const std::uint32_t child = this->child(static_cast<std::uint32_t>(here), text[end++]);
      if (child == kNone) break;
      here = child;
      const std::uint32_t token = nodes_[child].token;
      if (token == kNone) continue;
      offer(end, scores_[token], token);
      single |= end == next;
    }
    if (!single) offer(next, unknown_, kNone);
    at = next;
  }
  std::vector<Cut> found;
  for (std::size_t end = text.size(); end > 0; end = ends[end].begin) found.push_back({ends[end].token, end});
  std::ranges::reverse(found);
  return found;
}

}  // namespace detent

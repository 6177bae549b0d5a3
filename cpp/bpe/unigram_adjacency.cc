// Deciding adjacent pieces.
//
// 1. Naively, (a, b) is a valid pair if no piece sequence of the joined text has a larger sum than score(a) + score(b).
// 2. A better sequence contains a piece across the border, since a and b are each the best sequence of their own text.
//    That piece has a suffix of a and a prefix of b. With g = best sum before the suffix - score(a) (the gain) and
//    c = score(b) - best sum after the prefix (the prefix cost), it wins if g + score(piece) > c.
// 3. The pieces that begin with a suffix of a are the subtree of one trie node (any_open_piece). may_follow walks from
//    these nodes along the text of b; the prefix costs of all tokens are tabulated once.
// 4. All forbidden followers of a at once (find_followers): walk that subtree and the whole trie in step. A node of the
//    former that is a piece forbids, of the tokens below the node of the latter, those with a prefix cost that it
//    beats. The least cost below each node skips most of them.
#include "bpe/unigram_adjacency.h"

#include <algorithm>
#include <bit>
#include <limits>

#include "base/fork_guard.h"

namespace detent {
namespace {

constexpr double kRounding = 1e-7;  // above the rounding error of the sum of a million scores
constexpr double kInfinite = std::numeric_limits<double>::infinity();

}  // namespace

UnigramAdjacency::UnigramAdjacency(const UnigramModel& model, const std::vector<std::string_view>& texts)
    : AdjacencyRelation(static_cast<std::uint32_t>(texts.size())), model_(model) {
  for (const std::string_view each : texts) {
    begin_.push_back(texts_.size());
    texts_ += each;
  }
  begin_.push_back(texts_.size());
  costs_.assign(texts_.size(), kInfinite);
  least_costs_.assign(model_.node_count(), kInfinite);
  std::vector<double> rest;  // the best sum of each suffix
  for (std::uint32_t token : model_.sorted()) {
    const std::string_view piece_text = text(token);
    rest.assign(piece_text.size() + 1, -kInfinite);
    rest[piece_text.size()] = 0;
    for (std::size_t at = piece_text.size(); at-- > 0;) {
      if ((static_cast<std::uint8_t>(piece_text[at]) & 0xC0) == 0x80) continue;
      const std::size_t next = at + UnigramModel::width(piece_text[at]);
      bool is_piece = false;
      std::uint32_t node = UnigramModel::kRoot;
      for (std::size_t end = at; end < piece_text.size();) {
        node = model_.child(node, piece_text[end++]);
        if (node == UnigramModel::kNone) break;
        const std::uint32_t piece = model_.node(node).token;
        if (piece == UnigramModel::kNone) continue;
        rest[at] = std::max(rest[at], model_.score(piece) + rest[end]);
        is_piece |= end == next;
      }
      if (!is_piece) rest[at] = std::max(rest[at], model_.unknown_score() + rest[next]);
    }
    if (model_.score(token) < rest[0] - kRounding) continue;
    set_reachable(token, true);
    std::uint32_t node = UnigramModel::kRoot;
    for (std::size_t length = 1; length <= piece_text.size(); ++length) {
      const double cost = model_.score(token) - rest[length];  // infinite inside a character
      costs_[begin_[token] + length - 1] = cost;
      node = model_.child(node, piece_text[length - 1]);
      least_costs_[node] = std::min(least_costs_[node], cost);
    }
  }
}

template <class Visit>
bool UnigramAdjacency::any_open_piece(std::uint32_t token, Visit visit) const {
  const std::string_view piece_text = text(token);
  thread_local std::vector<double> best;  // the best sum of each prefix
  best.assign(piece_text.size() + 1, -kInfinite);
  best[0] = 0;
  for (std::size_t at = 0; at < piece_text.size();) {
    const std::size_t next = at + UnigramModel::width(piece_text[at]);
    bool is_piece = false;
    std::uint32_t node = UnigramModel::kRoot;
    for (std::size_t end = at; node != UnigramModel::kNone; ++end) {
      if (end == piece_text.size()) {
        if (visit(best[at] - model_.score(token), node)) return true;
        break;
      }
      node = model_.child(node, piece_text[end]);
      if (node == UnigramModel::kNone || model_.node(node).token == UnigramModel::kNone) continue;
      best[end + 1] = std::max(best[end + 1], best[at] + model_.score(model_.node(node).token));
      is_piece |= end + 1 == next;
    }
    if (!is_piece) best[next] = std::max(best[next], best[at] + model_.unknown_score());
    at = next;
  }
  return false;
}

bool UnigramAdjacency::may_follow(std::uint32_t left, std::uint32_t right) const {
  if (!is_reachable(left) || !is_reachable(right)) return false;
  const std::string_view right_text = text(right);
  return !any_open_piece(left, [&](double gain, std::uint32_t node) {
    for (std::size_t length = 1; length <= right_text.size(); ++length) {
      node = model_.child(node, right_text[length - 1]);
      if (node == UnigramModel::kNone) return false;
      const std::uint32_t across = model_.node(node).token;
      if (across != UnigramModel::kNone && gain + model_.score(across) - kRounding > prefix_cost(right, length))
        return true;
    }
    return false;
  });
}

UnigramAdjacency::Followers UnigramAdjacency::find_followers(std::uint32_t left) const {
  struct Both {
    std::uint32_t across, right;  // nodes with the same text after the border
    std::size_t length;
  };
  Followers found;
  found.allowed_bits.assign((begin_.size() - 1 + 31) / 32,
                            UINT32_MAX);  // before the list, since a token may be found many times
  std::vector<Both> open;
  any_open_piece(left, [&](double gain, std::uint32_t node) {
    open.push_back({node, UnigramModel::kRoot, 0});
    while (!open.empty()) {
      const Both from = open.back();
      open.pop_back();
      const UnigramModel::Node& parent = model_.node(from.across);
      for (std::uint32_t across = parent.first_child; across < parent.first_child + parent.child_count; ++across) {
        const std::uint32_t right = model_.child(from.right, static_cast<char>(model_.byte(across)));
        if (right == UnigramModel::kNone) continue;
        const Both there{across, right, from.length + 1};
        open.push_back(there);
        const std::uint32_t piece = model_.node(across).token;
        if (piece == UnigramModel::kNone) continue;
        const double sum = gain + model_.score(piece) - kRounding;
        if (sum <= least_costs_[right]) continue;
        for (std::uint32_t k = model_.node(right).first; k < model_.node(right).last; ++k) {
          const std::uint32_t token = model_.sorted()[k];
          if (sum > prefix_cost(token, there.length)) found.allowed_bits[token >> 5] &= ~(1u << (token & 31));
        }
      }
    }
    return false;
  });
  std::size_t count = 0;
  for (std::uint32_t word : found.allowed_bits) count += static_cast<std::size_t>(std::popcount(~word));
  if (count > found.allowed_bits.size()) return found;
  found.forbidden.reserve(count);
  for (std::size_t i = 0; i < found.allowed_bits.size(); ++i) {
    for (std::uint32_t word = ~found.allowed_bits[i]; word != 0; word &= word - 1) {
      found.forbidden.push_back(static_cast<std::uint32_t>(i * 32 + static_cast<std::size_t>(std::countr_zero(word))));
    }
  }
  found.allowed_bits = {};
  return found;
}

void UnigramAdjacency::forbid_after(std::uint32_t left, std::uint32_t* row) const {
  std::shared_ptr<const Followers> known;
  {
    const ForkGuard guard;
    const std::lock_guard lock(mutex_);
    if (const auto entry = followers_.find(left); entry != followers_.end()) known = entry->second;
  }
  if (!known) {
    known = std::make_shared<const Followers>(find_followers(left));
    const ForkGuard guard;
    const std::lock_guard lock(mutex_);
    const std::size_t size = known->forbidden.size() + known->allowed_bits.size() + 16;
    if (memo_words_ + size > kMaxMemoWords) {
      followers_.clear();
      memo_words_ = 0;
    }
    if (followers_.try_emplace(left, known).second) memo_words_ += size;
  }
  for (std::uint32_t token : known->forbidden) row[token >> 5] &= ~(1u << (token & 31));
  for (std::size_t i = 0; i < known->allowed_bits.size(); ++i) row[i] &= known->allowed_bits[i];
}

}  // namespace detent

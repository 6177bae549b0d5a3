#include "bpe/unigram_adjacency.h"

#include <algorithm>
#include <bit>
#include <limits>

#include "base/fork_guard.h"

namespace detent {
namespace {

// Sums of a text of a million tokens are rounded by less.
constexpr double kRounding = 1e-7;
constexpr double kNever = std::numeric_limits<double>::infinity();

}  // namespace

UnigramAdjacency::UnigramAdjacency(const UnigramModel& scores, const std::vector<std::string_view>& texts)
    : AdjacencyRelation(static_cast<std::uint32_t>(texts.size())), scores_(scores) {
  for (const std::string_view each : texts) {
    begin_.push_back(texts_.size());
    texts_ += each;
  }
  begin_.push_back(texts_.size());
  costs_.assign(texts_.size(), kNever);
  least_costs_.assign(scores_.node_count(), kNever);
  std::vector<double> rest;  // the best sum from each place to the end
  for (std::uint32_t token : scores_.sorted()) {
    const std::string_view own = text(token);
    rest.assign(own.size() + 1, -kNever);
    rest[own.size()] = 0;
    for (std::size_t at = own.size(); at-- > 0;) {
      if ((static_cast<std::uint8_t>(own[at]) & 0xC0) == 0x80) continue;
      const std::size_t next = at + UnigramModel::width(own[at]);
      bool single = false;
      std::uint32_t node = UnigramModel::kRoot;
      for (std::size_t end = at; end < own.size();) {
        node = scores_.child(node, own[end++]);
        if (node == UnigramModel::kNone) break;
        const std::uint32_t piece = scores_.node(node).token;
        if (piece == UnigramModel::kNone) continue;
        rest[at] = std::max(rest[at], scores_.score(piece) + rest[end]);
        single |= end == next;
      }
      if (!single) rest[at] = std::max(rest[at], scores_.unknown() + rest[next]);
    }
    if (scores_.score(token) < rest[0] - kRounding) continue;
    set_live(token, true);
    std::uint32_t node = UnigramModel::kRoot;
    for (std::size_t length = 1; length <= own.size(); ++length) {
      const double cost = scores_.score(token) - rest[length];  // infinite inside a character
      costs_[begin_[token] + length - 1] = cost;
      node = scores_.child(node, own[length - 1]);
      least_costs_[node] = std::min(least_costs_[node], cost);
    }
  }
}

template <class Visit>
bool UnigramAdjacency::each_open(std::uint32_t token, Visit visit) const {
  const std::string_view own = text(token);
  thread_local std::vector<double> best;  // sums up to each place
  best.assign(own.size() + 1, -kNever);
  best[0] = 0;
  for (std::size_t at = 0; at < own.size();) {
    const std::size_t next = at + UnigramModel::width(own[at]);
    bool single = false;
    std::uint32_t node = UnigramModel::kRoot;
    for (std::size_t end = at; node != UnigramModel::kNone; ++end) {
      if (end == own.size()) {
        if (visit(best[at] - scores_.score(token), node)) return true;
        break;
      }
      node = scores_.child(node, own[end]);
      if (node == UnigramModel::kNone || scores_.node(node).token == UnigramModel::kNone) continue;
      best[end + 1] = std::max(best[end + 1], best[at] + scores_.score(scores_.node(node).token));
      single |= end + 1 == next;
    }
    if (!single) best[next] = std::max(best[next], best[at] + scores_.unknown());
    at = next;
  }
  return false;
}

bool UnigramAdjacency::valid(std::uint32_t left, std::uint32_t right) const {
  if (!live(left) || !live(right)) return false;
  const std::string_view behind = text(right);
  return !each_open(left, [&](double gain, std::uint32_t node) {
    for (std::size_t length = 1; length <= behind.size(); ++length) {
      node = scores_.child(node, behind[length - 1]);
      if (node == UnigramModel::kNone) return false;
      const std::uint32_t across = scores_.node(node).token;
      if (across != UnigramModel::kNone && gain + scores_.score(across) - kRounding > cost(right, length)) return true;
    }
    return false;
  });
}

UnigramAdjacency::Row UnigramAdjacency::row_after(std::uint32_t left) const {
  struct Both {
    std::uint32_t across, right;  // nodes of the same text behind the border
    std::size_t length;
  };
  Row found;
  found.bits.assign((begin_.size() - 1 + 31) / 32, UINT32_MAX);  // first, since a token may be found many times
  std::vector<Both> open;
  each_open(left, [&](double gain, std::uint32_t node) {
    open.push_back({node, UnigramModel::kRoot, 0});
    while (!open.empty()) {
      const Both from = open.back();
      open.pop_back();
      const UnigramModel::Node& parent = scores_.node(from.across);
      for (std::uint32_t across = parent.first_child; across < parent.first_child + parent.child_count; ++across) {
        const std::uint32_t right = scores_.child(from.right, static_cast<char>(scores_.byte(across)));
        if (right == UnigramModel::kNone) continue;
        const Both there{across, right, from.length + 1};
        open.push_back(there);
        const std::uint32_t piece = scores_.node(across).token;
        if (piece == UnigramModel::kNone) continue;
        const double sum = gain + scores_.score(piece) - kRounding;
        if (sum <= least_costs_[right]) continue;
        for (std::uint32_t place = scores_.node(right).first; place < scores_.node(right).last; ++place) {
          const std::uint32_t token = scores_.sorted()[place];
          if (sum > cost(token, there.length)) found.bits[token >> 5] &= ~(1u << (token & 31));
        }
      }
    }
    return false;
  });
  std::size_t count = 0;
  for (std::uint32_t word : found.bits) count += static_cast<std::size_t>(std::popcount(~word));
  if (count > found.bits.size()) return found;
  found.tokens.reserve(count);
  for (std::size_t i = 0; i < found.bits.size(); ++i) {
    for (std::uint32_t word = ~found.bits[i]; word != 0; word &= word - 1) {
      found.tokens.push_back(static_cast<std::uint32_t>(i * 32 + static_cast<std::size_t>(std::countr_zero(word))));
    }
  }
  found.bits = {};
  return found;
}

void UnigramAdjacency::forbid_after(std::uint32_t left, std::uint32_t* row) const {
  std::shared_ptr<const Row> known;
  {
    const ForkGuard guard;
    const std::lock_guard lock(mutex_);
    if (const auto place = rows_.find(left); place != rows_.end()) known = place->second;
  }
  if (!known) {
    known = std::make_shared<const Row>(row_after(left));
    const ForkGuard guard;
    const std::lock_guard lock(mutex_);
    const std::size_t size = known->tokens.size() + known->bits.size() + 16;
    if (kept_ + size > kMostKept) {
      rows_.clear();
      kept_ = 0;
    }
    if (rows_.try_emplace(left, known).second) kept_ += size;
  }
  for (std::uint32_t token : known->tokens) row[token >> 5] &= ~(1u << (token & 31));
  for (std::size_t i = 0; i < known->bits.size(); ++i) row[i] &= known->bits[i];
}

}  // namespace detent

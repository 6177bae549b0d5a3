// Deciding adjacent pairs.
//
// 1. Naively, (a, b) is a valid pair if merging the symbols of a and b together gives a, b again. It is invalid exactly
//    if, at some moment of that merging, a pair across the border is merged.
// 2. Until then both sides merge as they would alone. So only the tokens at the border matter: those on the right edge
//    of a's derivation tree and on the left edge of b's. decide_by_steps replays the merges of these two edges in the
//    order of their ranks. At each moment it compares the next one with the merge of the pair at the border.
// 3. Where ranks rise from parts to merged tokens, the edges can be read from the root down instead
//    (decide_by_edges). Let time(z) be the largest rank in the derivation of a token z with the effective merge (x, y).
//    Then z forbids x before y if both are there at time(z): until x or y is itself merged into its parent edge.
// 4. All forbidden followers of a at once (clear_after). Take z = (x, y), and a token with x on its right edge, below
//    a merge of rank > time(z). By 3, z forbids after it the token y, and those with y on their left edge whose first
//    merge has a rank >= time(z). Number the tokens in preorder of the left tree, the children of a token by falling
//    rank: those followers are y and a prefix of its children with their subtrees, an interval. So each token z is one
//    rectangle, and the followers that a forbids are the intervals of the merges (x, .) for each x on a's right edge.
// 5. *Non-monotone* tokens, where the rank of a merge is not above the ranks inside it, break 3: such a merge becomes
//    possible late and is done at once. Pairs with one on an inner edge are decided by 2 and remembered.
// 6. If only a has one, its merges are replayed as in 2, once for each y that merges with a token at its border. Again
//    the followers are y and a prefix of its children with their subtrees (forbidden_by_meeting).
#include "bpe/merge_adjacency.h"

#include <algorithm>
#include <bit>
#include <numeric>

#include "base/fork_guard.h"

namespace detent {

void MergeAdjacency::find_derivations() {
  const auto size = static_cast<std::uint32_t>(derivations_.size());
  std::vector<std::uint32_t> merged;
  for (std::uint32_t t = 0; t < size; ++t) {
    const auto own_symbols = symbols(t);
    merged.assign(own_symbols.begin(), own_symbols.end());
    Derivation& of_t = derivations_[t];
    merges_.merge(merged,
                  [&of_t](std::size_t, std::uint32_t left, std::uint32_t right, const MergeTable::Result& made) {
                    of_t.non_monotone = of_t.left != kNone && made.rank <= of_t.time;
                    of_t.right = right;
                    of_t.left = left;
                    of_t.rank = made.rank;
                    of_t.time = std::max(of_t.time, made.rank);
                  });
    set_reachable(t, merged.size() == 1 && merged[0] == t);
    if (!is_reachable(t)) of_t = {};
  }
  // The parts of a reachable token are reachable and shorter.
  std::vector<std::uint32_t> by_length(size);
  std::iota(by_length.begin(), by_length.end(), 0u);
  std::ranges::stable_sort(by_length, {}, [this](std::uint32_t t) { return symbols(t).size(); });
  for (std::uint32_t t : by_length) {
    Derivation& of_t = derivations_[t];
    if (!is_reachable(t) || of_t.left == kNone) continue;
    of_t.non_monotone_left = of_t.non_monotone || derivations_[of_t.left].non_monotone_left;
    of_t.non_monotone_right = of_t.non_monotone || derivations_[of_t.right].non_monotone_right;
  }
  for (std::uint32_t t = 0; t < size; ++t) {
    if (derivations_[t].non_monotone_left) non_monotone_left_.push_back(t);
  }
}

MergeAdjacency::LeftTree MergeAdjacency::number_by_left_part(const std::vector<std::uint32_t>& by_rank) {
  const auto size = static_cast<std::uint32_t>(derivations_.size());
  LeftTree tree{{}, std::vector<std::uint32_t>(size + std::size_t{1})};
  for (std::uint32_t t : by_rank) {
    if (derivations_[t].left != kNone) ++tree.first[derivations_[t].left + std::size_t{1}];
  }
  std::partial_sum(tree.first.begin(), tree.first.end(), tree.first.begin());
  tree.children.resize(tree.first.back());
  std::vector<std::uint32_t> next(tree.first.begin(), tree.first.end() - 1);
  for (std::uint32_t t : by_rank) {
    if (derivations_[t].left != kNone) tree.children[next[derivations_[t].left]++] = t;
  }
  preorder_rank_.assign(size, kNone);
  preorder_end_.resize(size);
  std::vector<std::uint32_t> stack;
  for (std::uint32_t root = 0; root < size; ++root) {
    if (!is_reachable(root) || derivations_[root].left != kNone) continue;
    stack.push_back(root);
    while (!stack.empty()) {
      const std::uint32_t t = stack.back();
      if (preorder_rank_[t] != kNone) {  // all its children are numbered
        preorder_end_[t] = static_cast<std::uint32_t>(preorder_.size());
        stack.pop_back();
        continue;
      }
      preorder_rank_[t] = static_cast<std::uint32_t>(preorder_.size());
      preorder_.push_back(t);
      for (std::uint32_t k = tree.first[t + 1]; k-- > tree.first[t];) stack.push_back(tree.children[k]);
    }
  }
  return tree;
}

void MergeAdjacency::find_rectangles() {
  const auto size = static_cast<std::uint32_t>(derivations_.size());
  std::vector<std::uint32_t> by_rank;  // falling
  for (std::uint32_t t = 0; t < size; ++t) {
    if (is_reachable(t)) by_rank.push_back(t);
  }
  std::ranges::stable_sort(by_rank, std::greater<>{}, [this](std::uint32_t t) { return derivations_[t].rank; });
  const LeftTree tree = number_by_left_part(by_rank);
  first_rectangle_.assign(size + std::size_t{1}, 0);
  std::vector<std::uint32_t> by_time = by_rank;  // falling
  std::ranges::stable_sort(by_time, std::greater<>{}, [this](std::uint32_t t) { return derivations_[t].time; });
  for (std::uint32_t t : by_time) {
    if (derivations_[t].left != kNone) ++first_rectangle_[derivations_[t].left + std::size_t{1}];
  }
  std::partial_sum(first_rectangle_.begin(), first_rectangle_.end(), first_rectangle_.begin());
  rectangles_.resize(first_rectangle_.back());
  std::vector<std::size_t> next(first_rectangle_.begin(), first_rectangle_.end() - 1);
  for (std::uint32_t z : by_time) {
    if (derivations_[z].left == kNone) continue;
    const std::uint32_t y = derivations_[z].right, time = derivations_[z].time;
    const auto first = tree.children.begin() + tree.first[y], last = tree.children.begin() + tree.first[y + 1];
    const auto stop =
        std::partition_point(first, last, [&](std::uint32_t child) { return derivations_[child].rank >= time; });
    const std::uint32_t until = stop == first ? preorder_rank_[y] + 1 : preorder_end_[*std::prev(stop)];
    rectangles_[next[derivations_[z].left]++] = {time, preorder_rank_[y], until};
  }
  find_meetings();
}

void MergeAdjacency::find_meetings() {
  const std::size_t size = derivations_.size();
  std::vector<bool> is_left_border(size), is_right_border(size);
  for (std::uint32_t t : non_monotone_left_) {
    std::vector<std::uint32_t> borders{symbols(t).front()};
    for (const EdgeMerge& merge : edges(t).left) borders.push_back(merge.token);
    std::ranges::sort(borders);
    borders.erase(std::ranges::unique(borders).begin(), borders.end());
    for (std::uint32_t border : borders) {
      is_left_border[border] = true;
      by_left_border_.emplace_back(border, t);
    }
  }
  std::ranges::sort(by_left_border_);
  for (std::uint32_t t = 0; t < size; ++t) {
    if (!derivations_[t].non_monotone_right) continue;
    for (std::uint32_t border : right_borders(t)) is_right_border[border] = true;
  }
  merges_.each_pair([&](std::uint32_t left, std::uint32_t right) {
    if (!is_right_border[left] && !is_left_border[right]) return;
    meetings_.push_back({left, right});
  });
  std::ranges::sort(meetings_, {}, [](const Meeting& each) { return std::pair(each.left, each.right); });
}

// The tokens that stand at the right border of a token at some moment while it is merged.
std::vector<std::uint32_t> MergeAdjacency::right_borders(std::uint32_t left) const {
  std::vector<EdgeMerge> buffer;
  std::vector<std::uint32_t> borders{symbols(left).back()};
  for (const EdgeMerge& merge :
       derivations_[left].non_monotone_right ? edges(left).right : ancestors(left, &Derivation::right, buffer)) {
    if (borders.back() != merge.token) borders.push_back(merge.token);
  }
  return borders;
}

// Looks up recent answers first: the same pairs recur in state after state, such as `"` before `,`.
bool MergeAdjacency::may_follow(std::uint32_t left, std::uint32_t right) const {
  const std::uint64_t pair = std::uint64_t{left} << 31 | right;  // ids are below 2^31
  std::atomic<std::uint64_t>& recent = recent_[(pair * 0x9E3779B97F4A7C15ULL) >> (64 - kRecentBits)];
  constexpr auto order = std::memory_order_relaxed;
  if (const std::uint64_t known = recent.load(order); known >> 2 == pair && (known & 2) != 0) return (known & 1) != 0;
  const bool valid = decide(left, right);
  recent.store(pair << 2 | 2 | (valid ? 1 : 0), order);
  return valid;
}

bool MergeAdjacency::decide(std::uint32_t left, std::uint32_t right) const {
  if (!is_reachable(left) || !is_reachable(right)) return false;
  const bool by_steps = derivations_[left].non_monotone_right || derivations_[right].non_monotone_left;
  return by_steps ? decide_by_steps(left, right) : decide_by_edges(left, right);
}

// Undoes the later of the two edge merges until the pair at the border would have been merged first (invalid), or both
// tokens are symbols (valid).
bool MergeAdjacency::decide_by_edges(std::uint32_t left, std::uint32_t right) const {
  std::uint32_t left_until = kNone, right_until = kNone;  // the ranks of the merges that were undone last
  while (true) {
    if (const MergeTable::Result made = merges_.find(left, right); made.rank != kNone) {
      const Derivation& z = derivations_[made.token];
      const bool effective = is_reachable(made.token) && z.left == left && z.right == right;
      if (effective && z.time < left_until && z.time <= right_until) return false;
    }
    const Derivation &x = derivations_[left], &y = derivations_[right];
    if (x.left == kNone && y.left == kNone) return true;
    if (y.left == kNone || (x.left != kNone && x.rank > y.rank)) {
      left_until = x.rank;
      left = x.right;
    } else {
      right_until = y.rank;
      right = y.left;
    }
  }
}

// Merges both sides, each as it would be merged alone. The pair is invalid if the pair at the border has the next
// merge; it is valid if no merge is left.
bool MergeAdjacency::decide_by_steps(std::uint32_t left, std::uint32_t right) const {
  thread_local std::vector<EdgeMerge> left_buffer, right_buffer;
  const std::vector<EdgeMerge>& before =
      derivations_[left].non_monotone_right ? edges(left).right : ancestors(left, &Derivation::right, left_buffer);
  const std::vector<EdgeMerge>& after =
      derivations_[right].non_monotone_left ? edges(right).left : ancestors(right, &Derivation::left, right_buffer);
  std::uint32_t x = symbols(left).back(), y = symbols(right).front();
  for (std::size_t i = 0, j = 0;;) {
    const std::uint32_t across = merges_.find(x, y).rank;
    const std::uint32_t next_before = i < before.size() ? before[i].rank : kNone;
    const std::uint32_t next_after = j < after.size() ? after[j].rank : kNone;
    if (across < next_before && across <= next_after) return false;
    if (next_before == kNone && next_after == kNone) return true;
    if (next_before <= next_after) {
      x = before[i++].token;
    } else {
      y = after[j++].token;
    }
  }
}

// The merges on one edge of a token, first to last. Where ranks rise along the edge, merges beside it do not matter.
const std::vector<MergeAdjacency::EdgeMerge>& MergeAdjacency::ancestors(std::uint32_t token,
                                                                        std::uint32_t Derivation::* part,
                                                                        std::vector<EdgeMerge>& merges) const {
  merges.clear();
  for (std::uint32_t t = token; derivations_[t].left != kNone; t = derivations_[t].*part) {
    merges.push_back({derivations_[t].rank, t});
  }
  std::ranges::reverse(merges);
  return merges;
}

const MergeAdjacency::Edges& MergeAdjacency::edges(std::uint32_t token) const {
  const ForkGuard guard;
  const std::lock_guard lock(mutex_);
  std::unique_ptr<const Edges>& known = edges_[token];
  if (known) return *known;
  Edges found;
  const auto own_symbols = symbols(token);
  std::vector<std::uint32_t> merged(own_symbols.begin(), own_symbols.end());
  std::uint32_t first = merged.front(), last = merged.back();
  merges_.merge(merged, [&](std::size_t at, std::uint32_t, std::uint32_t, const MergeTable::Result& made) {
    if (at == 0) first = made.token;
    if (at + 2 == merged.size()) last = made.token;
    found.left.push_back({made.rank, first});
    found.right.push_back({made.rank, last});
  });
  known = std::make_unique<const Edges>(std::move(found));
  return *known;
}

// The followers that a merge of `right`, at the border of a left token with the merges `before`, forbids. Of the tokens
// with `right` on their left edge, those count whose ranks rise along it. When `right` has been made, the border of the
// left token is that before its first merge of a higher rank than that of `right`. From there on, `right` stays until
// the rank of its parent on the edge: the lowest such rank that forbids the parent forbids all with a higher one.
MergeAdjacency::Interval MergeAdjacency::forbidden_by_meeting(const std::vector<EdgeMerge>& before, std::uint32_t first,
                                                              std::uint32_t right) const {
  const bool is_symbol = derivations_[right].left == kNone;
  std::size_t i = 0;
  while (!is_symbol && i < before.size() && before[i].rank <= derivations_[right].rank) ++i;
  std::uint32_t passed = 0;  // the highest rank of the merges of the left token that come first
  for (;; ++i) {
    const std::uint32_t next = i < before.size() ? before[i].rank : kNone;
    const std::uint32_t across = merges_.find(i == 0 ? first : before[i - 1].token, right).rank;
    if (across < next) {
      passed = std::max(passed, across);
      break;
    }
    if (next == kNone) return {0, 0};
    passed = std::max(passed, next);
  }
  Interval found{preorder_rank_[right], preorder_rank_[right] + 1};
  while (found.last < preorder_end_[right] && derivations_[preorder_[found.last]].rank >= passed) {
    found.last = preorder_end_[preorder_[found.last]];
  }
  return found;
}

// For a left token with an exception: the followers without one that it forbids.
void MergeAdjacency::add_forbidden_by_meetings(std::uint32_t left, std::vector<std::uint32_t>& found) const {
  const std::vector<EdgeMerge>& before = edges(left).right;
  std::vector<Interval> intervals;
  for (std::uint32_t border : right_borders(left)) {
    for (const Meeting& meeting : std::ranges::equal_range(meetings_, border, {}, &Meeting::left)) {
      if (!is_reachable(meeting.right) || derivations_[meeting.right].non_monotone_left) continue;
      intervals.push_back(forbidden_by_meeting(before, symbols(left).back(), meeting.right));
    }
  }
  std::ranges::sort(intervals, {}, &Interval::first);
  std::uint32_t from = 0;
  for (const Interval& each : intervals) {
    for (from = std::max(from, each.first); from < each.last; ++from) {
      if (!derivations_[preorder_[from]].non_monotone_left) found.push_back(preorder_[from]);
    }
  }
}

// The forbidden followers that no rectangle contains: merging step by step decides them.
const std::vector<std::uint32_t>& MergeAdjacency::forbidden_by_steps(std::uint32_t left) const {
  {
    const ForkGuard guard;
    const std::lock_guard lock(mutex_);
    if (const auto known = forbidden_by_steps_.find(left); known != forbidden_by_steps_.end()) return *known->second;
  }
  // Only a token that comes to have a border which merges with one of `left` can be forbidden.
  std::vector<std::uint32_t> found;
  for (std::uint32_t border : right_borders(left)) {
    const auto met = std::ranges::equal_range(meetings_, border, {}, &Meeting::left);
    for (const Meeting& meeting : met) {
      const auto exceptions =
          std::ranges::equal_range(by_left_border_, meeting.right, {}, &std::pair<std::uint32_t, std::uint32_t>::first);
      for (const auto& [_, right] : exceptions) found.push_back(right);
    }
  }
  std::ranges::sort(found);
  found.erase(std::ranges::unique(found).begin(), found.end());
  std::erase_if(found, [&](std::uint32_t right) { return may_follow(left, right); });
  if (derivations_[left].non_monotone_right) add_forbidden_by_meetings(left, found);
  const ForkGuard guard;
  const std::lock_guard lock(mutex_);
  std::unique_ptr<const std::vector<std::uint32_t>>& known = forbidden_by_steps_[left];
  if (!known) known = std::make_unique<const std::vector<std::uint32_t>>(std::move(found));
  return *known;
}

void MergeAdjacency::forbid_after(std::uint32_t left, std::uint32_t* row) const {
  {
    const ForkGuard guard;
    const std::lock_guard lock(mutex_);
    if (const auto known = long_rows_.find(left); known != long_rows_.end()) {
      const std::vector<std::uint32_t>& allowed = *known->second;
      for (std::size_t i = 0; i < allowed.size(); ++i) row[i] &= allowed[i];
      return;
    }
  }
  const std::size_t words = (derivations_.size() + 31) / 32;
  if (clear_few_after(left, row)) return;
  if (clear_after(left, row) <= words) return;
  // Clearing that many bits one by one costs more than an intersection of whole rows: remember the row.
  auto allowed = std::make_unique<std::vector<std::uint32_t>>(words, UINT32_MAX);
  clear_after(left, allowed->data());
  const ForkGuard guard;
  const std::lock_guard lock(mutex_);
  if (long_rows_.size() < kMaxLongRows) long_rows_.try_emplace(left, std::move(allowed));
}

// For a row of few bits, decides each bit by itself. Does nothing and returns false if there are more bits.
bool MergeAdjacency::clear_few_after(std::uint32_t left, std::uint32_t* row) const {
  // To find all followers takes some microseconds, and milliseconds where merging step by step decides them.
  const std::size_t most =
      std::min<std::size_t>(derivations_[left].non_monotone_right ? 1024 : 32, preorder_.size() / 8);
  const std::size_t words = (derivations_.size() + 31) / 32;
  std::size_t count = 0;
  for (std::size_t i = 0; i < words && count <= most; ++i) {
    for (std::uint32_t word = row[i]; word; word &= word - 1) ++count;
  }
  if (count > most) return false;
  for (std::size_t i = 0; i < words; ++i) {
    for (std::uint32_t word = row[i]; word; word &= word - 1) {
      const auto right = static_cast<std::uint32_t>(i * 32) + static_cast<std::uint32_t>(std::countr_zero(word));
      if (is_reachable(right) && !may_follow(left, right)) row[i] &= ~(word & -word);
    }
  }
  return true;
}

// Returns the number of bits that were cleared.
std::size_t MergeAdjacency::clear_after(std::uint32_t left, std::uint32_t* row) const {
  const auto clear = [row](std::uint32_t t) { row[t >> 5] &= ~(1u << (t & 31)); };
  if (derivations_[left].non_monotone_right) {
    for (std::uint32_t right : forbidden_by_steps(left)) clear(right);
    return forbidden_by_steps(left).size();
  }
  thread_local std::vector<std::uint32_t> undecided;  // tokens that rectangles must not clear
  undecided.clear();
  for (std::uint32_t right : non_monotone_left_) {
    if (row[right >> 5] >> (right & 31) & 1) undecided.push_back(right);
  }
  const std::size_t count = clear_rectangles(left, row);
  if (undecided.empty()) return count;
  for (std::uint32_t right : undecided) row[right >> 5] |= 1u << (right & 31);
  for (std::uint32_t right : forbidden_by_steps(left)) clear(right);
  return count + forbidden_by_steps(left).size();
}

std::size_t MergeAdjacency::clear_rectangles(std::uint32_t left, std::uint32_t* row) const {
  std::size_t count = 0;
  std::uint32_t until = kNone;
  for (std::uint32_t x = left;; x = derivations_[x].right) {
    const auto first = rectangles_.begin() + static_cast<std::ptrdiff_t>(first_rectangle_[x]);
    const auto last = rectangles_.begin() + static_cast<std::ptrdiff_t>(first_rectangle_[x + std::size_t{1}]);
    const auto from =
        until == kNone ? first : std::partition_point(first, last, [&](const Rectangle& r) { return r.time >= until; });
    for (auto r = from; r != last; ++r) {
      for (std::uint32_t k = r->first; k < r->last; ++k) {
        const std::uint32_t right = preorder_[k];
        row[right >> 5] &= ~(1u << (right & 31));
      }
      count += r->last - r->first;
    }
    if (derivations_[x].left == kNone) return count;
    until = derivations_[x].rank;
  }
}

bool MergeAdjacency::forbid_most_after(std::uint32_t left, std::uint32_t* row) const {
  if (derivations_[left].non_monotone_right) return false;
  clear_rectangles(left, row);
  return true;
}

}  // namespace detent

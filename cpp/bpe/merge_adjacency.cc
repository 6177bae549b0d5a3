#include "bpe/merge_adjacency.h"

#include <algorithm>
#include <numeric>

#include "base/fork_guard.h"

namespace detent {

void MergeAdjacency::build() {
  const auto size = static_cast<std::uint32_t>(parts_.size());
  std::vector<std::uint32_t> row;
  for (std::uint32_t t = 0; t < size; ++t) {
    const auto symbols = spelling(t);
    row.assign(symbols.begin(), symbols.end());
    Parts& own = parts_[t];
    merges_.encode(row, [&own](std::size_t, std::uint32_t left, std::uint32_t right, const MergeTable::Result& made) {
      own.burst = own.left != kNone && made.rank <= own.time;
      own.right = right;
      own.left = left;
      own.rank = made.rank;
      own.time = std::max(own.time, made.rank);
    });
    set_live(t, row.size() == 1 && row[0] == t);
    if (!live(t)) own = {};
  }
  // The parts of a live token are live and shorter.
  std::vector<std::uint32_t> by_length(size);
  std::iota(by_length.begin(), by_length.end(), 0u);
  std::ranges::stable_sort(by_length, {}, [this](std::uint32_t t) { return spelling(t).size(); });
  for (std::uint32_t t : by_length) {
    Parts& own = parts_[t];
    if (!live(t) || own.left == kNone) continue;
    own.late_left = burst(t) || parts_[own.left].late_left;
    own.late_right = burst(t) || parts_[own.right].late_right;
  }
  // Preorder by left parts, the children of a token by rank, the largest first.
  std::vector<std::uint32_t> by_rank;
  for (std::uint32_t t = 0; t < size; ++t) {
    if (live(t)) by_rank.push_back(t);
  }
  std::ranges::stable_sort(by_rank, std::greater<>{}, [this](std::uint32_t t) { return parts_[t].rank; });
  std::vector<std::uint32_t> count(size + std::size_t{1});
  for (std::uint32_t t : by_rank) {
    if (parts_[t].left != kNone) ++count[parts_[t].left + std::size_t{1}];
  }
  std::partial_sum(count.begin(), count.end(), count.begin());
  std::vector<std::uint32_t> children(count.back()), next(count.begin(), count.end() - 1);
  for (std::uint32_t t : by_rank) {
    if (parts_[t].left != kNone) children[next[parts_[t].left]++] = t;
  }
  place_.assign(size, kNone);
  std::vector<std::uint32_t> end(size), stack;
  for (std::uint32_t root = 0; root < size; ++root) {
    if (!live(root) || parts_[root].left != kNone) continue;
    stack.push_back(root);
    while (!stack.empty()) {
      const std::uint32_t t = stack.back();
      if (place_[t] != kNone) {
        end[t] = static_cast<std::uint32_t>(order_.size());
        stack.pop_back();
        continue;
      }
      place_[t] = static_cast<std::uint32_t>(order_.size());
      order_.push_back(t);
      for (std::uint32_t k = count[t + 1]; k-- > count[t];) stack.push_back(children[k]);
    }
  }
  // The merge of z = (x, y) forbids behind x: y itself and its children of at least its time, a run in preorder.
  first_rectangle_.assign(size + std::size_t{1}, 0);
  std::vector<std::uint32_t> by_time = by_rank;
  std::ranges::stable_sort(by_time, std::greater<>{}, [this](std::uint32_t t) { return parts_[t].time; });
  for (std::uint32_t t : by_time) {
    if (parts_[t].left != kNone) ++first_rectangle_[parts_[t].left + std::size_t{1}];
  }
  std::partial_sum(first_rectangle_.begin(), first_rectangle_.end(), first_rectangle_.begin());
  rectangles_.resize(first_rectangle_.back());
  std::vector<std::size_t> at(first_rectangle_.begin(), first_rectangle_.end() - 1);
  for (std::uint32_t z : by_time) {
    if (parts_[z].left == kNone) continue;
    const std::uint32_t y = parts_[z].right, time = parts_[z].time;
    const auto first = children.begin() + count[y], last = children.begin() + count[y + 1];
    const auto stop =
        std::partition_point(first, last, [&](std::uint32_t child) { return parts_[child].rank >= time; });
    const std::uint32_t until = stop == first ? place_[y] + 1 : end[*std::prev(stop)];
    rectangles_[at[parts_[z].left]++] = {time, place_[y], until};
  }
  for (std::uint32_t t = 0; t < size; ++t) {
    if (parts_[t].late_left) late_.push_back(t);
  }
}

bool MergeAdjacency::valid(std::uint32_t left, std::uint32_t right) const {
  if (!live(left) || !live(right)) return false;
  return parts_[left].late_right || parts_[right].late_left ? by_steps(left, right) : by_edges(left, right);
}

// Undoes the younger of the two edge merges until the pair itself would have been merged first, or nothing is left.
bool MergeAdjacency::by_edges(std::uint32_t left, std::uint32_t right) const {
  std::uint32_t left_until = kNone, right_until = kNone;
  while (true) {
    if (const MergeTable::Result made = merges_.find(left, right); made.rank != kNone) {
      const Parts& z = parts_[made.token];
      if (live(made.token) && z.left == left && z.right == right && z.time < left_until && z.time <= right_until)
        return false;
    }
    const Parts &x = parts_[left], &y = parts_[right];
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

// MergeTable both sides, each as it would be alone, until the pair at their border comes first or nothing is left.
bool MergeAdjacency::by_steps(std::uint32_t left, std::uint32_t right) const {
  thread_local std::vector<Event> left_room, right_room;
  const std::vector<Event>& before =
      parts_[left].late_right ? edges(left).right : climb(left, &Parts::right, left_room);
  const std::vector<Event>& behind =
      parts_[right].late_left ? edges(right).left : climb(right, &Parts::left, right_room);
  std::uint32_t x = spelling(left).back(), y = spelling(right).front();
  for (std::size_t i = 0, j = 0;;) {
    const std::uint32_t across = merges_.find(x, y).rank;
    const std::uint32_t next_before = i < before.size() ? before[i].rank : kNone;
    const std::uint32_t next_behind = j < behind.size() ? behind[j].rank : kNone;
    if (across < next_before && across <= next_behind) return false;
    if (next_before == kNone && next_behind == kNone) return true;
    if (next_before <= next_behind) {
      x = before[i++].edge;
    } else {
      y = behind[j++].edge;
    }
  }
}

// Where ranks rise along an edge, what is merged beside it makes no difference.
const std::vector<MergeAdjacency::Event>& MergeAdjacency::climb(std::uint32_t token, std::uint32_t Parts::* edge,
                                                                std::vector<Event>& events) const {
  events.clear();
  for (std::uint32_t t = token; parts_[t].left != kNone; t = parts_[t].*edge) events.push_back({parts_[t].rank, t});
  std::ranges::reverse(events);
  return events;
}

const MergeAdjacency::Edges& MergeAdjacency::edges(std::uint32_t token) const {
  const ForkGuard guard;
  const std::lock_guard lock(mutex_);
  std::unique_ptr<const Edges>& known = edges_[token];
  if (known) return *known;
  Edges found;
  const auto symbols = spelling(token);
  std::vector<std::uint32_t> row(symbols.begin(), symbols.end());
  std::uint32_t first = row.front(), last = row.back();
  merges_.encode(row, [&](std::size_t place, std::uint32_t, std::uint32_t, const MergeTable::Result& made) {
    if (place == 0) first = made.token;
    if (place + 2 == row.size()) last = made.token;
    found.left.push_back({made.rank, first});
    found.right.push_back({made.rank, last});
  });
  known = std::make_unique<const Edges>(std::move(found));
  return *known;
}

const std::vector<std::uint32_t>& MergeAdjacency::after_late(std::uint32_t left) const {
  {
    const ForkGuard guard;
    const std::lock_guard lock(mutex_);
    if (const auto known = after_late_.find(left); known != after_late_.end()) return *known->second;
  }
  // Whatever is merged across first is a pair of the edges.
  std::vector<std::uint32_t> found;
  for (std::uint32_t right : parts_[left].late_right ? order_ : late_) {
    if (!valid(left, right)) found.push_back(right);
  }
  const ForkGuard guard;
  const std::lock_guard lock(mutex_);
  std::unique_ptr<const std::vector<std::uint32_t>>& known = after_late_[left];
  if (!known) known = std::make_unique<const std::vector<std::uint32_t>>(std::move(found));
  return *known;
}

void MergeAdjacency::forbid_after(std::uint32_t left, std::uint32_t* row) const {
  {
    const ForkGuard guard;
    const std::lock_guard lock(mutex_);
    if (const auto known = long_rows_.find(left); known != long_rows_.end()) {
      const std::vector<std::uint32_t>& kept = *known->second;
      for (std::size_t i = 0; i < kept.size(); ++i) row[i] &= kept[i];
      return;
    }
  }
  const std::size_t words = (parts_.size() + 31) / 32;
  if (take_out_after(left, row) <= words) return;
  // To take out so many one by one again would cost more than all words.
  auto kept = std::make_unique<std::vector<std::uint32_t>>(words, UINT32_MAX);
  take_out_after(left, kept->data());
  const ForkGuard guard;
  const std::lock_guard lock(mutex_);
  if (long_rows_.size() < kLongRows) long_rows_.try_emplace(left, std::move(kept));
}

std::size_t MergeAdjacency::take_out_after(std::uint32_t left, std::uint32_t* row) const {
  std::size_t work = 0;
  const auto take_out = [row, &work](std::uint32_t t) {
    row[t >> 5] &= ~(1u << (t & 31));
    ++work;
  };
  if (parts_[left].late_right) {
    for (std::uint32_t right : after_late(left)) take_out(right);
    return work;
  }
  thread_local std::vector<std::uint32_t> kept;
  kept.clear();
  for (std::uint32_t right : late_) {
    if (row[right >> 5] >> (right & 31) & 1) kept.push_back(right);
  }
  std::uint32_t until = kNone;
  for (std::uint32_t x = left;; x = parts_[x].right) {
    const auto first = rectangles_.begin() + static_cast<std::ptrdiff_t>(first_rectangle_[x]);
    const auto last = rectangles_.begin() + static_cast<std::ptrdiff_t>(first_rectangle_[x + std::size_t{1}]);
    const auto from =
        until == kNone ? first : std::partition_point(first, last, [&](const Rectangle& r) { return r.time >= until; });
    for (auto r = from; r != last; ++r) {
      for (std::uint32_t k = r->first; k < r->last; ++k) take_out(order_[k]);
    }
    if (parts_[x].left == kNone) break;
    until = parts_[x].rank;
  }
  if (kept.empty()) return work;
  for (std::uint32_t right : kept) row[right >> 5] |= 1u << (right & 31);
  for (std::uint32_t right : after_late(left)) take_out(right);
  return work;
}

}  // namespace detent

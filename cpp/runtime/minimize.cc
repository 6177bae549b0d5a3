#include "runtime/minimize.h"

#include <algorithm>
#include <numeric>

#include "base/error.h"

namespace detent {

namespace {

// A partition of the states, refined in place. The states of a part are adjacent in `order_`.
class Partition {
 public:
  explicit Partition(std::span<const std::uint32_t> labels)
      : order_(labels.size()), position_(labels.size()), part_(labels.size()) {
    std::iota(order_.begin(), order_.end(), 0u);
    std::sort(order_.begin(), order_.end(), [&](std::uint32_t x, std::uint32_t y) { return labels[x] < labels[y]; });
    for (std::uint32_t i = 0; i < order_.size(); ++i) {
      if (i == 0 || labels[order_[i]] != labels[order_[i - 1]]) add(i, i);
      position_[order_[i]] = i;
      part_[order_[i]] = count() - 1;
      end_.back() = i + 1;
    }
  }

  std::uint32_t count() const { return static_cast<std::uint32_t>(begin_.size()); }
  std::vector<std::uint32_t>& parts() { return part_; }
  std::span<const std::uint32_t> states_of(std::uint32_t part) const {
    return {order_.begin() + begin_[part], order_.begin() + end_[part]};
  }

  // Marks a state: it moves to the front of its part. A state is marked once before `split`.
  void mark(std::uint32_t state) {
    const std::uint32_t part = part_[state];
    if (marked_[part] == 0) touched_.push_back(part);
    const std::uint32_t front = begin_[part] + marked_[part]++;
    std::swap(order_[front], order_[position_[state]]);
    position_[order_[position_[state]]] = position_[state];
    position_[state] = front;
  }

  // Splits each part into its marked states and the others; the smaller half becomes a new part, given to `visit`.
  template <class Visit>
  void split(Visit visit) {
    for (std::uint32_t part : touched_) {
      const std::uint32_t middle = begin_[part] + marked_[part];
      marked_[part] = 0;
      if (middle == end_[part]) continue;
      const bool front_is_smaller = middle - begin_[part] <= end_[part] - middle;
      const std::uint32_t added = count();
      add(front_is_smaller ? begin_[part] : middle, front_is_smaller ? middle : end_[part]);
      (front_is_smaller ? begin_[part] : end_[part]) = middle;
      for (std::uint32_t i = begin_[added]; i < end_[added]; ++i) part_[order_[i]] = added;
      visit(added);
    }
    touched_.clear();
  }

 private:
  void add(std::uint32_t begin, std::uint32_t end) {
    begin_.push_back(begin);
    end_.push_back(end);
    marked_.push_back(0);
  }

  std::vector<std::uint32_t> order_;
  std::vector<std::uint32_t> position_;              // by state: where it is in `order_`
  std::vector<std::uint32_t> part_;                  // by state
  std::vector<std::uint32_t> begin_, end_, marked_;  // by part
  std::vector<std::uint32_t> touched_;               // the parts that have marked states
};

// The edges into each state but state 0, as class << 32 | source.
class ReversedEdges {
 public:
  ReversedEdges(std::span<const std::uint32_t> next, std::size_t states, std::uint32_t classes)
      : first_(states + 1, 0) {
    for (std::uint32_t target : next) {
      if (target != 0) ++first_[target + std::size_t{1}];
    }
    std::partial_sum(first_.begin(), first_.end(), first_.begin());
    std::vector<std::size_t> fill(first_.begin(), first_.end() - 1);
    edges_.resize(first_.back());
    for (std::size_t i = 0; i < next.size(); ++i) {
      if (next[i] != 0) edges_[fill[next[i]]++] = std::uint64_t{i % classes} << 32 | i / classes;
    }
  }

  std::span<const std::uint64_t> into(std::uint32_t state) const {
    return {edges_.begin() + static_cast<std::ptrdiff_t>(first_[state]),
            edges_.begin() + static_cast<std::ptrdiff_t>(first_[state + std::size_t{1}])};
  }

 private:
  std::vector<std::size_t> first_;
  std::vector<std::uint64_t> edges_;
};

}  // namespace

std::vector<std::uint32_t> merge_states(std::span<const std::uint32_t> next, std::span<const std::uint32_t> labels,
                                        std::uint32_t classes) {
  const bool in_range = std::ranges::all_of(next, [&](std::uint32_t state) { return state < labels.size(); });
  if (labels.size() >= UINT32_MAX || next.size() != labels.size() * classes || !in_range) {
    throw Error(ErrorKind::argument, "merge_states");
  }
  Partition partition(labels);
  const ReversedEdges edges(next, labels.size(), classes);
  // Parts that may still separate others. Of two halves of a part that does not wait, the smaller one suffices.
  std::vector<std::uint32_t> waiting(partition.count());
  std::iota(waiting.begin(), waiting.end(), 0u);
  std::vector<std::uint64_t> into;
  while (!waiting.empty()) {
    const std::uint32_t splitter = waiting.back();
    waiting.pop_back();
    into.clear();
    for (std::uint32_t state : partition.states_of(splitter)) {
      const std::span<const std::uint64_t> found = edges.into(state);
      into.insert(into.end(), found.begin(), found.end());
    }
    std::sort(into.begin(), into.end());
    for (std::size_t from = 0, to = 0; from < into.size(); from = to) {
      for (; to < into.size() && into[to] >> 32 == into[from] >> 32; ++to) {
        partition.mark(static_cast<std::uint32_t>(into[to]));
      }
      partition.split([&](std::uint32_t added) { waiting.push_back(added); });
    }
  }
  return std::move(partition.parts());
}

}  // namespace detent

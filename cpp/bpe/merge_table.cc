#include "bpe/merge_table.h"

#include <bit>
#include <queue>
#include <tuple>

#include "base/error.h"

namespace detent {

MergeTable::MergeTable(std::uint32_t size, const std::vector<Merge>& merges)
    : size_(size), low_(std::size_t{kLow} * kLow) {
  const std::size_t capacity = std::bit_ceil(merges.size() * 2 + 2);
  slots_.resize(capacity);
  mask_ = capacity - 1;
  shift_ = 64 - std::countr_zero(capacity);
  for (const Merge& merge : merges) {
    if (merge.left >= size || merge.right >= size || merge.token >= size || merge.rank == kNone) {
      throw Error(ErrorKind::argument, "merge", merge.token, size);
    }
    const std::uint64_t key = std::uint64_t{merge.left} << 32 | merge.right;
    std::uint64_t i = slot(key);
    while (slots_[i].key != kFree && slots_[i].key != key) i = (i + 1) & mask_;
    slots_[i] = {key, {merge.rank, merge.token}};
    if (merge.left < kLow && merge.right < kLow) low_[merge.left * kLow + merge.right] = slots_[i].result;
  }
}

void MergeTable::merge(std::vector<std::uint32_t>& symbols) const {
  constexpr std::size_t kShort = 48;  // up to that length a scan of all pairs is faster than a heap
  if (symbols.size() > kShort) return merge_long(symbols);
  merge(symbols, [](auto...) {});
}

// Keeps a linked list of symbols and a heap of pairs. An entry of the heap whose pair has changed is skipped.
void MergeTable::merge_long(std::vector<std::uint32_t>& symbols) const {
  struct Node {
    std::uint32_t symbol;
    std::uint32_t previous, next;
  };
  struct Entry {
    std::uint32_t rank, position, left, right;
    bool operator>(const Entry& other) const { return std::tie(rank, position) > std::tie(other.rank, other.position); }
  };
  const auto count = static_cast<std::uint32_t>(symbols.size());
  std::vector<Node> nodes(count);
  std::priority_queue<Entry, std::vector<Entry>, std::greater<>> heap;
  const auto push = [&](std::uint32_t position) {
    if (position == kNone || nodes[position].next == kNone) return;
    const std::uint32_t left = nodes[position].symbol, right = nodes[nodes[position].next].symbol;
    if (const Result found = find(left, right); found.rank != kNone) heap.push({found.rank, position, left, right});
  };
  for (std::uint32_t i = 0; i < count; ++i)
    nodes[i] = {symbols[i], i == 0 ? kNone : i - 1, i + 1 == count ? kNone : i + 1};
  for (std::uint32_t i = 0; i < count; ++i) push(i);
  while (!heap.empty()) {
    const Entry entry = heap.top();
    heap.pop();
    Node& node = nodes[entry.position];
    if (node.symbol != entry.left || node.next == kNone || nodes[node.next].symbol != entry.right) continue;
    Node& removed = nodes[node.next];
    node.symbol = find(entry.left, entry.right).token;
    removed.symbol = kNone;
    node.next = removed.next;
    if (node.next != kNone) nodes[node.next].previous = entry.position;
    push(node.previous);
    push(entry.position);
  }
  symbols.clear();
  for (std::uint32_t i = 0; i != kNone; i = nodes[i].next) symbols.push_back(nodes[i].symbol);
}

}  // namespace detent

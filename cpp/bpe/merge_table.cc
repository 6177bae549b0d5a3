#include "bpe/merge_table.h"

#include <bit>
#include <queue>
#include <tuple>

#include "base/error.h"

namespace detent {

MergeTable::MergeTable(std::uint32_t size, const std::vector<Merge>& merges) : size_(size) {
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
  }
}

void MergeTable::encode(std::vector<std::uint32_t>& symbols) const {
  constexpr std::size_t kShort = 48;  // up to there looking at all pairs is the faster way
  if (symbols.size() > kShort) return encode_long(symbols);
  encode(symbols, [](auto...) {});
}

// A list of symbols and a heap of pairs; an entry whose pair is gone is passed over.
void MergeTable::encode_long(std::vector<std::uint32_t>& symbols) const {
  struct Place {
    std::uint32_t symbol;
    std::uint32_t before, after;
  };
  struct Entry {
    std::uint32_t rank, place, left, right;
    bool operator>(const Entry& other) const { return std::tie(rank, place) > std::tie(other.rank, other.place); }
  };
  const auto count = static_cast<std::uint32_t>(symbols.size());
  std::vector<Place> places(count);
  std::priority_queue<Entry, std::vector<Entry>, std::greater<>> heap;
  const auto push = [&](std::uint32_t place) {
    if (place == kNone || places[place].after == kNone) return;
    const std::uint32_t left = places[place].symbol, right = places[places[place].after].symbol;
    if (const Result found = find(left, right); found.rank != kNone) heap.push({found.rank, place, left, right});
  };
  for (std::uint32_t i = 0; i < count; ++i)
    places[i] = {symbols[i], i == 0 ? kNone : i - 1, i + 1 == count ? kNone : i + 1};
  for (std::uint32_t i = 0; i < count; ++i) push(i);
  while (!heap.empty()) {
    const Entry entry = heap.top();
    heap.pop();
    Place& place = places[entry.place];
    if (place.symbol != entry.left || place.after == kNone || places[place.after].symbol != entry.right) continue;
    Place& gone = places[place.after];
    place.symbol = find(entry.left, entry.right).token;
    gone.symbol = kNone;
    place.after = gone.after;
    if (place.after != kNone) places[place.after].before = entry.place;
    push(place.before);
    push(entry.place);
  }
  symbols.clear();
  for (std::uint32_t i = 0; i != kNone; i = places[i].after) symbols.push_back(places[i].symbol);
}

}  // namespace detent

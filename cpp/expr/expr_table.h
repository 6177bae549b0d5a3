// ExprTable: finds expressions by the low bits of their hashes. It grows without a pause.
//
// Open addressing in segments, each of which is allocated for its first entry. A table that is half full gets another
// one of twice the size, and each insertion moves a few entries to it. Case: with all entries moved at one insertion,
// the mask at which a grammar of SQL reaches a million expressions took 20 ms longer.
#pragma once

#include <algorithm>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <utility>
#include <vector>

namespace detent {

class ExprTable {
 public:
  static constexpr std::size_t kFirst = 256;
  // Entries hold the hashes too, so that most entries of other expressions are passed without reading these.
  struct Entry {
    std::uint32_t hash = 0;
    std::uint32_t id = 0;  // 0: free; the empty language is never looked up
  };

  // A table with room for `count` expressions before it grows.
  explicit ExprTable(std::size_t count = 0) : now_(std::bit_ceil(std::max(kFirst, count * 2))) {}

  std::size_t capacity() const { return now_.capacity; }
  bool has_room(std::size_t count) const { return count * 2 <= now_.capacity; }

  // The expression with this hash for which is_same(id) holds; 0 if there is none.
  template <class IsSame>
  std::uint32_t find(std::uint32_t hash, IsSame is_same) const {
    const std::uint32_t found = now_.find(hash, is_same);
    return found != 0 || !is_moving() ? found : before_.find(hash, is_same);
  }

  // Inserts an expression that is not in the table.
  void insert(Entry entry) {
    constexpr int kMoved = 8;  // slots; all are moved before the table is half full again
    now_.insert(entry);
    for (int i = 0; i < kMoved && is_moving(); ++i) move_slot();
  }

  // Doubles the capacity.
  void grow() {
    while (is_moving()) move_slot();
    before_ = std::exchange(now_, Slots(now_.capacity * 2));
    next_ = freed_ = 0;
  }

 private:
  static constexpr std::size_t kSegment = 4'096;

  struct Slots {
    explicit Slots(std::size_t slots) : capacity(slots), segments((slots + kSegment - 1) / kSegment) {}
    Slots(Slots&&) = default;
    Slots& operator=(Slots&&) = default;
    Slots(const Slots& other) : Slots(other.capacity) {
      for (std::size_t i = 0; i < segments.size(); ++i) {
        if (!other.segments[i]) continue;
        segments[i] = std::make_unique<Entry[]>(segment_size());
        std::copy_n(other.segments[i].get(), segment_size(), segments[i].get());
      }
    }

    std::size_t segment_size() const { return std::min(capacity, kSegment); }
    Entry at(std::size_t slot) const {
      const Entry* const segment = segments[slot / kSegment].get();
      return segment ? segment[slot % kSegment] : Entry{};
    }
    template <class IsSame>
    std::uint32_t find(std::uint32_t hash, IsSame is_same) const {
      for (std::size_t slot = hash & (capacity - 1);; slot = (slot + 1) & (capacity - 1)) {
        const Entry entry = at(slot);
        if (entry.id == 0 || (entry.hash == hash && is_same(entry.id))) return entry.id;
      }
    }
    void insert(Entry entry) {
      std::size_t slot = entry.hash & (capacity - 1);
      while (at(slot).id != 0) slot = (slot + 1) & (capacity - 1);
      std::unique_ptr<Entry[]>& segment = segments[slot / kSegment];
      if (!segment) segment = std::make_unique<Entry[]>(segment_size());
      segment[slot % kSegment] = entry;
    }

    std::size_t capacity;
    std::vector<std::unique_ptr<Entry[]>> segments;
  };

  bool is_moving() const { return next_ < before_.capacity; }
  // An entry stays where it is until its segment is freed. A free slot ends all runs of entries that begin before it.
  void move_slot() {
    const Entry entry = before_.at(next_);
    if (entry.id != 0) {
      now_.insert(entry);
    } else {
      for (; freed_ < next_ / kSegment; ++freed_) before_.segments[freed_].reset();
    }
    if (++next_ == before_.capacity) {
      before_ = Slots(0);
      next_ = 0;
    }
  }

  Slots now_;
  Slots before_{0};                   // the table before the last growth, until all its entries have moved
  std::size_t next_ = 0, freed_ = 0;  // the slot to move, the segments that were freed
};

}  // namespace detent

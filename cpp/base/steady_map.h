// SteadyMap: a hash table that grows without a long pause.
//
// Entries never move. Open addressing finds them: a slot holds 32 bits of the hash and the number of an entry. So a
// look-up of a key that is absent reads one cache line. A table that is half full gets another one of twice the size,
// and each insertion copies a few slots to it. Case: a cache of 100,000 masks on gpt2. std::unordered_map moves the
// 12,000 entries of a shard at one insertion, which adds 2 ms to one mask.
// Looking masks up, most of which are absent at first, took 6 % of the masks of MaskBench with tables of nodes.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <utility>
#include <vector>

namespace detent {

template <class Key, class Value, class Hash>
class SteadyMap {
 public:
  // Null if the key is not in the map. Valid until it is erased.
  Value* find(const Key& key) {
    const std::uint32_t number = number_of(key);
    return number == 0 ? nullptr : &entry(number).value;
  }
  // Returns whether the key was not in the map.
  bool insert(const Key& key, Value value) {
    if (number_of(key) != 0) return false;
    if (count_ * 2 >= now_.capacity) grow();
    const std::uint32_t number = new_entry();
    entry(number) = {key, std::move(value)};
    now_.add({short_hash(key), number});
    ++count_;
    for (int i = 0; i < kMoved && is_moving(); ++i) move_slot();
    return true;
  }
  void erase(const Key& key) {
    const std::uint32_t number = number_of(key);
    if (number == 0) return;
    const auto is_it = [number](std::uint32_t other) { return other == number; };
    now_.erase(now_.find(short_hash(key), is_it));
    before_.mark_erased(before_.find(short_hash(key), is_it));
    entry(number) = {};
    free_.push_back(number);
    --count_;
  }

 private:
  struct Entry {
    Key key{};
    Value value{};
  };
  struct Slot {
    std::uint32_t hash = 0;
    std::uint32_t number = 0;  // of the entry, from 1 on; 0: free
  };
  static constexpr std::size_t kNone = SIZE_MAX, kFirstSlots = 32, kBlock = 256, kSegment = 4'096;
  static constexpr std::uint32_t kErased = UINT32_MAX;
  static constexpr int kMoved = 4;  // slots; all are moved before the table is half full again

  // Open addressing, in segments that are allocated for their first slot.
  struct Table {
    explicit Table(std::size_t slots) : capacity(slots), segments((slots + kSegment - 1) / kSegment) {}

    std::size_t mask() const { return capacity - 1; }
    std::size_t next(std::size_t slot) const { return (slot + 1) & mask(); }
    Slot at(std::size_t slot) const {
      const Slot* const segment = segments[slot / kSegment].get();
      return segment ? segment[slot % kSegment] : Slot{};
    }
    void set(std::size_t slot, const Slot& value) {
      std::unique_ptr<Slot[]>& segment = segments[slot / kSegment];
      if (!segment) segment = std::make_unique<Slot[]>(std::min(capacity, kSegment));
      segment[slot % kSegment] = value;
    }
    // The slot with this hash for which is_it(number) holds; kNone if there is none.
    template <class IsIt>
    std::size_t find(std::uint32_t hash, IsIt is_it) const {
      if (capacity == 0) return kNone;
      for (std::size_t slot = hash & mask();; slot = next(slot)) {
        const Slot found = at(slot);
        if (found.number == 0) return kNone;
        if (found.hash == hash && found.number != kErased && is_it(found.number)) return slot;
      }
    }
    void add(const Slot& filled) {
      std::size_t slot = filled.hash & mask();
      while (at(slot).number != 0) slot = next(slot);
      set(slot, filled);
    }
    // A slot after the hole moves into it, unless its run begins after the hole.
    void erase(std::size_t hole) {
      if (hole == kNone) return;
      for (std::size_t slot = next(hole); at(slot).number != 0; slot = next(slot)) {
        const std::size_t first = at(slot).hash & mask();
        if (((slot - first) & mask()) >= ((slot - hole) & mask())) set(std::exchange(hole, slot), at(slot));
      }
      set(hole, {});
    }
    void mark_erased(std::size_t slot) {
      if (slot != kNone) set(slot, {0, kErased});
    }

    std::size_t capacity;  // a power of two, or 0
    std::vector<std::unique_ptr<Slot[]>> segments;
  };

  static std::uint32_t short_hash(const Key& key) { return static_cast<std::uint32_t>(Hash()(key)); }
  Entry& entry(std::uint32_t number) { return blocks_[(number - 1) / kBlock][(number - 1) % kBlock]; }

  // The number of the entry of a key; 0 if there is none.
  std::uint32_t number_of(const Key& key) {
    const std::uint32_t hash = short_hash(key);
    const auto is_it = [&](std::uint32_t number) { return entry(number).key == key; };
    if (const std::size_t slot = now_.find(hash, is_it); slot != kNone) return now_.at(slot).number;
    if (!is_moving()) return 0;
    const std::size_t slot = before_.find(hash, is_it);
    return slot == kNone ? 0 : before_.at(slot).number;
  }

  bool is_moving() const { return before_.capacity != 0; }
  void grow() {
    while (is_moving()) move_slot();
    const std::size_t slots = std::max(kFirstSlots, now_.capacity * 2);
    before_ = std::exchange(now_, Table(slots));
    next_ = 0;
  }
  // Copies a slot: it stays in the smaller table too, where it may be a part of a run.
  void move_slot() {
    const Slot slot = before_.at(next_);
    if (slot.number != 0 && slot.number != kErased) now_.add(slot);
    if (++next_ == before_.capacity) before_ = Table(0);
  }

  std::uint32_t new_entry() {
    if (free_.empty()) {
      if (made_ == blocks_.size() * kBlock) blocks_.push_back(std::make_unique<Entry[]>(kBlock));
      return static_cast<std::uint32_t>(++made_);
    }
    const std::uint32_t number = free_.back();
    free_.pop_back();
    return number;
  }

  Table now_{0};          // at most half full
  Table before_{0};       // the table before the last growth, until all its slots are copied
  std::size_t next_ = 0;  // the slot of it to be copied
  std::vector<std::unique_ptr<Entry[]>> blocks_;
  std::vector<std::uint32_t> free_;  // numbers of erased entries
  std::size_t count_ = 0, made_ = 0;
};

}  // namespace detent

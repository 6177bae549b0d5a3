// PointerMap: a hash table from pointers to small values, for passes over the nodes of a language. Nothing is erased.
//
// Open addressing. Case: compiling the 500 nodes of a schema looks up each node some five times; std::unordered_map,
// which allocates each entry, takes a third of the time of the whole pass.
#pragma once

#include <bit>
#include <cstddef>
#include <cstdint>
#include <utility>
#include <vector>

namespace detent {

template <class T>
class PointerMap {
 public:
  // Null if the key, which is not null, was not inserted.
  const T* find(const void* key) const {
    const Slot& slot = slots_[slot_of(slots_, key)];
    return slot.key ? &slot.value : nullptr;
  }
  // Inserts a key, or replaces its value; returns whether the key is new.
  bool insert(const void* key, T value) {
    if ((size_ + 1) * 2 > slots_.size()) grow();
    Slot& slot = slots_[slot_of(slots_, key)];
    const bool is_new = slot.key == nullptr;
    slot = {key, std::move(value)};
    size_ += is_new;
    return is_new;
  }

 private:
  struct Slot {
    const void* key = nullptr;
    T value{};
  };

  static std::size_t slot_of(const std::vector<Slot>& slots, const void* key) {
    const std::size_t mask = slots.size() - 1;
    std::size_t i = (reinterpret_cast<std::uintptr_t>(key) * 0x9E3779B97F4A7C15ULL) >> 32 & mask;
    while (slots[i].key && slots[i].key != key) i = (i + 1) & mask;
    return i;
  }
  void grow() {
    std::vector<Slot> larger(slots_.size() * 2);
    for (Slot& slot : slots_) {
      if (slot.key) larger[slot_of(larger, slot.key)] = std::move(slot);
    }
    slots_ = std::move(larger);
  }

  std::vector<Slot> slots_ = std::vector<Slot>(256);
  std::size_t size_ = 0;
};

}  // namespace detent

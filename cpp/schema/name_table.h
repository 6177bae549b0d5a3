// NameTable: a hash table from names to numbers, for the members of one object. Nothing is erased.
//
// Open addressing, since std::unordered_map allocates each entry: objects have few members, and most caches are cold.
// The hash is seeded: anybody can prepare thousands of names with one slot of std::hash.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <string_view>
#include <utility>
#include <vector>

#include "base/hash.h"

namespace detent {

class NameTable {
 public:
  // Null if the name was not inserted. The names must outlive the table.
  const std::uint32_t* find(std::string_view name) const {
    if (slots_.empty()) return nullptr;
    const Slot& slot = slots_[slot_of(name)];
    return slot.is_used ? &slot.value : nullptr;
  }
  bool contains(std::string_view name) const { return find(name) != nullptr; }
  // Returns whether the name is new; a known one keeps its value.
  bool insert(std::string_view name, std::uint32_t value = 0) {
    if ((size_ + 1) * 2 > slots_.size()) grow();
    Slot& slot = slots_[slot_of(name)];
    if (slot.is_used) return false;
    slot = {name, value, true};
    ++size_;
    return true;
  }
  bool empty() const { return size_ == 0; }

 private:
  struct Slot {
    std::string_view name;
    std::uint32_t value = 0;
    bool is_used = false;
  };
  static constexpr std::size_t kFirst = 16;

  std::size_t slot_of(std::string_view name) const {
    const std::size_t mask = slots_.size() - 1;
    std::size_t slot = mix(std::hash<std::string_view>{}(name), process_seed()) & mask;
    while (slots_[slot].is_used && slots_[slot].name != name) slot = (slot + 1) & mask;
    return slot;
  }
  void grow() {
    const std::vector<Slot> before =
        std::exchange(slots_, std::vector<Slot>(slots_.empty() ? kFirst : slots_.size() * 2));
    for (const Slot& slot : before) {
      if (slot.is_used) slots_[slot_of(slot.name)] = slot;
    }
  }

  std::vector<Slot> slots_;
  std::size_t size_ = 0;
};

}  // namespace detent

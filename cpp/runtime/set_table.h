// SetTable: sets with numbers, and the set to which each leads by a byte class: a subset construction, as far as a walk
// along the trie needs it. Of 200,000 nodes, mostly some 1,000 have a set of their own.
#pragma once

#include <algorithm>
#include <cstdint>
#include <span>
#include <vector>

namespace detent {

// `Hash` gives the hash of an element.
template <class Element, class Hash>
class SetTable {
 public:
  using Id = std::uint32_t;
  using Set = std::vector<Element>;
  static constexpr Id kUnknown = UINT32_MAX;

  explicit SetTable(std::uint32_t class_count) : class_count_(class_count), slots_(64, kUnknown) {}

  // The number of a set whose order is canonical.
  Id add(const Set& set) {
    if (2 * size() >= slots_.size()) grow();
    const std::uint32_t hash = hash_of(set);
    const std::size_t slot = find_slot(hash, [&](Id id) { return std::ranges::equal((*this)[id], set); });
    if (slots_[slot] != kUnknown) return slots_[slot];
    const Id id = slots_[slot] = static_cast<Id>(size());
    elements_.insert(elements_.end(), set.begin(), set.end());
    first_element_.push_back(elements_.size());
    hashes_.push_back(hash);
    first_successor_.push_back(kUnknown);
    return id;
  }
  // Valid until a set is added.
  std::span<const Element> operator[](Id id) const {
    return {elements_.data() + first_element_[id], elements_.data() + first_element_[id + 1]};
  }
  std::size_t size() const { return hashes_.size(); }

  Id successor(Id id, std::uint8_t byte_class) const {
    const std::uint32_t first = first_successor_[id];
    return first == kUnknown ? kUnknown : successors_[first + byte_class];
  }
  void set_successor(Id id, std::uint8_t byte_class, Id successor) {
    if (first_successor_[id] == kUnknown) {
      first_successor_[id] = static_cast<std::uint32_t>(successors_.size());
      successors_.resize(successors_.size() + class_count_, kUnknown);
    }
    successors_[first_successor_[id] + byte_class] = successor;
  }

 private:
  static std::uint32_t hash_of(const Set& set) {
    std::uint64_t hash = set.size();
    for (const Element& each : set) hash = (hash ^ Hash{}(each)) * 0x9E3779B97F4A7C15u;
    return static_cast<std::uint32_t>(hash >> 32);
  }
  // The slot of the set with this hash that `is_same`, or a free one.
  template <class IsSame>
  std::size_t find_slot(std::uint32_t hash, IsSame is_same) const {
    const std::size_t mask = slots_.size() - 1;
    std::size_t slot = hash & mask;
    while (slots_[slot] != kUnknown && !(hashes_[slots_[slot]] == hash && is_same(slots_[slot]))) {
      slot = (slot + 1) & mask;
    }
    return slot;
  }
  void grow() {
    slots_.assign(2 * slots_.size(), kUnknown);
    for (Id id = 0; id < size(); ++id) slots_[find_slot(hashes_[id], [](Id) { return false; })] = id;
  }

  std::uint32_t class_count_;
  std::vector<Id> slots_;                       // open addressing; a power of two
  std::vector<Element> elements_;               // of all sets
  std::vector<std::size_t> first_element_{0};   // by number: an index into elements_; at the end, their number
  std::vector<std::uint32_t> hashes_;           // by number
  std::vector<std::uint32_t> first_successor_;  // by number: an index into successors_
  std::vector<Id> successors_;
};

}  // namespace detent

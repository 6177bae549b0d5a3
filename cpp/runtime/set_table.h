// SetTable: sets with numbers, and the set to which each leads by a byte class: a subset construction, as far as a walk
// along the trie needs it. Of 200,000 nodes, mostly some 1,000 have a set of their own.
#pragma once

#include <cstdint>
#include <unordered_map>
#include <vector>

namespace detent {

// `Hash` gives the hash of an element.
template <class Element, class Hash>
class SetTable {
 public:
  using Id = std::uint32_t;
  using Set = std::vector<Element>;
  static constexpr Id kUnknown = UINT32_MAX;

  explicit SetTable(std::uint32_t class_count) : class_count_(class_count) {}

  // The number of a set whose order is canonical.
  Id add(const Set& set) {
    const auto [known, is_new] = ids_.try_emplace(set, static_cast<Id>(sets_.size()));
    if (is_new) {
      sets_.push_back(&known->first);
      first_successor_.push_back(kUnknown);
    }
    return known->second;
  }
  const Set& operator[](Id id) const { return *sets_[id]; }
  std::size_t size() const { return sets_.size(); }

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
  struct HashSet {
    std::size_t operator()(const Set& set) const {
      std::uint64_t hash = set.size();
      for (const Element& each : set) hash = (hash ^ Hash{}(each)) * 0x9E3779B97F4A7C15u;
      return hash ^ hash >> 32;
    }
  };

  std::uint32_t class_count_;
  std::unordered_map<Set, Id, HashSet> ids_;
  std::vector<const Set*> sets_;                // by number
  std::vector<std::uint32_t> first_successor_;  // by number: an index into successors_
  std::vector<Id> successors_;
};

}  // namespace detent

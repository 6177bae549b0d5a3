// SteadyMap: a hash table that grows without a long pause: each insertion moves a few entries to the larger table.
//
// Case: a cache of 100,000 masks on gpt2. std::unordered_map moves the 12,000 entries of a shard at one insertion,
// which adds 2 ms to one mask.
#pragma once

#include <cstddef>
#include <unordered_map>
#include <utility>

namespace detent {

template <class Key, class Value, class Hash>
class SteadyMap {
 public:
  // Null if the key is not in the map. Valid until it is erased.
  Value* find(const Key& key) {
    if (const auto entry = entries_.find(key); entry != entries_.end()) return &entry->second;
    if (rest_.empty()) return nullptr;
    const auto entry = rest_.find(key);
    return entry == rest_.end() ? nullptr : &entry->second;
  }
  // Returns whether the key was not in the map.
  bool insert(const Key& key, Value value) {
    if (rest_.empty() && entries_.size() >= reserved_) {
      entries_.swap(rest_);
      reserved_ *= kGrowth;
      entries_.reserve(reserved_);
    }
    if (!rest_.empty() && rest_.contains(key)) return false;
    if (!entries_.emplace(key, std::move(value)).second) return false;
    for (std::size_t i = 0; i < kMoved && !rest_.empty(); ++i) entries_.insert(rest_.extract(rest_.begin()));
    if (rest_.empty() && rest_.bucket_count() > 1) rest_ = Table();
    return true;
  }
  void erase(const Key& key) {
    if (entries_.erase(key) == 0) rest_.erase(key);
  }

 private:
  using Table = std::unordered_map<Key, Value, Hash>;
  static constexpr std::size_t kMoved = 4;  // so that all have moved before the next growth
  static constexpr std::size_t kGrowth = 4;

  Table entries_;
  Table rest_;  // the entries that have not moved yet
  std::size_t reserved_ = 16;
};

}  // namespace detent

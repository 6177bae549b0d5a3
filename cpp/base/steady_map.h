// SteadyMap: a hash table that grows without a long stop. Each insertion moves a few entries to the larger table.
//
// Case: a cache of 100,000 masks on gpt2. std::unordered_map moves the 12,000 entries of a shard at one insertion: 2 ms
// of a mask.
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
    for (Table* table : {&entries_, &rest_}) {
      if (const auto entry = table->find(key); entry != table->end()) return &entry->second;
    }
    return nullptr;
  }
  // The key is not in the map.
  void insert(const Key& key, Value value) {
    if (rest_.empty() && entries_.size() >= reserved_) {
      entries_.swap(rest_);
      reserved_ *= 2;
      entries_.reserve(reserved_);
    }
    entries_.emplace(key, std::move(value));
    for (std::size_t i = 0; i < kMoved && !rest_.empty(); ++i) entries_.insert(rest_.extract(rest_.begin()));
    if (rest_.empty() && rest_.bucket_count() > 1) rest_ = Table();
  }
  void erase(const Key& key) {
    if (entries_.erase(key) == 0) rest_.erase(key);
  }

 private:
  using Table = std::unordered_map<Key, Value, Hash>;
  static constexpr std::size_t kMoved = 4;  // at least two, so that all have moved before the next growth

  Table entries_;
  Table rest_;  // the entries that have not moved yet
  std::size_t reserved_ = 16;
};

}  // namespace detent

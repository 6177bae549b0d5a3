// MaskCache: the token masks of a vocabulary, keyed by the structural hash of the state that they belong to, so that
// guides share them: the inside of a quoted string is classified once a vocabulary, not once a pattern.
// Bounded in bytes; the least recently used masks go first. Safe for any number of threads.
// Cost: a look-up is one hash probe under a lock of its shard.
#pragma once

#include <array>
#include <cstdint>
#include <list>
#include <memory>
#include <mutex>
#include <unordered_map>
#include <vector>

#include "base/hash.h"

namespace detent {

// The text tokens that a state allows: as bits, or as ids where these are few. Immutable.
class Mask {
 public:
  // `words` has bit `id & 31` of word `id >> 5` set for each allowed id.
  static std::shared_ptr<const Mask> of(const std::vector<std::uint32_t>& words);

  // Overwrites a row of `count` words.
  void write(std::uint32_t* row, std::size_t count) const;
  std::size_t bytes() const { return sizeof(Mask) + (words_.size() + ids_.size()) * sizeof(std::uint32_t); }

 private:
  std::vector<std::uint32_t> words_;
  std::vector<std::uint32_t> ids_;
};

class MaskCache {
 public:
  explicit MaskCache(std::size_t limit_bytes) : limit_bytes_(limit_bytes) {}

  std::shared_ptr<const Mask> find(const Hash128& key);
  void insert(const Hash128& key, std::shared_ptr<const Mask> mask);
  std::size_t bytes();

 private:
  struct Entry {
    Hash128 key;
    std::shared_ptr<const Mask> mask;
  };
  struct KeyHash {
    std::size_t operator()(const Hash128& key) const { return key.low; }
  };
  struct Shard {
    std::mutex mutex;
    std::list<Entry> recent;  // most recently used first
    std::unordered_map<Hash128, std::list<Entry>::iterator, KeyHash> places;
    std::size_t bytes = 0;
  };
  static constexpr std::size_t kShards = 8;
  // What an entry costs beside its mask: list node, table node and bucket.
  static constexpr std::size_t kEntryBytes = 128;

  Shard& shard(const Hash128& key) { return shards_[key.high % kShards]; }

  std::size_t limit_bytes_;
  std::array<Shard, kShards> shards_;
};

}  // namespace detent

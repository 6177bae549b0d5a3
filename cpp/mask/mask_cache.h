// MaskCache: the masks of a vocabulary, keyed by the structural hash of the state that they belong to.
//
// All guides of a vocabulary share it: the mask inside a JSON string is computed once, not once for each schema.
// Bounded in bytes. Masks are evicted in the order of insertion; a mask that was found since its last turn is spared
// and moves to the end of the order (second chance). So a look-up moves nothing. Safe for any number of threads. Cost:
// a look-up is one hash probe under the lock of its shard.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <memory>
#include <mutex>

#include "base/hash.h"
#include "base/steady_map.h"
#include "mask/mask.h"

namespace detent {

class MaskCache {
 public:
  explicit MaskCache(std::size_t limit_bytes) : limit_bytes_(limit_bytes) {}

  std::size_t limit_bytes() const { return limit_bytes_; }

  // The mask of a state, of a slice, or of a state that serves as reference for another mask.
  enum class Kind : std::uint8_t { mask, slice, reference };
  struct Counts {
    std::uint64_t hits = 0, misses = 0;
  };

  std::shared_ptr<const Mask> find(const Hash128& key, Kind kind = Kind::mask);
  void insert(const Hash128& key, std::shared_ptr<const Mask> mask, Kind kind = Kind::mask);
  std::size_t bytes();
  Counts counts(Kind kind);  // since the vocabulary was made; a miss is a mask that was inserted

 private:
  struct Entry {
    std::shared_ptr<const Mask> mask;
    bool was_found = false;  // since it was inserted or last spared
  };
  struct KeyHash {
    std::size_t operator()(const Hash128& key) const { return key.low; }
  };
  struct Shard {
    std::mutex mutex;
    SteadyMap<Hash128, Entry, KeyHash> entries;
    std::deque<Hash128> order;  // the keys; the next to be evicted first
    std::size_t bytes = 0;
    std::array<Counts, 3> counts;  // by kind
  };
  static constexpr std::size_t kShards = 8;
  // Memory of an entry beside its mask: in the table, and its key in the order.
  static constexpr std::size_t kEntryBytes = 128;
  static constexpr int kMostSpared = 8;  // second chances at one insertion

  void evict(Shard& part);
  Shard& shard(const Hash128& key) { return shards_[key.high % kShards]; }

  std::size_t limit_bytes_;
  std::array<Shard, kShards> shards_;
};

}  // namespace detent

#include "mask/mask_cache.h"

#include <utility>

#include "base/fork_guard.h"

namespace detent {

std::shared_ptr<const Mask> MaskCache::find(const Hash128& key, Kind kind) {
  const ForkGuard guard;
  Shard& part = shard(key);
  const std::lock_guard lock(part.mutex);
  Entry* const entry = part.entries.find(key);
  if (!entry) return nullptr;
  ++part.counts[static_cast<std::size_t>(kind)].hits;
  entry->was_found = true;
  return entry->mask;
}

void MaskCache::insert(const Hash128& key, std::shared_ptr<const Mask> mask, Kind kind) {
  const ForkGuard guard;
  Shard& part = shard(key);
  const std::size_t size = mask->bytes() + kEntryBytes;
  const std::lock_guard lock(part.mutex);
  ++part.counts[static_cast<std::size_t>(kind)].misses;
  if (size > limit_bytes_ / kShards) return;
  if (!part.entries.insert(key, {std::move(mask)})) return;
  part.order.push_back(key);
  part.bytes += size;
  evict(part);
}

void MaskCache::evict(Shard& part) {
  int spared = 0;
  while (part.bytes > limit_bytes_ / kShards) {
    const Hash128 key = part.order.front();
    part.order.pop_front();
    Entry& entry = *part.entries.find(key);
    if (std::exchange(entry.was_found, false) && ++spared <= kMostSpared) {
      part.order.push_back(key);
      continue;
    }
    part.bytes -= entry.mask->bytes() + kEntryBytes;
    part.entries.erase(key);
  }
}

std::size_t MaskCache::bytes() {
  const ForkGuard guard;
  std::size_t total = 0;
  for (Shard& part : shards_) {
    const std::lock_guard lock(part.mutex);
    total += part.bytes;
  }
  return total;
}

MaskCache::Counts MaskCache::counts(Kind kind) {
  const ForkGuard guard;
  Counts total;
  for (Shard& part : shards_) {
    const std::lock_guard lock(part.mutex);
    total.hits += part.counts[static_cast<std::size_t>(kind)].hits;
    total.misses += part.counts[static_cast<std::size_t>(kind)].misses;
  }
  return total;
}

}  // namespace detent

#include "mask/mask_cache.h"

#include <iterator>
#include <utility>

#include "base/fork_guard.h"

namespace detent {

std::shared_ptr<const Mask> MaskCache::find(const Hash128& key, Kind kind) {
  const ForkGuard guard;
  Shard& part = shard(key);
  const std::lock_guard lock(part.mutex);
  const std::list<Entry>::iterator* entry = part.entries.find(key);
  if (!entry) return nullptr;
  ++part.counts[static_cast<std::size_t>(kind)].hits;
  (*entry)->was_found = true;
  return (*entry)->mask;
}

void MaskCache::insert(const Hash128& key, std::shared_ptr<const Mask> mask, Kind kind) {
  const ForkGuard guard;
  Shard& part = shard(key);
  const std::size_t size = mask->bytes() + kEntryBytes;
  const std::lock_guard lock(part.mutex);
  ++part.counts[static_cast<std::size_t>(kind)].misses;
  if (size > limit_bytes_ / kShards) return;
  part.order.push_front({key, std::move(mask)});
  if (!part.entries.insert(key, part.order.begin())) return part.order.pop_front();
  part.bytes += size;
  evict(part);
}

void MaskCache::evict(Shard& part) {
  int spared = 0;
  while (part.bytes > limit_bytes_ / kShards) {
    Entry& last = part.order.back();
    if (std::exchange(last.was_found, false) && ++spared <= kMostSpared) {
      part.order.splice(part.order.begin(), part.order, std::prev(part.order.end()));
      continue;
    }
    part.bytes -= last.mask->bytes() + kEntryBytes;
    part.entries.erase(last.key);
    part.order.pop_back();
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

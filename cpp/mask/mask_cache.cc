#include "mask/mask_cache.h"

#include <algorithm>
#include <bit>

#include "base/fork_guard.h"

namespace detent {

std::shared_ptr<const Mask> Mask::of(const std::vector<std::uint32_t>& words) {
  auto mask = std::make_shared<Mask>();
  std::size_t count = 0;
  for (std::uint32_t word : words) count += static_cast<std::size_t>(std::popcount(word));
  if (count > words.size() / 4) {
    mask->words_ = words;
    return mask;
  }
  mask->ids_.reserve(count);
  for (std::size_t i = 0; i < words.size(); ++i) {
    for (std::uint32_t word = words[i]; word; word &= word - 1) {
      mask->ids_.push_back(static_cast<std::uint32_t>(i * 32) + static_cast<std::uint32_t>(std::countr_zero(word)));
    }
  }
  return mask;
}

void Mask::write(std::uint32_t* row, std::size_t count) const {
  if (!words_.empty()) {
    std::copy(words_.begin(), words_.end(), row);
    return;
  }
  std::fill_n(row, count, 0u);
  for (std::uint32_t id : ids_) row[id >> 5] |= 1u << (id & 31);
}

std::shared_ptr<const Mask> MaskCache::find(const Hash128& key) {
  const ForkGuard guard;
  Shard& part = shard(key);
  const std::lock_guard lock(part.mutex);
  const auto place = part.places.find(key);
  if (place == part.places.end()) return nullptr;
  part.recent.splice(part.recent.begin(), part.recent, place->second);
  return place->second->mask;
}

void MaskCache::insert(const Hash128& key, std::shared_ptr<const Mask> mask) {
  const ForkGuard guard;
  Shard& part = shard(key);
  const std::size_t size = mask->bytes() + kEntryBytes;
  const std::lock_guard lock(part.mutex);
  if (size > limit_bytes_ / kShards || part.places.contains(key)) return;
  part.recent.push_front({key, std::move(mask)});
  part.places[key] = part.recent.begin();
  part.bytes += size;
  while (part.bytes > limit_bytes_ / kShards) {
    const Entry& last = part.recent.back();
    part.bytes -= last.mask->bytes() + kEntryBytes;
    part.places.erase(last.key);
    part.recent.pop_back();
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

}  // namespace detent

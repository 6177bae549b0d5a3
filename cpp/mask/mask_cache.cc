#include "mask/mask_cache.h"

#include <algorithm>
#include <bit>

#include "base/fork_guard.h"

namespace detent {

namespace {

// One for each thread: masks are built one after the other.
std::vector<std::uint32_t>& shared_words() {
  thread_local std::vector<std::uint32_t> words;
  return words;
}

}  // namespace

std::shared_ptr<const ContextDependentTokens> ContextDependentTokens::of(std::vector<TokenSuffix> suffixes,
                                                                         std::vector<std::uint32_t> exits) {
  auto made = std::make_shared<ContextDependentTokens>();
  ContextDependentTokens& crossing = *made;
  std::vector<std::uint32_t> path;  // the nodes from the root to the last rest
  std::string_view last;
  const auto close = [&](std::size_t depth) {
    for (; path.size() > depth; path.pop_back()) {
      crossing.nodes[path.back()].next = static_cast<std::uint32_t>(crossing.nodes.size());
    }
  };
  for (const auto& [rest, id, place_behind] : suffixes) {
    const auto common = static_cast<std::size_t>(
        std::mismatch(last.begin(), last.end(), rest.begin(), rest.end()).second - rest.begin());
    close(common);
    const auto place = static_cast<std::uint32_t>(crossing.ids.size());
    for (std::size_t depth = common; depth < rest.size(); ++depth) {
      path.push_back(static_cast<std::uint32_t>(crossing.nodes.size()));
      crossing.nodes.push_back(
          {0, place, place, static_cast<std::uint32_t>(depth) & 0xFFFFFF, static_cast<std::uint8_t>(rest[depth])});
    }
    crossing.ids.push_back(id);
    crossing.nodes[path.back()].last = place + 1;
    last = rest;
  }
  close(0);
  crossing.suffixes = std::move(suffixes);
  crossing.exits = std::move(exits);
  return made;
}

void Mask::write(std::uint32_t* row, std::size_t count) const {
  if (base_) {
    base_->write(row, count);
    add_own_to(row);
  } else if (!words_.empty()) {
    std::copy(words_.begin(), words_.end(), row);
  } else {
    std::fill_n(row, count, 0u);
    add_own_to(row);
  }
}

void Mask::add_to(std::uint32_t* row) const {
  if (base_) base_->add_to(row);
  add_own_to(row);
}

void Mask::add_own_to(std::uint32_t* row) const {
  for (std::size_t i = 0; i < words_.size(); ++i) row[i] |= words_[i];
  for (std::uint32_t id : ids_) row[id >> 5] |= 1u << (id & 31);
}

std::uint32_t* MaskBuilder::words() {
  if (!dense_) make_dense();
  return shared_words().data();
}

void MaskBuilder::make_dense() {
  dense_ = true;
  shared_words().assign(word_count_, 0);
  for (std::uint32_t id : ids_) shared_words()[id >> 5] |= 1u << (id & 31);
  ids_.clear();
}

void MaskBuilder::allow(const std::uint32_t* ids, std::size_t count) {
  std::uint32_t* const row = words();
  for (std::size_t i = 0; i < count; ++i) row[ids[i] >> 5] |= 1u << (ids[i] & 31);
}

void MaskBuilder::copy_from(const Mask& mask) {
  mask.write(words(), word_count_);
  note_length(mask.max_completion_bound());
}

void MaskBuilder::add(std::shared_ptr<const Mask> mask) {
  if (!base_) {
    base_ = std::move(mask);
  } else {
    mask->add_to(words());
  }
}

std::shared_ptr<const Mask> MaskBuilder::finish(std::shared_ptr<const ContextDependentTokens> crossing) {
  auto mask = std::make_shared<Mask>();
  mask->context_dependent_ = std::move(crossing);
  mask->base_ = std::move(base_);
  mask->max_completion_bound_ = max_completion_bound_;
  if (!dense_) {
    mask->ids_ = std::move(ids_);
    mask->ids_.shrink_to_fit();
    return mask;
  }
  const std::vector<std::uint32_t>& row = shared_words();
  std::size_t count = 0;
  for (std::uint32_t word : row) count += static_cast<std::size_t>(std::popcount(word));
  if (count > row.size() / 4) {
    mask->words_ = row;
    return mask;
  }
  mask->ids_.reserve(count);
  for (std::size_t i = 0; i < row.size(); ++i) {
    for (std::uint32_t word = row[i]; word; word &= word - 1) {
      mask->ids_.push_back(static_cast<std::uint32_t>(i * 32) + static_cast<std::uint32_t>(std::countr_zero(word)));
    }
  }
  return mask;
}

std::shared_ptr<const Mask> MaskCache::find(const Hash128& key, Kind kind) {
  const ForkGuard guard;
  Shard& part = shard(key);
  const std::lock_guard lock(part.mutex);
  const auto place = part.places.find(key);
  if (place == part.places.end()) return nullptr;
  ++part.counts[static_cast<std::size_t>(kind)].found;
  part.recent.splice(part.recent.begin(), part.recent, place->second);
  return place->second->mask;
}

void MaskCache::insert(const Hash128& key, std::shared_ptr<const Mask> mask, Kind kind) {
  const ForkGuard guard;
  Shard& part = shard(key);
  const std::size_t size = mask->bytes() + kEntryBytes;
  const std::lock_guard lock(part.mutex);
  ++part.counts[static_cast<std::size_t>(kind)].made;
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

MaskCache::Counts MaskCache::counts(Kind kind) {
  const ForkGuard guard;
  Counts total;
  for (Shard& part : shards_) {
    const std::lock_guard lock(part.mutex);
    total.found += part.counts[static_cast<std::size_t>(kind)].found;
    total.made += part.counts[static_cast<std::size_t>(kind)].made;
  }
  return total;
}

}  // namespace detent

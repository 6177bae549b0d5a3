#include "runtime/mask_slots.h"

#include <algorithm>
#include <bit>
#include <utility>

#include "base/error.h"
#include "runtime/parallel.h"

namespace detent {
namespace {

// A copy of a matcher in the state of its key. Throws `busy` if another thread has used the matcher since.
Matcher copy_at(const Matcher& matcher, const Matcher::MaskKey& key) {
  Matcher copy(matcher);
  if (copy.mask_key() != key) throw Error(ErrorKind::busy, "matcher");
  return copy;
}

}  // namespace

MaskSlots::MaskSlots(std::uint32_t* rows, std::size_t count, std::size_t words)
    : rows_(rows), words_(words), slots_(count), known_(std::bit_ceil(std::min(count * kKnownPerSlot, kMaxKnown))) {
  std::fill_n(rows_, count * words_, 0u);  // also brings the pages into memory
}

std::array<MaskSlots::Known, 2>& MaskSlots::known(const Matcher::MaskKey& key) {
  std::uint64_t hash = key.machine * 0x9E3779B97F4A7C15ULL + key.state.language;
  hash = (hash * 0xD6E8FEB86659FD93ULL + key.state.last_token) * 0xD6E8FEB86659FD93ULL + key.state.positions;
  hash = (hash * 0x9E3779B97F4A7C15ULL + key.state.part) * 0xD6E8FEB86659FD93ULL + key.state.part_tokens;
  return known_[(hash * 0x9E3779B97F4A7C15ULL >> 32) & (known_.size() - 1)];
}

bool MaskSlots::find(std::span<Matcher* const> matchers, std::uint32_t* slots) {
  if (matchers.size() >= slots_.size()) {
    throw Error(ErrorKind::argument, "mask_slots", static_cast<std::int64_t>(slots_.size()),
                static_cast<std::int64_t>(matchers.size()));
  }
  ++step_;
  written_.clear();
  others_.clear();
  keys_.resize(matchers.size());
  for (std::size_t i = 0; i < matchers.size(); ++i) {
    keys_[i] = matchers[i]->mask_key();
    if (keys_[i]) __builtin_prefetch(&known(*keys_[i]));
  }
  for (std::size_t i = 0; i < matchers.size(); ++i) {
    if (keys_[i] && (find_known(*keys_[i], slots[i]) || find_cached(*matchers[i], *keys_[i], slots[i]))) continue;
    others_.push_back(i);
  }
  return !others_.empty();
}

void MaskSlots::compute(std::span<Matcher* const> matchers, unsigned threads, std::uint32_t* slots) {
  compute_all(matchers, others_, threads, slots);
}

void MaskSlots::compute_within(std::span<Matcher* const> matchers, std::chrono::nanoseconds time,
                               std::uint32_t* slots) {
  const auto end = std::chrono::steady_clock::now() + time;
  std::vector<std::size_t> at_once, asked;
  for (std::size_t i : others_) {
    if (!keys_[i] || keys_[i]->state.is_finished()) {
      at_once.push_back(i);
    } else if (!find_known(*keys_[i], slots[i]) && !take_computed(*keys_[i], slots[i])) {
      worker_.ask(*keys_[i], copy_at(*matchers[i], *keys_[i]));
      asked.push_back(i);
    }
  }
  compute_all(matchers, at_once, 1, slots);
  if (!asked.empty() && time.count() > 0) worker_.wait_until(end);
  for (std::size_t i : asked) {
    if (!find_known(*keys_[i], slots[i]) && !take_computed(*keys_[i], slots[i])) slots[i] = kNothing;
  }
  worker_.drop_old();
}

bool MaskSlots::take_computed(const Matcher::MaskKey& key, std::uint32_t& slot) {
  const std::optional<std::vector<std::uint32_t>> words = worker_.take(key);
  if (!words) return false;
  slot = take();
  slots_[slot].mask = nullptr;
  std::ranges::copy(*words, row(slot));
  note(key, slot);
  return true;
}

void MaskSlots::compute_all(std::span<Matcher* const> matchers, std::span<const std::size_t> sequences,
                            unsigned threads, std::uint32_t* slots) {
  std::vector<std::size_t> first;  // the first sequence in each state
  for (std::size_t i : sequences) {
    if (keys_[i] && find_known(*keys_[i], slots[i])) continue;
    slots[i] = take();
    slots_[slots[i]].mask = nullptr;
    if (keys_[i]) note(*keys_[i], slots[i]);
    first.push_back(i);
  }
  in_parallel(first.size(), threads, [&](std::size_t k) {
    const std::size_t i = first[k];
    std::uint32_t* const words = row(slots[i]);
    if (!keys_[i]) {
      matchers[i]->fill(words);
    } else {
      copy_at(*matchers[i], *keys_[i]).fill(words);
    }
  });
  for (std::size_t i : first) {
    Slot& slot = slots_[slots[i]];
    if (!keys_[i]) {
      slot.was_used = false;  // the mask depends on a budget: no other sequence can share it
    } else if (!keys_[i]->state.is_finished()) {
      const std::shared_ptr<TokenMachine> machine = matchers[i]->machine_of(*keys_[i]);
      std::shared_ptr<const Mask> mask = machine->cached_mask(keys_[i]->state);
      if (mask)
        set(slots[i], std::move(mask), machine->accepting(keys_[i]->state) ? machine->shared_vocabulary() : nullptr);
    }
  }
}

bool MaskSlots::find_known(const Matcher::MaskKey& key, std::uint32_t& slot) {
  for (const Known& found : known(key)) {
    if (found.key != key || slots_[found.slot].version != found.version) continue;
    slot = use(found.slot);
    return true;
  }
  return false;
}

void MaskSlots::note(const Matcher::MaskKey& key, std::uint32_t slot) {
  std::array<Known, 2>& entries = known(key);
  if (entries[0].key != key) entries[1] = entries[0];
  entries[0] = {key, slot, slots_[slot].version};
}

// If the mask of `key` is cached, finds the slot that has it, or writes it to one. Otherwise returns false.
bool MaskSlots::find_cached(const Matcher& matcher, const Matcher::MaskKey& key, std::uint32_t& slot) {
  const std::shared_ptr<TokenMachine> machine = matcher.machine_of(key);
  std::shared_ptr<const Mask> mask = key.state.is_finished() ? nullptr : machine->cached_mask(key.state);
  if (!mask) return false;
  std::shared_ptr<const Vocabulary> eos = machine->accepting(key.state) ? machine->shared_vocabulary() : nullptr;
  const auto found = slot_of_.find({mask.get(), eos.get()});
  if (found != slot_of_.end()) {
    slot = use(found->second);
  } else {
    slot = take();
    write(slot, std::move(mask), std::move(eos));
  }
  note(key, slot);
  return true;
}

std::uint32_t MaskSlots::use(std::uint32_t slot) {
  slots_[slot].step = step_;
  slots_[slot].was_used = true;
  return slot;
}

// Takes a slot that this step does not use, and drops its content.
std::uint32_t MaskSlots::take() {
  while (true) {
    if (++hand_ == slots_.size()) hand_ = kNothing + 1;
    Slot& slot = slots_[hand_];
    if (slot.step == step_) continue;
    if (!std::exchange(slot.was_used, false)) break;
  }
  Slot& slot = slots_[hand_];
  if (slot.mask) slot_of_.erase({slot.mask.get(), slot.eos.get()});
  ++slot.version;
  written_.push_back(hand_);
  return use(hand_);
}

void MaskSlots::write(std::uint32_t number, std::shared_ptr<const Mask> mask, std::shared_ptr<const Vocabulary> eos) {
  Slot& slot = slots_[number];
  std::uint32_t* const words = row(number);
  const std::shared_ptr<const Mask> before = std::exchange(slot.mask, nullptr);
  if (before) {
    if (slot.eos) {
      for (std::uint32_t id : slot.eos->eos_ids()) words[id >> 5] = before->word(id >> 5);
    }
    mask->write_after(*before, words, words_);
  } else {
    mask->write(words, words_);
  }
  if (eos) {
    for (std::uint32_t id : eos->eos_ids()) words[id >> 5] |= 1u << (id & 31);
  }
  set(number, std::move(mask), std::move(eos));
}

// Notes which mask a row contains.
void MaskSlots::set(std::uint32_t slot, std::shared_ptr<const Mask> mask, std::shared_ptr<const Vocabulary> eos) {
  if (!slot_of_.try_emplace({mask.get(), eos.get()}, slot).second) return;  // another slot has it too
  slots_[slot].mask = std::move(mask);
  slots_[slot].eos = std::move(eos);
}

void MaskSlots::forget_written() {
  for (std::uint32_t number : written_) {
    Slot& slot = slots_[number];
    if (slot.mask) slot_of_.erase({slot.mask.get(), slot.eos.get()});
    slot = {nullptr, nullptr, 0, slot.version + 1, false};
  }
  written_.clear();
}

void MaskSlots::forget() {
  for (Slot& slot : slots_) slot = {nullptr, nullptr, 0, slot.version + 1, false};
  slot_of_.clear();
  std::fill_n(rows_, words_, 0u);
}

}  // namespace detent

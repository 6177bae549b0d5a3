// MaskSlots: mask rows that a batch shares. A slot is a row with the mask of some state. All sequences in states with
// this mask use the slot; it keeps the mask for later steps until another mask needs the slot.
//
// A server has few masks: 512 sequences in 128 schemas visit 16,000 states with some 1,300 masks. With a row for each
// sequence, each step would write 8 MB. With slots, a warm step writes hardly any rows, and only these go to the
// device.
//
//   1. `known_` maps a state to its slot: a table with two entries for each hash.
//   2. `slot_of_` maps a Mask to its slot.
//   3. If neither has a slot, one is replaced that no sequence of the step uses: the first one that was not used since
//      the hand last passed it (the clock algorithm, Corbato 1968). Only the difference is written to its row where
//      both masks are lists of ids.
#pragma once

#include <array>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <unordered_map>
#include <vector>

#include "mask/mask.h"
#include "runtime/mask_worker.h"
#include "runtime/matcher.h"
#include "runtime/token_machine.h"

namespace detent {

class MaskSlots {
 public:
  // The first slot allows nothing and is never given to a sequence.
  static constexpr std::uint32_t kNothing = 0;

  // `rows` are `count` rows of `words` words. They must live as long as this object; nobody else may write to them.
  MaskSlots(std::uint32_t* rows, std::size_t count, std::size_t words);

  // Begins a step: sets slots[i] to a slot with the mask of matchers[i], where the mask needs only a look-up. Returns
  // whether masks remain to be computed. Throws `argument` ("mask_slots") unless there are more slots than matchers.
  bool find(std::span<Matcher* const> matchers, std::uint32_t* slots);
  // Computes the remaining masks, on several threads. Throws the error of the lowest sequence.
  void compute(std::span<Matcher* const> matchers, unsigned threads, std::uint32_t* slots);
  // Computes the remaining masks on a worker thread, and waits at most `time`. A sequence whose mask takes longer gets
  // kNothing; a later step finds its mask. A mask that depends on a token budget is computed at once, on this thread.
  // Throws the error of one of the sequences.
  void compute_within(std::span<Matcher* const> matchers, std::chrono::nanoseconds time, std::uint32_t* slots);
  // The slots that this step has written.
  const std::vector<std::uint32_t>& written() const { return written_; }
  // Empties the slots that this step has written: to be called after an error, of which the caller learns instead.
  void forget_written();
  // Empties all slots: to be called after somebody else has written to the rows.
  void forget();

 private:
  // The content of a row: the text tokens of a mask, and the eos ids of a vocabulary, unless null.
  struct Content {
    const Mask* mask = nullptr;
    const Vocabulary* eos = nullptr;
    bool operator==(const Content& other) const { return eos == other.eos && mask->has_same_form(*other.mask); }
  };
  struct ContentHash {
    std::size_t operator()(const Content& content) const { return content.mask->quick_hash(); }
  };
  struct Slot {
    std::shared_ptr<const Mask> mask;       // null where the row has no Mask
    std::shared_ptr<const Vocabulary> eos;  // null if the row has no eos ids in addition
    std::uint64_t step = 0;                 // the step that used it last
    std::uint32_t version = 0;              // changes with the row: entries of `known_` with an older one are stale
    bool was_used = false;                  // since the hand last passed it
  };
  struct Known {
    Matcher::MaskKey key;
    std::uint32_t slot = kNothing;
    std::uint32_t version = 0;
  };

  std::array<Known, 2>& known(const Matcher::MaskKey& key);
  bool find_known(const Matcher::MaskKey& key, std::uint32_t& slot);
  bool find_cached(const Matcher& matcher, const Matcher::MaskKey& key, std::uint32_t& slot);
  void note(const Matcher::MaskKey& key, std::uint32_t slot);
  std::uint32_t use(std::uint32_t slot);
  std::uint32_t take();
  void write(std::uint32_t slot, std::shared_ptr<const Mask> mask, std::shared_ptr<const Vocabulary> eos);
  void set(std::uint32_t slot, std::shared_ptr<const Mask> mask, std::shared_ptr<const Vocabulary> eos);
  void compute_all(std::span<Matcher* const> matchers, std::span<const std::size_t> sequences, unsigned threads,
                   std::uint32_t* slots);
  bool take_computed(const Matcher::MaskKey& key, std::uint32_t& slot);
  std::uint32_t* row(std::uint32_t slot) { return rows_ + std::size_t{slot} * words_; }

  static constexpr std::size_t kKnownPerSlot = 8, kMaxKnown = 1 << 15;

  std::uint32_t* rows_;
  std::size_t words_;
  std::vector<Slot> slots_;
  std::vector<std::array<Known, 2>> known_;
  std::unordered_map<Content, std::uint32_t, ContentHash> slot_of_;
  std::vector<std::optional<Matcher::MaskKey>> keys_;  // of the sequences of the step
  std::vector<std::size_t> others_;                    // sequences of the step whose mask `find` has not found
  std::vector<std::uint32_t> written_;
  MaskWorker worker_;
  std::uint64_t step_ = 0;
  std::uint32_t hand_ = kNothing;
};

}  // namespace detent

// MergeTable: the merge table of a BPE tokenizer, and merging itself (Sennrich, Haddow & Birch 2016).
//
// Merging replaces, again and again, the adjacent pair with the least (rank, position) by its merged token. Ranks
// belong to pairs: several pairs may have one rank, and several pairs may make one token. Only one merge can make a
// token in any text, its *effective merge*: the last merge when the token's own text is merged. A token that its own
// text does not merge to is unreachable.
#pragma once

#include <cstdint>
#include <vector>

namespace detent {

struct Merge {
  std::uint32_t left, right, rank, token;
};

class MergeTable {
 public:
  static constexpr std::uint32_t kNone = UINT32_MAX;

  // Of several entries for one pair the last counts. Throws `argument` if an entry names an id that is not below
  // `size`.
  MergeTable(std::uint32_t size, const std::vector<Merge>& merges);

  struct Result {
    std::uint32_t rank = kNone;
    std::uint32_t token = kNone;
  };
  Result find(std::uint32_t left, std::uint32_t right) const {
    if (left < kLow && right < kLow) return low_[left * kLow + right];
    const std::uint64_t key = std::uint64_t{left} << 32 | right;
    for (std::uint64_t i = slot(key);; i = (i + 1) & mask_) {
      if (slots_[i].key == key) return slots_[i].result;
      if (slots_[i].key == kFree) return {};
    }
  }

  // Merges a sequence of symbols in place. Time: n log n in its length.
  void merge(std::vector<std::uint32_t>& symbols) const;
  // Does the same for a short sequence and calls visit(position, left, right, result) before each merge. Time:
  // quadratic.
  template <class Visit>
  void merge(std::vector<std::uint32_t>& symbols, Visit visit) const;

  // Calls visit(left, right) for each pair that has a merge.
  template <class Visit>
  void each_pair(Visit visit) const {
    for (const Slot& slot : slots_) {
      if (slot.key == kFree) continue;
      visit(static_cast<std::uint32_t>(slot.key >> 32), static_cast<std::uint32_t>(slot.key));
    }
  }

  std::uint32_t size() const { return size_; }

 private:
  static constexpr std::uint64_t kFree = UINT64_MAX;
  static constexpr std::uint32_t kLow = 256;  // the byte tokens of most vocabularies: most pairs that are asked for
  struct Slot {
    std::uint64_t key = kFree;
    Result result;
  };
  std::uint64_t slot(std::uint64_t key) const { return (key * 0x9E3779B97F4A7C15ULL) >> shift_; }
  void merge_long(std::vector<std::uint32_t>& symbols) const;

  std::uint32_t size_;
  std::vector<Slot> slots_;  // open addressing
  std::vector<Result> low_;  // of pairs of ids below kLow
  std::uint64_t mask_ = 0;
  int shift_ = 0;
};

template <class Visit>
void MergeTable::merge(std::vector<std::uint32_t>& symbols, Visit visit) const {
  thread_local std::vector<Result> pairs;  // pairs[i] is the merge of symbols i and i + 1
  pairs.clear();
  for (std::size_t i = 0; i + 1 < symbols.size(); ++i) pairs.push_back(find(symbols[i], symbols[i + 1]));
  while (true) {
    std::size_t best = 0;
    std::uint32_t rank = kNone;
    for (std::size_t i = 0; i < pairs.size(); ++i) {
      if (pairs[i].rank < rank) rank = pairs[best = i].rank;
    }
    if (rank == kNone) return;
    visit(best, symbols[best], symbols[best + 1], pairs[best]);
    symbols[best] = pairs[best].token;
    const auto gap = static_cast<std::ptrdiff_t>(best);
    symbols.erase(symbols.begin() + gap + 1);
    pairs.erase(pairs.begin() + gap);
    if (best > 0) pairs[best - 1] = find(symbols[best - 1], symbols[best]);
    if (best < pairs.size()) pairs[best] = find(symbols[best], symbols[best + 1]);
  }
}

}  // namespace detent

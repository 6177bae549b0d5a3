// What compiling tries of decoding, so that a rule whose first steps take too much is refused before a text begins.
#pragma once

#include <algorithm>
#include <bit>
#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "base/error.h"
#include "base/hash.h"
#include "base/limits.h"
#include "mask/mask_builder.h"
#include "mask/mask_cache.h"
#include "vocab/vocabulary.h"

namespace detent {

// The index of the middle one of the set bits: the token by which a trial goes on.
inline std::optional<std::uint32_t> middle_bit(std::span<const std::uint32_t> row) {
  int left = 0;
  for (std::uint32_t word : row) left += std::popcount(word);
  left /= 2;
  for (std::uint32_t i = 0; i < row.size(); ++i) {
    for (std::uint32_t word = row[i]; word != 0; word &= word - 1) {
      if (left-- == 0) return i * 32 + static_cast<std::uint32_t>(std::countr_zero(word));
    }
  }
  return std::nullopt;
}

// Removes the tokens of fewer than `bytes` bytes from a mask row, if it has others. Long tokens soon come to where few
// characters are left.
inline void keep_long_tokens(const Vocabulary& vocabulary, std::size_t bytes, std::span<std::uint32_t> row) {
  std::vector<std::uint32_t> kept(row.size());
  bool has_any = false;
  for (std::uint32_t i = 0; i < row.size(); ++i) {
    for (std::uint32_t word = row[i]; word != 0; word &= word - 1) {
      const std::uint32_t id = i * 32 + static_cast<std::uint32_t>(std::countr_zero(word));
      if (!vocabulary.is_text(id) || vocabulary.bytes(id).size() < bytes) continue;
      kept[i] |= word & (~word + 1);
      has_any = true;
    }
  }
  if (has_any) std::ranges::copy(kept, row.begin());
}

// Calls attempt(), and remembers in the mask cache, by `key`, where it reaches one of the limits or takes more than
// `most` steps. A second compilation of the language finds more masks cached and might otherwise stay below the limit:
// the same language must be refused each time.
template <class Attempt>
void try_and_remember_refusal(const Vocabulary& vocabulary, const Hash128& key, const Limits& limits, std::int64_t most,
                              Attempt attempt) {
  Hash128 refusal = key;
  for (std::int64_t limit : {most, limits.states, limits.memory_bytes}) {
    refusal = mix(refusal, static_cast<std::uint64_t>(limit));
  }
  if (vocabulary.cache().find(refusal, MaskCache::Kind::reference)) {
    throw Error(ErrorKind::limit, "compiled_work", most + 1, most);
  }
  try {
    attempt();
  } catch (const Error& error) {
    if (error.kind() == ErrorKind::limit) {
      MaskBuilder none(vocabulary.word_count());
      vocabulary.cache().insert(refusal, none.finish(), MaskCache::Kind::reference);
    }
    throw;
  }
}

}  // namespace detent

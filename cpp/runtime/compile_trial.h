// What compiling tries of decoding, so that a rule whose first steps take too much is refused before a text begins.
#pragma once

#include <cstdint>
#include <optional>
#include <span>

#include "base/error.h"
#include "base/hash.h"
#include "base/limits.h"
#include "mask/mask_builder.h"
#include "mask/mask_cache.h"
#include "vocab/vocabulary.h"

namespace detent {

// The index of the middle one of the set bits: the token by which a trial goes on.
std::optional<std::uint32_t> middle_bit(std::span<const std::uint32_t> row);

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

// SplitPositionSets: numbers the sets of split positions at which a token sequence may be.
//
// Where a pre-token ends may depend on text that is not written yet (bpe/pretokenizer.h). So there are several ways to
// put boundaries into the text so far, and each gives a split position. Known pre-tokenizers have at most six at a
// time.
#pragma once

#include <cstdint>
#include <unordered_map>
#include <vector>

#include "base/limits.h"
#include "runtime/pretoken_transitions.h"

namespace detent {

struct PositionSetId {
  std::uint32_t value = 0;
  auto operator<=>(const PositionSetId&) const = default;
};

class SplitPositionSets {
 public:
  using Set = std::vector<SplitPosition>;  // ascending
  static constexpr PositionSetId kTextStart{0};
  static constexpr PositionSetId kRefused{UINT32_MAX};  // no set: the token may not follow

  SplitPositionSets(PretokenTransitions& transitions, Meter& meter);

  const Set& operator[](PositionSetId id) const { return sets_[id.value]; }
  PositionSetId intern(Set set);
  // The positions after `token`, which follows the token `last`; unsorted. Empty if the token may not follow in any
  // language. Cost: a look-up in a transition row for each position.
  Set after(const Set& set, std::uint32_t last, std::uint32_t token) const;

 private:
  PretokenTransitions& transitions_;
  Meter& meter_;
  std::vector<Set> sets_;
  std::unordered_map<std::uint64_t, std::vector<PositionSetId>> ids_;  // by hash
};

}  // namespace detent

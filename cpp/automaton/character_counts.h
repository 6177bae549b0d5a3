// CharacterCounts: the fewest characters of the texts of an expression, and intersections with all texts of at most n.
//
// `(\S+\s+){0,29}\S+` with at most 300 characters has 300 times the states of the pattern, each with states inside its
// characters. But such a state is live if and only if the fewest characters of the pattern's rest are at most those
// that are left, and these the form of the rest shows.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <unordered_map>
#include <vector>

#include "expr/expr_set.h"

namespace detent {

// Whether each string of an expression is one character in UTF-8, so far as the form shows it.
bool is_one_character(const ExprSet& exprs, ExprId id);

class CharacterCounts {
 public:
  explicit CharacterCounts(const ExprSet& exprs) : exprs_(exprs) {}

  // The characters of a text with the fewest, and its bytes. A character whose first bytes were read does not count.
  struct Fewest {
    std::uint32_t characters = 0, bytes = 0;
  };
  // Nothing where `id` has other operators than concatenation, union and repeat. Cost: at the first visit, linear in
  // the parts.
  std::optional<Fewest> fewest(ExprId id);

  // Whether the texts of `id`, and of each residual, have all numbers of characters from the fewest on, by its form:
  // the last part is a loop over single characters.
  bool has_every_longer(ExprId id) { return has_every_longer(id, 0); }

  // An intersection of two: texts, and all texts of `minimum` to `maximum` characters.
  struct Bounded {
    ExprId texts;
    std::uint32_t minimum, maximum;
    bool is_inside_character = false;  // both after the first bytes of a character, which does not count
  };
  // Nothing where the form of `id` does not show that it is one.
  std::optional<Bounded> bounded(ExprId id);

 private:
  std::optional<Fewest> find_fewest(ExprId id, int depth);
  bool has_every_longer(ExprId id, int depth) const;
  bool read_bound(ExprId id, std::vector<ByteSet>& missing, Bounded& bound) const;
  bool completes_character(std::vector<ExprId> rest, std::span<const ByteSet> missing, int depth) const;

  const ExprSet& exprs_;
  std::unordered_map<std::uint32_t, std::optional<Fewest>> known_;
};

}  // namespace detent

// CharacterCounts: the least number of characters in the texts of an expression, read off its form.
//
// `(\S+\s+){0,29}\S+` with at most 300 characters has up to 300 times the states of the pattern alone. A search for
// live states would visit them. Instead, a state is live if and only if the pattern's remainder can be completed with
// as many characters as are left.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <unordered_map>
#include <vector>

#include "expr/expr_set.h"

namespace detent {

// Whether the form of an expression shows that each of its strings is one UTF-8 character.
bool is_one_character(const ExprSet& exprs, ExprId id);

class CharacterCounts {
 public:
  explicit CharacterCounts(const ExprSet& exprs) : exprs_(exprs) {}

  // The size of a text with the fewest characters. A character whose first bytes were already read does not count.
  struct Fewest {
    std::uint32_t characters = 0, bytes = 0;
  };
  // Returns nothing where `id` has operators besides concatenation, union and repeat. Cost: at the first visit, linear
  // in the parts.
  std::optional<Fewest> fewest(ExprId id);

  // Whether the form shows that `id`, and each residual, has a text of n characters for each n from the fewest on. It
  // does where the last part is a loop over single characters, as in [a-z]{3}.*.
  bool has_every_longer(ExprId id) { return has_every_longer(id, 0); }

  // The two operands of an intersection: `texts`, and all texts of `minimum` to `maximum` characters. Where one operand
  // needs more characters than another one may have: the first of these, and that maximum, which have no text in
  // common.
  struct Bounded {
    ExprId texts;
    std::uint32_t minimum, maximum;
    bool is_inside_character = false;  // both continue a started character, which does not count
  };
  // Reads `id` as such an intersection; returns nothing where its form is another one.
  std::optional<Bounded> bounded(ExprId id);

 private:
  std::optional<Fewest> find_fewest(ExprId id, int depth);
  std::optional<Bounded> bounded_below_need(ExprId id);
  std::uint32_t most_characters(ExprId id);
  bool has_every_longer(ExprId id, int depth);
  bool is_character(ExprId id);  // is_one_character, remembered
  bool read_bound(ExprId id, std::vector<ByteSet>& missing, Bounded& bound) const;
  bool completes_character(std::vector<ExprId> rest, std::span<const ByteSet> missing, int depth) const;

  const ExprSet& exprs_;
  std::unordered_map<std::uint32_t, std::optional<Fewest>> known_;
  std::unordered_map<std::uint32_t, bool> is_character_;
};

}  // namespace detent

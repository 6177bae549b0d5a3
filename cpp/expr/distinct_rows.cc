// The derivatives of lists of distinct items, and of the expressions that they are made of.
#include <optional>

#include "expr/derivative.h"
#include "expr/distinct.h"

namespace detent {

// After an item comes a separator, or the list is over; else an item, whose key is none of those that were read.
void Derivatives::expand_distinct(std::vector<Term>& terms, ExprId id, ExprId tail) {
  DistinctState state = exprs_.list_state(id);
  const ExprId separator = exprs_.list(state.list).separator, rest = exprs_.list(state.list).rest;
  if (state.position == MemberPosition::after_member) {
    state.position = MemberPosition::after_separator;
    if (state.phase == ItemPhase::open) {  // the keys are those of the open list: `bind` takes them from there
      state.phase = ItemPhase::closed;
      state.excluded = state.excluded_strings = ExprSet::kEmpty;
    }
    const ExprId next = exprs_.distinct(std::move(state));
    if (next != ExprSet::kEmpty) terms.push_back({separator, exprs_.concat(next, tail)});
    return;
  }
  const ExprId key = state.key;
  state.position = MemberPosition::after_member;
  state.phase = ItemPhase::open;
  if (state.minimum > 0) --state.minimum;
  if (state.maximum != ExprSet::kUnbounded) --state.maximum;
  const ExprId more = exprs_.distinct(std::move(state));
  if (more != ExprSet::kEmpty) terms.push_back({key, exprs_.concat(rest, exprs_.concat(more, tail))});
}

void Derivatives::row_of_decimal(ExprId id, ExprId* out) {
  const std::uint32_t number = exprs_[id].decimal_index();
  const DecimalState state = exprs_.decimal_state(id);
  for (std::uint32_t c = 0; c < class_count_; ++c) {
    const std::optional<DecimalState> next =
        after_byte(exprs_.decimal_number(number), state, static_cast<char>(representative_[c]));
    out[c] = next ? exprs_.decimal(number, *next) : ExprSet::kEmpty;
  }
}

}  // namespace detent

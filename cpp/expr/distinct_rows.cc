// The derivatives of lists of distinct items, and of the expressions that they are made of.
#include <optional>

#include "expr/derivative.h"
#include "expr/distinct.h"

namespace detent {

// After an item follows a separator, or the list ends. After a separator or at the start follows an item with a new
// key.
void Derivatives::expand_distinct(std::vector<Term>& terms, ExprId id, ExprId tail) {
  DistinctState state = exprs_.list_state(id);
  const DistinctList& list = exprs_.list(state.list);
  if (state.position == MemberPosition::after_member) {
    state.position = MemberPosition::after_separator;
    if (state.phase == ItemPhase::open) {  // the keys are those of the open list: `bind` takes them from there
      state.phase = ItemPhase::closed;
      state.excluded = state.excluded_strings = state.excluded_integers = ExprSet::kEmpty;
    }
    const ExprId next = exprs_.distinct(std::move(state));
    if (next != ExprSet::kEmpty) terms.push_back({list.separator, exprs_.concat(next, tail)});
    return;
  }
  const std::uint32_t order = state.order;
  const ItemPhase phase = state.phase;
  const std::vector<ExprId> keys = state.keys;
  state.position = MemberPosition::after_member;
  if (state.minimum > 0) --state.minimum;
  if (state.maximum != ExprSet::kUnbounded) --state.maximum;
  for (std::uint32_t k = 0; k < list.kinds.size(); ++k) {
    const ItemKind& kind = list.kinds[k];
    state.order = list.order ? list.order->next(order, k) : 0;
    if (list.order && state.order == ItemOrder::kNone) continue;
    meter_.step();
    // An item without key adds nothing to the keys that were read.
    const bool has_key = kind.keys != ItemKind::kNoKey;
    state.phase = has_key ? ItemPhase::open : phase;
    state.open_keys = has_key ? kind.keys : 0;
    const ExprId more = exprs_.concat(exprs_.distinct(state), tail);
    if (more == ExprSet::kEmpty) continue;
    if (has_key) {
      terms.push_back({keys[kind.keys], exprs_.concat(kind.rest, more)});
    } else {
      terms.push_back({kind.rest, more});
    }
  }
}

ExprId Derivatives::after_decimal(ExprId id, std::uint32_t byte_class) {
  const std::uint32_t number = exprs_[id].decimal_index();
  const std::optional<DecimalState> next = after_byte(exprs_.decimal_number(number), exprs_.decimal_state(id),
                                                      static_cast<char>(representative_[byte_class]));
  return next ? exprs_.decimal(number, *next) : ExprSet::kEmpty;
}

}  // namespace detent

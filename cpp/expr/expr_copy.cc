// Copies expressions between sets: a whole set up to an extent, or single expressions with all their parts.
//
// No constructor runs, since the copied parts are already in normal form. Only the operands of unions and intersections
// are sorted again, by their ids in the new set.
#include <algorithm>
#include <utility>
#include <vector>

#include "base/error.h"
#include "expr/expr_set.h"

namespace detent {

ExprSet::Extent ExprSet::extent() const {
  return {exprs_.size(),       operands_.size(), texts_.size(),         unordered_states_.size(),
          list_states_.size(), decimals_.size(), decimal_states_.size()};
}

// Copies all byte sets, rules, loops, ordered members and lists: decoding adds none of these.
ExprSet::ExprSet(const ExprSet& other, const Extent& extent, Meter& meter)
    : meter_(meter),
      copied_(extent),
      table_(extent.exprs == other.size() ? other.table_ : ExprTable(extent.exprs)),
      sets_(other.sets_),
      set_table_(other.set_table_),
      definitions_(other.definitions_),
      unordered_states_(other.unordered_states_.begin(),
                        other.unordered_states_.begin() + static_cast<std::ptrdiff_t>(extent.unordered_states)),
      ordered_members_(other.ordered_members_),
      lists_(other.lists_),
      list_states_(other.list_states_.begin(),
                   other.list_states_.begin() + static_cast<std::ptrdiff_t>(extent.list_states)),
      decimals_(other.decimals_.begin(), other.decimals_.begin() + static_cast<std::ptrdiff_t>(extent.decimals)),
      decimal_states_(other.decimal_states_.begin(),
                      other.decimal_states_.begin() + static_cast<std::ptrdiff_t>(extent.decimal_states)),
      item_texts_(meter),
      texts_(other.texts_.substr(0, extent.texts)),
      sigma_star_(other.sigma_star_),
      utf8_star_(other.utf8_star_),
      not_utf8_star_(other.not_utf8_star_),
      alphabet_(other.alphabet_),
      token_bytes_(other.token_bytes_),
      has_json_escapes_(other.has_json_escapes_),
      has_token_escapes_(other.has_token_escapes_),
      alphabet_star_(other.alphabet_star_),
      alphabet_texts_(other.alphabet_texts_) {
  meter_.allocate(static_cast<std::int64_t>(extent.exprs * sizeof(Expr) + extent.operands * sizeof(ExprId) +
                                            (table_.capacity() - ExprTable::kFirst) * sizeof(ExprTable::Entry) +
                                            extent.texts + sets_.size() * (sizeof(ByteSet) + 48)));
  exprs_.assign(other.exprs_, extent.exprs);
  operands_.assign(other.operands_, extent.operands);
  const bool has_table = extent.exprs == other.size(), has_states = extent.list_states + extent.decimal_states > 0;
  for (std::uint32_t id = 1; id < extent.exprs && (!has_table || has_states); ++id) {  // 0 is never looked up
    if (!has_table) table_.insert({static_cast<std::uint32_t>(exprs_[id].hash.low), id});
    if (exprs_[id].op == Op::distinct) list_state_table_.emplace(exprs_[id].hash.low, exprs_[id].a_);
    if (exprs_[id].op == Op::decimal) decimal_state_table_.emplace(exprs_[id].hash.low, exprs_[id].a_);
  }
  for (const auto& [key, index] : other.decimal_table_) {
    if (index < extent.decimals) decimal_table_.emplace(key, index);
  }
}

// The parts of the expression `id`.
std::vector<ExprId> ExprSet::parts_to_adopt(ExprId id) const {
  const Expr& expr = exprs_[id.value];
  switch (expr.op) {
    case Op::concat:
    case Op::grown_union: return {expr.first(), expr.second()};
    case Op::complement:
    case Op::repeat:
    case Op::json_escaped:
    case Op::not_followed_by:
    case Op::remembered: return {expr.part()};
    case Op::maximal_munch: return {expr.part(), expr.munched()};
    case Op::union_of:
    case Op::intersection:
    case Op::unordered:
    case Op::lookbehind_context: return {operands(id).begin(), operands(id).end()};
    case Op::distinct: {
      const DistinctState& state = list_state(id);
      std::vector<ExprId> parts{state.excluded, state.excluded_strings, state.excluded_integers};
      parts.insert(parts.end(), state.keys.begin(), state.keys.end());
      return parts;
    }
    default: return {};
  }
}

void ExprSet::adopt(const ExprSet& other, std::span<ExprId> ids) {
  std::unordered_map<std::uint32_t, ExprId> adopted;
  std::vector<ExprId> pending;
  const auto is_known = [&](ExprId id) { return id.value < copied_.exprs || adopted.contains(id.value); };
  for (ExprId& id : ids) {
    pending.push_back(id);
    while (!pending.empty()) {
      const ExprId next = pending.back();
      const std::size_t before = pending.size();
      if (!is_known(next)) {
        for (ExprId part : other.parts_to_adopt(next)) {
          if (!is_known(part)) pending.push_back(part);
        }
        if (pending.size() == before) adopted.emplace(next.value, adopt_one(other, next, adopted));
      }
      if (pending.size() == before) pending.pop_back();
    }
    if (id.value >= copied_.exprs) id = adopted.at(id.value);
  }
}

// Adopts one expression whose parts are already adopted.
ExprId ExprSet::adopt_one(const ExprSet& other, ExprId id, const std::unordered_map<std::uint32_t, ExprId>& adopted) {
  const auto here = [&](ExprId part) { return part.value < copied_.exprs ? part : adopted.at(part.value); };
  Expr expr = other.exprs_[id.value];
  std::vector<ExprId> parts;
  switch (expr.op) {
    case Op::bytes: expr.a_ = set_index(other.sets_[expr.a_]); break;
    case Op::text:
      if (std::size_t{expr.a_} + expr.b_ > copied_.texts) {
        const std::string_view text = other.text_of(id);
        meter_.allocate(static_cast<std::int64_t>(text.size()));
        expr.a_ = static_cast<std::uint32_t>(texts_.size());
        texts_ += text;
      }
      break;
    case Op::concat:
    case Op::grown_union:
    case Op::maximal_munch:
      expr.a_ = here(ExprId{expr.a_}).value;
      expr.b_ = here(ExprId{expr.b_}).value;
      break;
    case Op::complement:
    case Op::repeat:
    case Op::json_escaped:
    case Op::not_followed_by: expr.a_ = here(expr.part()).value; break;
    case Op::remembered: return remembered(here(expr.part()), adopt_text(other.item_texts_, expr.text()));
    case Op::union_of:
    case Op::intersection:
    case Op::unordered:
    case Op::lookbehind_context:
      for (ExprId part : other.operands(id)) parts.push_back(here(part));
      if (expr.op == Op::union_of || expr.op == Op::intersection) std::ranges::sort(parts);
      if (expr.op == Op::unordered) expr.c_ = state_index(other.unordered_states_[expr.c_]);
      break;
    case Op::distinct: {
      DistinctState state = other.list_state(id);
      state.excluded = here(state.excluded);
      state.excluded_strings = here(state.excluded_strings);
      state.excluded_integers = here(state.excluded_integers);
      for (ExprId& key : state.keys) key = here(key);
      expr.a_ = list_state_index(expr.hash, std::move(state));
      break;
    }
    case Op::decimal: return decimal(add_decimal(other.decimals_[expr.b_]), other.decimal_states_[expr.a_]);
    default: break;  // both sets have the same rules, loops and ordered members
  }
  return find_or_add(expr, parts);
}

TextId ExprSet::adopt_text(const TextMemory& other, TextId text) {
  std::string reversed;
  for (; !other.is_empty(text); text = other.without_last(text)) reversed += static_cast<char>(other.last_byte(text));
  TextId copy;
  for (std::size_t i = reversed.size(); i-- > 0;)
    copy = item_texts_.append(copy, static_cast<std::uint8_t>(reversed[i]));
  return copy;
}

}  // namespace detent

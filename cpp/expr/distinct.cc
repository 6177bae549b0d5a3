// The constructors of lists of distinct items, and how the text of an item becomes a part of the list.
#include "expr/distinct.h"

#include <algorithm>
#include <optional>
#include <utility>

#include "base/error.h"
#include "expr/expr_set.h"
#include "expr/json_string.h"
#include "expr/json_value.h"
#include "expr/lengths.h"

namespace detent {
namespace {

constexpr int kMaxDepth = 500;  // operators around a list

// All texts of equal JSON values, in any white space.
class EqualTexts {
 public:
  EqualTexts(ExprSet& exprs, NumberForms numbers) : exprs_(exprs), numbers_(numbers) {
    ByteSet set;
    for (char byte : {' ', '\t', '\n', '\r'}) set.insert(static_cast<std::uint8_t>(byte));
    space_ = exprs_.repeat(exprs_.bytes(set), 0, ExprSet::kUnbounded);
    comma_ = exprs_.concat(space_, exprs_.concat(exprs_.literal(","), space_));
    colon_ = exprs_.concat(space_, exprs_.concat(exprs_.literal(":"), space_));
  }

  ExprId strings(ExprId texts) {
    const ExprId quote = exprs_.literal("\"");
    const ExprId inner = exprs_.json_escaped(texts, static_cast<std::uint32_t>(EscapePosition::text), 0);
    return exprs_.concat(quote, exprs_.concat(inner, quote));
  }

  ExprId of(const JsonValue& value) {
    texts_.resize(value.parts().size());
    for (std::size_t i = 0; i < value.parts().size(); ++i) {
      if (value.parts()[i].kind == JsonValue::Kind::object) texts_[i] = object(value, value.parts()[i]);
    }
    return flat(value, static_cast<std::uint32_t>(value.parts().size() - 1));
  }

 private:
  ExprId number(Decimal number) {
    if (numbers_ == NumberForms::integers) {
      if (const auto text = integer_text(number)) return integer(*text);
    }
    number.may_shift = numbers_ == NumberForms::all;
    return exprs_.decimal(exprs_.add_decimal(number), {});
  }

  ExprId integer(const std::string& text) {
    return text == "0" ? exprs_.union_of({exprs_.literal("0"), exprs_.literal("-0")}) : exprs_.literal(text);
  }

  // Arrays inside arrays become one sequence: concatenations of concatenations would take time in the square of their
  // depth. Objects inside are known.
  ExprId flat(const JsonValue& value, std::uint32_t root) {
    std::vector<ExprId> sequence;
    std::vector<std::pair<std::uint32_t, std::size_t>> open{{root, 0}};  // parts, and the next item of each
    while (!open.empty()) {
      auto& [index, next] = open.back();
      const JsonValue::Part& part = value.parts()[index];
      if (part.kind != JsonValue::Kind::array) {
        sequence.push_back(scalar(part, texts_[index]));
        open.pop_back();
        continue;
      }
      if (next == 0) sequence.insert(sequence.end(), {exprs_.literal("["), space_});
      if (next == part.items.size()) {
        sequence.insert(sequence.end(), {space_, exprs_.literal("]")});
        open.pop_back();
        continue;
      }
      if (next > 0) sequence.push_back(comma_);
      open.emplace_back(part.items[next++], 0);
    }
    ExprId texts = ExprSet::kEpsilon;
    for (std::size_t i = sequence.size(); i-- > 0;) texts = exprs_.concat(sequence[i], texts);
    return texts;
  }

  ExprId scalar(const JsonValue::Part& part, ExprId object) {
    switch (part.kind) {
      case JsonValue::Kind::word: return exprs_.literal(part.text);
      case JsonValue::Kind::number: return number(part.number);
      case JsonValue::Kind::string: return strings(exprs_.literal(part.text));
      default: return object;
    }
  }

  ExprId object(const JsonValue& value, const JsonValue::Part& part) {
    std::vector<ExprId> members;
    for (const auto& [name, index] : part.members) {
      members.push_back(exprs_.concat(strings(exprs_.literal(name)), exprs_.concat(colon_, flat(value, index))));
    }
    const auto count = static_cast<std::uint32_t>(members.size());
    const ExprId all = exprs_.unordered({count, count, count, MemberPosition::start}, comma_, ExprSet::kEmpty, members);
    return exprs_.concat(exprs_.literal("{"),
                         exprs_.concat(space_, exprs_.concat(all, exprs_.concat(space_, exprs_.literal("}")))));
  }

  ExprSet& exprs_;
  NumberForms numbers_;
  ExprId space_, comma_, colon_;
  std::vector<ExprId> texts_;  // of the objects, by part
};

}  // namespace

std::uint32_t ExprSet::add_list(DistinctList list) {
  std::uint32_t bits = 0;
  for (DistinctKeys& keys : list.keys) {
    keys.first_bit = bits;
    bits += static_cast<std::uint32_t>(keys.keys.size());
  }
  meter_.allocate(
      static_cast<std::int64_t>(sizeof(DistinctList) + list.kinds.size() * sizeof(ItemKind) + std::size_t{bits} * 64));
  Expr& traits = list.traits;
  traits.op = Op::distinct;
  traits.has_rule = !list.keys.empty();  // a list with keys may have infinitely many residuals
  traits.nonempty = traits.completes_by_bytes = true;
  traits.max_completion_bound = UINT32_MAX;
  traits.hash = mix(Hash128{}, static_cast<std::uint64_t>(Op::distinct) << 8 | static_cast<std::uint64_t>(list.kind));
  const auto note = [&](ExprId part, bool is_as_written) {
    const Expr& inner = exprs_[part.value];
    inherit_flags(traits, inner);
    if (is_as_written) traits.nonempty &= inner.nonempty;
    traits.completes_by_bytes &= inner.completes_by_bytes && inner.residuals_complete_by_bytes;
    traits.hash = mix(traits.hash, inner.hash);
  };
  note(list.separator, true);
  for (const DistinctKeys& keys : list.keys) note(keys.key, false);  // some keys will be taken out
  for (const ItemKind& kind : list.kinds) {
    note(kind.rest, true);
    traits.hash = mix(traits.hash, kind.keys);
  }
  // Few keys may be used up but for those that no tokens write.
  traits.residuals_complete_by_bytes =
      traits.completes_by_bytes && std::ranges::all_of(list.keys, &DistinctKeys::is_unbounded);
  lists_.push_back(std::move(list));
  return static_cast<std::uint32_t>(lists_.size() - 1);
}

// The total length of items of these kinds, from the shortest keys that were not used; nothing if these do not suffice.
// An item that is being read has an unknown key: in the worst case it uses up the shortest one.
std::optional<std::uint32_t> ExprSet::length_of_items(const DistinctState& state,
                                                      std::span<const std::uint32_t> kinds) const {
  if (kinds.empty()) return 0;
  const DistinctList& list = lists_[state.list];
  std::uint64_t total = 0;
  std::vector<std::size_t> wanted(list.keys.size());  // keys of each sort
  for (std::uint32_t kind : kinds) {
    total += list.kinds[kind].rest_length;
    if (list.kinds[kind].keys != ItemKind::kNoKey) ++wanted[list.kinds[kind].keys];
  }
  for (std::size_t k = 0; k < wanted.size(); ++k) {
    const DistinctKeys& keys = list.keys[k];
    std::size_t unknown = state.phase != ItemPhase::bound && state.open_keys == k ? 1 : 0;
    for (std::size_t i = 0; i < keys.lengths.size() && wanted[k] > 0; ++i) {
      const std::size_t bit = keys.first_bit + i;
      if (state.used[bit / 64] >> (bit % 64) & 1) continue;
      if (unknown > 0) {
        --unknown;
        continue;
      }
      total += keys.lengths[i];
      --wanted[k];
    }
    if (wanted[k] > 0) return std::nullopt;
  }
  const std::size_t separators = state.position == MemberPosition::after_member ? kinds.size() : kinds.size() - 1;
  total += std::uint64_t{exprs_[list.separator.value].min_length} * separators;
  return static_cast<std::uint32_t>(std::min<std::uint64_t>(total, UINT32_MAX));
}

std::vector<std::uint32_t> ExprSet::kinds_to_come(const DistinctState& state) {
  const bool needs_item = state.position == MemberPosition::after_separator;
  const DistinctList& list = lists_[state.list];
  if (!list.order) return std::vector<std::uint32_t>(std::max<std::uint32_t>(state.minimum, needs_item), 0);
  if (!needs_item || !list.order->may_end(state.order)) return list.order->completion(state.order);
  std::vector<std::uint32_t> best;
  for (std::uint32_t kind = 0; kind < list.kinds.size(); ++kind) {
    const std::uint32_t next = list.order->next(state.order, kind);
    if (next == ItemOrder::kNone) continue;
    std::vector<std::uint32_t> kinds = list.order->completion(next);
    kinds.insert(kinds.begin(), kind);
    if (best.empty() || kinds.size() < best.size()) best = std::move(kinds);
  }
  return best;
}

// Whether the order of a list lets another item come.
bool ExprSet::may_go_on(const DistinctState& state) {
  const DistinctList& list = lists_[state.list];
  for (std::uint32_t kind = 0; kind < list.kinds.size(); ++kind) {
    if (list.order->next(state.order, kind) != ItemOrder::kNone) return true;
  }
  return false;
}

ExprId ExprSet::distinct(DistinctState state) {
  const DistinctList& list = lists_[state.list];
  const DistinctKeys* only = list.order ? nullptr : &list.keys[0];
  if (state.used.empty() && !list.keys.empty()) {
    state.used.resize((list.keys.back().first_bit + list.keys.back().keys.size() + 63) / 64);
  }
  if (only && only->has_all_keys) {
    std::size_t used = state.phase == ItemPhase::bound ? 0 : 1;
    for (std::uint64_t word : state.used) used += static_cast<std::size_t>(__builtin_popcountll(word));
    const std::size_t remaining = only->keys.size() - std::min(only->keys.size(), used);
    state.maximum = std::min(state.maximum, static_cast<std::uint32_t>(remaining));
  }
  if (state.minimum > state.maximum || (list.order && state.order == ItemOrder::kNone)) return kEmpty;
  const bool needs_item = state.position == MemberPosition::after_separator;
  if (state.maximum == 0 || (list.order && !may_go_on(state))) return needs_item ? kEmpty : kEpsilon;
  state.keys.clear();
  for (const DistinctKeys& keys : list.keys) {
    ExprId key = keys.key;
    if (state.excluded != kEmpty) key = intersection({key, complement(state.excluded)});
    if (state.excluded_strings != kEmpty) {
      key = intersection({key, complement(EqualTexts(*this, list.numbers).strings(state.excluded_strings))});
    }
    if (state.excluded_integers != kEmpty) key = intersection({key, complement(state.excluded_integers)});
    state.keys.push_back(key);
  }
  if (only && state.keys[0] == kEmpty) return needs_item || state.minimum > 0 ? kEmpty : kEpsilon;

  const std::vector<std::uint32_t> kinds = kinds_to_come(state);
  const std::optional<std::uint32_t> length = length_of_items(state, kinds);
  Expr expr = list.traits;
  expr.nullable = kinds.empty();
  expr.has_open_item = state.phase == ItemPhase::open;
  expr.has_closed_item = state.phase == ItemPhase::closed;
  if (!length) {
    const bool is_unbounded =
        std::ranges::all_of(list.keys, [](const DistinctKeys& keys) { return keys.is_unbounded; });
    expr.nonempty &= is_unbounded && state.phase != ItemPhase::bound;  // the length of the key is to be searched
  }
  if (token_bytes_ != ByteSet::all()) {
    // Some shortest keys that were not read consist of such bytes. The key of an open item may be one of them.
    std::vector<std::int64_t> wanted(list.keys.size());
    bool has_rests = kinds.empty() || exprs_[list.separator.value].completes_by_bytes;
    for (std::uint32_t kind : kinds) {
      has_rests &= exprs_[list.kinds[kind].rest.value].completes_by_bytes;
      if (list.kinds[kind].keys != ItemKind::kNoKey) ++wanted[list.kinds[kind].keys];
    }
    for (std::size_t k = 0; k < wanted.size(); ++k) {
      if (wanted[k] > 0 && state.phase != ItemPhase::bound && state.open_keys == k) ++wanted[k];
      for (std::size_t i = 0; i < list.keys[k].texts.size() && wanted[k] > 0; ++i) {
        const std::size_t bit = list.keys[k].first_bit + i;
        const auto is_token = [this](char byte) { return token_bytes_.contains(static_cast<std::uint8_t>(byte)); };
        if (state.used[bit / 64] >> (bit % 64) & 1 || !std::ranges::all_of(list.keys[k].texts[i], is_token)) continue;
        --wanted[k];
      }
    }
    expr.completes_by_bytes = has_rests && std::ranges::all_of(wanted, [](std::int64_t keys) { return keys <= 0; });
  }
  expr.min_length = length.value_or(UINT32_MAX);
  Hash128 hash = mix(mix(expr.hash, exprs_[state.excluded.value].hash), exprs_[state.excluded_strings.value].hash);
  hash = mix(hash, exprs_[state.excluded_integers.value].hash);
  hash = mix(hash, (std::uint64_t{state.minimum} << 32) | state.maximum);
  if (list.order) hash = mix(mix(hash, list.order->hash(state.order)), state.open_keys);
  expr.hash = mix(hash, static_cast<std::uint64_t>(state.position) << 8 | static_cast<std::uint64_t>(state.phase));
  expr.a_ = list_state_index(expr.hash, std::move(state));
  return find_or_add(expr, {});
}

std::uint32_t ExprSet::list_state_index(const Hash128& hash, DistinctState state) {
  const auto [begin, end] = list_state_table_.equal_range(hash.low);
  for (auto known = begin; known != end; ++known) {
    if (list_states_[known->second] == state) return known->second;
  }
  meter_.allocate(static_cast<std::int64_t>(sizeof(DistinctState) + state.used.size() * 8 + 48));
  list_states_.push_back(std::move(state));
  const auto index = static_cast<std::uint32_t>(list_states_.size() - 1);
  list_state_table_.emplace(hash.low, index);
  return index;
}

std::uint32_t ExprSet::add_decimal(const Decimal& number) {
  const std::string key =
      number.digits + (number.is_negative ? "-" : "+") + (number.may_shift ? "e" : "") + std::to_string(number.point);
  const auto [known, is_new] = decimal_table_.try_emplace(key, static_cast<std::uint32_t>(decimals_.size()));
  if (is_new) {
    decimals_.push_back(number);  // before the memory may run out, so that the entry has its number
    meter_.allocate(static_cast<std::int64_t>(sizeof(Decimal) + 2 * key.size() + 96));
  }
  return known->second;
}

ExprId ExprSet::decimal(std::uint32_t number, const DecimalState& state) {
  Expr expr;
  expr.op = Op::decimal;
  expr.nullable = is_complete(decimals_[number], state);
  expr.nonempty = expr.is_text = true;
  expr.min_length = expr.nullable ? 0 : 1;
  expr.max_completion_bound = UINT32_MAX;
  expr.b_ = number;
  // Bits of a position beyond 32 are in the hash and in the operand index.
  expr.c_ = static_cast<std::uint32_t>(state.phase);
  Hash128 hash = mix(Hash128{}, static_cast<std::uint64_t>(Op::decimal));
  for (char byte : decimals_[number].digits) hash = mix(hash, static_cast<std::uint8_t>(byte));
  hash = mix(mix(hash, static_cast<std::uint64_t>(decimals_[number].point)),
             decimals_[number].is_negative * 2u + decimals_[number].may_shift);
  hash = mix(mix(hash, static_cast<std::uint64_t>(state.position)), state.matched);
  expr.hash = mix(hash, static_cast<std::uint64_t>(state.phase));
  const auto [begin, end] = decimal_state_table_.equal_range(expr.hash.low);
  for (auto known = begin; known != end; ++known) {
    if (decimal_states_[known->second] == state) {
      expr.a_ = known->second;
      return find_or_add(expr, {});
    }
  }
  meter_.allocate(sizeof(DecimalState) + 48);
  expr.a_ = static_cast<std::uint32_t>(decimal_states_.size());
  decimal_states_.push_back(state);
  decimal_state_table_.emplace(expr.hash.low, expr.a_);
  return find_or_add(expr, {});
}

ExprId ExprSet::remembered(ExprId state, TextId text) {
  Expr expr = exprs_[state.value];
  expr.op = Op::remembered;
  expr.a_ = state.value;
  expr.b_ = text.value;
  expr.c_ = 0;
  expr.hash = mix(mix(mix(Hash128{}, static_cast<std::uint64_t>(Op::remembered)), expr.hash), item_texts_.hash(text));
  return find_or_add(expr, {});
}

ExprId ExprSet::after_byte(ExprId before, ExprId next, TextId text, std::uint8_t byte) {
  if (exprs_[next.value].has_closed_item) next = bind(before, next, text);
  return exprs_[next.value].has_open_item ? remembered(next, item_texts_.append(text, byte)) : next;
}

ExprId ExprSet::bind(ExprId before, ExprId next, TextId text) {
  OpenLists lists;
  find_open_lists(before, lists, 0);
  return bind(next, lists, text, 0);
}

// Finds the open lists whose item may end here: those that only nullable expressions precede.
void ExprSet::find_open_lists(ExprId id, OpenLists& lists, int depth) const {
  if (!exprs_[id.value].has_open_item) return;
  if (depth > kMaxDepth) throw Error(ErrorKind::limit, "depth", depth, kMaxDepth);
  const Expr& expr = exprs_[id.value];
  switch (expr.op) {
    case Op::distinct: {
      const auto [known, is_new] = lists.try_emplace(list_states_[expr.a_].list, id);
      const DistinctState &state = list_states_[expr.a_], &other = list_states_[exprs_[known->second.value].a_];
      if (state.excluded != other.excluded || state.excluded_strings != other.excluded_strings ||
          state.excluded_integers != other.excluded_integers) {
        throw Error(ErrorKind::unsupported, "distinct_ambiguous");
      }
      return;
    }
    case Op::concat:
      find_open_lists(expr.first(), lists, depth + 1);
      if (exprs_[expr.first().value].nullable) find_open_lists(expr.second(), lists, depth + 1);
      return;
    case Op::union_of:
    case Op::intersection:
      for (ExprId part : operands(id)) find_open_lists(part, lists, depth + 1);
      return;
    default: return;
  }
}

void ExprSet::find_all_open_lists(ExprId id, std::set<std::uint32_t>& lists, int depth) const {
  const Expr& expr = exprs_[id.value];
  if (!expr.has_open_item) return;
  if (depth > kMaxDepth) throw Error(ErrorKind::limit, "depth", depth, kMaxDepth);
  if (expr.op == Op::distinct) {
    lists.insert(list_states_[expr.a_].list);
  } else if (expr.op == Op::concat) {
    find_all_open_lists(expr.first(), lists, depth + 1);
    find_all_open_lists(expr.second(), lists, depth + 1);
  } else {
    for (ExprId part : operands(id)) find_all_open_lists(part, lists, depth + 1);
  }
}

bool ExprSet::has_one_open_list(ExprId id) const {
  std::set<std::uint32_t> lists;
  find_all_open_lists(id, lists, 0);
  return lists.size() == 1;
}

bool ExprSet::closed_list_may_lack_keys(ExprId id) const { return closed_list_may_lack_keys(id, 0); }

bool ExprSet::closed_list_may_lack_keys(ExprId id, int depth) const {
  const Expr& expr = exprs_[id.value];
  if (!expr.has_closed_item) return false;
  if (depth > kMaxDepth) throw Error(ErrorKind::limit, "depth", depth, kMaxDepth);
  switch (expr.op) {
    case Op::distinct: {
      const auto is_bounded = [](const DistinctKeys& keys) { return !keys.is_unbounded; };
      return std::ranges::any_of(lists_[list_states_[expr.a_].list].keys, is_bounded);
    }
    case Op::concat:
      return closed_list_may_lack_keys(expr.first(), depth + 1) || closed_list_may_lack_keys(expr.second(), depth + 1);
    case Op::union_of:
    case Op::intersection:
      return std::ranges::any_of(operands(id), [&](ExprId part) { return closed_list_may_lack_keys(part, depth + 1); });
    default: return true;
  }
}

// Closed lists occur only in the residual just computed: in lists, and in concatenations, unions and intersections.
ExprId ExprSet::bind(ExprId id, const OpenLists& lists, TextId text, int depth) {
  if (!exprs_[id.value].has_closed_item) return id;
  if (depth > kMaxDepth) throw Error(ErrorKind::limit, "depth", depth, kMaxDepth);
  meter_.step();
  const Expr expr = exprs_[id.value];
  switch (expr.op) {
    case Op::distinct: return bind_list(list_states_[expr.a_], lists, text);
    case Op::concat: {
      const ExprId first = bind(expr.first(), lists, text, depth + 1);
      return concat(first, bind(expr.second(), lists, text, depth + 1));
    }
    case Op::union_of:
    case Op::intersection: {
      std::vector<ExprId> parts(operands(id).begin(), operands(id).end());
      for (ExprId& part : parts) part = bind(part, lists, text, depth + 1);
      return expr.op == Op::union_of ? union_of(std::move(parts)) : intersection(std::move(parts));
    }
    default: throw Error(ErrorKind::unsupported, "distinct_under_algebra");
  }
}

ExprId ExprSet::bind_list(DistinctState state, const OpenLists& lists, TextId text) {
  const DistinctList& list = lists_[state.list];
  const auto before = lists.find(state.list);
  if (before == lists.end()) throw Error(ErrorKind::unsupported, "distinct_ambiguous");
  const DistinctState& open = list_state(before->second);
  state.excluded = open.excluded;
  state.excluded_strings = open.excluded_strings;
  state.excluded_integers = open.excluded_integers;
  const std::string value = item_texts_.last_value(text, list.kind == DistinctKind::names);
  meter_.step(static_cast<std::int64_t>(value.size()) / 8);
  const std::optional<JsonValue> parsed = JsonValue::parse(value);
  if (!parsed) throw Error(ErrorKind::unsupported, "distinct_values");
  for (const DistinctKeys& keys : list.keys) {
    const auto used = std::ranges::find(keys.keys, parsed->key());
    if (used == keys.keys.end()) continue;
    const std::size_t bit = keys.first_bit + static_cast<std::size_t>(used - keys.keys.begin());
    state.used[bit / 64] |= std::uint64_t{1} << (bit % 64);
  }
  const JsonValue::Part& root = parsed->parts().back();
  std::optional<std::string> integer;
  if (root.kind == JsonValue::Kind::number && list.numbers == NumberForms::integers)
    integer = integer_text(root.number);
  if (root.kind == JsonValue::Kind::string) {  // one union of texts, which needs no escapes
    state.excluded_strings = union_with_literal(state.excluded_strings, root.text);
  } else if (integer) {
    state.excluded_integers = union_with_literal(state.excluded_integers, *integer);
    if (*integer == "0") state.excluded_integers = union_with_literal(state.excluded_integers, "-0");
  } else {
    state.excluded = grown_union(state.excluded, EqualTexts(*this, list.numbers).of(*parsed));
  }
  state.phase = ItemPhase::bound;
  const ExprId bound = distinct(std::move(state));
  if (exprs_[bound.value].op == Op::distinct) bound_lists_.push_back(bound);
  return bound;
}

}  // namespace detent

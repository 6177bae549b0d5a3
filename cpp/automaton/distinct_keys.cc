#include "automaton/distinct_keys.h"

#include <algorithm>
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <unordered_map>
#include <unordered_set>
#include <utility>
#include <vector>

#include "automaton/shortest_keys.h"
#include "base/error.h"
#include "expr/json_value.h"
#include "expr/lengths.h"

namespace detent {
namespace {

constexpr std::size_t kMoreKeys = 24;      // beyond the least number of items
constexpr std::size_t kMostMembers = 256;  // values of a list inside items, each with a member of its own
constexpr std::uint32_t kManyRounds = 40;  // 2^40 texts are more than a text can hold

// Whether a part has two strings of one byte: repeated n times, it has 2^n strings.
bool has_choice(const ExprSet& exprs, ExprId id) {
  const Expr& expr = exprs[id];
  if (expr.op == Op::bytes) return exprs.set(expr.set_index()).size() > 1;
  if (expr.op != Op::union_of) return false;
  return std::ranges::any_of(exprs.operands(id), [&exprs](ExprId part) { return has_choice(exprs, part); });
}

// Where the bytes that were read leave a text: how much of a number comes next to the exponent, or a JSON string.
enum class NumberPhase : std::uint8_t { plain, digit, digit_point, digits, string, escape };

bool is_in_number(NumberPhase phase) { return phase >= NumberPhase::digit && phase <= NumberPhase::digits; }

NumberPhase after(NumberPhase phase, std::uint8_t byte) {
  if (phase == NumberPhase::escape) return NumberPhase::string;
  if (phase == NumberPhase::string)
    return byte == '"' ? NumberPhase::plain : byte == '\\' ? NumberPhase::escape : NumberPhase::string;
  if (byte >= '0' && byte <= '9') return phase == NumberPhase::plain ? NumberPhase::digit : NumberPhase::digits;
  if (byte == '.' && phase != NumberPhase::plain) return NumberPhase::digit_point;
  return byte == '"' ? NumberPhase::string : NumberPhase::plain;
}

// How the numbers of a key are written; `all` where the key has too many states to tell. Numbers are outside strings,
// whose texts are not read: their lengths and formats may have many states.
NumberForms find_number_forms(const ExprSet& exprs, Derivatives& derivatives, Meter& meter, ExprId key) {
  constexpr std::size_t kMaxStates = 20'000;
  std::vector<std::pair<ExprId, NumberPhase>> pending;
  std::unordered_set<std::uint64_t> seen;
  const auto push = [&](ExprId state, NumberPhase phase) {
    const std::uint64_t visited = std::uint64_t{state.value} << 3 | static_cast<std::uint64_t>(phase);
    if (state == ExprSet::kEmpty || !seen.insert(visited).second) return;
    meter.step();
    pending.emplace_back(state, phase);
  };
  const auto push_members = [&](ExprId list) {
    const bool is_ordered = exprs[list].op == Op::ordered;
    const auto members = is_ordered ? std::span<const ExprId>(exprs.ordered_members(list).members)
                                    : std::span<const ExprId>(exprs.operands(list).subspan(2));
    push(is_ordered ? exprs.ordered_members(list).others : exprs.operands(list)[1], NumberPhase::plain);
    for (ExprId member : members) push(member, NumberPhase::plain);
  };
  if (exprs[key].has_rule) return NumberForms::all;
  NumberForms forms = NumberForms::integers;
  push(key, NumberPhase::plain);
  while (!pending.empty()) {
    if (seen.size() > kMaxStates) return NumberForms::all;
    const auto [state, phase] = pending.back();
    pending.pop_back();
    const Expr expr = exprs[state];
    if (expr.op == Op::union_of) {
      const auto parts = exprs.operands(state);
      for (ExprId part : std::vector<ExprId>(parts.begin(), parts.end())) push(part, phase);
      continue;
    }
    const ExprId head = expr.op == Op::concat ? expr.first() : state;
    const bool has_members = exprs[head].op == Op::unordered || exprs[head].op == Op::ordered;
    if (exprs[head].op == Op::json_escaped || (has_members && phase == NumberPhase::plain)) {
      // No number goes on after a string, nor from one member into the next. Sets of members would be many states.
      if (has_members) push_members(head);
      if (expr.op == Op::concat) push(expr.second(), phase);
      continue;
    }
    const ExprId* first = derivatives.row(state);
    const std::vector<ExprId> row(first, first + derivatives.class_count());
    for (unsigned byte = 0; byte < 256; ++byte) {
      const ExprId next = row[derivatives.class_of()[byte]];
      if (next == ExprSet::kEmpty) continue;
      const bool is_exponent = byte == 'e' || byte == 'E';
      if (phase == NumberPhase::digits && is_exponent) return NumberForms::all;
      if (is_in_number(phase) && (is_exponent || byte == '.')) forms = NumberForms::normalized;
      push(next, after(phase, static_cast<std::uint8_t>(byte)));
    }
  }
  return forms;
}

// The texts inside the first JSON string of a key, or the key itself.
ExprId texts_of_key(const ExprSet& exprs, ExprId key) {
  for (ExprId at = key; exprs[at].op == Op::concat; at = exprs[at].second()) {
    if (exprs[exprs[at].first()].op == Op::json_escaped) return exprs[exprs[at].first()].part();
  }
  return key;
}

// Whether there are more texts than a text can hold: those of up to some length are counted, byte by byte.
bool has_many_texts(const ExprSet& exprs, Derivatives& derivatives, Meter& meter, ExprId root) {
  constexpr int kMaxLength = 64;
  constexpr std::size_t kMaxStates = 1000;
  constexpr double kMany = 0x1p20;  // the names of so many members take more memory than a guide may have
  std::unordered_map<std::uint32_t, double> layer{{root.value, 1}};  // how many texts lead to each state
  double total = 0;
  for (int length = 0; length < kMaxLength && !layer.empty() && layer.size() < kMaxStates; ++length) {
    std::unordered_map<std::uint32_t, double> next;
    for (const auto& [state, count] : layer) {
      if (exprs[ExprId{state}].nullable) total += count;
      const ExprId* first = derivatives.row(ExprId{state});
      meter.step(derivatives.class_count());
      for (std::uint32_t c = 0; c < derivatives.class_count(); ++c) {
        if (first[c] != ExprSet::kEmpty) next[first[c].value] += count;
      }
    }
    if (total >= kMany) return true;
    layer = std::move(next);
  }
  return false;
}

// Whether there are more values than a text can hold. Only one text of each value is counted, but members of
// objects may have any order: a text of 64 bytes has at most 12 members, so 2^29 orders.
bool writes_many_values(const ExprSet& exprs, Derivatives& derivatives, Meter& meter, ExprId key, bool has_objects) {
  constexpr int kMaxLength = 64;
  constexpr std::size_t kMaxStates = 200;
  const double many = has_objects ? 0x1p60 : 0x1p20;
  if (exprs[key].has_rule) return false;
  const auto is_other_form = [has_objects](NumberPhase phase, unsigned byte) {
    if (phase == NumberPhase::string) return byte == '\\';
    if (is_in_number(phase) && (byte == '.' || byte == 'e' || byte == 'E')) return true;
    return byte <= ' ' || byte == '-' || (byte == '{' && !has_objects);
  };
  std::map<std::pair<std::uint32_t, NumberPhase>, double> layer{{{key.value, NumberPhase::plain}, 1}};
  double total = 0;
  for (int length = 0; length <= kMaxLength && !layer.empty() && layer.size() < kMaxStates; ++length) {
    std::map<std::pair<std::uint32_t, NumberPhase>, double> next;
    for (const auto& [at, count] : layer) {
      const auto& [state, phase] = at;
      if (exprs[ExprId{state}].nullable) total += count;
      const ExprId* row = derivatives.row(ExprId{state});
      meter.step(256);
      for (unsigned byte = 0; byte < 256; ++byte) {
        const ExprId after_byte = row[derivatives.class_of()[byte]];
        if (after_byte == ExprSet::kEmpty || is_other_form(phase, byte)) continue;
        next[{after_byte.value, after(phase, static_cast<std::uint8_t>(byte))}] += count;
      }
    }
    if (total >= many) return true;
    layer = std::move(next);
  }
  return false;
}

// Without a text of the separator, as where the vocabulary has no comma, no second item follows.
std::uint32_t most_items(const Node& node, std::span<const ExprId> parts) {
  return parts[0] == ExprSet::kEmpty ? std::min(node.maximum(), 1u) : node.maximum();
}

// The keys of an earlier list, if it has the same ones: many lists of a schema have the same items.
const DistinctKeys* known_keys(const ExprSet& exprs, const DistinctKeys& keys) {
  for (const DistinctList& list : exprs.lists()) {
    const DistinctKeys& first = list.keys[0];
    const bool is_same =
        first.key == keys.key && first.sought == keys.sought && first.is_unbounded == keys.is_unbounded;
    if (list.kind == DistinctKind::values && is_same) return &first;
  }
  return nullptr;
}

// A list of few values: members in any order, whose states are exact inside a member, too. `texts_of_keys` has all
// texts of each value.
ExprId make_members(ExprSet& exprs, const Node& node, std::span<const ExprId> parts, const TextsOfKeys& texts_of_keys) {
  std::vector<ExprId> members;
  for (const auto& [key, texts] : texts_of_keys) {
    std::vector<ExprId> literals;
    for (const std::string& text : texts) literals.push_back(exprs.literal(text));
    members.push_back(exprs.concat(exprs.union_of(std::move(literals)), parts[2]));
  }
  return exprs.unordered({node.minimum(), most_items(node, parts), 0, MemberPosition::start}, parts[0], ExprSet::kEmpty,
                         members);
}

}  // namespace

bool has_many_values(const ExprSet& exprs, ExprId root) {
  std::vector<std::pair<ExprId, bool>> pending{{root, false}};  // and whether it is inside a JSON string
  std::unordered_set<std::uint64_t> seen;
  while (!pending.empty()) {
    const auto [id, in_string] = pending.back();
    pending.pop_back();
    if (!seen.insert(std::uint64_t{id.value} << 1 | in_string).second) continue;
    const Expr& expr = exprs[id];
    const auto push = [&](ExprId part) { pending.emplace_back(part, in_string); };
    switch (expr.op) {
      case Op::concat:
        push(expr.first());
        push(expr.second());
        break;
      case Op::union_of:
        for (ExprId part : exprs.operands(id)) push(part);
        break;
      case Op::repeat:
        if (in_string && expr.maximum() >= kManyRounds && has_choice(exprs, expr.part())) return true;
        push(expr.part());
        break;
      case Op::json_escaped: pending.emplace_back(expr.part(), true); break;
      case Op::rule: push(exprs.definition(id)); break;
      case Op::unordered: {
        const UnorderedState& state = exprs.unordered_state(id);
        const auto members = exprs.operands(id).subspan(2);
        const bool has_optional = state.maximum > state.required;
        if (has_optional) push(exprs.operands(id)[1]);
        for (ExprId part : has_optional ? members : members.first(state.required)) push(part);
        break;
      }
      case Op::ordered:
        push(exprs.ordered_members(id).others);
        for (ExprId part : exprs.ordered_members(id).members) push(part);
        break;
      case Op::distinct:
        for (const DistinctKeys& keys : exprs.list(exprs.list_state(id).list).keys) push(keys.key);
        for (const ItemKind& kind : exprs.list(exprs.list_state(id).list).kinds) push(kind.rest);
        break;
      default: break;
    }
  }
  return false;
}

bool may_occur(const Node& node, std::size_t index) {
  switch (node.kind()) {
    case NodeKind::repeat: return node.maximum() > 0;
    case NodeKind::distinct: return node.maximum() > 0 || node.has_order();
    case NodeKind::unordered: {
      const bool is_required = index >= 2 && node.text()[index - 2] == '1';
      return is_required || node.maximum() > static_cast<std::size_t>(std::ranges::count(node.text(), '1'));
    }
    default: return true;
  }
}

NamedKinds find_kinds(ExprSet& exprs, Derivatives& derivatives, Liveness& liveness, Meter& meter, const Node& node,
                      std::span<const ExprId> keys, std::vector<std::uint32_t> lengths) {
  NamedKinds found;
  std::vector<bool> is_live;
  for (ExprId key : keys) {
    is_live.push_back(key != ExprSet::kEmpty);
    found.of_kind.push_back(ItemKind::kNoKey);
    if (!is_live.back() || key == ExprSet::kEpsilon) continue;
    const auto known = std::ranges::find(found.keys, key, &DistinctKeys::key);
    found.of_kind.back() = static_cast<std::uint32_t>(known - found.keys.begin());
    if (known == found.keys.end()) found.keys.push_back({.key = key, .is_unbounded = true});
  }
  found.order = std::make_shared<LanguageOrder>(node.order(), is_live, meter.limits());
  if (found.order->start() == ItemOrder::kNone) return found;
  found.order->set_lengths(std::move(lengths));
  found.wanted = found.count_keys(found.order->completion(found.order->start()));
  for (std::size_t k = 0; k < found.keys.size(); ++k) {
    DistinctKeys& names = found.keys[k];
    if (!has_many_texts(exprs, derivatives, meter, texts_of_key(exprs, names.key))) {
      throw Error(ErrorKind::unsupported, "distinct_few_names");
    }
    ShortestKeys search(exprs, derivatives, liveness, meter);
    search.find(found.wanted[k], found.wanted[k] + kMoreKeys, names);
    if (names.keys.size() < found.wanted[k]) search.find_short_texts(found.wanted[k] + kMoreKeys, names);
    if (names.keys.size() < found.wanted[k]) {
      const auto asked = static_cast<std::int64_t>(found.wanted[k]);
      throw Error(ErrorKind::unsupported, "distinct_keys", asked, std::ssize(names.keys));
    }
  }
  return found;
}

std::vector<std::size_t> NamedKinds::count_keys(std::span<const std::uint32_t> completion) const {
  std::vector<std::size_t> counts(keys.size());
  for (std::uint32_t kind : completion) {
    if (of_kind[kind] != ItemKind::kNoKey) ++counts[of_kind[kind]];
  }
  return counts;
}

std::uint32_t NamedKinds::length_of_names() const {
  std::uint32_t length = 0;
  for (std::size_t k = 0; k < keys.size(); ++k) {
    for (std::size_t i = 0; i < wanted[k]; ++i) length = saturating_add(length, keys[k].lengths[i]);
  }
  return length;
}

ExprId make_ordered_kinds(ExprSet& exprs, Derivatives& derivatives, Liveness& liveness, Meter& meter, const Node& node,
                          std::span<const ExprId> parts) {
  DistinctList list;
  list.separator = parts[0];
  list.kind = DistinctKind::names;
  list.numbers = NumberForms::integers;  // names are no numbers
  std::vector<ExprId> keys;
  std::vector<std::uint32_t> lengths;
  for (std::size_t i = 1; i < parts.size(); i += 2) {
    const ExprId rest = parts[i + 1];
    keys.push_back(rest == ExprSet::kEmpty ? ExprSet::kEmpty : parts[i]);
    if (keys.back() == ExprSet::kEpsilon && exprs[rest].nullable) {
      throw Error(ErrorKind::argument, "nullable_member", static_cast<std::int64_t>(i / 2));
    }
    ItemKind kind;
    kind.rest = keys.back() == ExprSet::kEmpty ? ExprSet::kEpsilon : rest;
    // How long an item of a rule is, is known only after the rule is defined.
    const bool is_open = node.children()[i + 1]->is_open();
    kind.rest_length = is_open ? exprs[kind.rest].min_length : liveness.length(kind.rest);
    lengths.push_back(kind.rest_length);
    list.kinds.push_back(kind);
  }
  // The lengths of rules must not depend on themselves; other lists need no order of their kinds.
  if (!node.is_open()) lengths.assign(lengths.size(), 0);
  NamedKinds named = find_kinds(exprs, derivatives, liveness, meter, node, keys, std::move(lengths));
  if (named.order->start() == ItemOrder::kNone) return ExprSet::kEmpty;
  list.order = named.order;
  list.keys = std::move(named.keys);
  for (std::size_t k = 0; k < keys.size(); ++k) list.kinds[k].keys = named.of_kind[k];
  DistinctState state;
  state.order = list.order->start();
  state.list = exprs.add_list(std::move(list));
  state.maximum = ExprSet::kUnbounded;
  return exprs.distinct(std::move(state));
}

ExprId make_distinct(ExprSet& exprs, Derivatives& derivatives, Liveness& liveness, Meter& meter, const Node& node,
                     std::span<const ExprId> parts, bool is_nested, bool has_many_keys) {
  if (node.has_order()) return make_ordered_kinds(exprs, derivatives, liveness, meter, node, parts);
  const std::uint32_t minimum = node.minimum();
  if (parts[1] == ExprSet::kEmpty || parts[2] == ExprSet::kEmpty) {
    return minimum > 0 ? ExprSet::kEmpty : ExprSet::kEpsilon;
  }
  const std::uint32_t maximum = most_items(node, parts);
  if (minimum > maximum) return ExprSet::kEmpty;
  DistinctList list;
  list.separator = parts[0];
  list.kind = node.text() == "names" ? DistinctKind::names : DistinctKind::values;
  DistinctKeys keys{.key = parts[1], .is_unbounded = has_many_keys};
  const bool is_open = node.children()[1]->is_open();  // its rules are not defined yet
  if (!keys.is_unbounded && (node.children()[1]->has_distinct() || (is_open && is_nested))) {
    throw Error(ErrorKind::unsupported, "distinct_nested");
  }
  ItemKind item{.keys = 0, .rest = parts[2]};
  if (!is_open) {
    list.numbers = find_number_forms(exprs, derivatives, meter, keys.key);
    const auto has_many = [&](bool has_objects) {
      return writes_many_values(exprs, derivatives, meter, keys.key, has_objects);
    };
    const bool is_few = is_nested && !keys.is_unbounded && !has_many(false) && !has_many(true);
    if (is_few) {
      ShortestKeys search(exprs, derivatives, liveness, meter);
      search.find(kMostMembers + 1, kMostMembers + 1, keys);
      if (!keys.has_all_keys) throw Error(ErrorKind::unsupported, "distinct_nested");
      return make_members(exprs, node, parts, search.texts_of_keys());
    }
    keys.sought = minimum + kMoreKeys;
    if (const DistinctKeys* known = known_keys(exprs, keys)) {
      keys = *known;
    } else {
      ShortestKeys(exprs, derivatives, liveness, meter).find(minimum, keys.sought, keys);
    }
    item.rest_length = node.children()[2]->is_open() ? exprs[item.rest].min_length : liveness.length(item.rest);
    if (!keys.has_all_keys && keys.keys.size() < minimum) {
      throw Error(ErrorKind::unsupported, "distinct_keys", minimum, static_cast<std::int64_t>(keys.keys.size()));
    }
  }
  list.keys.push_back(std::move(keys));
  list.kinds.push_back(item);
  DistinctState state;
  state.list = exprs.add_list(std::move(list));
  state.minimum = minimum;
  state.maximum = maximum;
  return exprs.distinct(std::move(state));
}

}  // namespace detent

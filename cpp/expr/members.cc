// The constructors of `unordered` and `ordered`.
#include "expr/members.h"

#include <algorithm>
#include <span>
#include <vector>

#include "expr/expr_set.h"
#include "expr/lengths.h"

namespace detent {

std::uint32_t ExprSet::state_index(const UnorderedState& state) {
  const auto known = std::find(unordered_states_.rbegin(), unordered_states_.rend(), state);  // likely a recent one
  if (known != unordered_states_.rend()) {
    return static_cast<std::uint32_t>(unordered_states_.rend() - known - 1);
  }
  meter_.allocate(sizeof(UnorderedState));
  unordered_states_.push_back(state);
  return static_cast<std::uint32_t>(unordered_states_.size() - 1);
}

// An upper bound on the shortest text: the required members, and the shortest optional ones, or `others`, up to the
// minimum count. `parts` are the separator, `others` and the members.
std::uint32_t ExprSet::min_length_unordered(const UnorderedState& state, std::span<const ExprId> parts,
                                            const MemberFacts& facts) const {
  const auto min_length = [this](ExprId id) { return exprs_[id.value].min_length; };
  const ExprId separator = parts[0], others = parts[1];
  const std::span<const ExprId> members = parts.subspan(2);
  const std::uint32_t count = std::max(state.minimum, state.required);
  if (count == 0) {
    if (state.position != MemberPosition::after_separator) return 0;
    std::uint32_t shortest = UINT32_MAX;
    for (ExprId part : parts.subspan(1)) {
      if (part != kEmpty) shortest = std::min(shortest, min_length(part));
    }
    return shortest;
  }
  std::uint32_t total = saturating_add(facts.required_length, 0);
  if (state.minimum > state.required) {
    std::vector<std::uint32_t> lengths;
    for (ExprId member : members.subspan(state.required)) lengths.push_back(min_length(member));
    std::sort(lengths.begin(), lengths.end());
    if (others != kEmpty) lengths.assign(state.minimum - state.required, min_length(others));
    for (std::size_t i = 0; i < state.minimum - state.required; ++i) total = saturating_add(total, lengths[i]);
  }
  const std::uint32_t separators = state.position == MemberPosition::after_member ? count : count - 1;
  return saturating_add(total, saturating_multiply(min_length(separator), separators));
}

namespace {

// The flags of MemberFacts. Those after kClosedItem are the opposites of flags that hold of a list only if they hold of
// each member.
enum MemberFlag : std::uint32_t {
  kLookbehind = 1,
  kLookbehindEnd = 2,
  kRule = 4,
  kGuard = 8,
  kStrictGuard = 16,
  kOpenItem = 32,
  kClosedItem = 64,
  kMayBeEmpty = 128,
  kNeedsOtherBytes = 256,  // of a required member
  kResidualNeedsOtherBytes = 512,
};

MemberFacts facts_of(const Expr& member, bool is_required) {
  MemberFacts facts;
  const auto set = [&facts](bool holds, MemberFlag flag) {
    if (holds) facts.flags |= flag;
  };
  set(member.has_lookbehind, kLookbehind);
  set(member.has_lookbehind_end, kLookbehindEnd);
  set(member.has_rule, kRule);
  set(member.has_guard, kGuard);
  set(member.has_strict_guard, kStrictGuard);
  set(member.has_open_item, kOpenItem);
  set(member.has_closed_item, kClosedItem);
  set(!member.nonempty, kMayBeEmpty);
  set(is_required && !member.completes_by_bytes, kNeedsOtherBytes);
  set(!(member.completes_by_bytes && member.residuals_complete_by_bytes), kResidualNeedsOtherBytes);
  (is_required ? facts.required : facts.optional) = mix(Hash128{}, member.hash);
  if (is_required) facts.required_length = member.min_length;
  return facts;
}

MemberFacts sum(const MemberFacts& x, const MemberFacts& y) {
  return {x.flags | y.flags, x.required_length + y.required_length, sum(x.required, y.required),
          sum(x.optional, y.optional)};
}

}  // namespace

ExprId ExprSet::unordered(const UnorderedState& state, ExprId separator, ExprId others,
                          std::span<const ExprId> members) {
  std::vector<ExprId> parts{separator, others};
  parts.insert(parts.end(), members.begin(), members.end());
  MemberFacts facts;
  for (std::size_t i = 0; i < members.size(); ++i) {
    facts = sum(facts, facts_of(exprs_[members[i].value], i < state.required));
  }
  return unordered(state, parts, facts);
}

ExprId ExprSet::unordered(const UnorderedState& state, std::span<const ExprId> parts, const MemberFacts& facts) {
  const ExprId separator = parts[0], others = parts[1];
  const std::size_t count = parts.size() - 2;
  const bool has_others = others != kEmpty;
  if (state.required > state.maximum || (!has_others && state.minimum > count)) return kEmpty;
  const bool is_complete = state.required == 0 && state.minimum == 0;
  const bool has_more = state.maximum > 0 && (has_others || count > 0);
  if (!has_more && (state.position == MemberPosition::after_separator || !is_complete)) return kEmpty;
  if (!has_more) return kEpsilon;

  const auto has = [&facts](MemberFlag flag) { return (facts.flags & flag) != 0; };
  Expr expr;
  expr.op = Op::unordered;
  expr.nullable = is_complete && state.position != MemberPosition::after_separator;
  expr.has_lookbehind = has(kLookbehind);
  expr.has_lookbehind_end = has(kLookbehindEnd);
  expr.has_rule = has(kRule);
  expr.has_guard = has(kGuard);
  expr.has_strict_guard = has(kStrictGuard);
  expr.has_open_item = has(kOpenItem);
  expr.has_closed_item = has(kClosedItem);
  expr.nonempty = !has(kMayBeEmpty);
  expr.completes_by_bytes = exprs_[separator.value].completes_by_bytes && !has(kNeedsOtherBytes);
  expr.residuals_complete_by_bytes = !has(kResidualNeedsOtherBytes);
  expr.max_completion_bound = UINT32_MAX;
  expr.hash = mix(Hash128{}, static_cast<std::uint64_t>(Op::unordered));
  for (ExprId id : parts.first(2)) {
    const Expr& part = exprs_[id.value];
    inherit_flags(expr, part);
    if (id != kEmpty) expr.nonempty &= part.nonempty;
    expr.residuals_complete_by_bytes &= part.completes_by_bytes && part.residuals_complete_by_bytes;
    expr.hash = mix(expr.hash, part.hash);
  }
  const bool needs_optional =
      state.minimum > state.required || (state.required == 0 && state.position == MemberPosition::after_separator);
  if (needs_optional) expr.completes_by_bytes = expr.residuals_complete_by_bytes;
  expr.min_length = min_length_unordered(state, parts, facts);
  expr.hash = mix(mix(expr.hash, facts.required), facts.optional);
  expr.hash = mix(expr.hash, (std::uint64_t{state.minimum} << 32) | state.maximum);
  expr.hash = mix(expr.hash, (std::uint64_t{state.required} << 32) | static_cast<std::uint64_t>(state.position));
  expr.b_ = static_cast<std::uint32_t>(parts.size());
  expr.c_ = state_index(state);
  return find_or_add(expr, parts);
}

MembersLeft ExprSet::members_left(ExprId list) const {
  MembersLeft left;
  left.state = unordered_state(list);
  left.parts.assign(operands(list).begin(), operands(list).end());
  const std::size_t count = left.members().size();
  left.before.resize(count);
  left.after.resize(count);
  const auto facts = [&](std::size_t i) { return facts_of(exprs_[left.parts[2 + i].value], i < left.state.required); };
  for (std::size_t i = 1; i < count; ++i) left.before[i] = sum(left.before[i - 1], facts(i - 1));
  for (std::size_t i = count; i-- > 1;) left.after[i - 1] = sum(left.after[i], facts(i));
  return left;
}

ExprId ExprSet::unordered_after(MembersLeft& left, std::size_t member) {
  const UnorderedState& state = left.state;
  const auto count = static_cast<std::size_t>(std::ssize(left.members()));
  const bool is_other = member == count;
  const UnorderedState next{
      state.minimum == 0 ? 0 : state.minimum - 1, state.maximum == kUnbounded ? kUnbounded : state.maximum - 1,
      state.required - static_cast<std::uint32_t>(!is_other && member < state.required), MemberPosition::after_member};
  if (is_other) return unordered(next, left.parts[0], left.parts[1], left.members());
  if (left.removed == SIZE_MAX) {
    left.remaining.assign(left.parts.begin(), left.parts.end() - 1);
    left.removed = count - 1;
  }
  for (; left.removed > member; --left.removed) left.remaining[1 + left.removed] = left.parts[2 + left.removed];
  for (; left.removed < member; ++left.removed) left.remaining[2 + left.removed] = left.parts[2 + left.removed];
  return unordered(next, left.remaining, sum(left.before[member], left.after[member]));
}

bool ExprSet::add_required_members(ExprId list, std::vector<ExprId>& parts) const {
  const Expr& expr = exprs_[list.value];
  std::vector<ExprId> required;
  ExprId separator;
  MemberPosition position;
  if (expr.op == Op::unordered) {
    const UnorderedState& state = unordered_state(list);
    if (state.minimum > state.required) return false;
    const auto members = operands(list).subspan(2, state.required);
    required.assign(members.begin(), members.end());
    separator = operands(list)[0];
    position = state.position;
  } else {
    const OrderedMembers& members = ordered_members(list);
    for (std::size_t i = expr.next_member(); i < members.members.size(); ++i) {
      if (members.required[i]) required.push_back(members.members[i]);
    }
    separator = members.separator;
    position = static_cast<MemberPosition>(expr.member_position());
  }
  for (std::size_t i = required.size(); i-- > 0;) {
    parts.push_back(required[i]);
    if (i > 0 || position == MemberPosition::after_member) parts.push_back(separator);
  }
  return !required.empty() || position != MemberPosition::after_separator;
}

std::uint32_t ExprSet::add_members(OrderedMembers members) {
  const std::size_t count = members.members.size();
  meter_.allocate(static_cast<std::int64_t>(sizeof(OrderedMembers) + (count + 1) * (sizeof(Expr) + 16)));
  meter_.step(static_cast<std::int64_t>(count));
  members.suffix_facts.resize(count + 1);
  members.suffix_required.resize(count + 1);
  members.suffix_shortest.resize(count + 1);
  const Expr& separator = exprs_[members.separator.value];
  const Expr& others = exprs_[members.others.value];
  Expr facts;
  facts.op = Op::ordered;
  facts.nonempty = separator.nonempty && others.nonempty;
  facts.completes_by_bytes = separator.completes_by_bytes;
  facts.residuals_complete_by_bytes = separator.completes_by_bytes && separator.residuals_complete_by_bytes &&
                                      others.completes_by_bytes && others.residuals_complete_by_bytes;
  facts.max_completion_bound = UINT32_MAX;
  facts.hash = mix(mix(mix(Hash128{}, static_cast<std::uint64_t>(Op::ordered)), separator.hash), others.hash);
  inherit_flags(facts, separator);
  inherit_flags(facts, others);
  std::uint32_t shortest = members.others == kEmpty ? UINT32_MAX : others.min_length;
  std::uint32_t required = 0;
  for (std::size_t i = count;; --i) {
    members.suffix_facts[i] = facts;
    members.suffix_required[i] = required;
    members.suffix_shortest[i] = shortest;
    if (i == 0) break;
    const Expr& member = exprs_[members.members[i - 1].value];
    inherit_flags(facts, member);
    facts.nonempty &= member.nonempty;
    if (members.required[i - 1]) facts.completes_by_bytes &= member.completes_by_bytes;
    facts.residuals_complete_by_bytes &= member.completes_by_bytes && member.residuals_complete_by_bytes;
    shortest = std::min(shortest, member.min_length);
    facts.hash = mix(mix(facts.hash, member.hash), static_cast<std::uint64_t>(members.required[i - 1]));
    if (members.required[i - 1]) {
      facts.min_length = saturating_add(facts.min_length, member.min_length);
      ++required;
    }
  }
  ordered_members_.push_back(std::move(members));
  return static_cast<std::uint32_t>(ordered_members_.size() - 1);
}

ExprId ExprSet::ordered(std::uint32_t index, std::uint32_t next, MemberPosition position) {
  const OrderedMembers& members = ordered_members_[index];
  const bool is_after_separator = position == MemberPosition::after_separator;
  if (next == members.members.size() && members.others == kEmpty) return is_after_separator ? kEmpty : kEpsilon;
  Expr expr = members.suffix_facts[next];
  expr.a_ = index;
  expr.b_ = next;
  expr.c_ = static_cast<std::uint32_t>(position);
  expr.hash = mix(expr.hash, static_cast<std::uint64_t>(position));
  const std::uint32_t count = members.suffix_required[next];
  expr.nullable = count == 0 && !is_after_separator;
  if (count == 0 && is_after_separator) {  // an optional member must come
    expr.min_length = members.suffix_shortest[next];
    expr.completes_by_bytes = expr.residuals_complete_by_bytes;
  }
  const std::uint32_t separators = position == MemberPosition::after_member || count == 0 ? count : count - 1;
  expr.min_length =
      saturating_add(expr.min_length, saturating_multiply(exprs_[members.separator.value].min_length, separators));
  return find_or_add(expr, {});
}

}  // namespace detent

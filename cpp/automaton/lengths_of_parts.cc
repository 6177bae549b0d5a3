// Liveness, step 2: the lengths of sequences, unions, repeats and members from those of their parts.
#include <algorithm>
#include <vector>

#include "automaton/liveness.h"
#include "expr/json_string.h"
#include "expr/lengths.h"

namespace detent {

std::uint32_t Liveness::combine(ExprId id, std::span<const ExprId> parts) const {
  const Expr& expr = exprs_[id];
  const auto product = [](std::uint64_t x, std::uint64_t y) {
    return static_cast<std::uint32_t>(std::min<std::uint64_t>(x * y, kMaxLength));
  };
  switch (expr.op) {
    case Op::concat: {
      const std::uint32_t first = known(parts[0]), second = known(parts[1]);
      if (first == kDead || second == kDead) return kDead;
      return static_cast<std::uint32_t>(std::min<std::uint64_t>(std::uint64_t{first} + second, kMaxLength));
    }
    case Op::intersection:  // the union of its alternatives
    case Op::union_of: {
      std::uint32_t shortest = kDead;
      for (ExprId part : parts) shortest = std::min(shortest, known(part));
      return shortest;
    }
    case Op::repeat: return known(parts[0]) == kDead ? kDead : product(known(parts[0]), expr.minimum());
    case Op::json_escaped: {
      if (known(parts[0]) == kDead) return kDead;
      constexpr std::uint32_t kRoom = 8;  // bytes that an escape may have left
      return std::min(product(known(parts[0]), bytes_written(parts[0])), kMaxLength - kRoom) +
             remaining_escape_bytes(expr.escape_position());
    }
    case Op::unordered: return combine_unordered(id, parts);
    case Op::ordered: return combine_ordered(id, parts);
    case Op::distinct: return combine_distinct(id);
    case Op::remembered: return known(parts[0]);
    case Op::maximal_munch:
      return known(parts[0]) == kDead ? kDead : std::min(saturating_add(known(parts[0]), expr.escape()), kMaxLength);
    default: return std::min(expr.min_length, kMaxLength);
  }
}

std::uint32_t Liveness::combine_unordered(ExprId id, std::span<const ExprId> parts) const {
  const UnorderedState& state = exprs_.unordered_state(id);
  const std::span<const ExprId> members = parts.subspan(2);
  std::uint64_t length = 0;
  for (ExprId member : members.first(state.required)) length += known(member);
  // The minimum may demand more members: the shortest optional ones, or `others`.
  const std::uint32_t minimum =
      std::max<std::uint32_t>(state.minimum, state.position == MemberPosition::after_separator);
  const std::uint32_t more = minimum > state.required ? minimum - state.required : 0;
  std::vector<std::uint32_t> lengths;
  for (ExprId member : members.subspan(state.required)) lengths.push_back(known(member));
  std::sort(lengths.begin(), lengths.end());
  const bool has_others = parts[1] != ExprSet::kEmpty;
  if (lengths.size() < more || (has_others && more > 0 && known(parts[1]) < lengths[more - 1])) {
    length += std::uint64_t{known(parts[1])} * more;
  } else {
    for (std::uint32_t i = 0; i < more; ++i) length += lengths[i];
  }
  return with_separators(length, state.required + more, state.position, parts[0]);
}

// Where the items to come need more keys than the known shortest ones, min_length is UINT32_MAX. Each item then counts
// with the length of some remaining key; these lengths exist only while no item is open.
std::uint32_t Liveness::combine_distinct(ExprId id) const {
  const DistinctState& state = exprs_.list_state(id);
  const DistinctList& list = exprs_.list(state.list);
  if (!list.order && (known(state.keys[0]) == kDead || known(list.kinds[0].rest) == kDead)) return kDead;
  if (exprs_[id].min_length != UINT32_MAX) return std::min(exprs_[id].min_length, kMaxLength);
  if (state.phase != ItemPhase::bound) return kMaxLength;
  const std::vector<std::uint32_t> kinds = exprs_.kinds_to_come(state);
  std::uint64_t length = 0;
  for (std::uint32_t kind : kinds) {
    const std::uint32_t keys = list.kinds[kind].keys;
    if (keys != ItemKind::kNoKey) length += known(state.keys[keys]);
    length += known(list.kinds[kind].rest);
  }
  return with_separators(length, static_cast<std::uint32_t>(kinds.size()), state.position, list.separator);
}

// The remaining keys are an intersection, "key minus excluded texts", for which a search would find some length. But
// the length of a list is that of its shortest keys, and no state inside an item may have a greater length than its
// list.
void Liveness::note_next_item(ExprId id) {
  const DistinctState& state = exprs_.list_state(id);
  const DistinctList& list = exprs_.list(state.list);
  for (std::size_t k = 0; k < list.keys.size(); ++k) {
    const DistinctKeys& keys = list.keys[k];
    const auto is_used = [&](std::size_t i) {
      return state.used[(keys.first_bit + i) / 64] >> ((keys.first_bit + i) % 64) & 1;
    };
    std::size_t index = 0;
    while (index < keys.texts.size() && is_used(index)) ++index;
    if (index == keys.texts.size()) continue;
    ExprId at = state.keys[k];
    std::uint32_t read = 0;
    for (char byte : keys.texts[index]) {
      const Expr& expr = exprs_[at];
      if (expr.op != Op::intersection || expr.has_closed_item) break;
      const std::uint32_t left = keys.lengths[index] - read++;
      if (!expr.nullable && !expr.nonempty && known(at, Use::lengths) > left) remember(at, left, Use::lengths);
      at = derivatives_.row(at)[derivatives_.class_of()[static_cast<std::uint8_t>(byte)]];
    }
  }
}

std::uint32_t Liveness::combine_ordered(ExprId id, std::span<const ExprId> parts) const {
  const OrderedMembers& members = exprs_.ordered_members(id);
  const auto position = static_cast<MemberPosition>(exprs_[id].member_position());
  std::uint64_t length = 0;
  std::uint32_t count = 0, shortest = known(parts[1]);
  for (std::size_t i = exprs_[id].next_member(); i < members.members.size(); ++i) {
    shortest = std::min(shortest, known(members.members[i]));
    if (!members.required[i]) continue;
    length += known(members.members[i]);
    ++count;
  }
  if (count == 0 && position == MemberPosition::after_separator) return std::min(shortest, kMaxLength);
  return with_separators(length, count, position, parts[0]);
}

std::uint32_t Liveness::with_separators(std::uint64_t length, std::uint32_t count, MemberPosition position,
                                        ExprId separator) const {
  const std::uint32_t separators = count == 0 ? 0 : position == MemberPosition::after_member ? count : count - 1;
  length += std::uint64_t{known(separator)} * separators;
  return static_cast<std::uint32_t>(std::min<std::uint64_t>(length, kMaxLength));
}

}  // namespace detent

#include "automaton/text_proof.h"

#include <algorithm>

namespace detent {

bool TextProof::is_text(ExprId id, int depth) {
  constexpr int kMaxDepth = 256;
  if (exprs_[id].is_text) return true;
  if (const auto known = known_.find(id.value); known != known_.end()) return known->second;
  if (depth == kMaxDepth) return false;
  if (depth == 0) has_undefined_ = false;
  const bool found = find(id, depth + 1);
  if (found || !has_undefined_) known_[id.value] = found;
  return found;
}

bool TextProof::find(ExprId id, int depth) {
  const auto is_text_part = [&](ExprId part) { return is_text(part, depth); };
  if (exprs_[id].op == Op::concat) {
    for (; exprs_[id].op == Op::concat; id = exprs_[id].second()) {
      if (!is_text_part(exprs_[id].first())) return false;
    }
    return is_text_part(id);  // it may be a rule that is being proved
  }
  const Expr& expr = exprs_[id];
  switch (expr.op) {
    case Op::repeat:
    case Op::json_escaped:
      return is_text_part(expr.part());  // an escape is ASCII, and `part` what follows the character
    case Op::rule: {
      if (exprs_.definition(id) == ExprSet::kEmpty) {
        has_undefined_ = true;
        return false;
      }
      // A text of the rule contains shorter ones of the rule. So by induction, the rule counts as text inside itself.
      known_[id.value] = true;
      const bool found = is_text_part(exprs_.definition(id));
      // What was found to be text inside rests on it. What was not, is none without it either: a rule is refuted once.
      if (!found) std::erase_if(known_, [](const auto& each) { return each.second; });
      return found;
    }
    case Op::union_of:
    case Op::unordered: return std::ranges::all_of(exprs_.operands(id), is_text_part);
    case Op::intersection: return std::ranges::any_of(exprs_.operands(id), is_text_part);
    case Op::ordered: {
      const OrderedMembers& members = exprs_.ordered_members(id);
      return is_text_part(members.separator) && is_text_part(members.others) &&
             std::all_of(members.members.begin() + expr.next_member(), members.members.end(), is_text_part);
    }
    default: return expr.is_text;
  }
}

}  // namespace detent

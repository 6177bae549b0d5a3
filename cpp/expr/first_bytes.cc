#include "expr/first_bytes.h"

namespace detent {
namespace {

constexpr int kMaxDepth = 32;  // of the parts that are visited; deeper ones may begin with any byte
constexpr ByteSet kAnyByte = ByteSet::all();

}  // namespace

const ByteSet& FirstBytes::of(ExprId id, int depth) {
  if (depth == kMaxDepth) return kAnyByte;
  if (const auto known = known_.find(id.value); known != known_.end()) return known->second;
  const ByteSet found = find(id, depth + 1);
  return known_.emplace(id.value, found).first->second;
}

ByteSet FirstBytes::find(ExprId id, int depth) {
  ByteSet found;
  for (; exprs_[id].op == Op::concat; id = exprs_[id].second()) {
    const ExprId first = exprs_[id].first();
    found = found | of(first, depth);
    if (!exprs_[first].nullable) return found;
  }
  const Expr& expr = exprs_[id];
  switch (expr.op) {
    case Op::empty:
    case Op::epsilon:
    case Op::not_followed_by: return found;
    case Op::bytes: return found | exprs_.set(expr.set_index());
    case Op::text: return found | ByteSet::of(exprs_.first_byte(id));
    case Op::repeat:
    case Op::maximal_munch: return found | of(expr.part(), depth);
    case Op::rule: return found | of(exprs_.definition(id), depth);
    case Op::union_of:
      for (ExprId part : exprs_.operands(id)) found = found | of(part, depth);
      return found;
    default: return kAnyByte;
  }
}

}  // namespace detent

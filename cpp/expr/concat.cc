// Concatenation and repetition in normal form.
//
//   1. A concatenation leans right: (x y) z is x (y z). Equal residuals are then equal indices.
//   2. Adjacent repeats of one part merge: x{m,n} x{p,q} is x{m+p,n+q}; a bare x counts as x{1,1}.
//   3. Nested repeats merge: (x{m,n}){p,q} is x{mp,nq}, if the counts leave no gap.
//   4. What may be empty before all strings adds nothing: x* Σ* is Σ*. So "not before x* Σ*" is seen to be dead.
//   5. Nested stars of choices merge: ((x|y)*|z)* is (x|y|z)*. Without this rule, two dozen of them cost seconds a
//   mask.
#include <algorithm>
#include <limits>
#include <vector>

#include "expr/expr_set.h"
#include "expr/lengths.h"

namespace detent {
namespace {

// Whether the empty string is in the language, whatever the text before and after.
bool may_be_empty(const Expr& expr) {
  return expr.nullable && !expr.has_guard && !expr.has_lookbehind && !expr.has_lookbehind_end;
}

}  // namespace

ExprId ExprSet::concat_normalized(ExprId first, ExprId second) {
  // `first` is a chain head, head, ..., last: rebuild it from its last element on top of `second`.
  std::vector<ExprId> heads;  // before `head`; most often none
  ExprId head = first;
  while (exprs_[head.value].op == Op::concat) {
    heads.push_back(exprs_[head.value].first());
    head = exprs_[head.value].second();
  }
  ExprId tail = second;
  while (true) {
    meter_.step();
    if (head == kEmpty || tail == kEmpty) return kEmpty;
    if (tail == kEpsilon) {
      tail = head;
    } else if (head != kEpsilon && !(tail == sigma_star_ && may_be_empty(exprs_[head.value]))) {
      const bool is_chain = exprs_[tail.value].op == Op::concat;
      const ExprId next = is_chain ? exprs_[tail.value].first() : tail;
      ExprId merged;
      if (merge_repeats(head, next, merged)) {
        tail = is_chain ? exprs_[tail.value].second() : kEpsilon;
        head = merged;
        continue;
      }
      tail = cons(head, tail);
    }
    if (heads.empty()) return tail;
    head = heads.back();
    heads.pop_back();
  }
}

bool ExprSet::merge_repeats(ExprId head, ExprId next, ExprId& merged) {
  const Expr& h = exprs_[head.value];
  const Expr& n = exprs_[next.value];
  const bool h_repeats = h.op == Op::repeat, n_repeats = n.op == Op::repeat;
  if (!h_repeats && !n_repeats) return false;
  const ExprId part = h_repeats ? h.part() : head;
  if (part != (n_repeats ? n.part() : next)) return false;
  const std::uint32_t h_high = h_repeats ? h.maximum() : 1, n_high = n_repeats ? n.maximum() : 1;
  const std::uint64_t low = std::uint64_t{h_repeats ? h.minimum() : 1} + (n_repeats ? n.minimum() : 1);
  const bool unbounded = h_high == kUnbounded || n_high == kUnbounded;
  const std::uint64_t high = unbounded ? kUnbounded : std::uint64_t{h_high} + n_high;
  if (low >= kUnbounded || (!unbounded && high >= kUnbounded)) return false;
  merged = repeat(part, static_cast<std::uint32_t>(low), static_cast<std::uint32_t>(high));
  return true;
}

ExprId ExprSet::cons(ExprId head, ExprId tail) {
  Expr expr;
  const Expr& h = exprs_[head.value];
  const Expr& t = exprs_[tail.value];
  expr.op = Op::concat;
  expr.nullable = h.nullable && t.nullable;
  expr.nonempty = h.nonempty && t.nonempty;
  expr.exact_length = h.exact_length && t.exact_length;
  expr.is_text = h.is_text && t.is_text;
  expr.in_alphabet = h.in_alphabet && t.in_alphabet;
  expr.only_unescaped = h.only_unescaped && t.only_unescaped;
  expr.needs_no_escapes = h.needs_no_escapes && t.needs_no_escapes;
  expr.completes_by_bytes = h.completes_by_bytes && t.completes_by_bytes;
  expr.residuals_complete_by_bytes =
      h.residuals_complete_by_bytes && t.completes_by_bytes && t.residuals_complete_by_bytes;
  set_only_token_bytes(expr, h.only_token_bytes && t.only_token_bytes);
  inherit_flags(expr, h);
  inherit_flags(expr, t);
  expr.largest_count = std::max(h.largest_count, t.largest_count);
  expr.largest_minimum = std::max(h.largest_minimum, t.largest_minimum);
  expr.min_length = saturating_add(h.min_length, t.min_length);
  expr.max_completion_bound = std::max(saturating_add(h.max_completion_bound, t.min_length), t.max_completion_bound);
  expr.max_length = saturating_add(h.max_length, t.max_length);
  expr.infinite = h.nonempty && !h.has_guard && t.infinite;
  expr.loop_length = t.loop_length;
  expr.a_ = head.value;
  expr.b_ = tail.value;
  expr.hash = mix(mix(mix(Hash128{}, static_cast<std::uint64_t>(Op::concat)), h.hash), t.hash);
  return find_or_add(expr, {});
}

ExprId ExprSet::repeat(ExprId part, std::uint32_t minimum, std::uint32_t maximum) {
  if (maximum == 0) return kEpsilon;
  if (part == kEmpty) return minimum == 0 ? kEpsilon : kEmpty;
  if (part == kEpsilon) return kEpsilon;
  // (x|)* = x*: the empty string adds nothing to a repeat with minimum 0, nor a minimum to a nullable part.
  if (exprs_[part.value].nullable) {
    minimum = 0;
    if (exprs_[part.value].op == Op::union_of) {
      std::vector<ExprId> parts(operands(part).begin(), operands(part).end());
      if (std::erase(parts, kEpsilon)) part = union_of(std::move(parts));
    }
  }
  if (maximum == kUnbounded && exprs_[part.value].op == Op::union_of) {
    const std::vector<ExprId> parts(operands(part).begin(), operands(part).end());
    std::vector<ExprId> merged = parts;
    for (ExprId& each : merged) {
      const Expr& inner = exprs_[each.value];
      const bool is_star = inner.op == Op::repeat && inner.minimum() <= 1 && inner.maximum() == kUnbounded;
      if (is_star && !inner.has_guard && !inner.has_rule && exprs_[inner.part().value].op == Op::union_of) {
        each = inner.part();
      }
    }
    if (merged != parts) return repeat(union_of(std::move(merged)), minimum, maximum);
  }
  if (minimum == 1 && maximum == 1) return part;
  if (exprs_[part.value].nullable && maximum == 1) return part;
  const Expr& inner = exprs_[part.value];
  if (inner.op == Op::repeat) {
    const std::uint64_t m = inner.minimum(), n = inner.maximum(), p = minimum, q = maximum;
    const bool unbounded = n == kUnbounded || q == kUnbounded;
    const std::uint64_t from = p == 0 ? 1 : p;  // the first count whose successor must adjoin
    const bool from_zero = p > 0 || m <= 1;
    const bool adjoins = n == kUnbounded || p == q || from * n + 1 >= (from + 1) * m;
    if (from_zero && adjoins) {
      const std::uint64_t count = unbounded ? m * p : n * q;
      if (count >= kUnbounded) {
        // Left as a repeat of a repeat, each text would have a state for each way to divide it into rounds.
        constexpr std::uint64_t kMost = std::numeric_limits<std::int64_t>::max();
        const auto given = static_cast<std::int64_t>(std::min(count, kMost));
        throw Error(ErrorKind::limit, "nested_repeat_count", given, kUnbounded - 1);
      }
      return repeat(inner.part(), static_cast<std::uint32_t>(m * p),
                    unbounded ? kUnbounded : static_cast<std::uint32_t>(n * q));
    }
  }
  return new_repeat(part, minimum, maximum);
}

// Part and counts are in normal form.
ExprId ExprSet::new_repeat(ExprId part, std::uint32_t minimum, std::uint32_t maximum) {
  const Expr& inner = exprs_[part.value];
  Expr expr;
  expr.op = Op::repeat;
  expr.nullable = minimum == 0;
  expr.nonempty = inner.nonempty;
  expr.exact_length = inner.exact_length;
  expr.is_text = inner.is_text;
  expr.in_alphabet = inner.in_alphabet;
  expr.only_unescaped = inner.only_unescaped;
  expr.needs_no_escapes = inner.needs_no_escapes;
  expr.completes_by_bytes = minimum == 0 || inner.completes_by_bytes;
  expr.residuals_complete_by_bytes = inner.residuals_complete_by_bytes && (minimum <= 1 || inner.completes_by_bytes);
  set_only_token_bytes(expr, inner.only_token_bytes);
  inherit_flags(expr, inner);
  expr.min_length = saturating_multiply(inner.min_length, minimum);
  expr.max_completion_bound =
      saturating_add(inner.max_completion_bound, saturating_multiply(inner.min_length, minimum == 0 ? 0 : minimum - 1));
  expr.largest_count = std::max({inner.largest_count, minimum, maximum == kUnbounded ? 0 : maximum});
  expr.largest_minimum = std::max(inner.largest_minimum, minimum);
  expr.max_length = saturating_multiply(inner.max_length, maximum);
  expr.infinite = maximum == kUnbounded && inner.nonempty && !inner.nullable && !inner.has_guard;
  expr.loop_length = inner.min_length;
  expr.a_ = part.value;
  expr.b_ = minimum;
  expr.c_ = maximum;
  expr.hash = mix(mix(mix(Hash128{}, static_cast<std::uint64_t>(Op::repeat)), inner.hash),
                  (std::uint64_t{minimum} << 32) | maximum);
  return find_or_add(expr, {});
}

}  // namespace detent

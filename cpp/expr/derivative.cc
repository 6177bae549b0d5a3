#include "expr/derivative.h"

#include <algorithm>
#include <bit>

#include "expr/json_string.h"
#include "expr/lookaround.h"

namespace detent {

void Derivatives::freeze_byte_classes() {
  // Bytes are alike if they are in the same sets: each has the sum of random numbers of its sets.
  std::array<Hash128, 256> marks{};
  for (std::uint32_t i = 0; i < exprs_.set_count(); ++i) {
    const Hash128 mark = mix(Hash128{}, i);
    for (unsigned word = 0; word < 4; ++word) {
      for (std::uint64_t bits = exprs_.set(i).words()[word]; bits; bits &= bits - 1) {
        Hash128& sum_of = marks[word * 64 + static_cast<unsigned>(std::countr_zero(bits))];
        sum_of = sum(sum_of, mark);
      }
    }
    meter_.step();
  }
  // Number the classes by their first byte, so that rows do not depend on the order of the sets.
  class_count_ = 0;
  for (unsigned byte = 0; byte < 256; ++byte) {
    const auto same = [&](std::uint8_t other) { return marks[other] == marks[byte]; };
    const auto end = representative_.begin() + class_count_;
    const auto known = std::find_if(representative_.begin(), end, same);
    class_of_[byte] = static_cast<std::uint8_t>(known - representative_.begin());
    if (known == end) representative_[class_count_++] = static_cast<std::uint8_t>(byte);
  }
}

const std::vector<std::uint8_t>& Derivatives::classes_of(std::uint32_t set) {
  if (set >= set_classes_.size()) set_classes_.resize(exprs_.set_count());
  std::vector<std::uint8_t>& classes = set_classes_[set];
  if (classes.empty()) {
    for (std::uint32_t i = 0; i < class_count_; ++i) {
      if (exprs_.set(set).contains(representative_[i])) classes.push_back(static_cast<std::uint8_t>(i));
    }
  }
  return classes;
}

ExprId* Derivatives::allocate_row() {
  if (block_free_ < class_count_) {
    // Blocks double, so that a small pattern stays small.
    const std::size_t rows = std::size_t{8} << std::min<std::size_t>(blocks_.size(), 7);
    meter_.allocate(static_cast<std::int64_t>(rows * class_count_ * sizeof(ExprId)));
    blocks_.push_back(std::make_unique_for_overwrite<ExprId[]>(rows * class_count_));
    block_free_ = rows * class_count_;
    next_row_ = blocks_.back().get();
  }
  ExprId* row = next_row_;
  next_row_ += class_count_;
  block_free_ -= class_count_;
  return row;
}

ExprId* Derivatives::row(ExprId id) {
  if (ExprId* row = known(id)) return row;
  std::vector<ExprId> pending{id};
  std::array<ExprId, 256> out;
  while (!pending.empty()) {
    const ExprId next = pending.back();
    if (known(next)) {
      pending.pop_back();
      continue;
    }
    missing_.clear();
    if (!compute(next, out.data())) {
      pending.insert(pending.end(), missing_.begin(), missing_.end());
      continue;
    }
    meter_.add_state();
    meter_.step(class_count_ / 8 + 1);
    ExprId* row = allocate_row();
    std::copy_n(out.begin(), class_count_, row);
    if (next.value >= rows_.size()) rows_.resize(std::max<std::size_t>(exprs_.size(), rows_.size() * 3 / 2));
    rows_[next.value] = row;
    pending.pop_back();
  }
  return known(id);
}

bool Derivatives::compute(ExprId id, ExprId* out) {
  const Expr& expr = exprs_[id];
  switch (expr.op) {
    case Op::complement: {
      const ExprId* inner = known(expr.part());
      if (!inner) {
        missing_.push_back(expr.part());
        return false;
      }
      for (std::uint32_t c = 0; c < class_count_; ++c) out[c] = exprs_.complement(inner[c]);
      return true;
    }
    case Op::intersection: {
      // The row of a complement is that of its operand with each entry complemented: no need to keep it, too.
      struct Operand {
        const ExprId* row;
        bool negated;
      };
      std::vector<Operand> operands;
      for (ExprId operand : exprs_.operands(id)) {
        const bool negated = exprs_[operand].op == Op::complement;
        const ExprId source = negated ? exprs_[operand].part() : operand;
        operands.push_back({known(source), negated});
        if (!operands.back().row) missing_.push_back(source);
      }
      if (!missing_.empty()) return false;
      for (std::uint32_t c = 0; c < class_count_; ++c) {
        // Neighbouring classes often go the same way.
        if (c > 0 && std::ranges::all_of(operands, [c](const Operand& o) { return o.row[c] == o.row[c - 1]; })) {
          out[c] = out[c - 1];
          continue;
        }
        const auto part = [&](const Operand& operand) {
          return operand.negated ? exprs_.complement(operand.row[c]) : operand.row[c];
        };
        if (operands.size() == 2) {
          // Most classes of neighbouring rows lead to the same pairs.
          const ExprId first = part(operands[0]), second = part(operands[1]);
          Recent& recent = recent_[(first.value * 0x9E3779B1u ^ second.value * 0x85EBCA77u) >> kRecentShift];
          if (recent.first != first || recent.second != second) {
            recent = {first, second, exprs_.intersection({first, second})};
          }
          out[c] = recent.result;
          continue;
        }
        std::vector<ExprId> parts;
        for (const Operand& operand : operands) parts.push_back(part(operand));
        out[c] = exprs_.intersection(std::move(parts));
      }
      return true;
    }
    case Op::lookbehind_context: return row_of_lookbehind(id, out);
    case Op::json_escaped: return row_of_json_string(id, out);
    default: return row_from_linear_form(id, out);
  }
}

bool Derivatives::row_from_linear_form(ExprId id, ExprId* out) {
  pairs_.clear();
  std::fill_n(out, class_count_, ExprSet::kEmpty);
  bool based = false;  // whether a known row is in `out` already; the pairs come on top
  std::vector<Term> terms{{id, ExprSet::kEpsilon}};
  while (!terms.empty()) {
    const auto [head, tail] = terms.back();
    terms.pop_back();
    meter_.step();
    // An operand whose row is there already, such as the start of a search for words: take the row, not its linear
    // form. Guards look at all that follows, so that the row of a part says nothing.
    const bool says_nothing = exprs_[head].has_guard && tail != ExprSet::kEpsilon;
    const ExprId* inner = head == id || says_nothing ? nullptr : known(head);
    if (inner) {
      ExprId last = ExprSet::kEmpty;
      for (std::uint32_t c = 0; c < class_count_; ++c) {
        if (inner[c] == ExprSet::kEmpty) continue;
        if (c == 0 || inner[c] != inner[c - 1]) last = exprs_.concat(inner[c], tail);
        if (based) {
          pairs_.emplace_back(static_cast<std::uint8_t>(c), last);
        } else {
          out[c] = last;
        }
      }
      based = true;
      continue;
    }
    const Expr expr = exprs_[head];
    switch (expr.op) {
      case Op::empty:
      case Op::epsilon:
      case Op::lookbehind_end: break;
      case Op::bytes:
        for (std::uint8_t c : classes_of(expr.set_index())) pairs_.emplace_back(c, tail);
        break;
      case Op::text:
        pairs_.emplace_back(class_of_[exprs_.first_byte(head)], exprs_.concat(exprs_.drop_first_byte(head), tail));
        break;
      case Op::concat: {
        const ExprId first = expr.first();
        const ExprId second = expr.second();
        const ExprId rest = exprs_.concat(second, tail);
        terms.push_back({first, rest});
        if (!exprs_[first].nullable) break;
        if (!exprs_[first].has_guard) {
          terms.push_back({second, tail});
          break;
        }
        std::vector<ExprId> found;
        skipped_rules_.clear();
        skip(first, rest, found, 0);
        for (ExprId left : found) terms.push_back({left, ExprSet::kEpsilon});
        break;
      }
      case Op::rule: terms.push_back({exprs_.definition(head), tail}); break;
      case Op::unordered: expand_unordered(terms, head, tail); break;
      case Op::ordered: expand_ordered(terms, head, tail); break;
      case Op::maximal_munch: {
        const ExprId part = expr.part(), munched = expr.munched();
        const ExprId* row = known(part);
        const ExprId* other = known(munched);
        if (!row) missing_.push_back(part);
        if (!other) missing_.push_back(munched);
        if (!row || !other) break;
        for (std::uint32_t c = 0; c < class_count_; ++c) {
          if (row[c] == ExprSet::kEmpty) continue;
          pairs_.emplace_back(static_cast<std::uint8_t>(c),
                              exprs_.concat(exprs_.maximal_munch(row[c], other[c]), tail));
        }
        break;
      }
      case Op::not_followed_by: break;
      case Op::union_of:
        for (ExprId operand : exprs_.operands(head)) terms.push_back({operand, tail});
        break;
      case Op::repeat: {
        const std::uint32_t low = expr.minimum() == 0 ? 0 : expr.minimum() - 1;
        const std::uint32_t high = expr.maximum() == ExprSet::kUnbounded ? expr.maximum() : expr.maximum() - 1;
        const ExprId part = expr.part();
        terms.push_back({part, exprs_.concat(exprs_.repeat(part, low, high), tail)});
        break;
      }
      default: missing_.push_back(head);
    }
  }
  if (!missing_.empty()) return false;

  std::sort(pairs_.begin(), pairs_.end());
  std::vector<ExprId> last;  // the operands of the class before, whose union is often this one's too
  ExprId last_union = ExprSet::kEmpty;
  for (std::size_t i = 0; i < pairs_.size();) {
    const std::uint8_t c = pairs_[i].first;
    std::vector<ExprId> parts;
    if (out[c] != ExprSet::kEmpty) parts.push_back(out[c]);
    for (; i < pairs_.size() && pairs_[i].first == c; ++i) {
      if (parts.empty() || parts.back() != pairs_[i].second) parts.push_back(pairs_[i].second);
    }
    if (parts != last) {
      last = parts;
      last_union = parts.size() == 1 ? parts[0] : exprs_.union_of(std::move(parts));
    }
    out[c] = last_union;
  }
  return true;
}

// After `first` or `before` a member comes; after `after` a separator, or the end.
void Derivatives::expand_unordered(std::vector<Term>& terms, ExprId id, ExprId tail) {
  const UnorderedState pool = exprs_.unordered_state(id);
  const std::vector<ExprId> parts(exprs_.operands(id).begin(), exprs_.operands(id).end());
  const ExprId separator = parts[0], others = parts[1];
  const std::span<const ExprId> members(parts.begin() + 2, parts.end());
  meter_.step(static_cast<std::int64_t>(members.size()));
  if (pool.position == MemberPosition::after_member) {
    const ExprId member = exprs_.unordered({pool.minimum, pool.maximum, pool.required, MemberPosition::after_separator},
                                           separator, others, members);
    if (member == ExprSet::kEmpty) return;
    terms.push_back({separator, exprs_.concat(member, tail)});
    if (exprs_[separator].nullable) terms.push_back({member, tail});
    return;
  }
  const std::uint32_t minimum = pool.minimum == 0 ? 0 : pool.minimum - 1;
  const std::uint32_t maximum = pool.maximum == ExprSet::kUnbounded ? pool.maximum : pool.maximum - 1;
  const auto push = [&](ExprId member, std::uint32_t required, std::span<const ExprId> left) {
    const ExprId rest =
        exprs_.unordered({minimum, maximum, required, MemberPosition::after_member}, separator, others, left);
    if (rest != ExprSet::kEmpty) terms.push_back({member, exprs_.concat(rest, tail)});
  };
  std::vector<ExprId> left;
  for (std::size_t i = 0; i < members.size(); ++i) {
    const bool needed = i < pool.required;
    if (!needed && pool.required == pool.maximum) break;
    left.assign(members.begin(), members.end());
    left.erase(left.begin() + static_cast<std::ptrdiff_t>(i));
    meter_.step(static_cast<std::int64_t>(members.size()) / 16);
    push(members[i], pool.required - needed, left);
  }
  if (others != ExprSet::kEmpty && pool.required < pool.maximum) push(others, pool.required, members);
}

void Derivatives::expand_ordered(std::vector<Term>& terms, ExprId id, ExprId tail) {
  const Expr expr = exprs_[id];
  const OrderedMembers& series = exprs_.ordered_members(id);
  const auto left = [&](std::size_t from, MemberPosition position) {
    return exprs_.concat(exprs_.ordered(expr.members_index(), static_cast<std::uint32_t>(from), position), tail);
  };
  if (static_cast<MemberPosition>(expr.member_position()) == MemberPosition::after_member) {
    const ExprId rest = left(expr.next_member(), MemberPosition::after_separator);
    terms.push_back({series.separator, rest});
    if (exprs_[series.separator].nullable) terms.push_back({rest, ExprSet::kEpsilon});
    return;
  }
  std::size_t i = expr.next_member();
  for (; i < series.members.size(); ++i) {
    terms.push_back({series.members[i], left(i + 1, MemberPosition::after_member)});
    if (series.required[i]) return;
  }
  if (series.others != ExprSet::kEmpty) terms.push_back({series.others, left(i, MemberPosition::after_member)});
}

void Derivatives::skip(ExprId part, ExprId rest, std::vector<ExprId>& found, int depth) {
  constexpr int kMaxDepth = 500;
  if (depth > kMaxDepth) throw Error(ErrorKind::limit, "depth", depth, kMaxDepth);
  meter_.step();
  const Expr expr = exprs_[part];
  if (!expr.nullable) return;
  const auto unless = [&](ExprId beginning) {
    found.push_back(exprs_.intersection({rest, exprs_.complement(exprs_.concat(beginning, exprs_.sigma_star()))}));
  };
  switch (expr.has_guard ? expr.op : Op::epsilon) {
    case Op::maximal_munch: {
      const ExprId some = exprs_.repeat(exprs_.bytes(ByteSet::all()), 1, ExprSet::kUnbounded);
      return unless(exprs_.intersection({expr.munched(), some}));
    }
    case Op::not_followed_by: return unless(expr.part());
    case Op::union_of:
      for (ExprId operand : std::vector<ExprId>(exprs_.operands(part).begin(), exprs_.operands(part).end())) {
        skip(operand, rest, found, depth + 1);
      }
      return;
    case Op::concat: {
      std::vector<ExprId> later;
      skip(expr.second(), rest, later, depth + 1);
      for (ExprId left : later) skip(expr.first(), left, found, depth + 1);
      return;
    }
    case Op::rule:
      // Another round through the same rule could only add guards.
      if (std::find(skipped_rules_.begin(), skipped_rules_.end(), part) != skipped_rules_.end()) return;
      skipped_rules_.push_back(part);
      skip(exprs_.definition(part), rest, found, depth + 1);
      skipped_rules_.pop_back();
      return;
    case Op::repeat:
      if (expr.minimum() > 0) return skip(expr.part(), rest, found, depth + 1);
      [[fallthrough]];
    default: found.push_back(rest);
  }
}

// Takes dead ends out of the rows by which texts begin with a character. Otherwise each of the 65,536 escapes that lead
// to one would be tried.
void Derivatives::prune(ExprId texts) {
  constexpr int kDeepest = 8;  // strings inside strings; deeper, nothing is taken out
  if (!live_ || pruning_ >= kDeepest) return;
  ++pruning_;
  struct Leave {
    int& depth;
    ~Leave() { --depth; }
  } leave{pruning_};
  std::vector<std::pair<ExprId, int>> pending{{texts, 0}};
  while (!pending.empty()) {
    const auto [at, read] = pending.back();
    pending.pop_back();
    if (exprs_[at].nonempty || !pruned_.insert(at.value).second) continue;
    ExprId* entries = row(at);
    for (std::uint32_t c = 0; c < class_count_; ++c) {
      if (entries[c] == ExprSet::kEmpty) continue;
      if (!live_(entries[c])) {
        entries[c] = ExprSet::kEmpty;
      } else if (read < 3 && representative_[c] >= 0x80) {
        pending.emplace_back(entries[c], read + 1);
      }
    }
  }
}

bool Derivatives::row_of_json_string(ExprId id, ExprId* out) {
  if (exprs_[id].escape_position() != static_cast<std::uint32_t>(EscapePosition::text)) prune(exprs_[id].part());
  JsonStringRow step(exprs_, class_of_, class_count_, [this](ExprId part) { return known(part); });
  if (step.derive(id, out)) return true;
  missing_ = step.missing();
  return false;
}

bool Derivatives::row_of_lookbehind(ExprId id, ExprId* out) {
  ContextRow step(exprs_, meter_, class_count_, [this](ExprId part) { return known(part); });
  if (step.derive(id, out)) return true;
  missing_ = step.missing();
  return false;
}

}  // namespace detent

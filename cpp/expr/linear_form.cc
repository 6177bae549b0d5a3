// Linear forms (Antimirov 1996): how Derivatives computes a whole row at once.
//
//   1. A term (head, tail) stands for the texts of `head`, then those of `tail`. The row of x starts with the term
//      (x, epsilon).
//   2. Expanding a term replaces it by terms with smaller heads: a union by its operands, x y by (x, y tail), and also
//      (y, tail) if x is nullable.
//   3. A head that reads a byte gives pairs (class, residual).
//   4. The entry of a class is the union of its residuals. A union of ten thousand words costs one pass.
//   5. Tails that call rules are united before their common head is expanded. After a name in C, each of some fifty
//      operators may follow the same white space and comments: this head is expanded once, not for each operator.
//   6. The tails of a rule are united before its definition is expanded. For this, a rule waits until all rules that
//      may begin with it are expanded. With n levels of operators, each with three rules that begin with the next
//      level, 3n definitions are expanded and not 3^n.
#include <algorithm>
#include <array>
#include <span>
#include <tuple>

#include "expr/derivative.h"
#include "expr/row_scan.h"

namespace detent {
namespace {

bool has_linear_form(Op op) {
  return op != Op::grown_union && op != Op::intersection && op != Op::complement && op != Op::json_escaped &&
         op != Op::decimal && op != Op::lookbehind_context && op != Op::remembered;
}

}  // namespace

// Whether the row of a head should be computed by itself. Case: a class of 600 character ranges before each of 200
// tails then takes 60 concatenations for each tail instead of 600.
bool Derivatives::is_long_choice(ExprId id) const {
  constexpr std::size_t kLong = 32;  // operands
  const Expr& expr = exprs_[id];
  return expr.op == Op::union_of && !expr.has_rule && !expr.has_guard && exprs_.operands(id).size() > kLong;
}

// Whether the row of a union of a grammar's states should be computed by itself, once for all its tails. Inside a rule
// that calls itself, the state after k bytes is a union that contains the states after fewer bytes, each with another
// tail. It is a graph of few nodes, but expanded as a tree it has 2^k operands.
bool Derivatives::is_shared_union(const Term& term, std::size_t term_count) const {
  constexpr std::size_t kMany = 1'000;  // terms of one row; with fewer, those of all tails are united (5 and 6)
  const Expr& head = exprs_[term.head];
  return term_count > kMany && head.op == Op::union_of && head.has_rule && !head.has_guard &&
         term.tail != ExprSet::kEpsilon;
}

// Case: {0,20} spaces, then an object's many members. The state after each space would expand all members again. So the
// row of "members, then tail" is computed by itself, and shared by these states.
ExprId Derivatives::long_list(ExprId id, const Term& term) {
  constexpr std::size_t kLong = 32;  // members
  const Expr& head = exprs_[term.head];
  if (head.op != Op::ordered || head.has_guard || exprs_[term.tail].has_guard || exprs_[term.tail].has_rule) return id;
  if (exprs_.ordered_members(term.head).members.size() - head.next_member() <= kLong) return id;
  return exprs_.concat(term.head, term.tail);
}

// Whether the row of a rule should be computed by itself, once for all its tails. Case: the values inside 100,000
// brackets, each with another tail. Not where the next byte does not tell which stack goes on: unions that stay united
// before a tail give the stacks of one text several forms, and unions of these grow without end.
bool Derivatives::is_shared_rule(const Term& term) {
  const Expr& head = exprs_[term.head];
  if (head.op != Op::rule || head.has_guard || term.tail == ExprSet::kEpsilon) return false;
  const ExprId* row = find_row(term.head);
  if (!row) return true;
  const auto [known, is_new] = shared_rules_.try_emplace(term.head.value, false);
  if (is_new) {
    known->second = std::all_of(row, row + class_count_, [this](ExprId next) { return next_byte_tells(next); });
  }
  return known->second;
}

// Whether the operands of a union of stacks begin with different bytes.
bool Derivatives::next_byte_tells(ExprId id) {
  if (exprs_[id].op != Op::union_of || !exprs_[id].has_rule) return true;
  ByteSet seen;
  for (ExprId operand : exprs_.operands(id)) {
    const ByteSet& first = first_bytes_.of(operand);
    if (!(seen & first).empty()) return false;
    seen = seen | first;
  }
  return true;
}

// Whether a published row of the head, such as the start of a search for words, replaces its linear form. The row of a
// guard does not: a guard depends on the tail. Nor does that of a union of stacks (is_shared_rule). Which rows are
// published depends on what was visited, and the form of a state must not.
bool Derivatives::may_use_row(ExprId id, const Term& term) const {
  const Expr& head = exprs_[term.head];
  if (term.head == id) return false;
  const bool has_stacks = head.has_rule && (head.op == Op::rule || head.op == Op::union_of);
  return term.tail == ExprSet::kEpsilon || (!head.has_guard && !has_stacks);
}

bool Derivatives::row_from_linear_form(ExprId id, ExprId* out) {
  pairs_.clear();
  std::fill_n(out, class_count_, ExprSet::kEmpty);
  bool is_first = true, is_united = false;
  std::size_t term_count = 0;
  std::vector<Term> terms{{id, ExprSet::kEpsilon}}, waiting;
  calls_.clear();
  seen_.clear();
  while (!terms.empty() || !calls_.empty() || !waiting.empty()) {
    if (terms.empty() && calls_.empty()) {
      unite_tails(waiting, terms);
      is_united = true;
    }
    const bool is_call = terms.empty();
    const Term term = is_call ? take_call() : terms.back();
    if (!is_call) terms.pop_back();
    meter_.step();
    if (!is_call && exprs_[term.head].has_rule) {
      if (exprs_[term.head].op == Op::rule) {
        calls_.push_back({left_height(term.head), term});
        std::push_heap(calls_.begin(), calls_.end());
        continue;
      }
      if (term.tail == ExprSet::kEpsilon && !seen_.insert(term.head.value).second) continue;
    }
    if (!is_united && exprs_[term.tail].has_rule && !exprs_[term.head].has_rule) {
      waiting.push_back(term);
      continue;
    }
    const bool needs_row = is_shared_union(term, ++term_count) || is_shared_rule(term) ||
                           (term.tail != ExprSet::kEpsilon && is_long_choice(term.head));
    if (const ExprId* known = needs_row || may_use_row(id, term) ? find_row(term.head) : nullptr) {
      add_row(known, term.tail, out, is_first);
      is_first = false;
    } else if (needs_row) {
      missing_.push_back(term.head);
    } else if (const ExprId list = long_list(id, term); list == id) {
      expand(terms, term);
    } else if (const ExprId* row = find_row(list)) {
      add_row(row, ExprSet::kEpsilon, out, is_first);
      is_first = false;
    } else {
      missing_.push_back(list);
    }
  }
  if (!missing_.empty()) return false;
  unite_pairs(out);
  return true;
}

// Takes the waiting rule of the greatest height, with the union of its tails.
Derivatives::Term Derivatives::take_call() {
  const ExprId rule = calls_.front().term.head;
  std::vector<ExprId> tails;
  while (!calls_.empty() && calls_.front().term.head == rule) {
    tails.push_back(calls_.front().term.tail);
    std::pop_heap(calls_.begin(), calls_.end());
    calls_.pop_back();
  }
  return {rule, tails.size() == 1 ? tails[0] : exprs_.union_of_tails(std::move(tails))};
}

// The height of an expression: the length of the longest chain that starts with it, of expressions that call rules, in
// which each may begin with the next. A rule is higher than the rules that it may begin with.
std::uint32_t Derivatives::left_height(ExprId id) {
  if (const auto known = left_heights_.find(id.value); known != left_heights_.end()) return known->second;
  struct Open {
    ExprId id;
    bool is_expanded;
  };
  std::vector<Open> open{{id, false}};
  std::vector<ExprId> parts;
  while (!open.empty()) {
    const Open at = open.back();
    open.pop_back();
    if (!at.is_expanded && left_heights_.contains(at.id.value)) continue;
    meter_.step();
    const Expr expr = exprs_[at.id];
    parts.clear();
    switch (expr.op) {
      case Op::rule: parts = {exprs_.definition(at.id)}; break;
      case Op::repeat: parts = {expr.part()}; break;
      case Op::union_of: parts.assign(exprs_.operands(at.id).begin(), exprs_.operands(at.id).end()); break;
      case Op::concat:
        parts = {expr.first()};
        if (exprs_[expr.first()].nullable) parts.push_back(expr.second());
        break;
      default: break;
    }
    std::erase_if(parts, [this](ExprId part) { return !exprs_[part].has_rule; });
    std::uint32_t& height = left_heights_[at.id.value];
    if (at.is_expanded) {
      for (ExprId part : parts) height = std::max(height, left_heights_[part.value] + 1);
    } else {
      open.push_back({at.id, true});
      for (ExprId part : parts) open.push_back({part, false});
    }
  }
  return left_heights_[id.value];
}

void Derivatives::unite_tails(std::vector<Term>& waiting, std::vector<Term>& terms) {
  std::sort(waiting.begin(), waiting.end(),
            [](const Term& x, const Term& y) { return std::tie(x.head, x.tail) < std::tie(y.head, y.tail); });
  for (std::size_t i = 0, j = 0; i < waiting.size(); i = j) {
    std::vector<ExprId> tails;
    for (; j < waiting.size() && waiting[j].head == waiting[i].head; ++j) tails.push_back(waiting[j].tail);
    terms.push_back({waiting[i].head, exprs_.union_of_tails(std::move(tails))});
  }
  waiting.clear();
}

std::vector<std::pair<std::uint8_t, ExprId>> Derivatives::residuals(ExprId id) {
  while (true) {
    pairs_.clear();
    missing_.clear();
    add_residuals(id);
    if (missing_.empty()) break;
    for (ExprId part : std::vector<ExprId>(missing_)) row(part);
  }
  std::sort(pairs_.begin(), pairs_.end());
  pairs_.erase(std::unique(pairs_.begin(), pairs_.end()), pairs_.end());
  return pairs_;
}

// Adds the residuals of `id` by class. For long choices, and for expressions without a linear form, it reads their
// rows.
void Derivatives::add_residuals(ExprId id) {
  std::size_t term_count = 0;
  std::vector<Term> terms{{id, ExprSet::kEpsilon}};
  while (!terms.empty()) {
    const Term term = terms.back();
    terms.pop_back();
    meter_.step();
    const bool is_choice = is_long_choice(term.head) || is_shared_union(term, ++term_count);
    const ExprId* known = is_choice || !has_linear_form(exprs_[term.head].op) ? find_row(term.head) : nullptr;
    if (known) {
      add_row(known, term.tail, nullptr, false);
    } else if (is_choice) {
      missing_.push_back(term.head);
    } else {
      expand(terms, term);
    }
  }
}

// The first row goes to `out`, which costs less than pairs do.
void Derivatives::add_row(const ExprId* row, ExprId tail, ExprId* out, bool is_first) {
  ExprId residual = ExprSet::kEmpty;
  any_successor(row, class_count_, [&](std::uint32_t c) {
    if (c == 0 || row[c] != row[c - 1]) residual = exprs_.concat(row[c], tail);
    if (is_first) {
      out[c] = residual;
    } else {
      pairs_.emplace_back(static_cast<std::uint8_t>(c), residual);
    }
    return false;
  });
}

// Sorts the residuals by class, in the order of the terms. Classes with the same residuals share one union: of the
// characters after `.*a.{9}|.*b.{10}|...`, nearly all do.
void Derivatives::unite_pairs(ExprId* out) {
  constexpr std::ptrdiff_t kRecent = 16;
  meter_.step(std::ssize(pairs_) / 8);
  std::array<std::uint32_t, 257> starts{};  // of each class, and once the residuals are placed, of the next one
  for (const auto& [c, residual] : pairs_) ++starts[c + std::size_t{1}];
  for (std::uint32_t c = 0; c < class_count_; ++c) starts[c + 1] += starts[c];
  std::vector<ExprId> by_class(pairs_.size());
  for (const auto& [c, residual] : pairs_) by_class[starts[c]++] = residual;

  struct United {
    ExprId before;  // of another row
    std::span<const ExprId> residuals;
    std::uint64_t hash;
    ExprId result;
  };
  std::vector<United> united;
  std::uint32_t first = 0;
  for (std::uint32_t c = 0; c < class_count_; ++c) {
    const std::span<const ExprId> residuals(by_class.data() + first, starts[c] - first);
    first = starts[c];
    if (residuals.empty()) continue;
    const auto is_same = [&](const United& each) {
      return each.before == out[c] && std::ranges::equal(each.residuals, residuals);
    };
    if (!united.empty() && is_same(united.back())) {
      out[c] = united.back().result;
      continue;
    }
    std::uint64_t hash = 0;
    for (ExprId residual : residuals) hash = mix(hash + residual.value, 0x5bd1e995);
    const auto known = std::find_if(united.end() - std::min(std::ssize(united), kRecent), united.end(),
                                    [&](const United& each) { return each.hash == hash && is_same(each); });
    if (known != united.end()) {
      out[c] = known->result;
      std::rotate(known, known + 1, united.end());
      continue;
    }
    std::vector<ExprId> sorted(residuals.begin(), residuals.end()), parts;
    std::ranges::sort(sorted);
    if (out[c] != ExprSet::kEmpty) parts.push_back(out[c]);
    for (ExprId residual : sorted) {
      if (parts.empty() || parts.back() != residual) parts.push_back(residual);
    }
    united.push_back({out[c], residuals, hash, ExprSet::kEmpty});
    out[c] = united.back().result = parts.size() == 1 ? parts[0] : exprs_.union_of(std::move(parts));
  }
}

void Derivatives::expand(std::vector<Term>& terms, const Term& term) {
  const auto [head, tail] = term;
  const Expr expr = exprs_[head];
  switch (expr.op) {
    case Op::empty:
    case Op::epsilon:
    case Op::lookbehind_end:
    case Op::not_followed_by: break;  // read no byte
    case Op::bytes:
      for (std::uint8_t c : classes_of(expr.set_index())) pairs_.emplace_back(c, tail);
      break;
    case Op::text:
      pairs_.emplace_back(class_of_[exprs_.first_byte(head)], exprs_.concat(exprs_.drop_first_byte(head), tail));
      break;
    case Op::concat: expand_concat(terms, term); break;
    case Op::union_of:
      for (ExprId operand : exprs_.operands(head)) terms.push_back({operand, tail});
      break;
    case Op::repeat: {
      const std::uint32_t low = expr.minimum() == 0 ? 0 : expr.minimum() - 1;
      const std::uint32_t high = expr.maximum() == ExprSet::kUnbounded ? ExprSet::kUnbounded : expr.maximum() - 1;
      terms.push_back({expr.part(), exprs_.concat(exprs_.repeat(expr.part(), low, high), tail)});
      break;
    }
    case Op::rule: terms.push_back({exprs_.definition(head), tail}); break;
    case Op::unordered: expand_unordered(terms, head, tail); break;
    case Op::ordered: expand_ordered(terms, head, tail); break;
    case Op::distinct: expand_distinct(terms, head, tail); break;
    case Op::maximal_munch: expand_maximal_munch(term); break;
    default: missing_.push_back(head);
  }
}

void Derivatives::expand_concat(std::vector<Term>& terms, const Term& term) {
  const ExprId first = exprs_[term.head].first(), second = exprs_[term.head].second();
  const ExprId rest = exprs_.concat(second, term.tail);
  terms.push_back({first, rest});
  if (!exprs_[first].nullable) return;
  if (!exprs_[first].has_guard) {
    terms.push_back({second, term.tail});
    return;
  }
  std::vector<ExprId> residuals;
  open_rules_.clear();
  skip_empty_match(first, rest, residuals, 0);
  for (ExprId residual : residuals) terms.push_back({residual, ExprSet::kEpsilon});
}

void Derivatives::expand_maximal_munch(const Term& term) {
  const ExprId part = exprs_[term.head].part(), munched = exprs_[term.head].munched();
  const std::uint32_t escape = exprs_[term.head].escape();
  const ExprId* row = find_row(part);
  const ExprId* munched_row = find_row(munched);
  if (!row) missing_.push_back(part);
  if (!munched_row) missing_.push_back(munched);
  if (!row || !munched_row) return;
  ExprId residual = ExprSet::kEmpty;
  for (std::uint32_t c = 0; c < class_count_; ++c) {
    if (row[c] == ExprSet::kEmpty) continue;
    if (c == 0 || row[c] != row[c - 1] || munched_row[c] != munched_row[c - 1]) {
      residual = exprs_.concat(exprs_.maximal_munch(row[c], munched_row[c], escape), term.tail);
    }
    pairs_.emplace_back(static_cast<std::uint8_t>(c), residual);
  }
}

// At the start and after a separator a member follows; after a member, a separator or the end.
void Derivatives::expand_unordered(std::vector<Term>& terms, ExprId id, ExprId tail) {
  const UnorderedState state = exprs_.unordered_state(id);
  const ExprId separator = exprs_.operands(id)[0], others = exprs_.operands(id)[1];
  const std::size_t count = exprs_.operands(id).size() - 2;
  meter_.step(static_cast<std::int64_t>(count));
  if (state.position == MemberPosition::after_member) {
    const std::vector<ExprId> members(exprs_.operands(id).begin() + 2, exprs_.operands(id).end());
    const ExprId next = exprs_.unordered(
        {state.minimum, state.maximum, state.required, MemberPosition::after_separator}, separator, others, members);
    if (next == ExprSet::kEmpty) return;
    terms.push_back({separator, exprs_.concat(next, tail)});
    if (exprs_[separator].nullable) terms.push_back({next, tail});
    return;
  }
  MembersLeft left = exprs_.members_left(id);
  const auto push = [&](ExprId member, std::size_t index) {
    const ExprId rest = exprs_.unordered_after(left, index);
    if (rest != ExprSet::kEmpty) terms.push_back({member, exprs_.concat(rest, tail)});
  };
  const std::size_t allowed = state.required == state.maximum ? state.required : count;
  for (std::size_t i = 0; i < allowed; ++i) {
    meter_.step(static_cast<std::int64_t>(count) / 16);
    push(left.members()[i], i);
  }
  if (others != ExprSet::kEmpty && state.required < state.maximum) push(others, count);
}

void Derivatives::expand_ordered(std::vector<Term>& terms, ExprId id, ExprId tail) {
  const Expr expr = exprs_[id];
  const OrderedMembers& members = exprs_.ordered_members(id);
  const auto rest_from = [&](std::size_t next, MemberPosition position) {
    return exprs_.concat(exprs_.ordered(expr.members_index(), static_cast<std::uint32_t>(next), position), tail);
  };
  if (static_cast<MemberPosition>(expr.member_position()) == MemberPosition::after_member) {
    const ExprId rest = rest_from(expr.next_member(), MemberPosition::after_separator);
    terms.push_back({members.separator, rest});
    if (exprs_[members.separator].nullable) terms.push_back({rest, ExprSet::kEpsilon});
    return;
  }
  std::size_t i = expr.next_member();
  for (; i < members.members.size(); ++i) {
    terms.push_back({members.members[i], rest_from(i + 1, MemberPosition::after_member)});
    if (members.required[i]) return;
  }
  if (members.others != ExprSet::kEmpty) terms.push_back({members.others, rest_from(i, MemberPosition::after_member)});
}

void Derivatives::skip_empty_match(ExprId part, ExprId rest, std::vector<ExprId>& residuals, int depth) {
  constexpr int kMaxDepth = 500;
  if (depth > kMaxDepth) throw Error(ErrorKind::limit, "depth", depth, kMaxDepth);
  meter_.step();
  const Expr expr = exprs_[part];
  if (!expr.nullable) return;
  const auto push_without = [&](ExprId forbidden) {
    residuals.push_back(exprs_.intersection({rest, exprs_.complement(forbidden)}));
  };
  switch (expr.has_guard ? expr.op : Op::epsilon) {
    case Op::maximal_munch: {
      const ExprId any_bytes = exprs_.repeat(exprs_.bytes(ByteSet::all()), 1, ExprSet::kUnbounded);
      const ExprId longer = exprs_.intersection({expr.munched(), any_bytes});
      return push_without(exprs_.concat(longer, exprs_.sigma_star()));
    }
    case Op::not_followed_by: return push_without(expr.part());
    case Op::union_of:
      for (ExprId operand : std::vector<ExprId>(exprs_.operands(part).begin(), exprs_.operands(part).end())) {
        skip_empty_match(operand, rest, residuals, depth + 1);
      }
      return;
    case Op::concat: {
      std::vector<ExprId> after_second;
      skip_empty_match(expr.second(), rest, after_second, depth + 1);
      for (ExprId residual : after_second) skip_empty_match(expr.first(), residual, residuals, depth + 1);
      return;
    }
    case Op::rule:
      // Another round through the same rule only adds guards.
      if (std::find(open_rules_.begin(), open_rules_.end(), part) != open_rules_.end()) return;
      open_rules_.push_back(part);
      skip_empty_match(exprs_.definition(part), rest, residuals, depth + 1);
      open_rules_.pop_back();
      return;
    case Op::repeat:
      if (expr.minimum() > 0) return skip_empty_match(expr.part(), rest, residuals, depth + 1);
      [[fallthrough]];
    default: residuals.push_back(rest);
  }
}

}  // namespace detent

#include "expr/expr.h"

#include <algorithm>
#include <atomic>
#include <cstring>
#include <tuple>

#include "expr/json_string.h"

namespace detent {
namespace {

constexpr std::size_t kFirstTable = 256;
constexpr std::size_t kPart = 32;  // bytes of a literal in one expression

// Lengths saturate: "at least this much" is all that a budget asks of them.
std::uint32_t add(std::uint64_t x, std::uint64_t y) {
  return static_cast<std::uint32_t>(std::min<std::uint64_t>(x + y, UINT32_MAX));
}
std::uint32_t multiply(std::uint64_t x, std::uint64_t y) {
  return static_cast<std::uint32_t>(std::min<std::uint64_t>(x * y, UINT32_MAX));
}

}  // namespace

ExprSet::ExprSet(Meter& meter) : meter_(meter), table_(kFirstTable) {
  Expr empty;
  empty.plain = true;
  empty.longest = 0;
  exprs_.grow() = empty;
  Expr epsilon;
  epsilon.op = Op::epsilon;
  epsilon.nullable = epsilon.plain = true;
  epsilon.longest = 0;
  epsilon.hash = mix(Hash128{}, static_cast<std::uint64_t>(Op::epsilon));
  find_or_add(epsilon, {});
  everything_ = repeat(bytes(ByteSet::all()), 0, kUnbounded);
}

void ExprSet::inherit(Expr& expr, const Expr& part) {
  expr.has_past |= part.has_past;
  expr.has_hole |= part.has_hole;
  expr.has_rule |= part.has_rule;
  expr.has_guard |= part.has_guard;
}

bool ExprSet::same(const Expr& known, const Expr& expr, std::span<const ExprId> operands) const {
  if (!(known.hash == expr.hash) || known.op != expr.op || known.b != expr.b || known.c != expr.c) return false;
  if (known.op == Op::text) return texts_.compare(known.a, known.b, texts_, expr.a, expr.b) == 0;
  if (operands.empty()) return known.a == expr.a;
  return std::equal(operands.begin(), operands.end(), operands_.begin() + known.a);
}

void ExprSet::grow_table() {
  meter_.allocate(static_cast<std::int64_t>(table_.size() * sizeof(std::uint32_t)));
  std::vector<std::uint32_t> larger(table_.size() * 2);
  const std::size_t mask = larger.size() - 1;
  for (std::uint32_t id : table_) {
    if (!id) continue;
    std::size_t slot = exprs_[id].hash.low & mask;
    while (larger[slot]) slot = (slot + 1) & mask;
    larger[slot] = id;
  }
  table_ = std::move(larger);
}

ExprId ExprSet::find_or_add(const Expr& expr, std::span<const ExprId> operands) {
  if (exprs_.size() * 2 > table_.size()) grow_table();
  const std::size_t mask = table_.size() - 1;
  std::size_t slot = expr.hash.low & mask;
  while (table_[slot]) {
    if (same(exprs_[table_[slot]], expr, operands)) return ExprId{table_[slot]};
    slot = (slot + 1) & mask;
  }
  meter_.step();
  meter_.allocate(static_cast<std::int64_t>(sizeof(Expr) + operands.size() * sizeof(ExprId)));
  if (exprs_.size() >= UINT32_MAX / 2) throw Error(ErrorKind::limit, "expressions", exprs_.size(), UINT32_MAX / 2);
  const ExprId id{static_cast<std::uint32_t>(exprs_.size())};
  Expr& added = exprs_.grow();
  added = expr;
  if (!operands.empty()) {
    added.a = static_cast<std::uint32_t>(operands_.size());
    operands_.insert(operands_.end(), operands.begin(), operands.end());
  }
  table_[slot] = id.value;
  return id;
}

std::uint32_t ExprSet::set_index(const ByteSet& set) {
  std::uint64_t key = 0;
  for (std::uint64_t word : set.words()) key = mix(key + word, 0x5bd1e995);
  const auto [begin, end] = set_table_.equal_range(key);
  for (auto it = begin; it != end; ++it) {
    if (sets_[it->second] == set) return it->second;
  }
  const auto index = static_cast<std::uint32_t>(sets_.size());
  meter_.allocate(sizeof(ByteSet) + 48);
  sets_.push_back(set);
  set_table_.emplace(key, index);
  return index;
}

ExprId ExprSet::bytes(const ByteSet& set) {
  if (set.empty()) return kEmpty;
  Expr expr;
  expr.op = Op::bytes;
  expr.plain = true;
  expr.shortest = expr.farthest = expr.longest = 1;
  expr.a = set_index(set);
  expr.hash = mix(Hash128{}, static_cast<std::uint64_t>(Op::bytes));
  for (std::uint64_t word : set.words()) expr.hash = mix(expr.hash, word);
  return find_or_add(expr, {});
}

ExprId ExprSet::literal(std::string_view literal) {
  if (literal.empty()) return kEpsilon;
  if (texts_.size() + literal.size() > UINT32_MAX) throw Error(ErrorKind::limit, "expressions", UINT32_MAX, UINT32_MAX);
  meter_.allocate(static_cast<std::int64_t>(literal.size()));
  const auto begin = static_cast<std::uint32_t>(texts_.size());
  texts_ += literal;
  // In parts, so that the hash of what is left of a long one costs no more than a part.
  ExprId tail = kEpsilon;
  for (std::size_t at = (literal.size() - 1) / kPart * kPart;; at -= kPart) {
    const std::size_t length = std::min(kPart, literal.size() - at);
    tail = concat(text(begin + static_cast<std::uint32_t>(at), static_cast<std::uint32_t>(length)), tail);
    if (at == 0) return tail;
  }
}

ExprId ExprSet::text(std::uint32_t begin, std::uint32_t length) {
  if (length == 1) return bytes(ByteSet::of(static_cast<std::uint8_t>(texts_[begin])));
  Expr expr;
  expr.op = Op::text;
  expr.plain = true;
  expr.a = begin;
  expr.b = expr.shortest = expr.farthest = expr.longest = length;
  expr.hash = mix(mix(Hash128{}, static_cast<std::uint64_t>(Op::text)), length);
  for (std::size_t i = 0; i < length; i += 8) {
    std::uint64_t word = 0;
    std::memcpy(&word, texts_.data() + begin + i, std::min<std::size_t>(8, length - i));
    expr.hash = mix(expr.hash, word);
  }
  return find_or_add(expr, {});
}

ExprId ExprSet::behind_first(ExprId id) { return text(exprs_[id.value].a + 1, exprs_[id.value].b - 1); }

ExprId ExprSet::join(ExprId first, ExprId second) {
  // A concat as `first` is a chain head, head, ..., last: rebuild it from its end on top of `second`.
  std::vector<ExprId> heads;
  while (exprs_[first.value].op == Op::concat) {
    heads.push_back(ExprId{exprs_[first.value].a});
    first = ExprId{exprs_[first.value].b};
  }
  heads.push_back(first);
  ExprId tail = second;
  while (!heads.empty()) {
    const ExprId head = heads.back();
    heads.pop_back();
    meter_.step();
    if (head == kEmpty || tail == kEmpty) return kEmpty;
    if (head == kEpsilon) continue;
    if (tail == kEpsilon) {
      tail = head;
      continue;
    }
    // x{m,n} x{p,q} = x{m+p,n+q}, and likewise for a bare x beside a repeat of x.
    const Expr& h = exprs_[head.value];
    const bool chain = exprs_[tail.value].op == Op::concat;
    const ExprId next = chain ? ExprId{exprs_[tail.value].a} : tail;
    const ExprId rest = chain ? ExprId{exprs_[tail.value].b} : kEpsilon;
    const Expr& n = exprs_[next.value];
    if (h.op == Op::repeat || n.op == Op::repeat) {
      const ExprId head_base = h.op == Op::repeat ? ExprId{h.a} : head;
      const ExprId next_base = n.op == Op::repeat ? ExprId{n.a} : next;
      if (head_base == next_base) {
        const std::uint64_t low = std::uint64_t{h.op == Op::repeat ? h.b : 1} + (n.op == Op::repeat ? n.b : 1);
        const std::uint32_t h_high = h.op == Op::repeat ? h.c : 1;
        const std::uint32_t n_high = n.op == Op::repeat ? n.c : 1;
        const std::uint64_t high =
            h_high == kUnbounded || n_high == kUnbounded ? kUnbounded : std::uint64_t{h_high} + n_high;
        const bool fits =
            low < kUnbounded && (high == kUnbounded ? h_high == kUnbounded || n_high == kUnbounded : high < kUnbounded);
        if (fits) {
          const ExprId merged = repeat(head_base, static_cast<std::uint32_t>(low), static_cast<std::uint32_t>(high));
          tail = rest;
          heads.push_back(merged);
          continue;
        }
      }
    }
    Expr expr;
    const Expr& t = exprs_[tail.value];
    expr.op = Op::concat;
    expr.nullable = h.nullable && t.nullable;
    expr.plain = h.plain && t.plain;
    inherit(expr, h);
    inherit(expr, t);
    expr.largest_count = std::max(h.largest_count, t.largest_count);
    expr.largest_minimum = std::max(h.largest_minimum, t.largest_minimum);
    expr.shortest = add(h.shortest, t.shortest);
    expr.farthest = std::max(add(h.farthest, t.shortest), t.farthest);
    expr.longest = add(h.longest, t.longest);
    expr.endless = h.plain && t.endless;
    expr.round = t.round;
    expr.a = head.value;
    expr.b = tail.value;
    expr.hash = mix(mix(mix(Hash128{}, static_cast<std::uint64_t>(Op::concat)), h.hash), t.hash);
    tail = find_or_add(expr, {});
  }
  return tail;
}

ExprId ExprSet::repeat(ExprId part, std::uint32_t minimum, std::uint32_t maximum) {
  if (maximum == 0) return kEpsilon;
  if (part == kEmpty) return minimum == 0 ? kEpsilon : kEmpty;
  if (part == kEpsilon) return kEpsilon;
  // (x|)* = x*: the empty string adds nothing to a repeat that may stop early anyway.
  if (exprs_[part.value].nullable) {
    minimum = 0;
    if (exprs_[part.value].op == Op::alternation) {
      std::vector<ExprId> parts(operands(part).begin(), operands(part).end());
      if (std::erase(parts, kEpsilon)) part = alternation(std::move(parts));
    }
  }
  if (minimum == 1 && maximum == 1) return part;
  if (exprs_[part.value].nullable && maximum == 1) return part;
  // (x{m,n}){p,q} = x{mp,nq} where the counts leave no gap.
  const Expr& inner = exprs_[part.value];
  if (inner.op == Op::repeat) {
    const std::uint64_t m = inner.b, n = inner.c, p = minimum, q = maximum;
    const bool unbounded = n == kUnbounded || q == kUnbounded;
    const std::uint64_t from = p == 0 ? 1 : p;  // the first count whose successor must adjoin
    const bool from_zero = p > 0 || m <= 1;
    const bool adjoins = n == kUnbounded || p == q || from * n + 1 >= (from + 1) * m;
    const bool fits = m * p < kUnbounded && (unbounded || n * q < kUnbounded);
    if (from_zero && adjoins && fits) {
      return repeat(ExprId{inner.a}, static_cast<std::uint32_t>(m * p),
                    unbounded ? kUnbounded : static_cast<std::uint32_t>(n * q));
    }
  }
  Expr expr;
  expr.op = Op::repeat;
  expr.nullable = minimum == 0;
  expr.plain = inner.plain;
  inherit(expr, inner);
  expr.shortest = multiply(inner.shortest, minimum);
  expr.farthest = add(inner.farthest, multiply(inner.shortest, minimum == 0 ? 0 : minimum - 1));
  expr.largest_count = std::max({inner.largest_count, minimum, maximum == kUnbounded ? 0 : maximum});
  expr.largest_minimum = std::max(inner.largest_minimum, minimum);
  expr.longest = multiply(inner.longest, maximum);
  expr.endless = maximum == kUnbounded && inner.plain;
  expr.round = inner.shortest;
  expr.a = part.value;
  expr.b = minimum;
  expr.c = maximum;
  expr.hash = mix(mix(mix(Hash128{}, static_cast<std::uint64_t>(Op::repeat)), inner.hash),
                  (std::uint64_t{minimum} << 32) | maximum);
  return find_or_add(expr, {});
}

void ExprSet::flatten(std::vector<ExprId>& parts, Op op) const {
  for (std::size_t i = 0; i < parts.size(); ++i) {
    if (exprs_[parts[i].value].op != op) continue;
    const auto inner = operands(parts[i]);
    parts[i] = inner[0];
    parts.insert(parts.end(), inner.begin() + 1, inner.end());
  }
  std::sort(parts.begin(), parts.end());
  parts.erase(std::unique(parts.begin(), parts.end()), parts.end());
}

// x{0,5}t | x{0,7}t = x{0,7}t: without this a counted loop that may start anywhere has exponentially many states.
void ExprSet::merge_counts(std::vector<ExprId>& parts) {
  struct Count {
    std::uint32_t base, tail, low, high;
  };
  std::vector<Count> counts;
  for (ExprId part : parts) {
    const Expr& whole = exprs_[part.value];
    const Expr& head = whole.op == Op::concat ? exprs_[whole.a] : whole;
    if (head.op != Op::repeat) continue;
    counts.push_back({head.a, whole.op == Op::concat ? whole.b : kEpsilon.value, head.b, head.c});
  }
  if (counts.size() < 2) return;
  std::sort(counts.begin(), counts.end(), [](const Count& x, const Count& y) {
    return std::tie(x.base, x.tail, x.low, x.high) < std::tie(y.base, y.tail, y.low, y.high);
  });
  std::vector<Count> merged;
  for (const Count& count : counts) {
    if (!merged.empty() && merged.back().base == count.base && merged.back().tail == count.tail &&
        std::uint64_t{merged.back().high} + 1 >= count.low) {
      merged.back().high = std::max(merged.back().high, count.high);
    } else {
      merged.push_back(count);
    }
  }
  if (merged.size() == counts.size()) return;
  std::erase_if(parts, [this](ExprId part) {
    const Expr& whole = exprs_[part.value];
    return (whole.op == Op::concat ? exprs_[whole.a] : whole).op == Op::repeat;
  });
  for (const Count& count : merged) {
    parts.push_back(concat(repeat(ExprId{count.base}, count.low, count.high), ExprId{count.tail}));
  }
  flatten(parts, Op::alternation);
}

// x y | x z is x (y | z) where these call rules: a grammar whose alternatives begin alike would otherwise have as many
// operands as there are ways to choose among all continuations.
void ExprSet::merge_heads(std::vector<ExprId>& parts) {
  // Deeper ones are put together when decoding comes to them: all at once would be to determine the grammar.
  constexpr int kDeepest = 2;
  std::vector<std::pair<ExprId, ExprId>> heads;  // of sequences that call rules, and the sequences
  for (ExprId part : parts) {
    const Expr& expr = exprs_[part.value];
    if (expr.op == Op::concat && expr.has_rule) heads.emplace_back(ExprId{expr.a}, part);
  }
  if (heads.size() < 2 || merging_ >= kDeepest) return;
  std::sort(heads.begin(), heads.end());
  struct Depth {
    int& depth;
    explicit Depth(int& at) : depth(at) { ++depth; }
    ~Depth() { --depth; }
  } inside(merging_);
  bool merged = false;
  for (std::size_t i = 0, j = 0; i < heads.size(); i = j) {
    while (j < heads.size() && heads[j].first == heads[i].first) ++j;
    if (j - i < 2) continue;
    std::vector<ExprId> tails;
    for (std::size_t k = i; k < j; ++k) {
      tails.push_back(ExprId{exprs_[heads[k].second.value].b});
      std::erase(parts, heads[k].second);
    }
    parts.push_back(concat(heads[i].first, alternation(std::move(tails))));
    merged = true;
  }
  if (merged) flatten(parts, Op::alternation);
}

ExprId ExprSet::alternation(std::vector<ExprId> parts) {
  flatten(parts, Op::alternation);
  std::erase(parts, kEmpty);
  if (parts.size() < 2) return parts.empty() ? kEmpty : parts[0];
  meter_.step(static_cast<std::int64_t>(parts.size()) / 16);

  ByteSet set;
  int set_count = 0;
  bool optional = false;  // another operand than epsilon has the empty string
  ExprId once{};          // x{1,n}, which takes epsilon in as x{0,n}
  for (ExprId part : parts) {
    const Expr& expr = exprs_[part.value];
    if (part == everything_) return everything_;
    if (expr.op == Op::bytes) {
      set = set | sets_[expr.a];
      ++set_count;
    }
    if (expr.op == Op::repeat && expr.b == 1) once = part;
    optional |= expr.nullable && part != kEpsilon;
  }
  if (set_count > 1) {
    std::erase_if(parts, [this](ExprId part) { return exprs_[part.value].op == Op::bytes; });
    parts.push_back(bytes(set));
    std::sort(parts.begin(), parts.end());
  }
  if (std::binary_search(parts.begin(), parts.end(), kEpsilon)) {
    if (optional) {
      std::erase(parts, kEpsilon);
    } else if (once != kEmpty) {
      std::erase(parts, kEpsilon);
      std::erase(parts, once);
      const Expr& expr = exprs_[once.value];
      parts.push_back(repeat(ExprId{expr.a}, 0, expr.c));
      std::sort(parts.begin(), parts.end());
    }
  }
  merge_counts(parts);
  merge_heads(parts);
  if (parts.size() == 1) return parts[0];

  Expr expr;
  expr.op = Op::alternation;
  expr.plain = expr.endless = true;
  expr.longest = 0;
  expr.shortest = UINT32_MAX;
  expr.b = static_cast<std::uint32_t>(parts.size());
  Hash128 total{};
  for (ExprId part : parts) {
    const Expr& operand = exprs_[part.value];
    expr.nullable |= operand.nullable;
    expr.plain &= operand.plain;
    inherit(expr, operand);
    expr.largest_count = std::max(expr.largest_count, operand.largest_count);
    expr.largest_minimum = std::max(expr.largest_minimum, operand.largest_minimum);
    expr.shortest = std::min(expr.shortest, operand.shortest);
    expr.farthest = std::max(expr.farthest, operand.farthest);
    expr.longest = std::max(expr.longest, operand.longest);
    expr.endless &= operand.endless;
    expr.round = std::max(expr.round, operand.round);
    total = sum(total, mix(Hash128{}, operand.hash));
  }
  expr.hash = mix(mix(Hash128{}, static_cast<std::uint64_t>(Op::alternation)), total);
  return find_or_add(expr, parts);
}

ExprId ExprSet::conjunction(std::vector<ExprId> parts) {
  flatten(parts, Op::conjunction);
  std::erase(parts, everything_);
  if (parts.empty()) return everything_;
  if (parts.size() == 1) return parts[0];
  if (parts[0] == kEmpty) return kEmpty;
  meter_.step(static_cast<std::int64_t>(parts.size()) / 16);

  ByteSet set = ByteSet::all();
  int set_count = 0;
  for (ExprId part : parts) {
    const Expr& expr = exprs_[part.value];
    if (expr.op == Op::bytes) {
      set = set & sets_[expr.a];
      ++set_count;
    }
    if (expr.op == Op::complement && std::binary_search(parts.begin(), parts.end(), ExprId{expr.a})) return kEmpty;
  }
  if (set_count > 1) {
    std::erase_if(parts, [this](ExprId part) { return exprs_[part.value].op == Op::bytes; });
    parts.push_back(bytes(set));
    if (parts.back() == kEmpty) return kEmpty;
    std::sort(parts.begin(), parts.end());
    if (parts.size() == 1) return parts[0];
  }
  Expr expr;
  expr.op = Op::conjunction;
  expr.nullable = true;
  expr.b = static_cast<std::uint32_t>(parts.size());
  Hash128 total{};
  bool settled = true;  // whether the empty string is in does not depend on a context
  for (ExprId part : parts) {
    const Expr& operand = exprs_[part.value];
    expr.nullable &= operand.nullable;
    inherit(expr, operand);
    settled &= !operand.has_past && !operand.has_hole;
    expr.shortest = std::max(expr.shortest, operand.shortest);
    total = sum(total, mix(Hash128{}, operand.hash));
  }
  // Epsilon meets the others in epsilon or in nothing.
  if (parts[0] == kEpsilon && settled) return expr.nullable ? kEpsilon : kEmpty;
  // An endless language less finitely many strings: a string that is longer than each of them is in it.
  const Expr* endless = nullptr;
  std::uint32_t longest = 0;
  for (ExprId part : parts) {
    const Expr& operand = exprs_[part.value];
    if (operand.endless && !endless) {
      endless = &operand;
    } else {
      longest = std::max(longest, operand.op == Op::complement ? exprs_[operand.a].longest : UINT32_MAX);
    }
  }
  if (endless && longest != UINT32_MAX && settled) {
    const std::uint32_t more = multiply(std::uint64_t{longest} + 1, endless->round);
    expr.plain = true;
    expr.shortest = add(endless->shortest, more);
    expr.farthest = add(endless->farthest, more);
  }
  expr.hash = mix(mix(Hash128{}, static_cast<std::uint64_t>(Op::conjunction)), total);
  return find_or_add(expr, parts);
}

ExprId ExprSet::complement(ExprId part) {
  if (part == kEmpty) return everything_;
  if (part == everything_) return kEmpty;
  const Expr& inner = exprs_[part.value];
  if (inner.op == Op::complement) return ExprId{inner.a};
  Expr expr;
  expr.op = Op::complement;
  expr.nullable = !inner.nullable && !inner.has_past;
  inherit(expr, inner);
  expr.a = part.value;
  expr.hash = mix(mix(Hash128{}, static_cast<std::uint64_t>(Op::complement)), inner.hash);
  return find_or_add(expr, {});
}

ExprId ExprSet::rule(const Expr& traits) {
  Expr expr = traits;
  expr.op = Op::rule;
  expr.has_rule = true;
  expr.a = static_cast<std::uint32_t>(definitions_.size());
  meter_.allocate(sizeof(ExprId));
  definitions_.push_back(kEmpty);
  return find_or_add(expr, {});
}

ExprId ExprSet::spelled(ExprId texts, std::uint32_t place, std::uint32_t value) {
  if (texts == kEmpty) return kEmpty;
  if (texts == kEpsilon && place == 0) return kEpsilon;
  const Expr& inner = exprs_[texts.value];
  Expr expr;
  expr.op = Op::spelled;
  expr.nullable = place == 0 && inner.nullable;
  expr.plain = inner.plain;
  inherit(expr, inner);
  expr.largest_count = inner.largest_count;
  expr.largest_minimum = inner.largest_minimum;
  expr.shortest =
      add(multiply(is_settled(place, value) ? inner.shortest : inner.farthest, kEscape), escape_left(place));
  expr.farthest = multiply(inner.farthest, kEscape);
  expr.a = texts.value;
  expr.b = place;
  expr.c = value;
  expr.hash = mix(mix(mix(Hash128{}, static_cast<std::uint64_t>(Op::spelled)), inner.hash),
                  (std::uint64_t{place} << 32) | value);
  return find_or_add(expr, {});
}

ExprId ExprSet::greedy(ExprId part, ExprId within) {
  if (part == kEmpty || within == kEmpty || within == kEpsilon) return part;
  const Expr& inner = exprs_[part.value];
  Expr expr;
  expr.op = Op::greedy;
  expr.nullable = inner.nullable;
  inherit(expr, inner);
  inherit(expr, exprs_[within.value]);
  expr.has_guard = true;
  expr.shortest = inner.shortest;
  expr.a = part.value;
  expr.b = within.value;
  expr.hash = mix(mix(mix(Hash128{}, static_cast<std::uint64_t>(Op::greedy)), inner.hash), exprs_[within.value].hash);
  return find_or_add(expr, {});
}

ExprId ExprSet::unless(ExprId part) {
  if (part == kEmpty) return kEpsilon;
  const Expr& inner = exprs_[part.value];
  if (inner.nullable) return kEmpty;
  Expr expr;
  expr.op = Op::unless;
  expr.nullable = true;
  inherit(expr, inner);
  expr.has_guard = true;
  expr.a = part.value;
  expr.hash = mix(mix(Hash128{}, static_cast<std::uint64_t>(Op::unless)), inner.hash);
  return find_or_add(expr, {});
}

ExprId ExprSet::unordered(const Pool& pool, ExprId separator, ExprId others, std::span<const ExprId> members) {
  const bool endless = others != kEmpty;
  if (pool.required > pool.maximum || (!endless && pool.minimum > members.size())) return kEmpty;
  const bool may_end = pool.required == 0 && pool.minimum == 0;
  const bool may_go_on = pool.maximum > 0 && (endless || !members.empty());
  if (pool.place == Pool::Place::before ? !may_go_on : !may_go_on && !may_end) return kEmpty;
  if (!may_go_on) return kEpsilon;

  std::vector<ExprId> parts{separator, others};
  parts.insert(parts.end(), members.begin(), members.end());
  Expr expr;
  expr.op = Op::unordered;
  expr.nullable = may_end && pool.place != Pool::Place::before;
  expr.plain = true;
  expr.farthest = UINT32_MAX;
  expr.hash = mix(Hash128{}, static_cast<std::uint64_t>(Op::unordered));
  Hash128 required{}, optional{};
  for (std::size_t i = 0; i < parts.size(); ++i) {
    const Expr& part = exprs_[parts[i].value];
    inherit(expr, part);
    if (parts[i] != kEmpty) expr.plain &= part.plain;
    if (i < 2) {
      expr.hash = mix(expr.hash, part.hash);
    } else if (i - 2 < pool.required) {
      expr.shortest = add(expr.shortest, part.shortest);
      required = sum(required, mix(Hash128{}, part.hash));
    } else {
      optional = sum(optional, mix(Hash128{}, part.hash));
    }
  }
  // At most as long as this: the required members, then the longest optional ones or others up to the minimum.
  if (pool.minimum > pool.required) {
    std::vector<std::uint32_t> lengths;
    for (ExprId member : members.subspan(pool.required)) lengths.push_back(exprs_[member.value].shortest);
    std::sort(lengths.begin(), lengths.end());
    if (endless) lengths.assign(pool.minimum - pool.required, exprs_[others.value].shortest);
    for (std::size_t i = 0; i < pool.minimum - pool.required; ++i) expr.shortest = add(expr.shortest, lengths[i]);
  }
  const std::uint32_t count = std::max(pool.minimum, pool.required);
  if (count == 0 && pool.place == Pool::Place::before) {
    expr.shortest = UINT32_MAX;
    for (std::size_t i = 1; i < parts.size(); ++i) {
      if (parts[i] != kEmpty) expr.shortest = std::min(expr.shortest, exprs_[parts[i].value].shortest);
    }
  }
  if (count > 0) {
    const std::uint32_t separators = pool.place == Pool::Place::after ? count : count - 1;
    expr.shortest = add(expr.shortest, multiply(exprs_[separator.value].shortest, separators));
  }
  expr.hash = mix(mix(expr.hash, required), optional);
  expr.hash = mix(expr.hash, (std::uint64_t{pool.minimum} << 32) | pool.maximum);
  expr.hash = mix(expr.hash, (std::uint64_t{pool.required} << 32) | static_cast<std::uint64_t>(pool.place));
  expr.b = static_cast<std::uint32_t>(parts.size());
  const auto known = std::find(pools_.rbegin(), pools_.rend(), pool);
  expr.c = static_cast<std::uint32_t>(known == pools_.rend() ? pools_.size() : pools_.rend() - known - 1);
  if (known == pools_.rend()) {
    meter_.allocate(sizeof(Pool));
    pools_.push_back(pool);
  }
  return find_or_add(expr, parts);
}

std::uint32_t ExprSet::add_series(Series series) {
  const std::size_t count = series.members.size();
  meter_.allocate(static_cast<std::int64_t>(sizeof(Series) + (count + 1) * (sizeof(Expr) + 16)));
  meter_.step(static_cast<std::int64_t>(count));
  series.left.resize(count + 1);
  series.needed.resize(count + 1);
  series.least.resize(count + 1);
  const Expr& separator = exprs_[series.separator.value];
  const Expr& others = exprs_[series.others.value];
  Expr left;
  left.op = Op::ordered;
  left.plain = separator.plain && others.plain;
  left.farthest = UINT32_MAX;
  left.hash = mix(mix(mix(Hash128{}, static_cast<std::uint64_t>(Op::ordered)), separator.hash), others.hash);
  inherit(left, separator);
  inherit(left, others);
  std::uint32_t least = series.others == kEmpty ? UINT32_MAX : others.shortest;
  std::uint32_t needed = 0;
  for (std::size_t i = count;; --i) {
    series.left[i] = left;
    series.needed[i] = needed;
    series.least[i] = least;
    if (i == 0) break;
    const Expr& member = exprs_[series.members[i - 1].value];
    inherit(left, member);
    left.plain &= member.plain;
    least = std::min(least, member.shortest);
    left.hash = mix(mix(left.hash, member.hash), static_cast<std::uint64_t>(series.required[i - 1]));
    if (series.required[i - 1]) {
      left.shortest = add(left.shortest, member.shortest);
      ++needed;
    }
  }
  series_.push_back(std::move(series));
  return static_cast<std::uint32_t>(series_.size() - 1);
}

ExprId ExprSet::ordered(std::uint32_t index, std::uint32_t from, Pool::Place place) {
  const Series& series = series_[index];
  const bool may_go_on = from < series.members.size() || series.others != kEmpty;
  if (!may_go_on) return place == Pool::Place::before ? kEmpty : kEpsilon;
  Expr expr = series.left[from];
  expr.a = index;
  expr.b = from;
  expr.c = static_cast<std::uint32_t>(place);
  expr.hash = mix(expr.hash, static_cast<std::uint64_t>(place));
  const std::uint32_t count = series.needed[from];
  expr.nullable = count == 0 && place != Pool::Place::before;
  if (count == 0 && place == Pool::Place::before) expr.shortest = series.least[from];
  const std::uint32_t separators = place == Pool::Place::after || count == 0 ? count : count - 1;
  expr.shortest = add(expr.shortest, multiply(exprs_[series.separator.value].shortest, separators));
  return find_or_add(expr, {});
}

ExprId ExprSet::past(std::uint32_t index) {
  Expr expr;
  expr.op = Op::past;
  expr.has_past = true;
  expr.a = index;
  expr.hash = mix(mix(Hash128{}, static_cast<std::uint64_t>(Op::past)), index);
  return find_or_add(expr, {});
}

ExprId ExprSet::hole() {
  Expr expr;
  expr.op = Op::hole;
  expr.has_hole = true;
  expr.hash = mix(Hash128{}, static_cast<std::uint64_t>(Op::hole));
  return find_or_add(expr, {});
}

ExprId ExprSet::loop(bool nullable, bool has_past, bool has_hole) {
  // A loop has no structure to hash before it is defined: it gets a number that nothing else in the process has.
  static std::atomic<std::uint64_t> next{0};
  Expr expr;
  expr.op = Op::loop;
  expr.nullable = nullable;
  expr.has_past = has_past;
  expr.has_hole = has_hole;
  expr.a = static_cast<std::uint32_t>(definitions_.size());
  expr.hash = mix(mix(Hash128{}, static_cast<std::uint64_t>(Op::loop)), next.fetch_add(1));
  definitions_.push_back(kEmpty);
  return find_or_add(expr, {});
}

ExprId ExprSet::context(ExprId tail, std::span<const ExprId> residuals, bool nullable) {
  if (!exprs_[tail.value].has_past) return tail;
  std::vector<ExprId> parts{tail};
  parts.insert(parts.end(), residuals.begin(), residuals.end());
  Expr expr;
  expr.op = Op::context;
  expr.nullable = nullable;
  expr.b = static_cast<std::uint32_t>(parts.size());
  expr.hash = mix(Hash128{}, static_cast<std::uint64_t>(Op::context));
  for (ExprId part : parts) expr.hash = mix(expr.hash, exprs_[part.value].hash);
  return find_or_add(expr, parts);
}

}  // namespace detent

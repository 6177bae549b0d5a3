// Union, intersection and complement in normal form.
//
//   1. Operands form a flat sorted set. Byte sets merge into one; the empty language, sigma star and epsilon are
//      absorbed.
//   2. Overlapping counts of one part merge: x{0,5} t | x{0,7} t is x{0,7} t. Without this rule, a counted loop that
//      may start anywhere has exponentially many states.
//   3. Sequences that call rules are left-factored: x y | x z is x (y | z).
//   4. A complement in an intersection drops operands that the intersection has too: x & ~(x & y) is x & ~y, and
//      x & ~(x & y | z) is x & ~(y | z). Where x is text, so is "all UTF-8 texts".
//   5. A sequence with an optional head absorbs its tail: x* t | t is x* t. Without this rule, `[a-b]*[a-c]*...` has a
//      union of all its tails at each step.
//   6. All UTF-8 texts, T, absorb an x that is text by its form: x | T is T, x & T is x, and x & ~T is empty. A pattern
//      that may match anywhere, T a T, has the residual T a T | T after its first match. Without this rule, a choice of
//      n such patterns has 2^n states where n would do.
//   7. An intersection is empty if an operand needs more bytes than another one may have.
//   8. A list of members in any order absorbs those that it plainly includes (included_lists.h).
#include <algorithm>
#include <array>
#include <iterator>
#include <tuple>
#include <utility>
#include <vector>

#include "expr/expr_set.h"
#include "expr/included_lists.h"
#include "expr/lengths.h"
#include "expr/parts.h"

namespace detent {
namespace {

// Sorts by a number, of items that ascend where their numbers are equal. Many items take a radix sort.
template <class Item, class Key>
void sort_by(std::vector<Item>& items, Key key) {
  constexpr std::size_t kMany = 512, kDigits = 2'048;
  if (std::is_sorted(items.begin(), items.end())) return;
  if (items.size() < kMany) return std::sort(items.begin(), items.end());
  std::vector<Item> sorted(items.size());
  const std::uint32_t largest = key(*std::ranges::max_element(items, {}, key));
  for (int shift = 0; shift < 32 && largest >> shift; shift += 11) {
    std::array<std::uint32_t, kDigits + 1> begin{};
    for (const Item& item : items) ++begin[(key(item) >> shift) % kDigits + 1];
    for (std::size_t digit = 1; digit <= kDigits; ++digit) begin[digit] += begin[digit - 1];
    for (const Item& item : items) sorted[begin[(key(item) >> shift) % kDigits]++] = item;
    items.swap(sorted);
  }
}

}  // namespace

void ExprSet::flatten(std::vector<ExprId>& parts, Op op) const {
  for (std::size_t i = 0; i < parts.size(); ++i) {
    if (exprs_[parts[i].value].op != op) continue;
    const auto inner = operands(parts[i]);
    parts[i] = inner[0];
    parts.insert(parts.end(), inner.begin() + 1, inner.end());
  }
  sort_by(parts, [](ExprId id) { return id.value; });
  parts.erase(std::unique(parts.begin(), parts.end()), parts.end());
}

void ExprSet::merge_single_bytes(std::vector<ExprId>& parts) {
  ByteSet set;
  int set_count = 0;
  for (ExprId part : parts) {
    const Expr& expr = exprs_[part.value];
    if (expr.op != Op::bytes) continue;
    set = set | sets_[expr.set_index()];
    ++set_count;
  }
  if (set_count < 2) return;
  std::erase_if(parts, [this](ExprId part) { return exprs_[part.value].op == Op::bytes; });
  const ExprId merged = bytes(set);
  parts.insert(std::ranges::upper_bound(parts, merged), merged);
}

// Drops epsilon from a union: another operand contains it, or x{1,n} becomes x{0,n}.
void ExprSet::absorb_epsilon(std::vector<ExprId>& parts) {
  if (!std::binary_search(parts.begin(), parts.end(), kEpsilon)) return;
  bool is_nullable = false;
  ExprId from_one{};  // an operand x{1,n}
  for (ExprId part : parts) {
    const Expr& expr = exprs_[part.value];
    if (expr.op == Op::repeat && expr.minimum() == 1) from_one = part;
    is_nullable |= expr.nullable && part != kEpsilon;
  }
  if (is_nullable) {
    std::erase(parts, kEpsilon);
  } else if (from_one != kEmpty) {
    std::erase(parts, kEpsilon);
    std::erase(parts, from_one);
    const Expr& expr = exprs_[from_one.value];
    parts.push_back(repeat(expr.part(), 0, expr.maximum()));
    std::sort(parts.begin(), parts.end());
  }
}

void ExprSet::merge_counts(std::vector<ExprId>& parts) {
  struct Count {
    std::uint32_t part, tail, low, high;
  };
  std::vector<Count> counts;
  for (ExprId id : parts) {
    const auto [first, tail] = split_first(*this, id);
    const Expr& head = exprs_[first.value];
    if (head.op != Op::repeat) continue;
    counts.push_back({head.part().value, tail.value, head.minimum(), head.maximum()});
  }
  if (counts.size() < 2) return;
  std::sort(counts.begin(), counts.end(), [](const Count& x, const Count& y) {
    return std::tie(x.part, x.tail, x.low, x.high) < std::tie(y.part, y.tail, y.low, y.high);
  });
  std::vector<Count> merged;
  for (const Count& count : counts) {
    if (!merged.empty() && merged.back().part == count.part && merged.back().tail == count.tail &&
        std::uint64_t{merged.back().high} + 1 >= count.low) {
      merged.back().high = std::max(merged.back().high, count.high);
    } else {
      merged.push_back(count);
    }
  }
  if (merged.size() == counts.size()) return;
  std::erase_if(parts, [this](ExprId id) { return (*this)[split_first(*this, id).first].op == Op::repeat; });
  for (const Count& count : merged) {
    parts.push_back(concat(repeat(ExprId{count.part}, count.low, count.high), ExprId{count.tail}));
  }
  flatten(parts, Op::union_of);
}

// Applies rule 5: drops each operand t for which another operand is x* t.
void ExprSet::absorb_tails(std::vector<ExprId>& parts) const {
  constexpr int kMaxHeads = 64;  // of one operand
  std::vector<ExprId> tails;     // operands that another one contains
  std::int64_t visited = 0;
  for (ExprId part : parts) {
    ExprId at = part;
    for (int heads = 0; heads < kMaxHeads; ++heads, ++visited) {
      const Expr& expr = exprs_[at.value];
      if (expr.op != Op::concat || expr.has_guard || expr.has_lookbehind || expr.has_lookbehind_end) break;
      if (!exprs_[expr.first().value].nullable) break;
      at = expr.second();
      if (!std::binary_search(parts.begin(), parts.end(), at)) continue;
      tails.push_back(at);
      break;  // that operand's own tails follow from it
    }
  }
  meter_.step(visited / 8);
  if (tails.empty()) return;
  std::sort(tails.begin(), tails.end());
  std::erase_if(parts, [&](ExprId part) { return std::binary_search(tails.begin(), tails.end(), part); });
}

// Whether all parts are sequences with one optional head, such as white space. Only such heads are factored out
// further: longer common sequences would make more states in an intersection.
bool ExprSet::have_one_head(std::span<const ExprId> parts) const {
  const Expr& first = exprs_[parts[0].value];
  if (first.op != Op::concat) return false;
  const Expr& head = exprs_[first.first().value];
  return head.nullable && std::ranges::all_of(parts, [&](ExprId part) {
           const Expr& expr = exprs_[part.value];
           return expr.op == Op::concat && expr.first() == first.first();
         });
}

// A grammar whose alternatives begin alike would otherwise have one operand for each choice among all continuations.
void ExprSet::left_factor(std::vector<ExprId>& parts) {
  // Deeper tails are factored when decoding reaches them: factoring all of them at once would determinise the grammar.
  constexpr int kMaxDepth = 2;
  constexpr std::size_t kMaxHeads = 64;
  std::vector<std::pair<ExprId, ExprId>> sequences;  // (head, sequence) of the sequences that call rules, ascending
  for (ExprId part : parts) {
    const Expr& expr = exprs_[part.value];
    if (expr.op == Op::concat && expr.has_rule) sequences.emplace_back(expr.first(), part);
  }
  if (sequences.size() < 2 || factoring_depth_ >= kMaxDepth) return;
  sort_by(sequences, [](const auto& sequence) { return sequence.first.value; });
  std::vector<ExprId> factored;  // sequences that begin alike, and then ascending
  std::vector<ExprId> merged;
  for (std::size_t i = 0, j = 0; i < sequences.size(); i = j) {
    while (j < sequences.size() && sequences[j].first == sequences[i].first) ++j;
    if (j - i < 2) continue;
    std::vector<ExprId> tails;
    for (std::size_t k = i; k < j; ++k) {
      tails.push_back(exprs_[sequences[k].second.value].second());
      factored.push_back(sequences[k].second);
    }
    std::vector<ExprId> heads{sequences[i].first};  // those of all these sequences
    while (tails.size() == parts.size() && heads.size() < kMaxHeads && have_one_head(tails)) {
      heads.push_back(exprs_[tails[0].value].first());
      for (ExprId& tail : tails) tail = exprs_[tail.value].second();
    }
    ExprId sequence = union_of_tails(std::move(tails));
    for (; !heads.empty(); heads.pop_back()) sequence = concat(heads.back(), sequence);
    merged.push_back(sequence);
  }
  if (factored.empty()) return;
  sort_by(factored, [](ExprId id) { return id.value; });
  std::erase_if(parts, [&](ExprId part) { return std::binary_search(factored.begin(), factored.end(), part); });
  parts.insert(parts.end(), merged.begin(), merged.end());
  flatten(parts, Op::union_of);
}

ExprId ExprSet::union_of_tails(std::vector<ExprId> tails) {
  struct DepthGuard {
    int& depth;
    explicit DepthGuard(int& at) : depth(at) { ++depth; }
    ~DepthGuard() { --depth; }
  } guard(factoring_depth_);
  return union_of(std::move(tails));
}

void ExprSet::set_utf8_star(ExprId all_texts) {
  mark_text(all_texts);
  utf8_star_ = all_texts;
  not_utf8_star_ = complement(all_texts);
}

// Whether rule 6 applies: an expression is text, and its meaning does not depend on the text around it.
bool ExprSet::is_known_text(ExprId id) const {
  const Expr& expr = exprs_[id.value];
  return expr.is_text && !expr.has_guard && !expr.has_lookbehind && !expr.has_lookbehind_end;
}

// Whether an expression is over the alphabet, and its meaning does not depend on the text around it.
bool ExprSet::is_known_in_alphabet(ExprId id) const {
  const Expr& expr = exprs_[id.value];
  return expr.in_alphabet && !expr.has_guard && !expr.has_lookbehind && !expr.has_lookbehind_end;
}

// In a union, the language of all strings (or of all texts) over the alphabet absorbs each operand known to be in it.
void ExprSet::absorb_into_alphabet(std::vector<ExprId>& parts) const {
  const auto contains = [&parts](ExprId id) { return std::binary_search(parts.begin(), parts.end(), id); };
  if (contains(alphabet_star_)) {
    std::erase_if(parts, [this](ExprId part) { return part != alphabet_star_ && is_known_in_alphabet(part); });
  } else if (alphabet_texts_ != kEmpty && contains(alphabet_texts_)) {
    std::erase_if(parts, [this](ExprId part) {
      return part != alphabet_texts_ && is_known_in_alphabet(part) && is_known_text(part);
    });
  }
}

// In an intersection, drops the language of all strings (or of all texts) over the alphabet if some other operand is
// known to be in it.
void ExprSet::drop_alphabet(std::vector<ExprId>& parts) const {
  const auto has_other = [&](ExprId top, bool needs_text) {
    return std::ranges::any_of(parts, [&](ExprId part) {
      return part != top && is_known_in_alphabet(part) && (!needs_text || is_known_text(part));
    });
  };
  if (has_other(alphabet_star_, false)) std::erase(parts, alphabet_star_);
  if (alphabet_texts_ != kEmpty && has_other(alphabet_texts_, true)) std::erase(parts, alphabet_texts_);
}

// Remembers the last unions of many operands: rows of similar states unite the same thousands again. Case: integers of
// an array that must contain multiples of 2, 3, 5 and 7. A mask has some 60 rows, of 20 such unions each; most of these
// recur within the last 1,000.
ExprId ExprSet::union_of(std::vector<ExprId> parts) {
  constexpr std::size_t kMany = 64, kMaxKept = 4'096;  // operands
  constexpr std::size_t kSlots = 1'024, kMostParts = 1 << 18;
  std::size_t operand_count = 0;
  for (ExprId part : parts) {
    const Expr& expr = exprs_[part.value];
    operand_count += expr.op == Op::union_of ? expr.b_ : 1;
  }
  if (operand_count < kMany || parts.size() > kMaxKept) return new_union(std::move(parts));
  std::uint64_t hash = 0;
  for (ExprId part : parts) hash = mix(hash + part.value, 0x5bd1e995);
  const std::size_t slot = hash % kSlots;
  if (recent_unions_.empty()) recent_unions_.resize(kSlots);
  if (const RecentUnion& recent = recent_unions_[slot]; recent.depth == factoring_depth_ && recent.parts == parts) {
    meter_.step(static_cast<std::int64_t>(parts.size()) / 16);
    return recent.result;
  }
  const ExprId result = new_union(parts);
  recent_part_count_ += parts.size() - recent_unions_[slot].parts.size();
  recent_unions_[slot] = {std::move(parts), factoring_depth_, result};
  if (recent_part_count_ > kMostParts) {
    std::ranges::fill(recent_unions_, RecentUnion{});
    recent_part_count_ = 0;
  }
  return result;
}

ExprId ExprSet::new_union(std::vector<ExprId> parts) {
  flatten(parts, Op::union_of);
  std::erase(parts, kEmpty);
  if (parts.size() < 2) return parts.empty() ? kEmpty : parts[0];
  meter_.step(static_cast<std::int64_t>(parts.size()) / 16);
  if (std::binary_search(parts.begin(), parts.end(), sigma_star_)) return sigma_star_;
  if (utf8_star_ != kEmpty && std::binary_search(parts.begin(), parts.end(), utf8_star_)) {
    std::erase_if(parts, [this](ExprId part) { return part != utf8_star_ && is_known_text(part); });
    if (parts.size() == 1) return parts[0];
  }
  if (alphabet_star_ != sigma_star_) {
    absorb_into_alphabet(parts);
    if (parts.size() == 1) return parts[0];
  }
  merge_single_bytes(parts);
  absorb_epsilon(parts);
  merge_counts(parts);
  absorb_tails(parts);
  drop_included_lists(*this, parts);
  left_factor(parts);
  if (parts.size() == 1) return parts[0];

  Expr expr = union_traits(parts);
  expr.op = Op::union_of;
  expr.b_ = static_cast<std::uint32_t>(parts.size());
  Hash128 total{};
  for (ExprId part : parts) total = sum(total, mix(Hash128{}, exprs_[part.value].hash));
  expr.hash = mix(mix(Hash128{}, static_cast<std::uint64_t>(Op::union_of)), total);
  return find_or_add(expr, parts);
}

// The facts about a union, without its operator and hash.
Expr ExprSet::union_traits(std::span<const ExprId> parts) const {
  Expr expr;
  expr.nonempty = expr.infinite = expr.is_text = expr.in_alphabet = expr.residuals_complete_by_bytes = true;
  expr.exact_length = expr.only_unescaped = expr.needs_no_escapes = true;
  bool only_token_bytes = true, all_complete = true;
  expr.max_length = 0;
  expr.min_length = UINT32_MAX;
  for (ExprId part : parts) {
    const Expr& operand = exprs_[part.value];
    expr.nullable |= operand.nullable;
    expr.nonempty &= operand.nonempty;
    expr.exact_length &= operand.exact_length;
    expr.only_unescaped &= operand.only_unescaped;
    expr.needs_no_escapes &= operand.needs_no_escapes;
    expr.is_text &= operand.is_text;
    expr.in_alphabet &= operand.in_alphabet;
    only_token_bytes &= operand.only_token_bytes;
    all_complete &= operand.completes_by_bytes;
    expr.completes_by_bytes |= operand.nonempty && operand.completes_by_bytes;
    expr.residuals_complete_by_bytes &= operand.residuals_complete_by_bytes;
    inherit_flags(expr, operand);
    expr.largest_count = std::max(expr.largest_count, operand.largest_count);
    expr.largest_minimum = std::max(expr.largest_minimum, operand.largest_minimum);
    expr.min_length = std::min(expr.min_length, operand.min_length);
    expr.max_completion_bound = std::max(expr.max_completion_bound, operand.max_completion_bound);
    expr.max_length = std::max(expr.max_length, operand.max_length);
    expr.infinite &= operand.infinite;
    expr.loop_length = std::max(expr.loop_length, operand.loop_length);
  }
  expr.completes_by_bytes |= all_complete;
  set_only_token_bytes(expr, only_token_bytes);
  return expr;
}

// The residual of a grown union grows in the same way, so its row takes one step for each class, however many operands
// it has. Unions of few operands are flat: more forms of theirs are known.
ExprId ExprSet::grown_union(ExprId before, ExprId added) {
  constexpr std::uint32_t kFew = 16;  // operands
  if (before == kEmpty || added == kEmpty) return before == kEmpty ? added : before;
  const auto count = [this](ExprId id) {
    const Expr& expr = exprs_[id.value];
    return expr.op == Op::union_of ? expr.b_ : expr.op == Op::grown_union ? expr.c_ : 1;
  };
  const std::uint32_t total = count(before) + count(added);
  if (total <= kFew) return union_of({before, added});
  Expr expr = union_traits(std::array{before, added});
  expr.op = Op::grown_union;
  expr.a_ = before.value;
  expr.b_ = added.value;
  expr.c_ = total;
  expr.hash = mix(mix(mix(Hash128{}, static_cast<std::uint64_t>(Op::grown_union)), exprs_[before.value].hash),
                  exprs_[added.value].hash);
  return find_or_add(expr, {});
}

}  // namespace detent

// ExprSet: hash-consed regular expressions over bytes, closed under intersection and complement.
//
// Representation: an expression is an index; equal expressions have equal indices. Smart constructors keep the normal
// form in which the set of derivatives of an expression is finite: concatenation leans right, unions and intersections
// are flat sorted sets, adjacent repeats of one base merge, overlapping counts of one base merge.
// (Brzozowski 1964; Owens, Reppy & Turon, "Regular-expression derivatives re-examined", 2009.)
//
// Reading a published expression needs no lock; building one needs the owner's (Automaton's).
// Cost: a constructor is linear in its operands, plus a hash look-up.
#pragma once

#include <array>
#include <cstdint>
#include <deque>
#include <span>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "base/byte_set.h"
#include "base/hash.h"
#include "base/limits.h"
#include "base/stable_vector.h"

namespace detent {

// Index of an expression in its ExprSet. 0 is the empty language, so that "dead" is a test against zero.
struct ExprId {
  std::uint32_t value = 0;
  auto operator<=>(const ExprId&) const = default;
};

enum class Op : std::uint8_t {
  empty,
  epsilon,
  bytes,        // a: set
  text,         // two or more bytes of a literal: b bytes of the pool from a on
  concat,       // a then b; a is never a concat
  alternation,  // operands
  conjunction,  // operands
  complement,   // a
  repeat,       // a, between b and c times
  rule,         // a: definition, which may call rules, itself too; never left-recursive
  spelled,      // the JSON spellings of the texts of a, from inside an escape on: b, c (json_string.h)
  unordered,    // operands: separator, others, members; c: the pool's counts
  ordered,      // what is left of series a from member b on; c: the place in it
  greedy,       // a, where the text that follows must not extend what was read to a longer string of b
  unless,       // the empty string, where the text that follows does not begin with a string of a
  // The rest arises from text scopes only (lookaround.h).
  past,     // a: all futures if the a-th lookbehind holds here, none otherwise
  hole,     // where the body of a lookbehind ends
  loop,     // a: definition, right-linear and guarded
  context,  // operands: a tail, then one residual for each lookbehind that the tail may still ask
};

struct Expr {
  Op op = Op::empty;
  bool nullable : 1 = false;
  // No complement, conjunction or scope inside: never empty unless it is the empty language. So is an endless
  // expression less finitely many strings.
  bool plain : 1 = false;
  bool endless : 1 = false;   // plain, and it ends in an unbounded repeat, whatever was read of it
  bool has_past : 1 = false;  // asks a lookbehind, so that it means something only in its context
  bool has_hole : 1 = false;
  bool has_rule : 1 = false;   // calls a rule, so that its residuals may be without end
  bool has_guard : 1 = false;  // holds `greedy` or `unless`: what it means depends on the text that follows it
  std::uint32_t a = 0;
  std::uint32_t b = 0;
  std::uint32_t c = 0;
  // Where `plain`:
  std::uint32_t largest_count = 0;     // of the finite repeat bounds inside
  std::uint32_t largest_minimum = 0;   // of the lower ones
  std::uint32_t shortest = 0;          // length of the shortest string
  std::uint32_t farthest = 0;          // the largest `shortest` that any residual may have (an upper bound)
  std::uint32_t longest = UINT32_MAX;  // length of the longest string, if it is known to have one
  std::uint32_t round = 0;             // where `endless`: the shortest string of what is repeated
  Hash128 hash;                        // structural: equal in every ExprSet of the process
};

class ExprSet {
 public:
  static constexpr std::uint32_t kUnbounded = UINT32_MAX;
  static constexpr std::uint32_t kAny = UINT32_MAX;  // a value of `spelled` that no longer matters
  static constexpr std::uint32_t kEscape = 6;        // bytes of the longest spelling of a byte in a JSON string
  static constexpr ExprId kEmpty{0};
  static constexpr ExprId kEpsilon{1};

  explicit ExprSet(Meter& meter);

  ExprId bytes(const ByteSet& set);
  ExprId literal(std::string_view text);
  std::uint8_t first_byte(ExprId text) const { return static_cast<std::uint8_t>(texts_[exprs_[text.value].a]); }
  ExprId behind_first(ExprId text);
  std::string_view text_of(ExprId text) const {
    return std::string_view(texts_).substr(exprs_[text.value].a, exprs_[text.value].b);
  }
  ExprId concat(ExprId first, ExprId second) {
    if (second == kEpsilon || first == kEmpty) return first;
    Recent& recent = recent_[(first.value * 0x9E3779B1u ^ second.value * 0x85EBCA77u) >> kRecentShift];
    if (recent.first != first || recent.second != second) recent = {first, second, join(first, second)};
    return recent.result;
  }
  ExprId alternation(std::vector<ExprId> parts);
  ExprId conjunction(std::vector<ExprId> parts);
  ExprId complement(ExprId part);
  ExprId repeat(ExprId part, std::uint32_t minimum, std::uint32_t maximum);
  ExprId everything() const { return everything_; }  // all byte strings

  // A rule is made first and defined afterwards. `traits` has the flags and lengths of its definition.
  ExprId rule(const Expr& traits);
  // Inside an escape, some character of the texts must begin so.
  ExprId spelled(ExprId texts, std::uint32_t place, std::uint32_t value);
  ExprId greedy(ExprId part, ExprId within);
  ExprId unless(ExprId part);

  // What is left of members that come in any order.
  struct Pool {
    enum class Place : std::uint8_t {
      first,
      after,
      before
    };  // nothing written yet; behind a member; behind a separator
    std::uint32_t minimum = 0;
    std::uint32_t maximum = 0;
    std::uint32_t required = 0;  // so many of the members, the first ones, must still come
    Place place = Place::first;
    bool operator==(const Pool&) const = default;
  };
  // Members that can never come must have been taken out.
  ExprId unordered(const Pool& pool, ExprId separator, ExprId others, std::span<const ExprId> members);
  const Pool& pool(ExprId id) const { return pools_[(*this)[id].c]; }

  // Members in a fixed order, each left out unless it is required, then any number of `others`.
  struct Series {
    ExprId separator, others;
    std::vector<ExprId> members;
    std::vector<bool> required;
    std::vector<Expr> left{};             // what is known of the members from each one on, the place apart
    std::vector<std::uint32_t> needed{};  // how many of them are required
    std::vector<std::uint32_t> least{};   // the length of the shortest of them
  };
  std::uint32_t add_series(Series series);
  ExprId ordered(std::uint32_t series, std::uint32_t from, Pool::Place place);
  const Series& series(ExprId id) const { return series_[(*this)[id].a]; }

  ExprId past(std::uint32_t index);
  ExprId hole();
  // A loop is made first and defined afterwards; `nullable`, `has_past` and `has_hole` are those of its exit.
  ExprId loop(bool nullable, bool has_past, bool has_hole);
  void define(ExprId loop, ExprId definition) { definitions_[(*this)[loop].a] = definition; }
  ExprId definition(ExprId loop) const { return definitions_[(*this)[loop].a]; }
  // The tail and residuals as one expression; just the tail where it asks nothing any more. `nullable` is the caller's
  // to say, since it depends on what the residuals answer.
  ExprId context(ExprId tail, std::span<const ExprId> residuals, bool nullable);

  const Expr& operator[](ExprId id) const { return exprs_[id.value]; }
  // Of an alternation, conjunction, unordered or context. Only the owner of the lock may ask.
  std::span<const ExprId> operands(ExprId id) const {
    const Expr& expr = exprs_[id.value];
    return {operands_.data() + expr.a, expr.b};
  }
  const ByteSet& set(std::uint32_t index) const { return sets_[index]; }
  std::size_t set_count() const { return sets_.size(); }
  std::size_t size() const { return exprs_.size(); }

 private:
  // The latest concatenations: neighbouring classes of a row and neighbouring rows ask for the same ones.
  struct Recent {
    ExprId first, second, result;
  };
  static constexpr unsigned kRecentShift = 22;
  ExprId join(ExprId first, ExprId second);
  ExprId find_or_add(const Expr& expr, std::span<const ExprId> operands);
  bool same(const Expr& known, const Expr& expr, std::span<const ExprId> operands) const;
  void grow_table();
  std::uint32_t set_index(const ByteSet& set);
  void merge_counts(std::vector<ExprId>& parts);
  void merge_heads(std::vector<ExprId>& parts);
  ExprId text(std::uint32_t begin, std::uint32_t length);
  void flatten(std::vector<ExprId>& parts, Op op) const;
  static void inherit(Expr& expr, const Expr& part);

  Meter& meter_;
  std::array<Recent, 1u << (32 - kRecentShift)> recent_{};
  StableVector<Expr> exprs_;
  std::vector<ExprId> operands_;
  std::vector<ByteSet> sets_;
  std::vector<ExprId> definitions_;
  std::vector<Pool> pools_;
  std::deque<Series> series_;
  std::string texts_;
  int merging_ = 0;                   // unions inside one another that put tails together
  std::vector<std::uint32_t> table_;  // open addressing, power of two, 0 = free (the empty language is never looked up)
  std::unordered_multimap<std::uint64_t, std::uint32_t> set_table_;
  ExprId everything_;
};

}  // namespace detent

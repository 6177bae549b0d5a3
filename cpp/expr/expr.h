// Expr: one node of a hash-consed regular expression over bytes, as an ExprSet stores it.
//
// An expression is an index into its ExprSet. Each node caches facts about its language (nullable, length bounds),
// which the constructors compute from the operands.
#pragma once

#include <cstdint>

#include "base/hash.h"
#include "expr/text_memory.h"

namespace detent {

// Index of an expression in its ExprSet. 0 is the empty language, so that "dead" is a test against zero.
struct ExprId {
  std::uint32_t value = 0;
  auto operator<=>(const ExprId&) const = default;
};

enum class Op : std::uint8_t {
  empty,            // the empty language
  epsilon,          // the empty string
  bytes,            // one byte of a set
  text,             // a literal of two or more bytes
  concat,           // first, then second; first is never a concat
  union_of,         // operands
  grown_union,      // first or second: a union of many operands that grows by one at a time
  intersection,     // operands
  complement,       // all byte strings that are not in part
  repeat,           // part, between minimum and maximum times
  rule,             // a grammar rule: its definition may call rules, also itself; never left-recursive
  json_escaped,     // the texts of part, escaped as inside a JSON string (json_string.h)
  unordered,        // members that come in any order (members.h)
  ordered,          // members that come in a fixed order (members.h)
  distinct,         // a list of items of which no two are equal (distinct.h)
  decimal,          // the JSON texts of one number (decimal.h)
  remembered,       // part, a state with open lists of distinct items, and the text of the item that is being read
  maximal_munch,    // part, where the following text does not extend the match to a longer string of `munched`
  not_followed_by,  // the empty string, where the text that follows, up to its end, is no string of part
  // The operators below occur in text scopes only (lookaround.h).
  lookbehind_condition,  // the futures that a numbered lookbehind allows at this position
  lookbehind_end,        // the position where the body of a lookbehind ends
  loop,                  // a right-linear definition in which every round consumes a byte
  lookbehind_context,    // operands: a tail, then one residual for each lookbehind of the tail
};

struct Expr {
  Op op = Op::empty;
  bool nullable : 1 = false;
  // The form shows whether the language is empty: only the empty expression is. True for expressions without
  // complement, intersection or scope inside, and for an infinite language minus a finite one.
  bool nonempty : 1 = false;
  bool infinite : 1 = false;  // nonempty, and every residual contains an unbounded repeat that follows
  // The form shows that every string is valid UTF-8, or the owner has stated it (ExprSet::mark_text).
  bool is_text : 1 = false;
  bool in_alphabet : 1 = false;         // the form shows that every string is over the alphabet of the ExprSet
  bool has_lookbehind : 1 = false;      // contains a lookbehind_condition: has a meaning only inside a context
  bool has_lookbehind_end : 1 = false;  // contains a lookbehind_end
  bool has_rule : 1 = false;            // calls a rule: may have infinitely many residuals
  bool has_guard : 1 = false;           // contains maximal_munch or not_followed_by: depends on the text that follows
  bool has_strict_guard : 1 = false;    // contains a guard without escape: it may make what follows dead
  bool exact_length : 1 = false;        // min_length is exact, also for each residual
  bool has_open_item : 1 = false;       // contains an open list of distinct items (distinct.h)
  bool has_closed_item : 1 = false;     // contains a closed one
  // Each flag below is true only if the form shows it.
  bool only_unescaped : 1 = false;    // a JSON string writes every string without escapes
  bool needs_no_escapes : 1 = false;  // each residual has a string, within the bounds below, that needs no escapes
  // Where some bytes are no tokens (ExprSet::set_alphabet):
  bool only_token_bytes : 1 = false;             // every string consists of bytes that are tokens
  bool completes_by_bytes : 1 = false;           // some string does, or the language is empty
  bool residuals_complete_by_bytes : 1 = false;  // the same holds for each residual by one byte or more
  // Bounds, valid where `nonempty`:
  std::uint32_t largest_count = 0;         // largest finite repeat bound inside
  std::uint32_t largest_minimum = 0;       // largest lower repeat bound inside
  std::uint32_t min_length = 0;            // length of the shortest string
  std::uint32_t max_completion_bound = 0;  // upper bound on min_length over all residuals
  std::uint32_t max_length = UINT32_MAX;   // length of the longest string; UINT32_MAX: unknown or unbounded
  std::uint32_t loop_length = 0;           // where `infinite`: shortest string of the repeated part
  Hash128 hash;                            // structural: equal expressions have equal hashes in every ExprSet

  ExprId first() const { return ExprId{a_}; }            // concat, grown_union
  ExprId second() const { return ExprId{b_}; }           // concat, grown_union
  ExprId part() const { return ExprId{a_}; }             // the operators with one operand
  std::uint32_t minimum() const { return b_; }           // repeat
  std::uint32_t maximum() const { return c_; }           // repeat; ExprSet::kUnbounded
  std::uint32_t set_index() const { return a_; }         // bytes: index for ExprSet::set
  std::uint32_t escape_position() const { return b_; }   // json_escaped: an EscapePosition
  std::uint32_t escape_bits() const { return c_; }       // json_escaped: bits of the escape that were read
  std::uint32_t definition_index() const { return a_; }  // rule, loop
  ExprId munched() const { return ExprId{b_}; }          // maximal_munch
  std::uint32_t escape() const { return c_; }            // the guards: length of a text that breaks no guard, or 0
  std::uint32_t members_index() const { return a_; }     // ordered
  std::uint32_t next_member() const { return b_; }       // ordered: index of the first member that may still come
  std::uint32_t member_position() const { return c_; }   // ordered: a MemberPosition
  std::uint32_t lookbehind_index() const { return a_; }  // lookbehind_condition
  std::uint32_t decimal_index() const { return b_; }     // decimal: index for ExprSet::decimal_number
  TextId text() const { return TextId{b_}; }             // remembered

 private:
  friend class ExprSet;
  // By operator:
  std::uint32_t a_ = 0;  // operand, byte set, begin of text or operands, definition, members or lookbehind
  std::uint32_t b_ = 0;  // second operand, count of bytes or operands, minimum, escape position, next member
  std::uint32_t c_ = 0;  // maximum, escape bits, state of unordered members, position among ordered members
};

}  // namespace detent

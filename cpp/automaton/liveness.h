// Liveness: whether a state has a completion, and an upper bound on the length of its shortest one.
//
//   1. Most expressions are live by their form (Expr::nonempty): constructors drop the empty language, so only
//      complements, intersections, assertions and JSON escapes can be dead without being the empty expression.
//   2. Sequences, unions, repeats and members combine the lengths of their parts.
//   3. Other states are searched, the shortest remainder first. Verdicts are memoised for each state of the search. A
//      longer search tries the texts that others have found (known_texts.h). A still longer one leaves out the states
//      of which fewer operands have no text in common (relaxations_of): these have far fewer states.
//   4. A text that all guards let pass decides where a guard could make what follows dead (EscapedLengths).
//   5. An intersection with one operand that calls rules may have infinitely many states. After some work the
//      question goes to CfgIntersection.
#pragma once

#include <algorithm>
#include <cstdint>
#include <functional>
#include <optional>
#include <span>
#include <string>
#include <unordered_map>
#include <utility>
#include <vector>

#include "automaton/character_counts.h"
#include "automaton/escaped_lengths.h"
#include "automaton/known_texts.h"
#include "automaton/text_proof.h"
#include "automaton/witness_text.h"
#include "base/paged_array.h"
#include "expr/derivative.h"
#include "expr/expr_set.h"
#include "expr/json_string.h"

namespace detent {

class Liveness {
 public:
  Liveness(ExprSet& exprs, Derivatives& derivatives, Meter& meter)
      : exprs_(exprs),
        derivatives_(derivatives),
        meter_(meter),
        character_counts_(exprs),
        escaped_lengths_(exprs, meter),
        known_texts_(exprs, derivatives, meter),
        text_proof_(exprs),
        witness_text_(exprs, derivatives, meter) {}

  // Starts with the lengths that `other` has for its first `size` expressions; `exprs` has the same ones.
  Liveness(ExprSet& exprs, Derivatives& derivatives, Meter& meter, const Liveness& other, std::size_t size)
      : exprs_(exprs),
        derivatives_(derivatives),
        meter_(meter),
        character_counts_(exprs),
        escaped_lengths_(exprs, meter),
        known_texts_(exprs, derivatives, meter),
        text_proof_(exprs),
        witness_text_(exprs, derivatives, meter),
        lengths_(other.lengths_, size),
        bounds_(other.bounds_, size) {}

  // A call that reaches a limit memoises nothing.
  bool live(ExprId state) { return bound(state) != kDead; }
  Derivatives& derivatives() { return derivatives_; }
  TextProof& text_proof() { return text_proof_; }
  CharacterCounts& character_counts() { return character_counts_; }
  // Whether live() takes no search.
  bool is_known(ExprId state) const { return known(state, Use::bounds) != kUnknown; }
  // States that `state` is live, with a completion of at most `bound` bytes.
  void set_bound(ExprId state, std::uint32_t bound) { remember(state, std::min(bound, kMaxLength), Use::bounds); }
  // An upper bound on the length of the shortest completion, or kDead.
  std::uint32_t bound(ExprId state) { return find(state, Use::bounds); }

  // The same bound where the form of the state shows it, otherwise nothing. Takes no lock.
  std::optional<std::uint32_t> length_by_form(ExprId state) const {
    const Expr& expr = exprs_[state];
    if (expr.nullable) return 0;
    if (state == ExprSet::kEmpty) return kDead;
    return expr.nonempty ? std::optional(std::min(expr.min_length, kMaxLength)) : std::nullopt;
  }

  // `bound` is a bound on completions of a state that calls rules, where its form has a padding (padding.h): a search
  // ends there. Case: inside the next string of a schema without a.{30}b.
  void set_padded_bound(std::function<std::optional<std::uint32_t>(ExprId)> bound) { padded_bound_ = std::move(bound); }

  // Remembers a length for each state along the shortest next item of a list of distinct items.
  void note_next_item(ExprId list);

  // The length of some string that leads from `state` to acceptance, or kDead. Unlike bound(), it uses no bounds of
  // set_bound(). From most states of length n > 0, some byte leads to a state of a smaller length (completion_paths.h).
  std::uint32_t length(ExprId state) { return find(state, Use::lengths); }
  // A text of an intersection, not a long one, that its form shows (WitnessText).
  std::optional<std::string> witness(ExprId id);
  static constexpr std::uint32_t kDead = UINT32_MAX;

 private:
  struct Search;
  class FirstByteSearch;
  static constexpr std::uint32_t kUnknown = UINT32_MAX - 1;
  static constexpr std::uint32_t kMaxLength = UINT32_MAX - 2;

  // Whether bounds that set_bound() gave count as lengths.
  enum class Use : std::uint8_t { lengths, bounds };

  std::uint32_t find(ExprId state, Use use);
  std::uint32_t known(ExprId id, Use use) const {
    if (use == Use::bounds || exprs_[id].nullable || !exprs_[id].has_guard) {
      if (const std::optional<std::uint32_t> length = length_by_form(id)) return *length;
    }
    const std::uint32_t length = lengths_[id.value];
    return length != kUnknown || use == Use::lengths ? length : bounds_[id.value];
  }
  std::uint32_t known(ExprId id) const { return known(id, use_); }
  // Remembers a length. With Use::bounds it may have been computed from bounds, and is remembered as a bound.
  void remember(ExprId id, std::uint32_t length, Use use);
  Use use_for(ExprId id) const { return known(id, Use::lengths) == kUnknown ? Use::bounds : Use::lengths; }

  // Writes the parts that decide the length of `id` (step 2), or returns false.
  bool parts_of(ExprId id, std::vector<ExprId>& parts);
  // The intersection `id` as a union, without the empty language; `id` alone if it is none.
  std::vector<ExprId> alternatives_of(ExprId id);
  // The length of an expression from the known lengths of its parts.
  std::uint32_t combine(ExprId id, std::span<const ExprId> parts) const;
  // Remembers the length of an expression if those of its parts decide it and are known.
  void combine_known_parts(ExprId id);
  // How many bytes of a JSON string each byte of a shortest text takes at most.
  std::uint32_t bytes_written(ExprId texts) const { return exprs_[texts].needs_no_escapes ? 1 : kMaxEscapeLength; }
  std::uint32_t combine_unordered(ExprId id, std::span<const ExprId> parts) const;
  std::uint32_t combine_distinct(ExprId id) const;
  std::uint32_t combine_ordered(ExprId id, std::span<const ExprId> parts) const;
  std::uint32_t with_separators(std::uint64_t length, std::uint32_t count, MemberPosition position,
                                ExprId separator) const;

  // By a text that all guards let pass; and the lengths of an intersection with a bound on characters, such as
  // x & .{0,300}, or on bytes. Nothing where the form does not show it.
  std::optional<std::uint32_t> length_past_guards(ExprId id);
  std::optional<std::uint32_t> length_by_count(ExprId id);
  std::optional<std::uint32_t> length_by_bytes(ExprId id);
  bool excludes_itself(ExprId id);
  bool includes_known(ExprId large, ExprId small);
  // The length of a text that completed another state. Remembers the lengths on the way, so that they fall.
  std::optional<std::uint32_t> length_by_known_text(ExprId id);
  bool has_dead_relaxation(ExprId id);
  bool reach_known_text(Search& search, std::size_t index);
  void add_text(const Search& search);
  std::optional<std::string> witness(ExprId id, std::size_t longest);
  // For a JSON string `id` after a backslash: the texts after a character that may be escaped there, which are perhaps
  // live. The empty language where `id` is in another position, or no such character is found among those tried.
  ExprId after_escaped_character(ExprId id);
  // The length of a text of ~x & g that begins with a byte of no text of x (excluded_prefixes.cc).
  std::optional<std::uint32_t> length_by_first_byte(ExprId id);
  ExprId operand_after_guards(ExprId id) const;
  // A language that contains ~x & g and calls no rule. Nothing where g does not show one.
  std::optional<ExprId> widened_after_guards(ExprId id, ExprId tail);
  std::uint32_t distance_guess(ExprId id) const;
  void search(ExprId state);
  // Expands one state of the search; returns whether it reaches a state that is known to be live.
  bool expand(Search& search, std::size_t index);
  bool note_padded(ExprId state);
  void propagate(Search& search);
  // Splits an intersection into the one operand that calls rules, and the intersection of the others; false if that is
  // impossible.
  bool split_operands(ExprId state, ExprId& grammar, ExprId& regular);

  ExprSet& exprs_;
  Derivatives& derivatives_;
  Meter& meter_;
  CharacterCounts character_counts_;
  EscapedLengths escaped_lengths_;
  KnownTexts known_texts_;
  TextProof text_proof_;
  WitnessText witness_text_;
  std::function<std::optional<std::uint32_t>(ExprId)> padded_bound_;
  bool is_padding_ = false;                             // inside padded_bound_
  Use use_ = Use::lengths;                              // of the call
  PagedArray<std::uint32_t, kUnknown> lengths_;         // by expression
  PagedArray<std::uint32_t, kUnknown> bounds_;          // by expression, where no length is known
  std::unordered_map<std::uint64_t, bool> inclusions_;  // by two expressions
};

}  // namespace detent

// SliceAnalysis: splits a state into slices, whose masks other states can share (docs/algorithms/slices.md).
//
// A slice is a prefix, such as the rest of a JSON string with its closing quotation mark, and a continuation. The mask
// of the prefix does not depend on the continuation. Further functions take a prefix to a similar expression that more
// states share, such as .{0,100}" to .*". The two masks differ in few tokens.
#pragma once

#include <array>
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <unordered_map>
#include <utility>
#include <vector>

#include "automaton/automaton.h"
#include "automaton/safe_bytes.h"
#include "automaton/slice_finder.h"
#include "automaton/unbounded_state.h"

namespace detent {

// A state as the union of slices and a remainder, which is dead if the slices are all of the state.
struct SlicedState {
  std::vector<Slice> slices;
  ExprId remainder;
};

// A JSON string of `minimum` to `maximum` characters, each from one set, such as "[a-z]{2,5}".
struct BoundedString {
  ExprId unbounded;  // the string without these bounds
  std::uint32_t minimum, maximum;
  bool is_before;  // the opening quotation mark is still to come
};

// A JSON string of other texts with `minimum` to `maximum` characters, such as "(\S+ )*" with at most 300.
struct CountedString {
  ExprId unbounded;  // the string without these bounds
  std::uint32_t minimum, maximum;
  bool is_before;              // the opening quotation mark is still to come
  std::uint32_t most_to_come;  // after any text inside, some completion has at most that many characters
};

// A JSON string that excludes finitely many texts.
struct ExcludingString {
  ExprId all;                  // the string without exclusions; each text inside has infinitely many completions
  std::uint32_t inside_bound;  // after any text inside, some completion has at most that many bytes
  // The excluded texts as JSON writes them, after the bytes before the string, without the closing quotation mark.
  // Nothing where the expressions do not show them.
  std::optional<std::vector<std::string>> written;
};

// A prefix that excludes words: `all` without the words of `condition`. A token that both allow is allowed, since some
// completion in `all` has only bytes that end no word.
struct ConditionedPrefix {
  ExprId all, condition;
  std::uint32_t completion_bound;  // of these completions, in bytes
  bool needs_escapes_followed;     // inside an escape there may be none
  bool needs_characters_followed;  // inside a character there may be none; and the last byte may end a word
};

class SliceAnalysis {
 public:
  explicit SliceAnalysis(Automaton& automaton) : automaton_(automaton) {}

  // Returns the slices of `state` that are worth a mask of their own, and the remainder.
  SlicedState slice(ExprId state);
  // The same slices, and further ones for values between punctuation, such as `": 12`. Each choice at the head of the
  // state, such as an operand of a union or the next member of an object, becomes one alternative.
  SplitState split(ExprId state);
  // The slice of a state after the name of a member, from the colon to the end of the value, such as `: 12`. Nothing
  // for any other state.
  std::optional<Slice> member_value(ExprId state);
  // Drops the upper bound of the repeat that is the first part of a state or of its operands, or of operands of an
  // intersection there: `.{0,100}"` becomes `.*"`.
  UnboundedState drop_upper_bound(ExprId state);
  // UnboundedState::needed for an unbounded state that begins with a JSON string, or of which one operand does: a
  // tighter bound than the mask of the state gives. Cost: at the first visit, the rows of few states.
  std::optional<std::uint32_t> needed_inside(const UnboundedState& wide);
  // Drops the upper bounds of all repeats that the first part may begin with, inside its unions, intersections and
  // concatenations too.
  UnboundedState drop_upper_bounds(ExprId state);
  // Drops all large upper bounds in the first part, except below complements: `(.{1,63}\.){1,127}` becomes `(.+\.)+`.
  UnboundedState drop_large_upper_bounds(ExprId state);
  // Lowers upper bounds (with_fewer_rounds), if a live state is left: each of its texts is one of the given state.
  ExprId with_fewer_rounds(ExprId state);
  // Drops the lower bound of a prefix "at least n rounds, then one byte": `.{5,}"` becomes `.*"`. Both allow the same
  // tokens up to that byte. Any other prefix is returned unchanged.
  ExprId drop_lower_bound(ExprId prefix);
  // Drops the complements of an intersection: the next item of a list of distinct items then excludes no earlier item.
  // Any other prefix is returned unchanged.
  ExprId drop_exclusions(ExprId prefix);
  // Reads a prefix as a BoundedString, perhaps after a space and the opening quotation mark; nothing if it is none. The
  // first function also returns one of any number of characters.
  std::optional<BoundedString> string_of_characters(ExprId prefix);
  std::optional<BoundedString> bounded_string(ExprId prefix);
  // Reads a prefix as a CountedString, likewise.
  std::optional<CountedString> counted_string(ExprId prefix);
  // The JSON string of at most `maximum` of the characters that complete `string`: a state of CountedString::unbounded
  // at the start of a character. Nothing where the form of the state does not show the string.
  std::optional<ExprId> with_at_most(ExprId string, std::uint32_t maximum);
  // The fewest characters that complete the JSON string in which a state is, not counting the character that is being
  // read. Nothing where the form of the state does not show it.
  std::optional<std::uint32_t> characters_to_come(ExprId state);
  // Reads a prefix as an ExcludingString. Some bytes may stand before the string only if `written` is known.
  std::optional<ExcludingString> excluding_string(ExprId prefix);
  // Reads a prefix as a ConditionedPrefix. Cost: at the first visit, the rows of the states of `all`, if they are few.
  std::optional<ConditionedPrefix> conditioned_prefix(ExprId prefix);
  // Reads a condition as exclusions (exclusions_of).
  std::vector<ExprId> exclusions(ExprId condition);
  // The texts of a prefix that is a choice among literals, such as the rest of an enumeration; nothing for any other.
  std::optional<std::vector<std::string>> literals_of(ExprId prefix);
  // Replaces the constrained JSON string at the start of a prefix by any string, which contains it. Any other prefix is
  // returned unchanged; so is one that continues a started character, since any string begins with a whole one.
  ExprId any_string_like(ExprId prefix);

 private:
  std::optional<std::uint32_t> longest_completion(ExprId texts);
  std::optional<std::uint32_t> find_longest_completion(ExprId texts);
  std::optional<std::uint32_t> longest_stay(ExprId state);
  std::optional<std::uint32_t> find_longest_stay(ExprId state);

  struct SafeCompletions {
    std::uint32_t longest;
    bool inside_escapes;  // from each state inside an escape, too
    bool has_loop;        // some state loops over a safe byte
  };
  bool is_any_string(ExprId prefix);
  bool is_any_string_inside(const ExprSet& exprs, ExprId prefix, ExprId all_texts) const;
  bool is_inside_character(ExprId state);
  static std::optional<SafeCompletions> with_loop(std::optional<SafeCompletions> found, std::uint32_t count);
  std::optional<SafeCompletions> safe_completions(ExprId prefix, const ByteSet& safe);
  std::optional<SafeCompletions> find_safe_completions(ExprId prefix, const ByteSet& safe, std::vector<ExprId>& states);

  Automaton& automaton_;
  // Read and written under the automaton's lock.
  std::unordered_map<std::uint32_t, bool> character_sets_;  // by expression: whether it is one character
  std::unordered_map<std::uint32_t, bool> numbers_;         // by expression: whether its bytes are all in kNumberBytes
  std::unordered_map<std::uint32_t, std::optional<std::uint32_t>> longest_completions_;  // by expression
  std::unordered_map<std::uint32_t, std::optional<std::uint32_t>> longest_stays_;        // by expression
  std::map<std::pair<std::uint32_t, std::array<std::uint64_t, 4>>, std::optional<SafeCompletions>> safe_completions_;
  ByteResets resets_;
  SafeBytes safe_bytes_;
};

}  // namespace detent

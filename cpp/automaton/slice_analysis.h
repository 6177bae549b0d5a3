// SliceAnalysis: the parts of a state whose masks other states can share.
//
// A slice is a prefix of a state, such as the rest of a JSON string with its closing quotation mark, together with the
// continuation that follows it. The mask of a prefix does not depend on the continuation. Further functions return a
// similar expression whose mask differs in few tokens and is more widely shared.
// docs/algorithms/slices.md derives the method.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <unordered_map>
#include <vector>

#include "automaton/automaton.h"
#include "automaton/slice_finder.h"

namespace detent {

// A state as the union of slices and a remainder, which is dead if the slices are all of the state.
struct SlicedState {
  std::vector<Slice> slices;
  ExprId remainder;
};

// A state whose first part is a repeat of at most `rounds` rounds, without that bound.
struct UnboundedState {
  ExprId state;  // the given state if it has no such bound
  std::uint32_t rounds = UINT32_MAX;
  std::uint32_t characters = 0;  // the forms also agree on the texts of at most so many characters
  bool in_intersection = false;  // another operand may require further rounds
  // After any text inside, some completion of the unbounded form has at most so many bytes. Nothing where the
  // expression does not show it.
  std::optional<std::uint32_t> needed = std::nullopt;
};

struct BoundedString {
  ExprId unbounded;
  std::uint32_t minimum, maximum;
  bool is_before;  // the opening quotation mark is still to come
};

// A JSON string of texts that have `minimum` to `maximum` characters, and the string of these texts without that bound.
struct CountedString {
  ExprId unbounded;
  std::uint32_t minimum, maximum;
  bool is_before;              // as above
  std::uint32_t most_to_come;  // characters: after any text inside, some completion has at most so many
};

struct ExcludingString {
  ExprId all;                  // with the excluded texts; each text inside has infinitely many completions
  std::uint32_t inside_bound;  // of the completions after a text inside, in bytes
  // All forms of the excluded texts, with what stands before the string, without its quotation mark. Nothing where
  // the expressions do not show them.
  std::optional<std::vector<std::string>> written;
};

class SliceAnalysis {
 public:
  explicit SliceAnalysis(Automaton& automaton) : automaton_(automaton) {}

  // Returns the slices of `state` that are worth a mask of their own, and the remainder.
  SlicedState slice(ExprId state);
  // As above, with slices for values between punctuation, such as `": 12`, and with one alternative for each choice at
  // the head of the state: the operands of a union, the next members of an object.
  SplitState split(ExprId state);
  // The slice of a state that is the rest of a member after its name, with a value as above.
  std::optional<Slice> member_value(ExprId state);
  UnboundedState drop_upper_bound(ExprId state);
  // A bound on what some completion needs after any text inside the first part of a state, in bytes of its texts: for
  // UnboundedState::needed, where the mask of the state tells too much. Cost: at the first visit, rows of few states.
  std::optional<std::uint32_t> needed_inside(ExprId state);
  // The same for all repeats that the first part may begin with, inside its unions, intersections and concatenations.
  // The state and the result agree on the texts of at most `rounds` bytes.
  UnboundedState drop_upper_bounds(ExprId state);
  // The same for all repeats of many rounds, wherever they are but below a complement: `(.{1,63}\.){1,127}` becomes
  // `(.+\.)+`. The state and the result agree on the texts of at most `rounds` bytes.
  UnboundedState drop_large_upper_bounds(ExprId state);
  // Returns a prefix "at least n rounds, then one byte" without its lower bound, any other prefix unchanged. Both allow
  // the same tokens up to that byte.
  ExprId drop_lower_bound(ExprId prefix);
  // Returns an intersection without the texts that it excludes, any other prefix unchanged: the items of a list of
  // distinct items before some of them were read.
  ExprId drop_exclusions(ExprId prefix);
  // Where a prefix is a JSON string of between `minimum` and `maximum` characters, each from one set: the string
  // without these bounds. A space and the opening quotation mark may stand before it.
  std::optional<BoundedString> bounded_string(ExprId prefix);
  // The same for a JSON string of other texts with a bound of their characters.
  std::optional<CountedString> counted_string(ExprId prefix);
  // The fewest characters of a completion of a state inside a JSON string that its quotation mark ends: those after the
  // character that is being read. Nothing where the form of the state does not show them.
  std::optional<std::uint32_t> characters_to_come(ExprId state);
  // Where a prefix is a JSON string of texts without finitely many: the string with these. Some bytes may stand before
  // the string if `written` is known.
  std::optional<ExcludingString> excluding_string(ExprId prefix);
  // The texts of a prefix that is a choice among literals, such as the rest of an enumeration; nothing of any other.
  std::optional<std::vector<std::string>> literals_of(ExprId prefix);
  // Returns a prefix that begins with a constrained JSON string with any string instead, any other prefix unchanged.
  ExprId any_string_like(ExprId prefix);

 private:
  std::optional<std::uint32_t> longest_completion(ExprId texts);
  std::optional<std::uint32_t> find_longest_completion(ExprId texts);

  Automaton& automaton_;
  // Read and written under the automaton's lock.
  std::unordered_map<std::uint32_t, bool> character_sets_;  // by expression: whether it is one character
  std::unordered_map<std::uint32_t, bool> numbers_;         // by expression: whether all its bytes are those of numbers
  std::unordered_map<std::uint32_t, std::optional<std::uint32_t>> longest_completions_;  // by expression
};

}  // namespace detent

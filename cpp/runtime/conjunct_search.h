// ConjunctSearch: which intersections have a text, found by following sets of their conjuncts (automaton/conjuncts.h).
//
// A set of conjuncts has a number and transitions (set_table.h), so that following a byte is mostly one look-up. A
// state of the automaton would take a new expression and a transition row.
//
// A bound on the number of characters, as in `x & .{0,100}`, is no part of a set: it would make 100 sets of each.
// Beside the set stands how many characters may still begin. Of a set it is known how many the shortest of its texts
// need: at least `fewest`, at most `enough`. Each search narrows these for all sets that it has seen, whatever bound it
// had. Alternatives of a conjunct that need more characters than are left are dropped from a set, since there are as
// many sets as there are sets of them.
//
// An object serves one walk at a time (kept_search.h). Sets, their transitions and what their forms show are kept. What
// a walk finds out about texts is forgotten at its end. Otherwise the bound on completions that a mask keeps would be
// that of a text found for another mask, and two equal requests could differ near a token limit.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <unordered_map>
#include <utility>
#include <vector>

#include "automaton/automaton.h"
#include "runtime/alternative_sets.h"
#include "runtime/set_table.h"

namespace detent {

class ConjunctSearch {
 private:
  using ConjunctId = std::uint32_t;             // an index into conjuncts_
  using ConjunctSet = std::vector<ConjunctId>;  // ascending; empty if a conjunct is dead
  using Table = SetTable<ConjunctId, std::hash<ConjunctId>>;

 public:
  using SetId = Table::Id;
  static constexpr std::uint32_t kAny = UINT32_MAX - 1;  // characters, where no conjunct bounds them
  // The texts of all conjuncts of a set in which at most `left` characters begin.
  struct State {
    SetId set = 0;
    std::uint32_t left = kAny;
    bool operator==(const State&) const = default;
  };
  enum class Verdict : std::uint8_t { unknown, live, dead };

  explicit ConjunctSearch(Automaton& automaton);

  // Whether `state` has several conjuncts.
  bool is_conjunction(ExprId state) { return split(state).size() > 1; }
  // The state of an expression.
  State start(ExprId state);
  State follow(State from, std::uint8_t byte);
  // Finds out whether a state is live; returns `unknown` where that takes too long.
  Verdict decide(State state);
  // States what is known from elsewhere.
  void note_live(State state, std::uint32_t completion_bound);
  void note_dead(State state);

  bool accepting(State state) const { return known_[state.set].accepting; }
  // A bound on the length of the shortest text of a live state.
  std::uint32_t completion_bound(State state) const { return known_[state.set].completion_bound; }
  // The bytes after which all conjuncts are the same again.
  const ByteSet& loop_of(State state);
  // Whether the form shows that a live state stays live while `characters` more begin and its conjuncts stay the same.
  bool stays_live(State state, std::uint32_t characters);
  // Forgets what the last walk has found about texts, and lets the next one search as much.
  void begin_walk();
  // The memory of the sets, about.
  std::size_t bytes() const;
  // The work since the last call, in steps of the automaton's meter. A set counts once in each walk.
  std::int64_t take_work() { return std::exchange(work_, 0); }

 private:
  static constexpr std::uint32_t kNone = UINT32_MAX;  // no number of characters
  enum class Alike : std::uint8_t { unknown, yes, no };
  struct Conjunct {
    ExprId state;
    const ExprId* row = nullptr;
    bool accepting = false;
    std::uint32_t completion_bound = 0;
    bool is_string = false;                   // a JSON string; its characters count before they are escaped
    std::uint32_t fewest = 0;                 // characters that each of its texts has
    std::uint32_t longest = 0;                // characters that each of its alternatives has: their maximum
    ExprId between;                           // of a conjunct that counts characters: its state between two of them
    std::vector<ConjunctSet> successors;      // by byte class, where `knows_successors`
    std::vector<bool> knows_successors;       // by byte class
    Alike other_characters = Alike::unknown;  // whether all characters beyond ASCII lead where `common_byte_` leads
    // By the number of a completion: how many characters begin in it, or kRefused, or kUntried. Of the walk `walk`.
    std::vector<std::uint32_t> completions;
    std::uint32_t walk = 0;
    bool counts() const { return between != ExprSet::kEmpty; }
  };
  static constexpr std::uint32_t kRefused = UINT32_MAX, kUntried = UINT32_MAX - 1;
  // How a known text of a set goes on: it ends, is that of the only conjunct, has a byte, or is a known completion.
  enum class Next : std::uint8_t { unknown, end, conjunct, byte, completion };
  // What is known of a set: first what its form shows.
  struct Known {
    bool accepting = false;
    bool counts = false;      // whether a conjunct counts characters
    bool is_between = false;  // the same, and no character is open
    bool knows_loop = false;
    bool knows_pairs = false;
    Alike other_characters = Alike::unknown;  // of all conjuncts
    std::uint32_t longest = 0;                // of its conjuncts: the maximum
    std::uint32_t fewest_by_form = 0;         // characters; kNone: there is no text
    std::uint64_t distance = 0;               // the sum of the completion bounds of the conjuncts
    std::uint32_t least_bytes = 0;            // their maximum
    ByteSet loop;
    std::vector<SetId> pairs;  // each pair of its conjuncts, with the one that counts

    // What the walk of this number has found.
    std::uint32_t walk = 0;
    bool counted_pairs = false;
    std::uint32_t fewest = 0, enough = kNone;  // characters of the text that needs the fewest; kNone: there is no text
    std::uint32_t undecided = kNone;           // characters left, where the last search found no answer
    std::uint32_t completion_bound = 0;        // of the texts with `enough` characters
    Next next = Next::unknown;                 // how one of these texts goes on
    std::uint8_t byte = 0;                     // Next::byte,
    SetId after = 0;                           // and the set after it
    std::uint32_t completion = 0;              // Next::completion
    std::uint32_t last_search = 0;             // the last search that has seen it,
    std::uint32_t most_left = 0;               // with the most characters left
  };
  // A state that a search has seen, with the node before it and the byte that leads from there.
  struct SearchNode {
    State state;
    std::size_t parent;
    std::uint32_t depth;
    std::uint8_t byte;
    bool is_expanded = false;
  };

  const ConjunctSet& split(ExprId state);
  ConjunctId intern(ExprId conjunct, ExprId between);
  const ConjunctSet& successors(ConjunctId id, std::uint8_t byte_class);
  void normalize(ConjunctSet& conjuncts) const;
  SetId add(const ConjunctSet& conjuncts);
  void describe(const ConjunctSet& conjuncts);
  SetId without_longer_alternatives(State state);
  SetId successor(SetId set, std::uint8_t byte);
  // What is known of a set in this walk.
  Known& in_walk(SetId set) {
    if (known_[set].walk != walk_) begin(set);
    return known_[set];
  }
  void begin(SetId set);
  Verdict known_verdict(State state);
  bool decide_by_completions(State state);
  std::uint32_t read(ConjunctId conjunct, std::uint32_t completion);
  bool contains(ExprId state, std::string_view text);
  std::uint32_t count_characters(ConjunctId conjunct, std::string_view text);
  bool has_dead_pair(State state);
  bool find_dead_pair(State state);
  const std::vector<SetId>& pairs_of(SetId set);
  std::vector<SetId> find_pairs(SetId set);
  bool are_others_alike(SetId set);
  bool is_alike(ConjunctId conjunct);
  Verdict search(State state);
  void note_path(const std::vector<SearchNode>& nodes, std::size_t last);
  bool note_fewer(State state, std::uint32_t completion_bound);
  std::optional<std::string> text_of(SetId set);

  Automaton& automaton_;
  AlternativeSets alternatives_;
  ExprId all_strings_ = ExprSet::kEmpty;
  Table sets_;
  std::vector<Known> known_;  // by set
  std::vector<Conjunct> conjuncts_;
  std::unordered_map<std::uint64_t, ConjunctId> ids_;      // by expression, and whether it counts
  std::unordered_map<std::uint32_t, ConjunctSet> splits_;  // by expression
  std::unordered_map<std::uint64_t, SetId> shorter_;       // by set, and the characters that are left
  std::vector<std::string> texts_;                         // the completions, by number
  std::vector<std::uint32_t> completions_;                 // those that are tried, the most recently used first
  std::uint32_t walk_ = 0;
  std::size_t set_count_ = 0;  // of this walk
  std::uint32_t search_count_ = 0;
  std::size_t expansions_left_[2];   // of all searches of a walk: of states that count no characters, and of the others
  std::vector<std::uint8_t> bytes_;  // one of each class
  std::uint8_t common_byte_ = 0;     // of the class that has most ASCII bytes
  bool is_inside_pair_ = false;
  std::int64_t work_ = 0;
};

}  // namespace detent

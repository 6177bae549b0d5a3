// ExclusionSearch: which intersections `g & ~(x | y | ...)` have a text, where g may call rules: a schema without the
// matches of a pattern.
//
// Each text over the letters leads `~(.* a .{30} b .*)` to another state, of 2^31. Such a state is a set of the
// sequences that are excluded, of which there are 32. The states of g are few. So a position is a state of g, and a
// set of sequences. It takes no expression of its own, no transition row, and no search for each entry of a row.
//
// A position is dead if all texts are excluded. Where its form has a padding (automaton/padding.h), it is live, as
// inside the strings of a schema. From the others, such as those after a string, a search follows bytes until it
// reaches a position that is known to be live. Where that takes too long, the liveness of the expression decides.
//
// An object serves one walk. The caller holds no lock.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <unordered_map>
#include <utility>
#include <vector>

#include "automaton/automaton.h"
#include "runtime/set_table.h"

namespace detent {

class ExclusionSearch {
 private:
  using Table = SetTable<std::uint32_t, std::hash<std::uint32_t>>;

 public:
  using PositionId = Table::Id;
  using SetId = Table::Id;  // of sequences
  static constexpr PositionId kDead = 0;

  explicit ExclusionSearch(Automaton& automaton);

  // The position of a live state; nothing where it has another form.
  std::optional<PositionId> start(ExprId state);
  // The position after a byte; kDead where no text goes on. Cost: a look-up; at the first time, linear in the
  // sequences, and perhaps a search.
  PositionId follow(PositionId from, std::uint8_t byte) {
    const PositionId known = positions_.successor(from, automaton_.class_of()[byte]);
    return known != Table::kUnknown && known_[known].verdict != Verdict::unknown ? live_or_dead(known)
                                                                                 : find_successor(from, byte);
  }
  // Whether a position was met that only its expression describes. Then what follow() returned last does not count.
  bool has_failed() const { return has_failed_; }
  ExprId main(PositionId at) const { return known_[at].main; }
  bool accepting(PositionId at) const { return known_[at].accepting; }
  // A bound on the length of the shortest completion of a live position.
  std::uint32_t completion_bound(PositionId at) const { return known_[at].completion_bound; }
  // Whether the form of a position has a padding; and what it shows: positions share it.
  bool is_padded(PositionId at) const { return known_[at].padding != kNone; }
  std::uint32_t padding_id(PositionId at) const { return known_[at].padding; }
  const LiveLoops::Padded& padding(PositionId at) const { return paddings_[known_[at].padding]; }
  // Bytes that lead from a live position to another one, which has a padding or accepts, where a search has found them.
  std::optional<std::pair<std::string, PositionId>> path(PositionId at) const;

  // After bytes that g keeps (Padded::kept), only the excluded sequences matter: a text is refused once it matches one.
  SetId excluded(PositionId at) const { return known_[at].excluded; }
  // The sequences of a set that may match within so many bytes.
  SetId matches_within(SetId set, std::uint32_t bytes);
  SetId follow_set(SetId set, std::uint8_t byte) { return successor(set, automaton_.class_of()[byte]); }
  bool is_empty(SetId set) const { return sets_[set].empty(); }
  bool is_match(SetId set) const { return set == every_text_ || set == every_utf8_; }
  // Whether no sequence of a set matches a text, nor the beginning of it.
  bool allows(SetId set, std::string_view text);

  // The memory of the positions, about.
  std::size_t bytes() const { return bytes_; }
  // The work since the last call, in steps of the automaton's meter.
  std::int64_t take_work() { return std::exchange(work_, 0); }

 private:
  static constexpr std::uint32_t kNone = UINT32_MAX;
  using SequenceId = std::uint32_t;             // an index into sequences_
  using SequenceSet = std::vector<SequenceId>;  // ascending
  enum class Verdict : std::uint8_t { unknown, live, dead };
  struct Sequence {
    ExprId expr;
    const ExprId* row;
    std::uint32_t least_length;
    bool nullable;
    std::vector<SetId> successors;  // by byte class, or Table::kUnknown
  };
  struct Known {
    ExprId main;  // the state of g
    SetId excluded = 0;
    Verdict verdict = Verdict::unknown;
    bool accepting = false;
    std::uint8_t next_class = 0;  // of a path to another live position
    PositionId next = kDead;      // the next one of this path, if there is one
    std::uint32_t completion_bound = 0;
    std::uint32_t padding = kNone;  // an index into paddings_
    std::uint32_t last_search = 0;  // that has seen the position
  };
  struct SearchNode {
    PositionId position;
    std::size_t parent;
    std::uint32_t depth;
    std::uint8_t byte_class;
  };

  PositionId live_or_dead(PositionId at) const { return known_[at].verdict == Verdict::live ? at : kDead; }
  SequenceId intern(ExprId sequence);
  SetId add_set(const std::vector<ExprId>& sequences);
  SetId add_set(SequenceSet& sequences);
  SetId successors(SequenceId id, std::uint8_t byte_class);
  SetId successor(SetId set, std::uint8_t byte_class);
  PositionId add(ExprId main, SetId excluded);
  void describe(Known& known);
  std::uint32_t add_padding(const LiveLoops::Padded& padding);
  std::vector<ExprId> sequences_of(SetId set) const;
  PositionId find_successor(PositionId from, std::uint8_t byte);
  PositionId undecided_successor(PositionId from, std::uint8_t byte_class);
  bool search(PositionId from);
  void note_path(const std::vector<SearchNode>& nodes, std::size_t last);
  void decide_by_expression(PositionId at);

  Automaton& automaton_;
  std::vector<Sequence> sequences_;
  std::unordered_map<std::uint32_t, SequenceId> ids_;  // by expression
  Table sets_;                                         // of sequences
  SetId every_text_, every_utf8_;                      // these texts are excluded
  Table positions_;                                    // each has two elements: a state of g, and a set
  std::vector<Known> known_;                           // by position
  std::vector<LiveLoops::Padded> paddings_;
  std::unordered_map<std::uint64_t, SetId> shorter_;  // by set, and bytes: matches_within
  std::vector<std::uint8_t> bytes_of_class_;          // one of each byte class
  bool has_failed_ = false;
  std::uint32_t search_count_ = 0;
  std::size_t expansions_left_;
  std::size_t bytes_ = 0;
  std::int64_t work_ = 0;
  SequenceSet after_;  // of successor()
};

}  // namespace detent

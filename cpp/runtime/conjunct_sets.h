// ConjunctSets: intersections as sets of conjuncts (automaton/conjuncts.h), with numbers and transitions.
//
// A text after a set is in the intersection if it is in each conjunct. The states of the intersections themselves are
// made only where they are asked for. Neighbouring steps of a text share nearly all sets, so an object serves many
// walks. A call that reaches a limit notes nothing. The caller holds a lock.
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <string_view>
#include <unordered_map>
#include <utility>
#include <vector>

#include "automaton/automaton.h"
#include "runtime/set_table.h"

namespace detent {

class ConjunctSets {
 public:
  using ConjunctId = std::uint32_t;     // an index into conjuncts_
  using Set = std::vector<ConjunctId>;  // ascending; empty if a conjunct is dead
  using Id = std::uint32_t;
  using TextId = std::uint32_t;

  // `meter` counts the memory.
  ConjunctSets(Automaton& automaton, Meter& meter)
      : automaton_(automaton), meter_(meter), sets_(automaton.class_count()) {}

  // Begins a walk: forgets all texts, and the sets if they are very many.
  void begin_walk();
  // Whether a state has two conjuncts or more, or a state after one byte, such as a quotation mark.
  bool is_near_intersection(ExprId state);
  // The set of a live state.
  Id of(ExprId state);
  // Whether a set is known to have no completion.
  bool is_dead(Id set) const { return known_[set].is_dead; }
  // The set after a byte. Cost: a look-up; at the first time, linear in the conjuncts.
  Id follow(Id set, std::uint8_t byte);
  // The state of the intersection; dead where it has no completion. Cost: at the first call, a transition row.
  ExprId state(Id set);
  // The bytes after which all conjuncts are the same again, as Automaton::self_loop_bytes.
  const ByteSet& loop(Id set);

  // Numbers a text, so that contains() remembers which conjuncts it is in.
  TextId add_text(std::string text);
  const std::string& text(TextId id) const { return texts_[id]; }
  // Whether each conjunct of a set contains a text.
  bool contains(Id set, TextId text);

 private:
  struct Conjunct {
    ExprId state;
    const ExprId* row;
    std::vector<Set> successors;           // by byte class, where `knows_successors`
    std::vector<bool> knows_successors;    // by byte class
    std::vector<std::int8_t> is_complete;  // by text: 1 if the conjunct contains it, -1 if not, 0: unknown
  };
  // What is known of a set.
  struct Known {
    Id before = 0;  // a set that leads here by `byte`
    std::uint8_t byte = 0;
    bool is_dead = false, knows_state = false, knows_loop = false;
    ExprId state = ExprSet::kEmpty;
    ByteSet loop;
  };

  const Set& split(ExprId state);
  ConjunctId intern(ExprId conjunct);
  Id add(const Set& conjuncts, Id before, std::uint8_t byte);

  Automaton& automaton_;
  Meter& meter_;
  std::int64_t bytes_ = 0;  // about; of all sets
  std::vector<Conjunct> conjuncts_;
  std::unordered_map<std::uint32_t, ConjunctId> ids_;  // by expression
  std::unordered_map<std::uint32_t, Set> splits_;      // by expression
  SetTable<ConjunctId, std::hash<ConjunctId>> sets_;
  std::vector<Known> known_;                                      // by set
  std::unordered_map<std::uint32_t, bool> is_near_intersection_;  // by expression
  std::vector<std::string> texts_;
  Set after_;  // of follow()
};

}  // namespace detent

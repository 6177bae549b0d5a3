// AlternativeSets: sets of alternatives (automaton/alternatives.h) and their successors: the simulation of an NFA along
// the paths of a trie.
//
// An object serves one walk. It takes the lock of the automaton only at the first use of each alternative.
#pragma once

#include <cstdint>
#include <span>
#include <utility>
#include <vector>

#include "automaton/automaton.h"
#include "runtime/set_table.h"

namespace detent {

using AlternativeSet = std::vector<AlternativeId>;  // no two are equal

struct AlternativeIdHash {
  std::size_t operator()(AlternativeId id) const { return id.value; }
};
using AlternativeSetTable = SetTable<AlternativeId, AlternativeIdHash>;

class AlternativeSets {
 public:
  explicit AlternativeSets(Automaton& automaton) : automaton_(automaton) {}

  // From here on, the first use of an alternative throws `limit` ("work") where it takes more than so much work.
  void limit_use(std::int64_t max_steps) { max_steps_ = max_steps; }

  const Alternative& operator[](AlternativeId id) {
    if (id.value >= alternatives_.size()) alternatives_.resize(id.value * 3 / 2 + 64);
    const Alternative*& known = alternatives_[id.value];
    if (!known) known = &automaton_.alternative(id, max_steps_);
    return *known;
  }

  static constexpr std::uint32_t kWorthwhile = 32;
  // The loop of an alternative, for a subtree of `ids` ids. Null if it is not known yet, and walking so few ids costs
  // less than finding it.
  const AlternativeLoop* loop(AlternativeId id, std::uint32_t ids) {
    if (id.value >= loops_.size()) loops_.resize(id.value * 3 / 2 + 64);
    const AlternativeLoop*& known = loops_[id.value];
    if (!known) known = automaton_.known_loop(id);
    if (!known && ids >= kWorthwhile) known = &automaton_.make_loop(id);
    return known;
  }

  // Sets `after` to the alternatives to which those of `set` lead. Cost: linear in their transitions.
  void find_successors(std::span<const AlternativeId> set, std::uint8_t byte_class, AlternativeSet& after) {
    begin(after);
    add_successors(set, byte_class, after);
  }
  // The same for a set that is given in parts: begins a set, and adds what it lacks.
  void begin(AlternativeSet& after) {
    after.clear();
    ++set_count_;
  }
  // Whether the last set that began has an alternative.
  bool has(AlternativeId id) const { return id.value < last_seen_.size() && last_seen_[id.value] == set_count_; }
  void add_successors(std::span<const AlternativeId> set, std::uint8_t byte_class, AlternativeSet& after) {
    for (AlternativeId id : set) add((*this)[id].after(byte_class), after);
  }
  void add(std::span<const AlternativeId> more, AlternativeSet& after) {
    for (AlternativeId next : more) {
      if (next.value >= last_seen_.size()) last_seen_.resize(next.value * 3 / 2 + 64);
      if (std::exchange(last_seen_[next.value], set_count_) != set_count_) after.push_back(next);
    }
  }

  // Drops alternatives that are contained in another one, if the set is large. Case: a counted loop may start at each
  // byte of `........`; of the alternatives with different counts, two contain all others.
  void drop_included(AlternativeSet& set) {
    const std::size_t before = set.size();
    if (!is_compared(before)) return;
    automaton_.drop_included(set);
    if (set.size() > before / 2) comparable_ = 2 * before;
  }
  // Whether drop_included() does so with a set of this size.
  bool is_compared(std::size_t size) const {
    constexpr std::size_t kMost = 64;  // beyond, the comparisons cost more than they save
    return size > comparable_ && size <= kMost;
  }

  // The number of the set to which a set of the table leads, without alternatives that drop_included() drops. Where the
  // table lacks it, `add(after)` adds the set to the table and returns its number.
  template <class Add>
  AlternativeSetTable::Id successor(AlternativeSetTable& sets, AlternativeSetTable::Id set, std::uint8_t byte_class,
                                    Add add) {
    using Table = AlternativeSetTable;
    if (const Table::Id known = sets.successor(set, byte_class); known != Table::kUnknown) return known;
    find_successors(sets[set], byte_class, after_);
    drop_included(after_);
    const Table::Id after = add(after_);
    sets.set_successor(set, byte_class, after);
    return after;
  }

 private:
  Automaton& automaton_;
  std::vector<const Alternative*> alternatives_;  // by id; null: not used yet
  std::vector<const AlternativeLoop*> loops_;     // by id; null: not used yet
  std::vector<std::uint32_t> last_seen_;          // by id: the number of the last set that contains it
  std::uint32_t set_count_ = 0;
  std::int64_t max_steps_ = INT64_MAX;
  AlternativeSet after_;        // of successor()
  std::size_t comparable_ = 8;  // sets up to this size are not compared; it grows where comparing saved little
};

}  // namespace detent

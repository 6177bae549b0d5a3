// Alternatives: states as unions of simpler states, and the automaton whose states are the operands of these unions.
//
// `.*a.{20}` has 2^20 states; each is a union of some of the same 21 operands. To compute a mask it is enough to know
// whether some operand is live. So a walk follows the set of operands (an NFA) instead of their union (a DFA).
#pragma once

#include <atomic>
#include <cstdint>
#include <functional>
#include <memory_resource>
#include <optional>
#include <span>
#include <string>
#include <unordered_map>
#include <vector>

#include "automaton/live_loops.h"
#include "automaton/liveness.h"
#include "base/stable_vector.h"
#include "expr/derivative.h"

namespace detent {

// Returns expressions whose union is `id`; `id` alone where it is no union. Some may be dead. Distributes a union in
// the head of a concatenation, in a JSON string, and in an intersection that has only one: (x|y) z gives x z and y z.
// Cost: one constructor call for each expression.
std::vector<ExprId> distribute_unions(ExprSet& exprs, ExprId id);

// Returns live states whose union is `state`; `state` alone if it is no union, or has more than kMaxAlternatives
// operands.
std::vector<ExprId> alternatives_of(ExprSet& exprs, Liveness& liveness, ExprId state);

inline constexpr std::size_t kMaxAlternatives = 1024;

struct AlternativeId {
  std::uint32_t value = 0;
  auto operator<=>(const AlternativeId&) const = default;
};

// A live state that is no union, with its transitions. Immutable once it is published.
struct Alternative {
  ExprId state;
  bool accepting = false;
  std::uint32_t completion_bound = 0;
  ByteSet last_bytes;                    // contains the last byte of each string that the state accepts
  std::span<const std::uint32_t> first;  // by byte class: index of its first successor; then the number of successors
  std::span<const AlternativeId> successors;

  std::span<const AlternativeId> after(std::uint8_t byte_class) const {
    return {successors.data() + first[byte_class], successors.data() + first[byte_class + 1]};
  }
};

// A loop of an alternative (LiveLoops): it is proved only for texts of up to `reach` bytes.
struct AlternativeLoop {
  LiveLoops::Loop loop;
  std::uint32_t reach = UINT32_MAX;
};

// A byte class and the byte that stands for it in a text.
struct Letter {
  std::uint8_t byte_class;
  std::uint8_t byte;
};

// A string that leads from an alternative to another one, and the alternative after each byte.
struct AlternativePath {
  std::string text;
  std::vector<AlternativeId> after;
};

// The alternatives of an automaton. `find` and `find_loop` take no lock; the other functions need the automaton's lock.
// All they hold lies in a few large blocks of memory. Case: 94,000 states of members in any order; to free their lists
// one by one took 130 ms, in a step.
class Alternatives {
 public:
  Alternatives(ExprSet& exprs, Derivatives& derivatives, Liveness& liveness, LiveLoops& loops, Meter& meter)
      : exprs_(exprs), derivatives_(derivatives), liveness_(liveness), loops_(loops), meter_(meter) {}

  // The alternatives of a live state, ascending.
  std::span<const AlternativeId> split(ExprId state);
  // Returns null until `expand` was called.
  const Alternative* find(AlternativeId id) const { return expanded_[id.value].load(std::memory_order_acquire); }
  const Alternative& expand(AlternativeId id);
  // Returns null until `make_loop` was called. A loop costs some transition rows, and most alternatives never need one:
  // a walk meets them only above small subtrees of the trie.
  const AlternativeLoop* find_loop(AlternativeId id) const {
    return loops_of_[id.value].load(std::memory_order_acquire);
  }
  const AlternativeLoop& make_loop(AlternativeId id);
  // The alternative of a live state with the least bound on its completion.
  AlternativeId nearest(ExprId state);
  // Follows the alternatives whose bounds are least, as long as these fall, to one that accepts or that `is_end`.
  // `letters` has one for each byte class; of several bytes that do as well, the first one is taken. Nothing where
  // bounds do not fall, or after `max_steps` steps of the meter.
  std::optional<AlternativePath> descend(AlternativeId from, std::span<const Letter> letters,
                                         const std::function<bool(AlternativeId)>& is_end, std::int64_t max_steps);
  // Drops each alternative whose language is contained in that of another one, as far as the forms show it. Cost: one
  // comparison for each pair of an alternative and one that stays.
  void drop_included(std::vector<AlternativeId>& set) const;
  // Drops each alternative whose language is contained in that of `from`, or of one before it in the set, where the two
  // differ in their first part only, as `.{0,7}"` and `.{0,8}"` do. Cost: few comparisons for each.
  void drop_included_heads(AlternativeId from, std::vector<AlternativeId>& set) const;

 private:
  struct Successors {
    std::vector<std::uint32_t> first;
    std::vector<AlternativeId> ids;
  };
  AlternativeId id_of(ExprId state);
  void find_successors(ExprId state, Successors& found);
  void find_successors_by_rules(ExprId state, Successors& found);
  template <class T>
  std::span<const T> keep(const std::vector<T>& items);
  ExprId last_part(ExprId state);
  ByteSet last_bytes(ExprId state);

  ExprSet& exprs_;
  Derivatives& derivatives_;
  Liveness& liveness_;
  LiveLoops& loops_;
  Meter& meter_;
  std::unordered_map<std::uint32_t, ExprId> clamped_;  // memo of clamp_counts
  StableVector<std::uint32_t> ids_;                    // by expression: 1 + the alternative; 0: none
  StableVector<std::uint32_t> split_of_;               // by expression: 1 + the index in splits_; 0: none
  StableVector<std::span<const AlternativeId>> splits_;
  std::unordered_map<std::uint32_t, ExprId> last_parts_;    // memo of last_part, of some concatenations
  StableVector<ExprId> states_;                             // by alternative
  StableVector<std::atomic<const Alternative*>> expanded_;  // by alternative
  StableVector<Alternative> storage_;
  StableVector<std::atomic<const AlternativeLoop*>> loops_of_;  // by alternative
  StableVector<AlternativeLoop> loop_storage_;
  std::pmr::monotonic_buffer_resource memory_;  // of the lists
};

}  // namespace detent

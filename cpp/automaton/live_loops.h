// LiveLoops: sets of bytes over which no text makes a state dead.
//
// `.*a.{20}` has 2^20 states, and all of them are live: each byte is in the loop of its start. A walk allows a subtree
// of tokens over such bytes in one step, without visiting the states inside.
#pragma once

#include <cstdint>
#include <optional>
#include <unordered_map>
#include <vector>

#include "automaton/liveness.h"
#include "automaton/padding.h"
#include "expr/derivative.h"
#include "expr/expr_set.h"

namespace detent {

class LiveLoops {
 public:
  LiveLoops(ExprSet& exprs, Derivatives& derivatives, Liveness& liveness, Meter& meter)
      : exprs_(exprs), derivatives_(derivatives), liveness_(liveness), paddings_(exprs, derivatives, meter) {}

  // The bytes of a loop: ASCII bytes, and lead bytes in UTF-8. After any text of characters that begin with one of
  // them, the state has a completion of at most `completion_bound` bytes.
  struct Loop {
    ByteSet bytes;
    std::uint32_t completion_bound = 0;
    ByteSet first;           // the bytes of the loop, and others that lead to a live state
    bool keeps_all = false;  // after such a text, the state still allows each string that it allows before
  };
  // Returns the loop of a live state that its form shows; it may be empty. Cost: at the first visit, some rows.
  Loop find(ExprId state);
  // The same of `g & condition`, by the loop of g and a padding of the condition (padding.h). Empty for others.
  Loop find_padded(ExprId state);
  // What a padding shows of `g & condition`, where g is the intersection of `texts`, and the condition excludes some
  // sequences (Paddings::add).
  struct Padded {
    ByteSet safe;  // after any text over these bytes, the state is live; empty where there is no padding
    ByteSet kept;  // the same unless the condition has excluded all texts
    std::uint32_t completion_bound = 0;  // of these states
    // Each of these states has a completion that begins with `byte`, `length` times, and ends with any text of `rest`.
    std::uint8_t byte = 0;
    std::uint32_t length = 0;
    ExprId rest;
    bool operator==(const Padded&) const = default;
  };
  Padded find_padded(std::vector<ExprId> texts, const Paddings::Sequences& excluded);
  // A bound on the shortest completion after any text inside the JSON string that a live state begins with. Nothing if
  // it begins with none, or if its loop lacks some character.
  std::optional<std::uint32_t> bound_after_any_text(ExprId state);
  // The same bound for the texts of a JSON string, before escaping: after each number of whole characters.
  std::optional<std::uint32_t> bound_after_characters(ExprId texts);
  // Marks as live, in Liveness, those successors of the live `state` in `row` that its loop proves to be live.
  void mark_live(ExprId state, const ExprId* row);

 private:
  // A subset of a language in a simpler form, up to finitely many strings of at most `excluded` bytes, which the
  // language may lack.
  struct Core {
    ExprId texts;
    std::uint32_t excluded = 0;
  };
  // The same for a state: strings of `texts`, then of `rest`.
  struct Root {
    ExprId texts;
    std::uint32_t excluded = 0;
    ExprId rest = ExprSet::kEpsilon;
    std::uint32_t escape = 0;  // bytes between the two
  };
  Loop find_largest(ExprId state);
  Root root_of(ExprId state);
  bool has_every_character(const Loop& loop) const;
  ExprId drop_finite(ExprId id, bool is_excluded, std::uint32_t& longest, int depth);
  ExprId pick_operands(ExprId id, int depth);
  const Loop& loop_of(ExprId texts);
  Loop find_loop(ExprId texts);
  Loop find_loop_of_string(const Expr& string);
  // Whether the derivative `next` of `texts` contains `texts`, but for finitely many strings.
  bool returns(ExprId texts, ExprId next, std::uint32_t& excluded);
  // Adds the states inside the characters to `inside`.
  bool every_character_returns(ExprId texts, unsigned lead, std::uint32_t& excluded, std::vector<ExprId>& inside);

  ExprSet& exprs_;
  Derivatives& derivatives_;
  Liveness& liveness_;
  Paddings paddings_;
  std::unordered_map<std::uint32_t, Core> cores_;  // by texts: states share them before different rests
  std::unordered_map<std::uint32_t, Loop> loops_;
};

}  // namespace detent

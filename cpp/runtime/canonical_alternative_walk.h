// CanonicalAlternativeWalk: the canonical tokens that follow a state with exponentially many successors, found with
// sets of alternatives (automaton/alternatives.h).
//
// A token leads on if it does from one alternative of the state. So no union of alternatives is made, where a walk by
// states (CanonicalMasks::walk) makes one for each token. Case: `.*a.{10}|.*b.{11}|...|.*p.{25}` on Llama 3: some
// milliseconds for a mask instead of seconds.
//
// Most of these alternatives, such as `.*a.{10}`, stay in the set after nearly every byte (loops). Their successors are
// found once for each byte class, and asked once for each target of the pre-tokenizer after which none of them fits.
//
// A position that the walk meets again has its transitions (set_table.h). Case: `(?i:[a-z]{3,30}[^\W\d_]{2,20})+\d`.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "runtime/alternative_sets.h"
#include "runtime/tokenized_language.h"

namespace detent {

class CanonicalAlternativeWalk {
 public:
  // Decides tokens, each by the alternatives to which it leads.
  class Verdicts {
   public:
    enum class Answer : std::uint8_t {
      taken,
      refused,  // this token
      never,    // each token with its target, by way of that state
    };
    virtual ~Verdicts() = default;
    // Where a token leads the pre-tokenizer (TransitionRow); kRefused if it is refused wherever it leads the language.
    virtual std::uint16_t target(std::uint32_t token) = 0;
    // Takes a token that leads to `next` if it may follow by way of that state.
    virtual Answer take(std::uint32_t token, ExprId next) = 0;
  };

  CanonicalAlternativeWalk(const TokenizedLanguage& language, Verdicts& verdicts, ExprId state)
      : language_(language),
        vocabulary_(language.vocabulary()),
        verdicts_(verdicts),
        state_(state),
        alternatives_(language.automaton),
        positions_(language.automaton.class_count()) {}

  // Cost: a look-up for each trie node visited; for each position, about linear in the number of alternatives.
  void run();
  // The alternatives to which a token leads a state, and others of which each string is allowed there: those by way of
  // which run() may have taken the token.
  static std::vector<ExprId> states_after(const TokenizedLanguage& language, ExprId state, std::uint32_t token);

 private:
  // The alternatives after some bytes: those of `others` and, if `has_loops`, all of loops_.
  struct Alternatives {
    AlternativeSet others;
    bool has_loops = false;
  };
  using Table = AlternativeSetTable;
  // The number of such alternatives. Its set in the table begins with kLoops if it has the loops.
  using Position = Table::Id;
  static constexpr AlternativeId kLoops{UINT32_MAX};
  // Where loops_ lead by a byte class: whether to all of loops_, and to which others.
  struct LoopSuccessors {
    bool is_known = false, has_loops = false;
    AlternativeSet others;
  };

  Position start();
  Position add(const Alternatives& alternatives);
  bool is_empty(Position at) const { return positions_[at].empty(); }
  bool has_loops(Position at) const { return !is_empty(at) && positions_[at][0] == kLoops; }
  std::span<const AlternativeId> others(Position at) const { return positions_[at].subspan(has_loops(at)); }
  Position follow(Position at, std::uint8_t byte_class);
  void forget_positions(std::span<Position> path);
  const LoopSuccessors& after_loops(std::uint8_t byte_class);
  bool separate_loops(const AlternativeSets& sets, AlternativeSet& set, bool has_loops) const;
  void drop_included(Alternatives& at);
  bool is_loop(AlternativeId id) const { return id.value < is_loop_.size() && is_loop_[id.value]; }
  bool take_subtree(Position at, const Subtree& subtree, std::size_t depth);
  Position after_token(Position at, std::uint32_t token, std::size_t depth);
  std::optional<AlternativeId> staying(Position at, const Subtree& subtree);
  bool stays(AlternativeId id, const ByteSet& used, std::uint32_t count);
  const ByteSet& kept_bytes(AlternativeId id);
  Verdicts::Answer take(std::uint32_t token, AlternativeId id);
  bool take_by_loops(std::uint32_t token, std::uint16_t target);
  void decide(std::uint32_t token, Position after);

  TokenizedLanguage language_;
  const Vocabulary& vocabulary_;
  Verdicts& verdicts_;
  ExprId state_;
  AlternativeSets alternatives_;
  Table positions_;
  std::size_t bytes_ = 0;                           // about; of all positions
  Alternatives after_;                              // of follow()
  AlternativeSet key_;                              // of add()
  std::vector<std::optional<ByteSet>> kept_bytes_;  // by id
  AlternativeId last_{UINT32_MAX};                  // the alternative by which the last token was taken
  AlternativeSet loops_;                            // alternatives of the state that most bytes lead to themselves,
                                                    // those first that are nearest to their completions
  std::vector<bool> is_loop_;                       // by id
  std::vector<LoopSuccessors> after_loops_;         // by byte class
  std::vector<bool> is_refused_by_loops_;           // by target: of each token
};

}  // namespace detent

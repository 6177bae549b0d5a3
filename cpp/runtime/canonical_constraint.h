// CanonicalConstraint: a language and a tokenizer together: the token sequences that are a prefix of the tokenizer's
// encoding of some text of the language.
//
// A token sequence is an encoding if and only if no pre-token boundary is strictly inside a token, and each adjacent
// pair without a boundary between is valid (bpe/adjacency.h). So a state is (language state, last token, set of split
// positions), one position for each way to place the boundaries so far that may still come true. A token leads to a
// dead end if neither the pre-token can end after it nor a token that may follow continues it.
//
// A special token that the language asks for cuts the text: the texts before and after it are encoded by themselves.
//
// This class is the facade of the parts below, which are in the order of their dependencies; see
// docs/algorithms/canonical-masks.md. Safe for threads: each call takes the lock.
#pragma once

#include <atomic>
#include <cstdint>
#include <memory>
#include <mutex>
#include <optional>
#include <span>
#include <string_view>
#include <vector>

#include "runtime/byte_fallback_endings.h"
#include "runtime/canonical_masks.h"
#include "runtime/completion_search.h"
#include "runtime/completions.h"
#include "runtime/conjunct_sets.h"
#include "runtime/greedy_completions.h"
#include "runtime/known_completions.h"
#include "runtime/mask_computer.h"
#include "runtime/pretoken_endings.h"
#include "runtime/single_pretoken_completions.h"
#include "runtime/split_positions.h"
#include "runtime/tokenized_language.h"

namespace detent {

class CanonicalConstraint {
 public:
  static constexpr std::uint32_t kNoToken = PretokenTransitions::kNoToken;
  static constexpr PositionSetId kRefused = SplitPositionSets::kRefused;
  static constexpr std::uint32_t kNoLimit = kInfinite;

  // `part` is the automaton of a first part with a budget, or null.
  CanonicalConstraint(Automaton& automaton, MaskComputer& masks, Automaton* part,
                      std::shared_ptr<PretokenTransitions> transitions, const Limits& limits,
                      std::shared_ptr<const CancelFlag> cancel);
  // The same tokenizer with new automata of the language and the part of `other`.
  CanonicalConstraint(Automaton& automaton, MaskComputer& masks, Automaton* part, CanonicalConstraint& other);
  // The number here of a set of split positions of `other`.
  PositionSetId adopt(CanonicalConstraint& other, PositionSetId positions);
  // Differs between tokenizers.
  std::uint64_t cache_key() const { return transitions_->cache_key(); }
  // All work from here on counts against a limit of so many steps (Meter::limit_total).
  void limit_work(std::int64_t steps) { meter_.limit_total(steps); }
  // Ends compiling, which must leave room for decoding (Limits::leaves_room).
  void begin_decoding() { meter_.begin_decoding(); }
  // Call once the language is compiled: its flag cancels no mask of decoding.
  void drop_cancel_flag() { meter_.set_cancel_flag(nullptr); }
  bool is_full() const { return is_full_.load(std::memory_order_relaxed); }
  bool has_grown();
  std::int64_t memory_bytes();

  // What a state has besides the state of the language.
  struct Context {
    std::uint32_t last = kNoToken;
    PositionSetId positions = SplitPositionSets::kTextStart;
  };
  // The context of a text of the language from `state` on that continues a prompt. A token that is no text, such as a
  // special token, and a token that the tokenizer would not write there, cut the prompt: only the tokens after the last
  // cut count. The positions are kRefused if no text of the language continues the prompt.
  Context start(ExprId state, std::span<const std::uint32_t> prompt);
  // The context after `token`, which leads the language to `next`; its positions are kRefused if it may not follow.
  Context step(ExprId next, const Context& at, std::uint32_t token);
  bool accepting(ExprId state, const Context& at);
  // Writes the row of the text tokens that may follow; with a budget, only those after which a known completion fits it
  // (CanonicalMasks::fill). Returns whether the budget may have removed any.
  bool fill(ExprId state, const Context& at, std::uint32_t* row, const CompletionBudget& budget = {});
  // The known completion, which need not have the fewest tokens, and its length.
  std::vector<std::uint32_t> completion(ExprId state, const Context& at);
  std::uint32_t completion_length(ExprId state, const Context& at, std::uint32_t within);
  // For a budget with a part: whether a known completion fits it, and the tokens of one that does, or nothing.
  bool completes_within(ExprId state, const Context& at, const CompletionBudget& budget);
  std::optional<std::vector<std::uint32_t>> completion_within(ExprId state, const Context& at,
                                                              const CompletionBudget& budget);

  // A completion of at most `most` tokens of `next` at `after`, to which its last token leads from `state` at `before`,
  // where fill() adds the token though the known completion there is longer. Otherwise empty.
  std::vector<std::uint32_t> completion_after(ExprId state, const Context& before, ExprId next, const Context& after,
                                              std::uint32_t most);

  // The tokenizer's encoding of a text, special tokens included.
  std::vector<std::uint32_t> encode(std::string_view text) const { return transitions_->encode(text); }

 private:
  // Locks, and starts the meter of a call.
  class Call;
  void remove_dead_ends(ExprId state, std::uint32_t last, SplitPositionSets::Set& set);

  std::shared_ptr<PretokenTransitions> transitions_;
  std::mutex mutex_;
  Meter meter_;
  std::atomic<bool> is_full_{false};
  TokenizedLanguage language_;
  SplitPositionSets sets_;
  GreedyCompletions greedy_;
  ByteFallbackEndings byte_fallback_;
  Completions completions_;
  SinglePretokenCompletions single_;
  PretokenEndings endings_;
  CompletionSearch search_;
  ConjunctSets conjuncts_;
  KnownCompletions known_completions_;
  CanonicalMasks masks_;
};

}  // namespace detent

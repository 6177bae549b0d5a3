// LanguageMachine: a language of bytes lifted to a vocabulary. Immutable in meaning; its states and masks are computed
// at the first visit and shared by matchers and threads.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <unordered_map>
#include <variant>
#include <vector>

#include "automaton/automaton.h"
#include "runtime/budget.h"
#include "runtime/mask_computer.h"
#include "runtime/repeated_items.h"
#include "runtime/string_tokens.h"
#include "runtime/token_machine.h"
#include "vocab/vocabulary.h"

namespace detent {

class LanguageMachine final : public TokenMachine {
 public:
  // Throws `empty` ("language") for an empty language, or `empty` ("tokenizable") where the vocabulary can write none
  // of its texts.
  LanguageMachine(const NodeRef& language, std::shared_ptr<const Vocabulary> vocabulary, const Limits& limits,
                  const std::shared_ptr<const CancelFlag>& cancel);
  // The same language without the states that decoding has added.
  explicit LanguageMachine(LanguageMachine& other);

  TokenState start(std::span<const std::uint32_t>) override { return {start().value}; }
  TokenStep step(const TokenState& state, std::uint32_t token) override;
  std::optional<TokenState> step_bytes(const TokenState& state, std::string_view text) override;
  bool accepting(const TokenState& state) override { return accepting(ExprId{state.language}); }
  void fill(const TokenState& state, std::uint32_t* row) override;
  bool try_fill_cached(const TokenState& state, std::uint32_t* row) override;
  // Null with lists of distinct items: `fill` then takes tokens out of a mask that states with other items share.
  std::shared_ptr<const Mask> cached_mask(const TokenState& state) override {
    return automaton_.has_lists() ? nullptr : cached_mask(ExprId{state.language});
  }
  bool fill_within(const TokenState& state, std::uint32_t tokens_after, std::uint32_t* row) override;
  bool completes_within(const TokenState& state, std::uint32_t tokens) override;
  std::vector<std::uint32_t> completion_after(const TokenState& from, std::uint32_t token, const TokenState& to,
                                              std::uint32_t tokens) override;
  bool budget_cannot_bind(const TokenState& state, std::uint32_t tokens) override;
  std::vector<std::uint32_t> completion(const TokenState& state, std::uint32_t tokens) override;
  std::vector<std::uint32_t> first_completion(const TokenState& start, std::uint32_t tokens) override;
  Diagnosis diagnose(const TokenState& state, std::string_view text) override;
  void expand(const TokenState& state, const VisitToken& visit) override;
  void expand(const TokenState& state, std::span<const std::uint32_t> tokens, const VisitToken& visit) override;
  bool ignores_wordless() const override { return true; }
  bool is_full() const override { return automaton_.is_full(); }
  bool has_grown() override { return automaton_.has_grown(); }
  std::shared_ptr<TokenMachine> renewed() override { return std::make_shared<LanguageMachine>(*this); }
  void adopt(TokenMachine& other, std::span<TokenState> states) override;
  std::int64_t state_count() override { return automaton_.state_count(); }
  std::int64_t memory_bytes() override { return automaton_.memory_bytes() + masks_.memory_bytes(); }

  // The functions below are for CanonicalMachine and Budget.
  ExprId start() const { return automaton_.start(); }
  bool accepting(ExprId state) const { return automaton_.accepting(state); }
  // The state after `text`, or the empty state if no completion that the vocabulary can write is left. Linear in the
  // text.
  ExprId advance(ExprId state, std::string_view text);
  // The distinct states that one text token leads to; adds the trie nodes visited. Returns nothing if that takes more
  // than `max_work` steps of the automaton.
  std::optional<std::vector<ExprId>> successors(ExprId state, std::int64_t& visited, std::int64_t max_work);
  // The lowest id of a text token that leads from a state to one of its successors.
  std::uint32_t token_between(ExprId from, ExprId to);
  Automaton& automaton() { return automaton_; }
  const Automaton& automaton() const { return automaton_; }
  MaskComputer& masks() { return masks_; }
  RepeatedItems& repeated() { return repeated_; }
  Budget& budget() { return budget_; }
  // Computes the mask of the start as the last part of compilation. It is usually the slowest mask, and caches states
  // for the next ones. If it took much work, or the language has lists of distinct items or intersections of patterns
  // that may match anywhere, also computes masks of the next steps; throws `limit` where one takes more than
  // Limits::trial_steps. So a costly language is refused before
  // decoding.
  void compute_first_mask();
  // Ends compiling; no other thread may use the machine yet.
  void begin_decoding() { automaton_.begin_decoding(); }
  void drop_cancel_flag() { automaton_.drop_cancel_flag(); }

 private:
  bool has_every_byte() const { return vocabulary_->tokenizable_texts() == nullptr; }
  void write(const Mask& mask, ExprId state, std::uint32_t* row);
  ExprId representative_of(ExprId state);
  std::shared_ptr<const Mask> cached_mask(ExprId state);
  std::shared_ptr<const Mask> mask_of(ExprId state);
  void try_first_masks();
  void try_next_masks(const Mask& first, int trials, bool has_long_tokens);
  bool follow_known_completion(ExprId state, std::uint32_t tokens_after, std::uint32_t* row);
  // Throws TooMuchWork when a walk exceeds its work limit.
  class WorkLimit;
  struct TooMuchWork {};
  // Whether the states after tokens fit a budget, by state; nothing where only a search tells.
  using Verdicts = std::unordered_map<std::uint32_t, std::optional<bool>>;
  // Tokens that all lead to `state`: those of a trie node; those of a subtree that end with a complete character; or a
  // group of those inside a string.
  struct TokensToState {
    ExprId state;
    std::variant<std::uint32_t, const Subtree*, StringTokens::Group> tokens;
  };
  bool follows_alternatives(ExprId state);
  // Writes the text tokens after which a completion of at most `tokens_after` tokens is known, and eos if the state
  // accepts.
  std::optional<bool> write_beside_exclusions(ExprId state, const Mask& mask, std::uint32_t tokens_after,
                                              std::uint32_t* row);
  void write_by_alternatives(ExprId state, std::uint32_t tokens_after, std::uint32_t* row);
  std::optional<bool> remove_beyond(ExprId state, std::uint32_t tokens_after, std::uint32_t* row, std::int64_t max_work,
                                    bool keeps_visited = true);
  void search_open(Verdicts& verdicts, std::uint32_t tokens, Budget::Allowance& allowance);
  void allow_known_completion(ExprId state, std::uint32_t tokens, std::uint32_t* row);
  // Visits the tokens that `state` allows: visit(node, state after it), or visit_all(subtree, that state).
  template <class Visit, class VisitAll>
  std::int64_t walk(ExprId state, Visit visit, VisitAll visit_all);
  // As above, token by token: visit(id, state after it).
  template <class Visit>
  std::int64_t walk_ids(ExprId state, Visit visit);
  // The same; in a language with lists of distinct items, the states hold the texts of the items.
  template <class Visit>
  std::int64_t walk_with_text(ExprId state, Visit visit);

  std::shared_ptr<const CancelFlag> cancel_;
  Automaton automaton_;
  MaskComputer masks_;
  RepeatedItems repeated_;
  Budget budget_;
};

}  // namespace detent

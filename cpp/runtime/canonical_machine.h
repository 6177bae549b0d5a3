// CanonicalMachine: a language together with its tokenizer: only sequences that the tokenizer itself writes.
//
// The first part of the language may have a token budget of its own (part_budget_machine.h). While the part is open, a
// state counts the tokens that it has left, and a step is refused only if there is none. Whether a completion closes
// the part in time is a question of `completes_within`, which a matcher asks (holds_budget).
#pragma once

#include <memory>
#include <optional>
#include <vector>

#include "runtime/canonical_constraint.h"
#include "runtime/language_machine.h"

namespace detent {

class CanonicalMachine final : public TokenMachine {
 public:
  // The language of a part that may take `tokens` tokens.
  struct Part {
    NodeRef language;
    std::uint32_t tokens;
  };

  // `transitions` are of the vocabulary. Throws `empty` ("language", "tokenizable", "canonical") where no text is left,
  // and `limit` ("part_tokens", tokens needed, tokens of the part) where no known one has its part in time.
  CanonicalMachine(const NodeRef& language, std::shared_ptr<const Vocabulary> vocabulary,
                   std::shared_ptr<PretokenTransitions> transitions, const std::optional<Part>& part,
                   const Limits& limits, const std::shared_ptr<const CancelFlag>& cancel);
  // The same constraint without the states that decoding has added.
  explicit CanonicalMachine(CanonicalMachine& other);

  TokenState start(std::span<const std::uint32_t> prompt) override;
  TokenStep step(const TokenState& state, std::uint32_t token) override;
  std::optional<TokenState> step_bytes(const TokenState& state, std::string_view text) override;
  bool accepting(const TokenState& state) override;
  void fill(const TokenState& state, std::uint32_t* row) override;
  bool fill_within(const TokenState& state, std::uint32_t tokens_after, std::uint32_t* row) override;
  bool completes_within(const TokenState& state, std::uint32_t tokens) override;
  bool holds_budget(const TokenState& state) const override { return is_open(state); }
  std::vector<std::uint32_t> completion(const TokenState& state, std::uint32_t tokens) override;
  std::vector<std::uint32_t> followed_completion(const TokenState& state, std::uint32_t tokens) override;
  std::vector<std::uint32_t> completion_after(const TokenState& from, std::uint32_t token, const TokenState& to,
                                              std::uint32_t tokens) override;
  Diagnosis diagnose(const TokenState& state, std::string_view text) override;
  void expand(const TokenState& state, const VisitToken& visit) override;
  void expand(const TokenState& state, std::span<const std::uint32_t> tokens, const VisitToken& visit) override;
  bool ignores_wordless() const override { return false; }
  bool is_full() const override { return language_.is_full() || constraint_.is_full() || (part_ && part_->is_full()); }
  bool has_grown() override {
    return language_.has_grown() || constraint_.has_grown() || (part_ && part_->has_grown());
  }
  std::shared_ptr<TokenMachine> renewed() override { return std::make_shared<CanonicalMachine>(*this); }
  void adopt(TokenMachine& other, std::span<TokenState> states) override;
  std::int64_t state_count() override { return language_.state_count() + (part_ ? part_->state_count() : 0); }
  std::int64_t memory_bytes() override {
    return language_.memory_bytes() + constraint_.memory_bytes() + (part_ ? part_->memory_bytes() : 0);
  }

 private:
  static CanonicalConstraint::Context context(const TokenState& state) { return {state.last_token, {state.positions}}; }
  // A state whose part is closed.
  static TokenState state_of(ExprId language, const CanonicalConstraint::Context& context) {
    return {language.value, context.last, context.positions.value};
  }
  static bool is_open(const TokenState& state) { return state.part != 0; }
  // What a completion may take, if that of the whole text may take `tokens`. A closed part takes none, so that it has
  // no limit: a limit of 0 would have masks look at each token.
  static CompletionBudget budget_of(const TokenState& state, std::uint32_t tokens) {
    if (!is_open(state)) return {tokens};
    return {tokens, ExprId{state.part}, state.part_tokens};
  }
  Automaton* part_automaton() { return part_ ? &part_->automaton() : nullptr; }
  // Computes the mask of the start, and tries some steps from there. Throws `limit` where these take more than
  // Limits::compile_steps, or where the same language is refused without its tokenizer
  // (LanguageMachine::compute_first_mask).
  void compute_first_mask(const NodeRef& language, const std::shared_ptr<const CancelFlag>& cancel);
  void try_first_steps(const NodeRef& language, const std::shared_ptr<const CancelFlag>& cancel);
  void limit_work(std::int64_t steps);
  void check_part(TokenState at);
  ExprId without_text(const TokenState& state) const {
    return language_.automaton().without_text(ExprId{state.language});
  }
  void refuse_budget() const;
  // The state after a token that leads the language to `next`, or a refusal.
  TokenStep step_to(const TokenState& state, std::uint32_t token, ExprId next);
  template <class Expand>
  void expand_language(const TokenState& state, const VisitToken& visit, Expand expand);
  // The completion of the fewest tokens, whoever writes them, if the tokenizer writes it too.
  std::vector<std::uint32_t> shortest_completion(const TokenState& state);

  LanguageMachine language_;
  std::unique_ptr<LanguageMachine> part_;  // null if no part has a budget
  std::uint32_t part_tokens_ = 0;
  CanonicalConstraint constraint_;
};

}  // namespace detent

// TokenDfa: a token automaton as arrays. TokenDfaMachine: a token machine that reads these. State 0 allows nothing,
// state 1 is after eos; both lead only to themselves. The arrays belong to the caller and are not copied.
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include "runtime/token_machine.h"

namespace detent {

class TokenDfa {
 public:
  static constexpr std::uint32_t kRefused = 0;   // the dead state
  static constexpr std::uint32_t kFinished = 1;  // after eos
  static constexpr std::uint32_t kStart = 2;

  struct Arrays {
    std::span<const std::uint32_t> next;         // [states x classes]
    std::span<const std::uint32_t> token_class;  // [tokens]; class 0: the tokens that no state allows
    std::span<const std::uint32_t> masks;        // [masks x words]
    std::span<const std::uint32_t> mask_index;   // [states]
    std::span<const std::int32_t> distance;      // [states]: fewest tokens to the end of the text; -1 after eos
    std::shared_ptr<const void> owner;           // of the memory
  };

  // Throws `argument` ("token_dfa") unless the sizes fit each other and every number is in range.
  explicit TokenDfa(Arrays arrays);

  std::uint32_t states() const { return states_; }
  std::uint32_t classes() const { return classes_; }
  std::uint32_t tokens() const { return static_cast<std::uint32_t>(arrays_.token_class.size()); }
  std::uint32_t token_class(std::uint32_t token) const { return arrays_.token_class[token]; }
  // The next state for each class.
  std::span<const std::uint32_t> transitions(std::uint32_t state) const {
    return arrays_.next.subspan(std::size_t{state} * classes_, classes_);
  }
  std::uint32_t step(std::uint32_t state, std::uint32_t token) const {
    return arrays_.next[std::size_t{state} * classes_ + arrays_.token_class[token]];
  }
  std::span<const std::uint32_t> mask(std::uint32_t state) const {
    return arrays_.masks.subspan(std::size_t{arrays_.mask_index[state]} * words_, words_);
  }
  std::int32_t distance(std::uint32_t state) const { return arrays_.distance[state]; }
  bool accepting(std::uint32_t state) const { return arrays_.distance[state] <= 0; }
  // The largest distance of a state that a token leads to.
  std::int32_t farthest(std::uint32_t state) const { return farthest_[state]; }
  std::int64_t memory_bytes() const;

 private:
  Arrays arrays_;
  std::uint32_t states_, classes_;
  std::size_t words_;
  std::vector<std::int32_t> farthest_;
};

class TokenDfaMachine final : public TokenMachine {
 public:
  // Throws `argument` ("token_dfa", "token_dfa_state") unless the DFA is for as many tokens and has the state `start`.
  TokenDfaMachine(std::shared_ptr<const TokenDfa> dfa, std::shared_ptr<const Vocabulary> vocabulary,
                  std::uint32_t start);

  TokenState start(std::span<const std::uint32_t>) override { return {start_}; }
  TokenStep step(const TokenState& state, std::uint32_t token) override;
  std::optional<TokenState> step_bytes(const TokenState& state, std::string_view text) override;
  bool accepting(const TokenState& state) override { return dfa_->accepting(state.language); }
  void fill(const TokenState& state, std::uint32_t* row) override;
  bool try_fill_cached(const TokenState& state, std::uint32_t* row) override;
  bool fill_within(const TokenState& state, std::uint32_t tokens_after, std::uint32_t* row) override;
  bool completes_within(const TokenState& state, std::uint32_t tokens) override;
  bool budget_cannot_bind(const TokenState& state, std::uint32_t tokens) override;
  std::vector<std::uint32_t> completion(const TokenState& state, std::uint32_t tokens) override;
  Diagnosis diagnose(const TokenState& state, std::string_view text) override;
  void expand(const TokenState& state, const VisitToken& visit) override;
  void expand(const TokenState& state, std::span<const std::uint32_t> tokens, const VisitToken& visit) override;
  bool ignores_wordless() const override { return false; }
  std::int64_t state_count() override { return dfa_->states(); }
  std::int64_t memory_bytes() override { return dfa_->memory_bytes(); }

 private:
  std::shared_ptr<const TokenDfa> dfa_;
  std::uint32_t start_;
};

}  // namespace detent

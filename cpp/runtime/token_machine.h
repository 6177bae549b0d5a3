// TokenMachine: a constraint on sequences of tokens. Matchers, batches, explorations and explanations use this
// interface alone. Implementations: LanguageMachine (a language of bytes), CanonicalMachine (a language and its
// tokenizer), PartBudgetMachine (a language whose first part has a token budget), TokenDfaMachine (a table).
//
// States are small values: equal states allow the same continuations. Every function is safe for threads. No function
// takes a finished state or a token id outside the vocabulary, except where it says so.
#pragma once

#include <algorithm>
#include <atomic>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <string_view>
#include <utility>
#include <vector>

#include "base/byte_set.h"
#include "mask/mask.h"
#include "vocab/vocabulary.h"

namespace detent {

struct TokenState {
  static constexpr std::uint32_t kFinished = UINT32_MAX;
  static constexpr std::uint32_t kNoToken = UINT32_MAX;

  std::uint32_t language = 0;           // state of the byte automaton or of the token DFA; kFinished after eos
  std::uint32_t last_token = kNoToken;  // canonical machines only
  std::uint32_t positions = 0;          // canonical machines only: the set of pre-tokenizer positions
  std::uint32_t part = 0;               // PartBudgetMachine only: the state of the open part; 0 if it is closed
  std::uint32_t part_tokens = 0;        // PartBudgetMachine only: the tokens that the open part may still take

  static TokenState finished() { return {kFinished}; }
  bool is_finished() const { return language == kFinished; }
  bool operator==(const TokenState&) const = default;
};

// Why a token may not follow.
enum class Refusal : std::uint8_t {
  none,           // it may follow
  unknown_token,  // the id is outside the vocabulary
  finished,       // the text has ended
  incomplete,     // eos, but the text is not complete
  no_text,        // the token has no text, and the constraint does not name it
  language,       // no text of the language continues with its bytes
  tokenization,   // the tokenizer writes no text of the language this way
  token_dfa,      // the table has no transition by it
  budget,         // no completion after it fits the budget
};

struct TokenStep {
  TokenState state;  // after the token, if it is not refused
  Refusal refusal = Refusal::none;
};

// How far a text may continue a state.
struct Diagnosis {
  std::size_t offset;   // length of the longest prefix of the text that may follow
  ByteSet expected;     // the bytes that may follow this prefix
  bool complete;        // whether the text may end after this prefix
  bool is_tokenizable;  // whether the vocabulary can write a continuation of this prefix
};

class TokenMachine {
 public:
  using VisitToken = std::function<void(std::uint32_t, const TokenState&)>;

  explicit TokenMachine(std::shared_ptr<const Vocabulary> vocabulary) : vocabulary_(std::move(vocabulary)) {}
  TokenMachine(const TokenMachine&) = delete;
  TokenMachine& operator=(const TokenMachine&) = delete;
  virtual ~TokenMachine() = default;

  const Vocabulary& vocabulary() const { return *vocabulary_; }
  const std::shared_ptr<const Vocabulary>& shared_vocabulary() const { return vocabulary_; }
  // A number that no other machine of the process has.
  std::uint64_t serial() const { return serial_; }

  // The state before the first token. `prompt` are the tokens before the text; only canonical machines read them.
  // Throws `empty` ("after") if no text continues the prompt.
  virtual TokenState start(std::span<const std::uint32_t> prompt) = 0;
  virtual TokenStep step(const TokenState& state, std::uint32_t token) = 0;
  // The state after bytes that belong to no particular token; nothing if they are refused. Throws `unsupported` where a
  // state depends on tokens.
  virtual std::optional<TokenState> step_bytes(const TokenState& state, std::string_view text) = 0;
  // Whether the text may end here.
  virtual bool accepting(const TokenState& state) = 0;

  // Writes the mask of the tokens that may follow; the eos ids are among them if the state accepts.
  virtual void fill(const TokenState& state, std::uint32_t* row) = 0;
  // As `fill` if that takes a look-up only; otherwise writes nothing and returns false.
  virtual bool try_fill_cached(const TokenState&, std::uint32_t*) { return false; }
  // The mask that `fill` writes, without the eos ids of an accepting state. Null unless the machine has it cached.
  virtual std::shared_ptr<const Mask> cached_mask(const TokenState&) { return nullptr; }
  // As `fill`, without the text tokens after which no completion of at most `tokens_after` tokens is known. Returns
  // whether some token may be missing for this reason.
  virtual bool fill_within(const TokenState& state, std::uint32_t tokens_after, std::uint32_t* row) = 0;

  // Whether a completion of at most `tokens` tokens is known. Exact, except for recursive languages and canonical
  // machines, where a shorter completion than the known one may exist.
  virtual bool completes_within(const TokenState& state, std::uint32_t tokens) = 0;
  // Whether it is known that fill_within(state, tokens - 1) writes the whole mask of `fill`. Constant time.
  virtual bool budget_cannot_bind(const TokenState&, std::uint32_t) { return false; }
  // Whether completes_within() also checks a budget of the machine itself, which step() does not check. Then a matcher
  // calls it after each step, even without a budget of the whole text.
  virtual bool holds_budget(const TokenState&) const { return false; }
  // The tokens of the shortest known completion. It has at most `tokens` tokens if completes_within(state, tokens).
  virtual std::vector<std::uint32_t> completion(const TokenState& state, std::uint32_t tokens) = 0;
  // In some machines, the state after the first token of a completion finds only longer completions. They return a
  // completion of at most `tokens` tokens here; a matcher remembers it and follows it. Otherwise empty.
  virtual std::vector<std::uint32_t> followed_completion(const TokenState&, std::uint32_t) { return {}; }
  // The same for the start of a text, where a search may take longer than within a step.
  virtual std::vector<std::uint32_t> first_completion(const TokenState& start, std::uint32_t tokens) {
    return followed_completion(start, tokens);
  }

  // Writes the mask of a finished text: the eos ids alone.
  void fill_eos(std::uint32_t* row) const { vocabulary_->fill_eos(row); }

  // The same for a token after which only a completion by way of `from`, the state before it, is known to fit: then
  // fill_within() may show the token though completes_within() is false of `to`, the state after it.
  virtual std::vector<std::uint32_t> completion_after(const TokenState& /*from*/, std::uint32_t /*token*/,
                                                      const TokenState& /*to*/, std::uint32_t /*tokens*/) {
    return {};
  }

  virtual Diagnosis diagnose(const TokenState& state, std::string_view text) = 0;

  // Calls visit(token, state after it) for each text token that may follow. Throws `cancelled`.
  virtual void expand(const TokenState& state, const VisitToken& visit) = 0;
  // As `expand`, but only for `tokens`, which must have a text.
  virtual void expand(const TokenState& state, std::span<const std::uint32_t> tokens, const VisitToken& visit) = 0;
  // Whether the constraint ignores tokens without text: a product may take them without a step of this machine.
  virtual bool ignores_wordless() const = 0;

  // Eviction (machine_slot.h). is_full: whether a new machine should replace this one. has_grown: whether a new machine
  // would have much more room.
  virtual bool is_full() const { return false; }
  virtual bool has_grown() { return false; }
  // A machine of the same constraint that has not grown; null if machines of this kind do not grow.
  virtual std::shared_ptr<TokenMachine> renewed() { return nullptr; }
  // Replaces states of `other`, from which this machine was renewed, by those of this one.
  virtual void adopt(TokenMachine& /*other*/, std::span<TokenState> /*states*/) {}

  virtual std::int64_t state_count() = 0;
  virtual std::int64_t memory_bytes() = 0;

 protected:
  // Adds the eos ids to a mask.
  void allow_eos(std::uint32_t* row) const { vocabulary_->allow_eos(row); }

  const std::shared_ptr<const Vocabulary> vocabulary_;

 private:
  static std::uint64_t next_serial() {
    static std::atomic<std::uint64_t> next{1};
    return next.fetch_add(1, std::memory_order_relaxed);
  }
  const std::uint64_t serial_ = next_serial();
};

}  // namespace detent

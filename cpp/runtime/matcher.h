// Matcher: one sequence of tokens in a machine, with its history and its budget. A matcher belongs to one thread at a
// time; a second one gets `busy`.
#pragma once

#include <atomic>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string_view>
#include <vector>

#include "base/error.h"
#include "runtime/history.h"
#include "runtime/machine_slot.h"
#include "runtime/token_machine.h"

namespace detent {

class Matcher {
 public:
  static constexpr std::uint32_t kNoBudget = UINT32_MAX;

  // `max_tokens` is a budget: the text is complete within that many text tokens. Throws `limit` ("max_tokens") if no
  // text that short is known. `prompt` are the tokens before the text (TokenMachine::start).
  explicit Matcher(std::shared_ptr<MachineSlot> slot, std::uint32_t max_tokens = kNoBudget,
                   std::span<const std::uint32_t> prompt = {});

  // Whether a text of at most `max_tokens` tokens is known: whether a matcher can be made.
  static bool fits(TokenMachine& machine, std::uint32_t max_tokens, std::span<const std::uint32_t> prompt);

  // A fork: an independent matcher in the same state. Constant time.
  Matcher(const Matcher& other);

  // Each throws `state` and changes nothing where the step is not allowed.
  void advance(std::int64_t token_id);
  void advance_bytes(std::string_view text);
  void rollback(std::int64_t steps);
  // As `advance`, without an exception where the token may not follow: returns why, and changes nothing.
  Refusal try_advance(std::int64_t token_id);

  void fill(std::uint32_t* row);
  // As `fill` if that takes a look-up only; otherwise writes nothing and returns false.
  bool try_fill_cached(std::uint32_t* row);
  // A key of the mask: equal keys have equal masks. Nothing where the budget may remove tokens.
  struct MaskKey {
    std::uint64_t machine = 0;  // its serial number
    TokenState state;
    bool operator==(const MaskKey&) const = default;
  };
  std::optional<MaskKey> mask_key() const;
  bool accepting() const;
  bool finished() const;
  std::size_t step_count() const;  // tokens and byte strings since the start
  // The state, which decides the allowed continuations except for the budget. Valid only with machine_serial().
  TokenState state_key() const;
  std::uint64_t machine_serial() const { return machine_->serial(); }
  std::vector<std::int64_t> token_ids() const;  // -1 for a step by bytes
  // Whether the steps so far are exactly these tokens. Linear, without a copy.
  bool has_taken(std::span<const std::int64_t> token_ids) const;
  // The number of tokens taken when the budget first removed a token from a mask, or -1.
  std::int64_t budget_bound_at() const;
  // Why a token may not follow.
  Refusal refusal(std::int64_t token_id) const;
  // Finds how far `text` may continue the sequence.
  Diagnosis diagnose(std::string_view text) const;
  // The tokens of the shortest known completion, which fits the budget, and each of which may be taken after the other.
  // Without a budget, while the sequence follows an earlier answer, a new answer is never longer than the rest of it.
  // So a sequence that always takes the first token ends.
  std::vector<std::uint32_t> completion() const;
  // The tokens that every continuation begins with. Cost: a mask for each.
  std::vector<std::uint32_t> forced() const;
  const Vocabulary& vocabulary() const { return *slot_->vocabulary(); }
  // The machine of a key that mask_key() has returned. Throws `busy` if another thread has used the matcher since.
  std::shared_ptr<TokenMachine> machine_of(const MaskKey& key) const;

 private:
  static constexpr std::size_t kNever = SIZE_MAX;

  // Marks the matcher as in use for one call.
  class BusyGuard {
   public:
    explicit BusyGuard(const Matcher& matcher) : matcher_(matcher) {
      if (matcher_.busy_.exchange(true, std::memory_order_acquire)) throw Error(ErrorKind::busy, "matcher");
    }
    ~BusyGuard() { matcher_.busy_.store(false, std::memory_order_release); }
    BusyGuard(const BusyGuard&) = delete;
    BusyGuard& operator=(const BusyGuard&) = delete;

   private:
    const Matcher& matcher_;
  };

  // A completion that the sequence follows from step `first` to step `last` because the states in between know only
  // longer ones (TokenMachine::followed_completion).
  struct FollowedCompletion {
    std::size_t first;
    std::size_t last;
    std::shared_ptr<const std::vector<std::uint32_t>> tokens;
  };
  static FollowedCompletion following(std::size_t step, std::vector<std::uint32_t> tokens) {
    return {step, step, std::make_shared<const std::vector<std::uint32_t>>(std::move(tokens))};
  }
  // What was decided about the tokens that fit the budget, after the steps taken. Masks and steps keep to it, though a
  // later search may find more.
  struct Decision {
    std::shared_ptr<const std::vector<std::uint32_t>> row;  // the mask, once it was computed
    std::vector<std::uint32_t> accepted;                    // tokens that were found to fit before
  };
  struct Outcome {
    TokenStep step;
    std::optional<FollowedCompletion> followed;  // set if the step is allowed only as a part of it
  };

  // Moves to the new machine of the slot, if there is one. The states keep their meaning.
  void keep_up() const {
    if (!slot_->is_current(*machine_)) move_to(slot_->machine_after(*machine_));
  }
  void move_to(std::shared_ptr<TokenMachine> next) const;
  // Runs a call that only reads states of the machine or adds some. If the call reaches the limit of states or memory,
  // moves to a new machine without the states that decoding has added, and runs the call again.
  template <class Call>
  auto with_room(Call call) const {
    if (!decision_.row) keep_up();  // the machine that has decided knows the completions of the tokens it allows
    try {
      return call();
    } catch (const Error& error) {
      if (!is_out_of_room(error)) throw;
    }
    move_to(slot_->renew(*machine_));
    return call();
  }
  bool is_out_of_room(const Error& error) const;

  const TokenState& state() const { return history_.back().state; }
  std::size_t steps_taken() const { return history_.size() - 1; }
  std::uint32_t tokens_left() const;
  std::uint32_t tokens_after() const;  // left after one more token
  // Whether a completion from `state` must fit a budget, of the matcher or of the machine.
  bool holds_budget(const TokenState& state) const { return max_tokens_ != kNoBudget || machine_->holds_budget(state); }
  bool at_end() const { return state().is_finished() || machine_->accepting(state()); }
  bool budget_cannot_bind() const;
  Outcome try_step(std::uint32_t token) const;
  void take(std::int64_t token_id, Outcome outcome);
  // As completion(), but within a budget a step along it may be refused.
  std::vector<std::uint32_t> known_completion() const;
  // A completion within the budget that fill_within() and completes_within() might not find; nothing if there is none.
  std::optional<FollowedCompletion> followed_completion() const;
  void fill_within_budget(std::uint32_t* row);
  // Whether the machine knows a completion after a token that fits the budget; writes the one to follow, if any.
  bool fits(std::uint32_t token, Outcome& outcome) const;
  // Writes the mask; returns whether some token may be missing.
  bool decide(std::uint32_t* row) const;
  void forget_decision() { decision_ = {}; }
  bool is_full_mask(const std::uint32_t* row) const;

  std::shared_ptr<MachineSlot> slot_;
  mutable std::shared_ptr<TokenMachine> machine_;
  mutable History history_;
  std::uint32_t max_tokens_;
  std::size_t budget_bound_at_ = kNever;
  mutable std::vector<FollowedCompletion> followed_;  // by step, ascending
  mutable std::optional<FollowedCompletion> given_;   // the last answer of completion(), while the sequence follows it
  mutable Decision decision_;
  mutable std::atomic<bool> busy_{false};
};

}  // namespace detent

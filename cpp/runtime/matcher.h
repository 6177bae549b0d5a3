// Matcher: one sequence's place in a guide: the list of the states it went through, so that rolling back and forking
// are list operations. A matcher belongs to one thread at a time; a second one gets `busy`.
#pragma once

#include <array>
#include <atomic>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string_view>
#include <utility>
#include <vector>

#include "base/error.h"
#include "runtime/guide.h"

namespace detent {

class Matcher {
 public:
  static constexpr std::uint32_t kNoBudget = UINT32_MAX;

  // With a budget of text tokens the text is complete when they are spent. Throws `limit` ("max_tokens") if no text is
  // that short; with a canonical guide, if no text is known to be. `prompt` are the tokens before the text; they matter
  // to canonical guides only (see CanonicalConstraint::after). Throws `empty` ("after") if no text goes on there.
  explicit Matcher(std::shared_ptr<Guide> guide, std::uint32_t max_tokens = kNoBudget,
                   std::span<const std::uint32_t> prompt = {});

  // A fork: an independent matcher at the same place.
  Matcher(const Matcher& other);

  // Each throws `state` and changes nothing where the step is not allowed.
  void advance(std::int64_t token_id);
  void advance_bytes(std::string_view text);
  void rollback(std::int64_t steps);

  void fill(std::uint32_t* row);
  // Does the same if it takes no search, and nothing otherwise.
  bool fill_at_once(std::uint32_t* row);
  bool accepting() const;
  bool finished() const;
  std::size_t step_count() const;  // tokens and byte strings since the start
  // What decides what may follow, but for a budget: the state, and for canonical guides the last token and the places.
  std::array<std::int64_t, 3> place() const;
  std::vector<std::int64_t> token_ids() const;  // -1 for a step by bytes
  // The number of tokens taken when the budget first took away a token of a mask, or -1.
  std::int64_t budget_bound_at() const;

  struct Refusal {
    std::size_t offset;   // bytes of the text that are still fine
    ByteSet expected;     // what may stand there
    bool complete;        // whether the text may end there
    bool is_tokenizable;  // whether the vocabulary can write what has to follow
  };
  // How far `text` may go from here.
  Refusal refusal(std::string_view text) const;
  // A shortest sequence of text tokens that completes the text; with a canonical guide, a short one.
  std::vector<std::uint32_t> completion() const;
  // The tokens that every way on begins with: those taken while the text may not end and one token alone is allowed.
  // Cost: a mask for each.
  std::vector<std::uint32_t> forced() const;
  const std::shared_ptr<Guide>& guide() const { return guide_; }

 private:
  // The state after end-of-text. No expression has this index.
  static constexpr ExprId kFinished{UINT32_MAX};
  static constexpr std::int32_t kNoToken = -1;

  struct Step {
    ExprId state;                             // after the step
    std::int32_t token_id;                    // kNoToken for the start and for a step by bytes
    CanonicalConstraint::Context place = {};  // if the guide is canonical
  };

  // Holds the matcher for one call.
  class Use {
   public:
    explicit Use(const Matcher& matcher) : matcher_(matcher) {
      if (matcher_.busy_.exchange(true, std::memory_order_acquire)) throw Error(ErrorKind::busy, "matcher");
    }
    ~Use() { matcher_.busy_.store(false, std::memory_order_release); }
    Use(const Use&) = delete;
    Use& operator=(const Use&) = delete;

   private:
    const Matcher& matcher_;
  };

  ExprId state() const { return steps_.back().state; }
  const CanonicalConstraint::Context& context() const { return steps_.back().place; }
  // Tokens of a canonical guide that complete the text within the budget.
  std::vector<std::uint32_t> known_end() const;
  // Others, from the fewest of any tokens, where these lead on.
  std::optional<std::vector<std::uint32_t>> other_end() const;
  void fill_canonical(CanonicalConstraint& canonical, std::uint32_t* row);
  // Whether the text may end here.
  bool at_end() const;
  std::uint32_t tokens_left() const;
  // Whether the budget cannot take a token away here.
  bool roomy() const;

  std::shared_ptr<Guide> guide_;
  std::vector<Step> steps_;  // the first is the start
  std::uint32_t max_tokens_;
  std::uint32_t byte_steps_ = 0;  // steps that cost no token
  std::size_t budget_bound_at_ = SIZE_MAX;
  // What is left of ends that are followed because those of the places behind them are too long; by step, ascending.
  std::vector<std::pair<std::size_t, std::vector<std::uint32_t>>> ends_;
  mutable std::atomic<bool> busy_{false};
};

}  // namespace detent

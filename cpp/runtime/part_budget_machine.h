// PartBudgetMachine: a constraint of which the first part has a token budget of its own, such as a turn whose thinking
// takes at most 1,000 tokens.
//
// The part is a language of texts of which none begins another: thinking with its tags. While the text begins such a
// text, the part is open. It closes with the token that completes it, or that shows that the text begins otherwise. A
// token counts if the part is open before it. A state is a state of the whole constraint, a state of the part, and the
// tokens that the part has left. A token may follow if and only if some completion after it closes the part in time;
// with a budget of the whole text (Matcher), some completion does that and fits that budget too.
//
// 1. A completion of the whole text that fits the tokens of the part closes it in time. If all completions do
//    (`budget_cannot_bind`), nothing is left to decide. So masks cost more only near the end of the budget.
// 2. Otherwise the tokens that lead to one node, a pair of states, share the answer. The successors of a node are found
//    once, by a walk over the trie with both states, and kept with their tokens as masks.
// 3. Most often few tokens close the part: a breadth-first search over successors that are closed (close_search).
// 4. Then the known completion of the whole text is tried, which may leave the part open.
// 5. Last comes a search in which each node needs a completion within both budgets (search).
//
// The search is exact; it ends with an error after kMaxExpansions states. Safe for threads; one lock.
#pragma once

#include <cstdint>
#include <memory>
#include <mutex>
#include <optional>
#include <string_view>
#include <unordered_map>
#include <utility>
#include <vector>

#include "runtime/language_machine.h"
#include "runtime/part_walk.h"
#include "runtime/token_machine.h"

namespace detent {

class PartBudgetMachine final : public TokenMachine {
 public:
  // Throws `limit` ("part_tokens", fewest tokens, `tokens`) if no text has its part in `tokens` tokens.
  PartBudgetMachine(std::shared_ptr<LanguageMachine> whole, const NodeRef& part, std::uint32_t tokens,
                    const Limits& limits, const std::shared_ptr<const CancelFlag>& cancel);
  // The same constraint without the states that decoding has added.
  explicit PartBudgetMachine(PartBudgetMachine& other);

  TokenState start(std::span<const std::uint32_t> prompt) override;
  TokenStep step(const TokenState& state, std::uint32_t token) override;
  std::optional<TokenState> step_bytes(const TokenState& state, std::string_view text) override;
  bool accepting(const TokenState& state) override { return whole_->accepting(whole_state(state)); }
  void fill(const TokenState& state, std::uint32_t* row) override;
  bool try_fill_cached(const TokenState& state, std::uint32_t* row) override;
  std::shared_ptr<const Mask> cached_mask(const TokenState& state) override {
    return is_open(state) ? nullptr : whole_->cached_mask(whole_state(state));
  }
  bool fill_within(const TokenState& state, std::uint32_t tokens_after, std::uint32_t* row) override;
  bool completes_within(const TokenState& state, std::uint32_t tokens) override;
  // Inside the part, masks and steps are decided by states.
  std::vector<std::uint32_t> completion_after(const TokenState& from, std::uint32_t token, const TokenState& to,
                                              std::uint32_t tokens) override {
    if (is_open(to)) return {};
    return whole_->completion_after(whole_state(from), token, whole_state(to), tokens);
  }
  bool budget_cannot_bind(const TokenState& state, std::uint32_t tokens) override;
  std::vector<std::uint32_t> completion(const TokenState& state, std::uint32_t tokens) override;
  Diagnosis diagnose(const TokenState& state, std::string_view text) override;
  void expand(const TokenState& state, const VisitToken& visit) override;
  void expand(const TokenState& state, std::span<const std::uint32_t> tokens, const VisitToken& visit) override;
  bool ignores_wordless() const override { return whole_->ignores_wordless(); }
  bool is_full() const override { return whole_->is_full() || part_.is_full(); }
  bool has_grown() override { return whole_->has_grown() || part_.has_grown(); }
  std::shared_ptr<TokenMachine> renewed() override { return std::make_shared<PartBudgetMachine>(*this); }
  void adopt(TokenMachine& other, std::span<TokenState> states) override;
  std::int64_t state_count() override { return whole_->state_count() + part_.state_count(); }
  std::int64_t memory_bytes() override { return whole_->memory_bytes() + part_.memory_bytes(); }

 private:
  static constexpr std::uint32_t kNoLimit = UINT32_MAX;
  static constexpr std::size_t kMaxExpansions = 4096;  // of one search
  static constexpr std::size_t kMaxClosing = 64;       // of one search for closed nodes alone

  using Node = PartNode;
  struct SearchNode {
    Node node;
    std::size_t parent;
    std::uint32_t depth;
  };
  // The tokens that lead to a node.
  struct Successor {
    Node node;
    std::shared_ptr<const Mask> tokens;
  };
  // The nodes of a search up to the first from which a completion fits both budgets, and its index.
  struct Found {
    std::vector<SearchNode> nodes;
    std::size_t last;
  };

  static bool is_open(const TokenState& state) { return state.part != 0; }
  static Node node_of(const TokenState& state) { return {{state.language}, {state.part}}; }
  static TokenState whole_state(const TokenState& state) { return {state.language}; }
  static TokenState state_of(const Node& node, std::uint32_t part_tokens) {
    return {node.whole.value, TokenState::kNoToken, 0, node.part.value, node.is_open() ? part_tokens : 0};
  }

  ExprId after_in_part(ExprId part, std::string_view text) { return part_after(part_.automaton(), part, text); }
  bool fits(const Node& node, std::uint32_t part_tokens, std::uint32_t tokens);
  std::optional<Found> search(const Node& start, std::uint32_t part_tokens, std::uint32_t tokens);
  bool closes_within(const Node& start, std::uint32_t part_tokens, std::uint32_t tokens);
  const std::vector<Successor>& successors(const Node& node);
  std::uint32_t token_between(const Node& from, const Node& to);
  void fill_complete(const TokenState& state, std::uint32_t* row);
  // Removes the tokens after which no completion fits both budgets; returns whether any.
  bool remove_beyond(const TokenState& state, std::uint32_t tokens_after, std::uint32_t* row);
  // Calls visit(tokens, node after them) for spans of text tokens that the whole constraint allows.
  template <class Visit>
  void expand_node(const Node& node, Visit visit);

  std::shared_ptr<LanguageMachine> whole_;
  LanguageMachine part_;
  std::uint32_t part_tokens_;
  std::mutex mutex_;
  std::unordered_map<std::uint64_t, std::vector<Successor>> successors_;  // by Node::key
};

}  // namespace detent

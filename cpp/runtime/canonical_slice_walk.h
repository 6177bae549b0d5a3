// CanonicalSlices::SliceWalk: the walk along the trie from the prefix of a slice, beside a reference if there is one.
// Only canonical_slices.cc includes it.
#pragma once

#include <algorithm>
#include <array>
#include <cstdint>
#include <cstring>
#include <memory>
#include <span>
#include <unordered_map>
#include <vector>

#include "mask/mask_builder.h"
#include "runtime/canonical_slices.h"

namespace detent {

class CanonicalSlices::SliceWalk {
 public:
  SliceWalk(CanonicalSlices& slices, const Reference* reference, PositionId from, WalkLimit& limit)
      : slices_(slices),
        limit_(limit),
        language_(slices.language_),
        vocabulary_(slices.language_.vocabulary()),
        reference_(reference),
        equal_length_(reference ? reference->equal_length : 0),
        needed_(reference ? reference->tokens.accepted->max_completion_bound() : 0),
        bounds_(slices.language_, slices.completions_, slices.endings_, slices.search_, from),
        accepted_(vocabulary_.size()),
        closing_(vocabulary_.size()),
        path_(vocabulary_.max_token_length() + std::size_t{1}),
        decided_(vocabulary_.max_token_length() + std::size_t{1}) {}

  SliceTokens run(ExprId prefix) {
    Automaton& automaton = language_.automaton;
    const auto& class_of = automaton.class_of();
    path_[0] = {prefix, automaton.row(prefix), reference_ ? automaton.row(reference_->prefix) : nullptr};
    std::int64_t visited = 0;
    for (unsigned byte = 0; byte < 256; ++byte) {
      const std::uint8_t of_class = class_of[byte];
      if (path_[0].row[of_class] == (reference_ ? path_[0].row_there[of_class] : ExprSet::kEmpty)) continue;
      const std::size_t root = vocabulary_.root(static_cast<std::uint8_t>(byte));
      visited += walk(root, root + vocabulary_.nodes_below(static_cast<std::uint8_t>(byte)));
    }
    language_.meter.step(visited / 8 + 1);
    return finish();
  }

  // The same from the states after the tokens, without a reference.
  SliceTokens run(ExprId prefix, const PrefixStates& states) {
    std::vector<ExprId> state_of;
    const std::vector<Verdict> refused(bounds_.target_count() + 1, Verdict::refused);
    std::array<const Verdict*, PrefixStates::kLeaves + std::size_t{1}> verdicts_of{};
    verdicts_of[PrefixStates::kLeaves] = refused.data();
    for (std::uint32_t token : states.examples) {
      state_of.push_back(language_.next(prefix, vocabulary_.bytes(token)));
      verdicts_of[state_of.size() - 1] = bounds_.targets_of(state_of.back()).verdicts.data();
    }
    std::vector<std::uint32_t> accepted(vocabulary_.word_count()), closing(vocabulary_.word_count());
    const std::uint8_t* const states_of_tokens = states.state_of.data();
    for (std::uint32_t first = 0; first < vocabulary_.size(); first += kAtOnce) {
      const std::uint32_t last = std::min(first + kAtOnce, vocabulary_.size());
      if (all_leave(states_of_tokens + first, last - first)) continue;
      std::uint32_t accepted_here = 0, closing_here = 0;  // the memory of a bit mask is written once for all of them
      for (std::uint32_t token = first; token < last; ++token) {
        const std::uint8_t index = states_of_tokens[token];
        const std::size_t target = bounds_.target_of(token);
        Verdict verdict = verdicts_of[index][target];
        if (verdict > Verdict::accepted) verdict = decide(token, state_of[index], target);
        const bool is_closing = verdict == Verdict::closing;
        accepted_here |= std::uint32_t{is_closing || verdict == Verdict::accepted} << (token & 31);
        closing_here |= std::uint32_t{is_closing} << (token & 31);
      }
      accepted[first >> 5] |= accepted_here;
      closing[first >> 5] |= closing_here;
    }
    language_.meter.step(vocabulary_.size() / 64 + 1);
    return {mask_of(accepted, longest_), uncertain_mask(), mask_of(closing, 0)};
  }

 private:
  using Verdict = ContextFreeBounds::Verdict;
  static constexpr std::uint8_t kTallSubtree = 255;                // Vocabulary::height of this much or more
  static constexpr std::uint32_t kAtOnce = sizeof(std::uint64_t);  // tokens of run()
  // Tokens, each added at most once, without a branch.
  class TokenList {
   public:
    explicit TokenList(std::uint32_t most)
        : tokens_(std::make_unique_for_overwrite<std::uint32_t[]>(most + std::size_t{1})) {}
    void add(std::uint32_t token, bool is_member) {
      tokens_[count_] = token;
      count_ += is_member ? 1 : 0;
    }
    bool empty() const { return count_ == 0; }
    void add_to(MaskBuilder& builder) const { builder.allow(tokens_.get(), count_); }

   private:
    std::unique_ptr<std::uint32_t[]> tokens_;
    std::size_t count_ = 0;
  };
  struct Node {
    ExprId state;
    const ExprId* row = nullptr;        // transition rows of the state, and of the reference after the same bytes
    const ExprId* row_there = nullptr;  // null if the reference is dead
  };
  // What is known of a state after a token. Tokens of one length often lead to one state: kept by depth in the trie.
  struct Decided {
    ExprId next = ExprSet::kEmpty, next_there = ExprSet::kEmpty;
    bool completes_alike = false;
    ContextFreeBounds::Targets* targets = nullptr;
  };

  // Whether all of up to kAtOnce tokens leave the prefix: only few stay inside a literal, or inside one character.
  static bool all_leave(const std::uint8_t* states_of_tokens, std::size_t count) {
    static_assert(PrefixStates::kLeaves == UINT8_MAX);
    std::uint64_t states = UINT64_MAX;
    std::memcpy(&states, states_of_tokens, count);
    return states == UINT64_MAX;
  }

  // Decides the tokens of the nodes from `first` up to `end` that lead the two prefixes to different states. Returns
  // the number of nodes visited.
  std::int64_t walk(std::size_t first, std::size_t end) {
    const std::vector<TrieNode>& trie = vocabulary_.trie();
    const auto& class_of = language_.automaton.class_of();
    std::int64_t visited = 0;
    for (std::size_t i = first; i < end; ++visited) {
      const TrieNode& node = trie[i];
      const Node& at = path_[node.depth];
      const ExprId next = at.row[class_of[node.byte]];
      const ExprId next_there = at.row_there ? at.row_there[class_of[node.byte]] : ExprSet::kEmpty;
      if (next == next_there || all_short_below(i)) {
        i = node.next;
        continue;
      }
      if (next == ExprSet::kEmpty) {
        for (; i < node.next; ++i) each_long_token(trie[i], [this](std::uint32_t token) { changed_.push_back(token); });
        continue;
      }
      // A token that ends with the first byte of a whole subtree ends a character there.
      const bool ends_character = node.byte < 0x80 || node.token != TrieNode::kNoToken;
      if (node.subtree && ends_character && take_subtree(next, next_there, node)) {
        i = node.next;
        continue;
      }
      if (node.token != TrieNode::kNoToken && node.depth >= equal_length_) {
        const Decided& decided = decide(next, next_there, node.depth);
        limit_.check();
        if (!decided.completes_alike) {
          each_long_token(node, [&](std::uint32_t token) { add(token, decided, next_there); });
        }
      }
      if (++i == node.next) continue;
      path_[node.depth + std::size_t{1}] = {
          next, next == at.state ? at.row : language_.automaton.row(next),
          next_there == ExprSet::kEmpty ? nullptr : language_.automaton.row(next_there)};
    }
    return visited;
  }

  // Whether every token below node `i` is too short to differ from the reference.
  bool all_short_below(std::size_t i) const {
    const std::uint8_t height = vocabulary_.height(i);
    return height < kTallSubtree && vocabulary_.trie()[i].depth + std::uint32_t{height} < equal_length_;
  }

  template <class Visit>
  void each_long_token(const TrieNode& node, Visit visit) const {
    if (node.token == TrieNode::kNoToken || node.depth < equal_length_) return;
    if (node.token & TrieNode::kShared) {
      for (std::uint32_t token : vocabulary_.shared_ids(node.token)) visit(token);
    } else {
      visit(node.token);
    }
  }

  const Decided& decide(ExprId next, ExprId next_there, std::size_t depth) {
    Decided& known = decided_[depth];
    if (known.next == next && known.next_there == next_there) return known;
    known = {next, next_there, false, nullptr};
    if (next_there != ExprSet::kEmpty) {
      const auto [entry, is_new] = wide_.try_emplace(next.value);
      if (is_new) entry->second = slices_.without_upper_bounds(next);
      known.completes_alike = entry->second.state == next_there && entry->second.rounds >= needed_;
    }
    if (!known.completes_alike) known.targets = &bounds_.targets_of(next);
    return known;
  }

  void add(std::uint32_t token, const Decided& decided, ExprId next_there) {
    if (next_there != ExprSet::kEmpty) changed_.push_back(token);
    const std::size_t target = bounds_.target_of(token);
    const Verdict known = decided.targets->verdicts[target];
    take(token, known);
    if (known > Verdict::accepted) take(token, decide(token, decided.next, target));
  }

  // Most tokens are taken so: without a branch.
  void take(std::uint32_t token, Verdict verdict) {
    accepted_.add(token, verdict == Verdict::accepted);
    closing_.add(token, verdict == Verdict::closing);
  }

  Verdict decide(std::uint32_t token, ExprId next, std::size_t target) {
    const auto [verdict, length] = bounds_.of(token, next, target);
    if (verdict == Verdict::uncertain) uncertain_.push_back(token);
    if (verdict == Verdict::accepted || verdict == Verdict::closing) longest_ = std::max(longest_, length);
    return verdict;
  }

  // Takes a subtree all of whose tokens lead to the state after its first byte. Most tokens of a slice without bounds
  // are in one, and most verdicts are known by then: they are copied without a branch.
  bool take_subtree(ExprId next, ExprId next_there, const TrieNode& node) {
    if (equal_length_ > 0) return false;
    const Subtree& subtree = vocabulary_.subtrees()[node.subtree];
    // Most often one ASCII byte shows that the state does not loop. Its whole loop needs rows, inside characters too.
    const std::uint8_t first = subtree.used.empty() ? 0xFF : subtree.used.first();
    if (first < 0x80 && language_.next(next, first) != next) return false;
    if (!subtree.whole || !subtree.used.is_subset_of(language_.automaton.self_loop_bytes(next))) return false;
    const std::vector<Verdict>& verdicts = bounds_.targets_of(next).verdicts;
    const auto ids = std::span(vocabulary_.ids_in_order()).subspan(subtree.first, subtree.last - subtree.first);
    if (next_there != ExprSet::kEmpty) changed_.insert(changed_.end(), ids.begin(), ids.end());
    for (std::uint32_t token : ids) {
      const std::size_t target = bounds_.target_of(token);
      const Verdict known = verdicts[target];
      take(token, known);
      if (known > Verdict::accepted) take(token, decide(token, next, target));
    }
    return true;
  }

  std::shared_ptr<const Mask> mask_of(std::span<const std::uint32_t> row, std::uint32_t length) const {
    MaskBuilder builder(row.size());
    builder.allow(row);
    builder.note_length(length);
    return builder.finish();
  }

  std::shared_ptr<const Mask> uncertain_mask() const {
    MaskBuilder builder(vocabulary_.word_count());
    start_from_reference(builder, &SliceTokens::uncertain);
    builder.allow(uncertain_.data(), uncertain_.size());
    return builder.finish();
  }

  SliceTokens finish() {
    const bool is_equal = accepted_.empty() && closing_.empty() && uncertain_.empty() && changed_.empty();
    if (reference_ && is_equal) return reference_->tokens;
    SliceTokens found;
    found.uncertain = uncertain_mask();
    MaskBuilder builder(vocabulary_.word_count());
    start_from_reference(builder, &SliceTokens::closing);
    closing_.add_to(builder);
    found.closing = builder.finish();
    start_from_reference(builder, &SliceTokens::accepted);
    accepted_.add_to(builder);
    closing_.add_to(builder);
    builder.note_length(longest_);
    found.accepted = builder.finish();
    return found;
  }

  void start_from_reference(MaskBuilder& builder, std::shared_ptr<const Mask> SliceTokens::* tokens) const {
    if (!reference_) return;
    builder.copy_from(*(reference_->tokens.*tokens));
    for (std::uint32_t token : changed_) builder.refuse(token);
  }

  CanonicalSlices& slices_;
  WalkLimit& limit_;
  TokenizedLanguage language_;
  const Vocabulary& vocabulary_;
  const Reference* reference_;
  std::uint32_t equal_length_;
  std::uint32_t needed_;  // bytes of the longest completion of an accepted token of the reference
  ContextFreeBounds bounds_;
  TokenList accepted_, closing_;
  std::vector<std::uint32_t> uncertain_;
  std::vector<std::uint32_t> changed_;  // tokens whose verdict is not that of the reference
  std::uint32_t longest_ = 0;
  std::vector<Node> path_;                                  // by depth
  std::vector<Decided> decided_;                            // by depth
  std::unordered_map<std::uint32_t, UnboundedState> wide_;  // by state
};

}  // namespace detent

// Canonical masks.
//
// 1. Naively, a token may follow if the language, the pre-tokenizer and the last token allow it, and it leads to no
// dead
//    end: one walk over the trie with a search for each token.
// 2. The last token is separated: a mask is computed for (state, split position), and the tokens that must not follow
//    the last one are removed when a row is filled (fill). After a pre-token boundary nothing is removed.
// 3. Tokens that lead to the same state and position share the answer (TokenBounds).
// 4. A state that begins with a slice, such as the rest of a string, shares the tokens that stay inside it with all
//    states that begin so (slice_tokens): those for which a completion is known whatever follows the slice. The
//    uncertain ones, and those that cross its end, are decided for each state (compute_from_slice).
// 5. A slice with a bound on its repeats takes the tokens of the one without, where a token and its completion fit
//    into the bound: a byte consumes at most one repetition.
#include "runtime/canonical_masks.h"

#include <algorithm>

namespace detent {

bool CanonicalMasks::fill(ExprId state, const SplitPositionSets::Set& set, std::uint32_t last,
                          std::uint32_t tokens_after, std::uint32_t* row) {
  const Encoder& encoder = language_.encoder();
  const PretokenTransitions& transitions = language_.transitions;
  std::fill_n(row, language_.vocabulary().word_count(), 0u);
  bool within_pretoken = false, removed = false;
  if (last != PretokenTransitions::kNoToken && encoder.may_have_neighbours(last)) {
    for (const SplitPosition& at : set) {
      if (endings_.find(state, at.position).impossible) continue;
      removed |= add_mask(state, at, tokens_after, row);
      within_pretoken = true;
    }
  }
  if (within_pretoken && !encoder.is_byte_token(last)) encoder.adjacency().forbid_after(last, row);
  for (const SplitPosition& at : set) {
    if (!transitions.may_end_pretoken(at, last)) continue;
    const SplitPosition start = transitions.pretoken_start(at.position.decoded().state);
    if (completions_.has_text(state, start.position)) removed |= add_mask(state, start, tokens_after, row);
  }
  return removed;
}

bool CanonicalMasks::add_mask(ExprId state, const SplitPosition& at, std::uint32_t tokens_after, std::uint32_t* row) {
  const std::shared_ptr<const Mask> mask = mask_of(state, at);
  const auto fits = [&] {
    if (mask->max_completion_bound() <= tokens_after) return true;
    const auto longest = longest_.find({state, at, PretokenTransitions::kNoToken});
    return longest != longest_.end() && longest->second <= tokens_after;
  };
  if (fits()) {
    mask->add_to(row);
    return false;
  }
  add_within(*mask, state, at, tokens_after, row);
  return true;
}

// Adds the tokens of a mask after which the completion fits the budget.
void CanonicalMasks::add_within(const Mask& mask, ExprId state, const SplitPosition& at, std::uint32_t tokens_after,
                                std::uint32_t* row) {
  const TransitionRow& transitions = language_.transitions.row(at.position);
  std::vector<std::uint32_t> bits(language_.vocabulary().word_count());
  mask.add_to(bits.data());
  std::uint32_t longest = 0;
  language_.each_token(state, [&](std::uint32_t token, ExprId next) {
    if ((bits[token >> 5] >> (token & 31) & 1) == 0) return;
    const PositionId position = transitions.targets[transitions.target_of(token)];
    const SplitPosition after{position, language_.transitions.unsplit_after(at.unsplit, token)};
    const std::uint32_t length = search_.completion_length({next, after, token});
    longest = std::max(longest, length);
    if (length <= tokens_after) row[token >> 5] |= 1u << (token & 31);
  });
  language_.meter.allocate(64);
  longest_[{state, at, PretokenTransitions::kNoToken}] = longest;
}

std::shared_ptr<const Mask> CanonicalMasks::mask_of(ExprId state, const SplitPosition& at) {
  const std::uint64_t position = std::uint64_t{at.position.value} << 32 | at.unsplit.value;
  const Hash128 key = mix(mix(language_.automaton.hash(state), language_.transitions.cache_key()), position);
  MaskCache& cache = language_.vocabulary().cache();
  if (std::shared_ptr<const Mask> known = cache.find(key)) return known;
  std::shared_ptr<const Mask> mask = compute(state, at);
  cache.insert(key, mask);
  return mask;
}

std::shared_ptr<const Mask> CanonicalMasks::compute(ExprId state, const SplitPosition& at) {
  if (!language_.vocabulary().tokenizable_texts()) {
    const SlicedState sliced = masks_.analysis().slice(state);
    const bool one_slice = sliced.slices.size() == 1;
    if (one_slice && greedy_.length(sliced.slices[0].continuation) != kInfinite) {
      return compute_from_slice(state, at, sliced);
    }
  }
  TokenBounds bounds(language_, search_, state, at);
  BoundedTokens tokens;
  language_.each_token(state, [&](std::uint32_t token, ExprId next) {
    if (const std::uint32_t bound = bounds.of(token, next); bound != kInfinite) tokens.emplace_back(token, bound);
  });
  MaskBuilder builder(language_.vocabulary().word_count());
  for (const auto& [token, bound] : tokens) {
    builder.allow(token);
    builder.note_length(bound);
  }
  return builder.finish();
}

// There is one slice, and its continuation has a greedy completion.
std::shared_ptr<const Mask> CanonicalMasks::compute_from_slice(ExprId state, const SplitPosition& at,
                                                               const SlicedState& sliced) {
  const Vocabulary& vocabulary = language_.vocabulary();
  const auto& [prefix, continuation] = sliced.slices[0];
  const SliceTokens part = slice_tokens(prefix, at.position);
  TokenBounds bounds(language_, search_, state, at);
  BoundedTokens tokens;
  std::vector<std::uint32_t> refused;  // accepted tokens that could only complete the text of an unsplit token
  if (const auto& completing = language_.transitions.completes_unsplit(at.unsplit); !completing.empty()) {
    std::vector<std::uint32_t> accepted(vocabulary.word_count());
    part.accepted->add_to(accepted.data());
    for (std::uint32_t token : completing) {
      if ((accepted[token >> 5] >> (token & 31) & 1) == 0) continue;
      const std::uint32_t bound = bounds.of(token, bounds.next(token));
      if (bound == kInfinite) {
        refused.push_back(token);
      } else {
        tokens.emplace_back(token, bound);
      }
    }
  }
  // A token may be in several parts. Where it leads from the whole state counts.
  const auto visit = [&](std::uint32_t token, ExprId) {
    const std::uint32_t bound = bounds.of(token, bounds.next(token));
    if (bound != kInfinite) tokens.emplace_back(token, bound);
  };
  part.uncertain->each([&](std::uint32_t token) { visit(token, state); });
  walk_suffixes(*masks_.slice_masks().mask_of(prefix)->context_dependent(), vocabulary, language_.automaton,
                continuation, visit);
  if (sliced.remainder != ExprSet::kEmpty) language_.each_token(sliced.remainder, visit);
  language_.meter.step(static_cast<std::int64_t>(tokens.size()) / 8 + 1);

  MaskBuilder builder(vocabulary.word_count());  // last: a thread builds one mask at a time
  if (refused.empty()) {
    builder.share(part.accepted);
  } else {
    builder.copy_from(*part.accepted);
    for (std::uint32_t token : refused) builder.refuse(token);
  }
  builder.note_length(part.accepted->max_completion_bound() + greedy_.length(continuation));
  for (const auto& [token, bound] : tokens) {
    builder.allow(token);
    builder.note_length(bound);
  }
  return builder.finish();
}

CanonicalMasks::SliceTokens CanonicalMasks::slice_tokens(ExprId prefix, PositionId from) {
  MaskCache& cache = language_.vocabulary().cache();
  const Hash128 with_key = mix(language_.automaton.hash(prefix), language_.transitions.cache_key());
  const Hash128 key = mix(mix(with_key, from.value), 0x696e), uncertain_key = mix(key, 1);
  constexpr auto kind = MaskCache::Kind::slice;
  SliceTokens found{cache.find(key, kind), cache.find(uncertain_key, kind)};
  if (found.accepted && found.uncertain) return found;
  found = compute_slice(prefix, from);
  cache.insert(key, found.accepted, kind);
  cache.insert(uncertain_key, found.uncertain, kind);
  return found;
}

CanonicalMasks::SliceTokens CanonicalMasks::compute_slice(ExprId prefix, PositionId from) {
  const Vocabulary& vocabulary = language_.vocabulary();
  if (const UnboundedState unbounded = masks_.analysis().drop_upper_bound(prefix); unbounded.state != prefix) {
    const SliceTokens found = slice_tokens(unbounded.state, from);
    if (std::uint64_t{vocabulary.max_token_length()} + found.accepted->max_completion_bound() <= unbounded.rounds)
      return found;
  }
  using Verdict = ContextFreeBounds::Verdict;
  ContextFreeBounds bounds(language_, completions_, endings_, search_, from);
  const auto accepted = std::make_unique_for_overwrite<std::uint32_t[]>(vocabulary.size() + std::size_t{1});
  std::size_t count = 0;
  std::vector<std::uint32_t> uncertain;
  std::uint32_t longest = 0;
  const auto visit_one = [&](std::uint32_t token, ExprId next) {
    const auto [verdict, length] = bounds.of(token, next, bounds.target_of(token));
    if (verdict == Verdict::uncertain) uncertain.push_back(token);
    if (verdict != Verdict::accepted) return;
    accepted[count++] = token;
    longest = std::max(longest, length);
  };
  const auto visit = [&](const TrieNode& node, ExprId next) {
    if (node.token & TrieNode::kShared) {
      for (std::uint32_t token : vocabulary.shared_ids(node.token)) visit_one(token, next);
    } else {
      visit_one(node.token, next);
    }
  };
  // Most tokens of a slice are visited here, and most verdicts are known already: they are copied without a branch.
  const auto visit_all = [&](const Subtree& subtree, ExprId next) {
    const std::vector<Verdict>& verdicts = bounds.verdicts(next);
    for (std::uint32_t k = subtree.first; k < subtree.last; ++k) {
      const std::uint32_t token = vocabulary.ids_in_order()[k];
      const Verdict known = verdicts[bounds.target_of(token)];
      accepted[count] = token;
      count += known == Verdict::accepted ? 1 : 0;
      if (known > Verdict::accepted) visit_one(token, next);
    }
  };
  language_.meter.step(walk_tokens(vocabulary, language_.automaton, prefix, visit, visit_all) / 8 + 1);
  return {make_mask(accepted.get(), count, longest), make_mask(uncertain.data(), uncertain.size(), 0)};
}

std::shared_ptr<const Mask> CanonicalMasks::make_mask(const std::uint32_t* tokens, std::size_t count,
                                                      std::uint32_t bound) const {
  MaskBuilder builder(language_.vocabulary().word_count());
  builder.allow(tokens, count);
  builder.note_length(bound);
  return builder.finish();
}

}  // namespace detent

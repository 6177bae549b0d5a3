#include "runtime/mask_computer.h"

#include <algorithm>
#include <utility>
#include <vector>

#include "base/fork_guard.h"
#include "expr/lengths.h"
#include "expr/parts.h"
#include "mask/mask_builder.h"
#include "runtime/alternative_walk.h"
#include "runtime/class_run.h"
#include "runtime/exclusion_walk.h"
#include "runtime/literal_walk.h"
#include "runtime/trie_walk.h"
#include "runtime/unbounded_reference.h"

namespace detent {
namespace {

// Once decoding has added this many expressions, masks of unions are computed by alternatives. Few languages reach it.
constexpr std::size_t kManyStates = 4'000;

}  // namespace

std::shared_ptr<const Mask> MaskComputer::compute(ExprId state) {
  const ForkGuard guard;  // makes the many nested guards below free
  const TokenCheck check = automaton_.stays_tokenizable(state) ? TokenCheck::none : TokenCheck::tokenizable;
  if (check == TokenCheck::none && has_many_alternatives(state)) return compute_from_alternatives(state);
  if (check == TokenCheck::none) {
    if (std::shared_ptr<const Mask> mask = compute_by_form(state)) return mask;
  } else if (const SlicedState sliced = analysis_.slice(state); can_use(sliced, check)) {
    return compute_from_slices(sliced, check);
  }
  if (check == TokenCheck::tokenizable) return compute_from_nearest(state, check);
  if (follows_exclusions(automaton_, state)) return walk(state, {}, check);
  const bool by_conjuncts = follows_conjuncts(automaton_, state);
  UnboundedState unbounded = analysis_.drop_upper_bound(state);
  if (by_conjuncts && unbounded.rounds < vocabulary_.max_token_length()) return walk(state, {}, check);
  const auto mask_of_wide = [this](ExprId wide) { return mask_of(wide); };
  ReferenceMask reference = unbounded_reference(unbounded, state, mask_of_wide);
  if (reference.mask && unbounded.in_intersection && reference.equal_below < vocabulary_.max_token_length()) {
    unbounded.needed = analysis_.needed_inside(unbounded);
    reference = unbounded_reference(unbounded, state, mask_of_wide);
  }
  if (!reference.mask && by_conjuncts) return walk(state, {}, check);
  if (!reference.mask) {
    MaskBuilder builder(vocabulary_.word_count());
    const bool is_run =
        !prefers_conjuncts(automaton_) && add_class_run(vocabulary_, automaton_, state, builder, nullptr);
    return is_run ? builder.finish() : compute_from_nearest(state, check);
  }
  return reference.equal_below >= vocabulary_.max_token_length() ? reference.mask : walk(state, reference, check);
}

// Whether the masks of slices are exact here. They allow the tokens inside a slice without a test that the vocabulary
// can write a completion; so each slice and its continuation must be tokenizable.
bool MaskComputer::can_use(const SlicedState& sliced, TokenCheck check) {
  return !sliced.slices.empty() &&
         (check == TokenCheck::none || std::ranges::all_of(sliced.slices, [this](const Slice& slice) {
            return automaton_.stays_tokenizable(slice.prefix) && automaton_.is_tokenizable(slice.continuation);
          }));
}

// Whether to walk by alternatives. While the automaton is small, a walk by states costs less. Slices with one prefix
// count once, since their mask is shared. Case: one string before the different rests of five objects. What begins with
// literals does not count, since these are followed in the trie. Case: five lists of twenty members in any order.
bool MaskComputer::has_many_alternatives(ExprId state) {
  constexpr std::size_t kFew = 4;
  if (automaton_.has_rule(state) || automaton_.added_size() < kManyStates) return false;
  if (automaton_.split(state).size() <= kFew) return false;
  const SlicedState sliced = analysis_.slice(state);
  std::vector<std::uint32_t> prefixes;
  for (const Slice& slice : sliced.slices) prefixes.push_back(slice.prefix.value);
  std::ranges::sort(prefixes);
  const auto repeated = std::ranges::unique(prefixes).size();
  const ExprId others = automaton_.edit([&](ExprSet& exprs, Derivatives&, Liveness&) {
    std::vector<ExprId> operands = operands_of(exprs, sliced.remainder, Op::union_of);
    std::erase_if(operands, [&](ExprId operand) { return begins_like_literal(exprs, operand); });
    return exprs.union_of(std::move(operands));
  });
  const std::size_t other_count = others == ExprSet::kEmpty ? 0 : automaton_.split(others).size();
  return prefixes.size() - repeated + other_count > kFew;
}

std::shared_ptr<const Mask> MaskComputer::compute_from_alternatives(ExprId state) {
  MaskBuilder builder(vocabulary_.word_count());
  AlternativeWalk(vocabulary_, automaton_, builder, nullptr).run(state, ExprSet::kEmpty, 0, vocabulary_.trie().size());
  return builder.finish();
}

// Computes the mask from the alternatives of a state: slices, states that begin with literals, and others. Null if all
// are of the third kind.
std::shared_ptr<const Mask> MaskComputer::compute_by_form(ExprId state) {
  const SplitState split = analysis_.split(state);
  MaskBuilder builder(vocabulary_.word_count());
  std::vector<OpenState> open;
  std::size_t literal_count = 0;
  const ExprId remainder = automaton_.edit([&](ExprSet& exprs, Derivatives& derivatives, Liveness& liveness) {
    LiteralWalk walk(VocabularyTrie(vocabulary_), builder, exprs, derivatives, liveness);
    std::vector<ExprId> others;
    for (ExprId other : split.others) {
      if (begins_like_literal(exprs, other)) {
        walk.run(other);
      } else {
        others.push_back(other);
      }
    }
    for (const DeclaredMembers& members : split.declared) walk.run(members);
    open = walk.take_open();
    literal_count = split.others.size() - others.size() + split.declared.size();
    return literal_count == 0 && split.slices.empty() ? state : exprs.union_of(std::move(others));
  });
  if (remainder == state) return nullptr;
  for (const Slice& slice : split.slices) add_slice(slice, builder);
  if (!open.empty() || remainder != ExprSet::kEmpty) walk_rest(open, remainder, builder);
  return builder.finish();
}

// Adds the tokens of the states that literals lead to, below their trie nodes, and those of the remainder. Most masks
// need neither, and making a walk takes up to 0.5 us.
void MaskComputer::walk_rest(const std::vector<OpenState>& open, ExprId remainder, MaskBuilder& builder) {
  const ReferenceMask none;
  ReferenceWalk walk(vocabulary_, automaton_, none, builder, nullptr, TokenCheck::none, &kept_);
  for (const auto& [next, first, end] : open) walk.run_below(next, first, end);
  // A mask that is kept is that of a state: its completions must be tokenizable without the other alternatives.
  if (remainder != ExprSet::kEmpty && (!is_wide(remainder) || !automaton_.stays_tokenizable(remainder))) {
    walk.run(remainder);
  } else if (remainder != ExprSet::kEmpty) {
    const std::shared_ptr<const Mask> mask = mask_of_remainder(remainder);
    builder.share(mask);
    builder.note_length(mask->max_completion_bound());
  }
}

// Whether most tokens begin with a byte that may follow.
bool MaskComputer::is_wide(ExprId state) {
  const ExprId* row = automaton_.row(state);
  std::size_t nodes = 0;
  for (unsigned byte = 0; byte < 256; ++byte) {
    if (row[automaton_.class_of()[byte]] == ExprSet::kEmpty) continue;
    nodes += vocabulary_.nodes_below(static_cast<std::uint8_t>(byte));
  }
  return nodes > vocabulary_.trie().size() / 2;
}

// The mask of a remainder from that of a similar state. Case: text without some words, of which calls are another
// alternative: each token leads to a new remainder, whose mask is nearly the last one.
std::shared_ptr<const Mask> MaskComputer::mask_of_remainder(ExprId remainder) {
  const Hash128 key = mask_key(automaton_.hash(remainder), MaskKind::state);
  MaskCache& cache = vocabulary_.cache();
  if (std::shared_ptr<const Mask> known = cache.find(key, MaskCache::Kind::reference)) return known;
  const auto nodes = static_cast<std::int64_t>(vocabulary_.trie().size());
  const ReferenceMask reference = recent_remainders_.nearest_state(remainder, nodes - nodes / 4);
  std::shared_ptr<const Mask> mask = walk(remainder, reference, TokenCheck::none);
  if (!reference.mask) recent_remainders_.add(remainder);
  cache.insert(key, mask, MaskCache::Kind::reference);
  return mask;
}

// Adds the tokens of a slice: the mask of its prefix, and the context-dependent tokens that its continuation allows.
void MaskComputer::add_slice(const Slice& slice, MaskBuilder& builder) {
  const ExprId continuation = slice.continuation;
  const std::shared_ptr<const Mask> mask =
      slice.is_value ? slice_masks_.mask_of_value(slice) : slice_masks_.mask_of(slice.prefix);
  builder.share(mask);
  const ContextDependentTokens& leaving = *mask->context_dependent();
  const std::shared_ptr<const ContextDependentTokens>& tokens = leaving.all ? leaving.all : mask->context_dependent();
  std::shared_ptr<const Mask> allowed = recent_continuations_.find(tokens.get(), continuation);
  if (!allowed) {
    allowed = continued(*tokens, continuation);
    recent_continuations_.add(tokens, continuation, allowed);
  }
  if (leaving.left_out.empty()) {
    builder.copy_from(*allowed);
  } else {
    builder.note_length(allowed->max_completion_bound());
    allowed->each([&](std::uint32_t id) {
      if (!std::ranges::binary_search(leaving.left_out, id)) builder.allow(id);
    });
  }
  const std::uint32_t bound = automaton_.completion_bound(continuation);
  builder.note_length(saturating_add(mask->max_completion_bound(), bound));
}

// The context-dependent tokens whose suffixes a continuation allows.
std::shared_ptr<const Mask> MaskComputer::continued(const ContextDependentTokens& tokens, ExprId continuation) {
  MaskBuilder builder(vocabulary_.word_count());
  if (const std::optional<Slice> value = analysis_.member_value(continuation)) {
    const ExprId rest = value->continuation;
    const std::shared_ptr<const Mask> mask = slice_masks_.mask_of_value(*value, tokens);
    builder.share(mask);
    builder.note_length(saturating_add(mask->max_completion_bound(), automaton_.completion_bound(rest)));
    if (!mask->context_dependent()->nodes.empty()) builder.copy_from(*continued(*mask->context_dependent(), rest));
    return builder.finish();
  }
  std::vector<OpenState> open;
  automaton_.edit([&](ExprSet& exprs, Derivatives& derivatives, Liveness& liveness) {
    LiteralWalk walk(SuffixTrie(tokens), builder, exprs, derivatives, liveness);
    walk.run(continuation);
    open = walk.take_open();
    return 0;
  });
  ExprId noted = ExprSet::kEmpty;  // the state whose completion was noted last
  for (const auto& [state, first, end] : open) {
    walk_suffixes(tokens, first, end, vocabulary_, automaton_, state, [&](std::uint32_t id, ExprId next) {
      builder.allow(id);
      if (next != noted) builder.note_length(automaton_.completion_bound(noted = next));
    });
  }
  return builder.finish();
}

std::shared_ptr<const Mask> MaskComputer::compute_from_slices(const SlicedState& sliced, TokenCheck check) {
  MaskBuilder builder(vocabulary_.word_count());
  for (const Slice& slice : sliced.slices) {
    const ExprId continuation = slice.continuation;
    const std::shared_ptr<const Mask> mask = slice_masks_.mask_of(slice.prefix);
    builder.share(mask);
    builder.note_length(saturating_add(mask->max_completion_bound(), automaton_.completion_bound(continuation)));
    ExprId noted = ExprSet::kEmpty;  // the state whose completion was noted last
    walk_suffixes(*mask->context_dependent(), vocabulary_, automaton_, continuation,
                  [&](std::uint32_t id, ExprId next) {
                    if (check == TokenCheck::tokenizable && !automaton_.is_tokenizable(next)) return;
                    builder.allow(id);
                    if (next != noted) builder.note_length(automaton_.completion_bound(noted = next));
                  });
  }
  if (sliced.remainder != ExprSet::kEmpty) {
    ReferenceWalk(vocabulary_, automaton_, {}, builder, nullptr, check, &kept_).run(sliced.remainder);
  }
  return builder.finish();
}

std::shared_ptr<const Mask> MaskComputer::compute_from_nearest(ExprId state, TokenCheck check) {
  const ReferenceMask reference = recent_.nearest_state(state);
  std::shared_ptr<const Mask> mask = walk(state, reference, check);
  if (!reference.mask) recent_.add(state);
  return mask;
}

std::shared_ptr<const Mask> MaskComputer::walk(ExprId state, const ReferenceMask& reference, TokenCheck check) {
  MaskBuilder builder(vocabulary_.word_count());
  if (reference.mask) builder.copy_from(*reference.mask);
  ReferenceWalk(vocabulary_, automaton_, reference, builder, nullptr, check, &kept_).run(state);
  return builder.finish();
}

std::shared_ptr<const Mask> MaskComputer::mask_of(ExprId state) {
  const Hash128 key = mask_key(automaton_.hash(state), MaskKind::state);
  MaskCache& cache = vocabulary_.cache();
  if (std::shared_ptr<const Mask> known = cache.find(key, MaskCache::Kind::reference)) return known;
  std::shared_ptr<const Mask> mask = compute(state);
  cache.insert(key, mask, MaskCache::Kind::reference);
  return mask;
}

}  // namespace detent

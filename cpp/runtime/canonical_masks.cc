// Canonical masks.
//
// 1. Naively, a token may follow if the language, the pre-tokenizer and the last token allow it, and it leads to no
//    dead end: one walk over the trie with a search for each token.
// 2. The last token is separated: a mask is computed for (state, split position), and the tokens that must not follow
//    the last one are removed when a row is filled (fill). After a pre-token boundary nothing is removed.
// 3. Tokens that lead to the same state and position share the answer (TokenBounds).
// 4. A state that begins with a slice, such as the rest of a string, shares the tokens that stay inside it with all
//    states that begin so (CanonicalSlices): those for which a completion is known whatever follows the slice. The
//    uncertain ones, and those that cross its end, are decided for each state (compute_from_slice). Where a state has
//    several slices, or other alternatives, such as the names of members, only tokens of the plain mask are decided
//    (compute_from_slices).
// 5. A union may have exponentially many states after a token, where each of its operands has few. Once a walk makes
//    too many states, the operands are followed instead of their unions (CanonicalAlternativeWalk). For an
//    intersection, the conjuncts are followed instead (CanonicalConjunctionWalk).
// 6. Bans have thousands of states, whose tokens lead mostly to the same ones. A walk starts from the mask of a recent
//    similar state at the same position (walk_beside). The state without the bound of its repeat is similar, too: only
//    tokens that are almost as long as the bound can differ (walk_beside_unbounded).
#include "runtime/canonical_masks.h"

#include <algorithm>
#include <bit>

#include "runtime/canonical_alternative_walk.h"
#include "runtime/canonical_conjunction_walk.h"

namespace detent {
namespace {

constexpr int kMostGiveUps = 6;
constexpr int kSliceDoublings = 2;        // of the limit of a walk: the tokens of a slice serve other states, too
constexpr std::uint64_t kFar = 0x666172;  // of keys: tokens after which only a search tells a completion

// A budget asks the states after the tokens for their completions.
std::shared_ptr<const Mask> mask_of_row(const std::vector<std::uint32_t>& row) {
  MaskBuilder builder(row.size());
  builder.allow(row);
  builder.note_length(kInfinite - 1);
  return builder.finish();
}

}  // namespace

bool CanonicalMasks::fill(ExprId state, const SplitPositionSets::Set& set, std::uint32_t last,
                          const CompletionBudget& budget, std::uint32_t* row) {
  const Encoder& encoder = language_.encoder();
  const PretokenTransitions& transitions = language_.transitions;
  std::fill_n(row, language_.vocabulary().word_count(), 0u);
  bool within_pretoken = false, removed = false;
  if (last != PretokenTransitions::kNoToken && encoder.may_have_neighbours(last)) {
    for (const SplitPosition& at : set) {
      if (endings_.find(state, at.position).impossible) continue;
      removed |= add_within(state, at, budget, row);
      within_pretoken = true;
    }
  }
  if (within_pretoken && !encoder.is_byte_token(last)) encoder.adjacency().forbid_after(last, row);
  for (const SplitPosition& at : set) {
    if (!transitions.may_end_pretoken(at, last)) continue;
    const SplitPosition start = transitions.pretoken_start(at.position.decoded().state);
    if (completions_.has_text(state, start.position)) removed |= add_within(state, start, budget, row);
  }
  return removed;
}

std::vector<std::uint32_t> CanonicalMasks::completion_after(ExprId state, const SplitPositionSets::Set& before,
                                                            std::uint32_t token, ExprId next,
                                                            const SplitPositionSets::Set& after, std::uint32_t most) {
  const PretokenTransitions& transitions = language_.transitions;
  const auto adds_token = [&](const SplitPosition& at) {
    const std::shared_ptr<const Mask> mask = mask_within(state, at, {most});
    if (!mask || mask->max_completion_bound() > most) return false;
    std::vector<std::uint32_t> row(language_.vocabulary().word_count());
    mask->add_to(row.data());
    return (row[token >> 5] >> (token & 31) & 1) != 0;
  };
  for (const SplitPosition& at : before) {
    const SplitPosition start = transitions.pretoken_start(at.position.decoded().state);
    if (!adds_token(at) && !(completions_.has_text(state, start.position) && adds_token(start))) continue;
    for (const SplitPosition& reached : after) {
      std::vector<std::uint32_t> found = search_.short_completion({next, reached, token}, most);
      if (!found.empty()) return found;
    }
    return {};
  }
  return {};
}

bool CanonicalMasks::add_within(ExprId state, const SplitPosition& at, const CompletionBudget& budget,
                                std::uint32_t* row) {
  return known_completions_.add_within(mask_within(state, at, budget).get(), state, at, budget, row);
}

// Where a budget asks for the completion after each token, that shows which tokens may follow: a mask is not needed.
std::shared_ptr<const Mask> CanonicalMasks::mask_within(ExprId state, const SplitPosition& at,
                                                        const CompletionBudget& budget) {
  std::shared_ptr<const Mask> mask = language_.vocabulary().cache().find(key(state, at));
  if (mask || known_completions_.needs_no_mask(state, at, budget)) return mask;
  return mask_of(state, at);
}

Hash128 CanonicalMasks::key(ExprId state, const SplitPosition& at) const {
  const std::uint64_t position = std::uint64_t{at.position.value} << 32 | at.unsplit.value;
  return mix(mix(language_.automaton.hash(state), language_.transitions.cache_key()), position);
}

std::shared_ptr<const Mask> CanonicalMasks::mask_of(ExprId state, const SplitPosition& at) {
  MaskCache& cache = language_.vocabulary().cache();
  if (std::shared_ptr<const Mask> known = cache.find(key(state, at))) return known;
  std::shared_ptr<const Mask> mask = compute(state, at);
  cache.insert(key(state, at), mask);
  return mask;
}

// Each walk over states that is given up halves what the next may cost, and each other one doubles it.
std::shared_ptr<const Mask> CanonicalMasks::compute(ExprId state, const SplitPosition& at) {
  const bool has_conjuncts = !language_.vocabulary().tokenizable_texts() && conjuncts_.is_near_intersection(state);
  WalkLimit limit(language_.automaton, state, give_ups_);
  try {
    WalkLimit of_slices(language_.automaton, state, give_ups_ - (has_conjuncts ? 1 : kSliceDoublings));
    std::shared_ptr<const Mask> mask = compute_by_states(state, at, limit, of_slices);
    if (give_ups_ > 0) --give_ups_;
    return mask;
  } catch (const WalkLimit::Exceeded&) {
    if (give_ups_ < kMostGiveUps) ++give_ups_;
  }
  return has_conjuncts ? walk_by_conjuncts(state, at) : walk_by_alternatives(state, at);
}

std::shared_ptr<const Mask> CanonicalMasks::compute_by_states(ExprId state, const SplitPosition& at, WalkLimit& limit,
                                                              WalkLimit& of_slices) {
  if (!language_.vocabulary().tokenizable_texts()) {
    if (std::shared_ptr<const Mask> mask = compute_from_slices(state, at, of_slices)) return mask;
  }
  if (std::shared_ptr<const Mask> mask = walk_beside_unbounded(state, at, limit)) return mask;
  if (std::shared_ptr<const Mask> mask = walk_beside_similar(state, at, limit)) return mask;
  std::shared_ptr<const Mask> mask = walk(state, at, limit);
  recent_.add(state);
  return mask;
}

std::shared_ptr<const Mask> CanonicalMasks::walk_by_conjuncts(ExprId state, const SplitPosition& at) {
  class LeadsOn final : public CanonicalConjunctionWalk::Verdicts {
   public:
    explicit LeadsOn(TokenBounds& bounds) : bounds_(bounds) {}
    bool fits(std::uint32_t) override { return true; }
    bool counts() const override { return false; }
    bool decide(std::uint32_t token, ExprId next) override { return bounds_.leads_on(token, next); }

   private:
    TokenBounds& bounds_;
  };
  CanonicalConjunctionWalk walk(language_, completions_, endings_, search_, conjuncts_, state, at);
  TokenBounds bounds(language_, search_, state, at);
  LeadsOn verdicts(bounds);
  std::vector<std::uint32_t> row(language_.vocabulary().word_count());
  walk.run(verdicts, row.data());
  return mask_of_row(row);
}

std::shared_ptr<const Mask> CanonicalMasks::walk_by_alternatives(ExprId state, const SplitPosition& at) {
  class LeadsOn final : public CanonicalAlternativeWalk::Verdicts {
   public:
    LeadsOn(TokenBounds& bounds, std::vector<std::uint32_t>& row) : bounds_(bounds), row_(row) {}
    std::uint16_t target(std::uint32_t token) override { return bounds_.target(token); }
    Answer take(std::uint32_t token, ExprId next) override {
      if (!bounds_.leads_on(token, next)) return Answer::refused;
      row_[token >> 5] |= 1u << (token & 31);
      return Answer::taken;
    }

   private:
    TokenBounds& bounds_;
    std::vector<std::uint32_t>& row_;
  };
  TokenBounds bounds(language_, search_, state, at);
  std::vector<std::uint32_t> row(language_.vocabulary().word_count());
  LeadsOn verdicts(bounds, row);
  CanonicalAlternativeWalk(language_, verdicts, state).run();
  return mask_of_row(row);
}

// Decides token by token. Also finds the tokens after which only a search tells a completion (`far`), with the bytes of
// those of all others.
std::shared_ptr<const Mask> CanonicalMasks::walk(ExprId state, const SplitPosition& at, WalkLimit& limit,
                                                 std::shared_ptr<const Mask>* far) {
  TokenBounds bounds(language_, search_, state, at);
  BoundedTokens tokens;
  std::vector<std::uint32_t> far_tokens;
  std::uint32_t near_bytes = 0;
  language_.each_token(state, [&](std::uint32_t token, ExprId next) {
    if (const std::uint32_t bound = bounds.of(token, next); bound != kInfinite) {
      tokens.emplace_back(token, bound);
      if (const std::uint32_t bytes = far && bound > 0 ? bounds.bytes_of(token, next) : 0; bytes == kInfinite) {
        far_tokens.push_back(token);
      } else {
        near_bytes = std::max(near_bytes, bytes);
      }
    }
    limit.check();
  });
  MaskBuilder builder(language_.vocabulary().word_count());
  if (far) {
    builder.allow(far_tokens.data(), far_tokens.size());
    builder.note_length(near_bytes);
    *far = builder.finish();
  }
  for (const auto& [token, bound] : tokens) {
    builder.allow(token);
    builder.note_length(bound);
  }
  return builder.finish();
}

// A token and a completion after it of together at most n bytes complete at most n rounds of a repeat. So a bound of n
// rounds does not matter to them. Null where there is no bound, or where it matters to most tokens.
std::shared_ptr<const Mask> CanonicalMasks::walk_beside_unbounded(ExprId state, const SplitPosition& at,
                                                                  WalkLimit& limit) {
  constexpr std::uint32_t kFewBytes = 6;  // many tokens are longer
  if (give_ups_ > 0 || language_.automaton.has_rule(state)) return nullptr;
  const UnboundedState wide = masks_.analysis().drop_upper_bound(state);
  if (wide.state == state) return nullptr;
  MaskCache& cache = language_.vocabulary().cache();
  const Hash128 wide_key = key(wide.state, at), far_key = mix(wide_key, kFar);
  Reference reference{wide.state, cache.find(wide_key, MaskCache::Kind::reference)};
  reference.far = cache.find(far_key, MaskCache::Kind::reference);
  if (!reference.mask || !reference.far) {
    reference.mask = walk(wide.state, at, limit, &reference.far);
    cache.insert(wide_key, reference.mask);
    cache.insert(far_key, reference.far, MaskCache::Kind::reference);
  }
  const std::uint32_t needed = reference.far->max_completion_bound();
  if (wide.rounds < needed + kFewBytes) return nullptr;
  reference.equal_length = wide.rounds - needed;
  return walk_beside(reference, state, at, limit);
}

// Null where no recent state is similar, or its mask at this position is not known.
std::shared_ptr<const Mask> CanonicalMasks::walk_beside_similar(ExprId state, const SplitPosition& at,
                                                                WalkLimit& limit) {
  if (give_ups_ > 0) return nullptr;
  for (ExprId other : recent_.similar_states(state)) {
    const auto known = language_.vocabulary().cache().find(key(other, at), MaskCache::Kind::reference);
    if (known && other != state) return walk_beside({other, known}, state, at, limit);
  }
  return nullptr;
}

// Decides only the tokens that lead the two states to different ones: where they lead to the same state, from the same
// position, what follows is the same.
std::shared_ptr<const Mask> CanonicalMasks::walk_beside(const Reference& other, ExprId state, const SplitPosition& at,
                                                        WalkLimit& limit) {
  const Vocabulary& vocabulary = language_.vocabulary();
  Automaton& automaton = language_.automaton;
  const std::vector<TrieNode>& trie = vocabulary.trie();
  TokenBounds bounds(language_, search_, state, at);
  BoundedTokens tokens;  // with kInfinite: refused
  std::vector<std::pair<ExprId, ExprId>> path(vocabulary.max_token_length() + std::size_t{1});
  path[0] = {state, other.state};
  std::int64_t visited = 0;
  for (std::size_t i = 0; i < trie.size(); ++visited) {
    const TrieNode& node = trie[i];
    if (const std::uint8_t height = vocabulary.height(i);
        height < kTallSubtree && node.depth + std::uint32_t{height} < other.equal_length) {
      i = node.next;
      continue;
    }
    const auto [from, from_there] = path[node.depth];
    const std::uint8_t byte_class = automaton.class_of()[node.byte];
    const ExprId next = automaton.row(from)[byte_class];
    const ExprId there = from_there == ExprSet::kEmpty ? from_there : automaton.row(from_there)[byte_class];
    if (next == there) {
      i = node.next;
      continue;
    }
    if (next == ExprSet::kEmpty) {
      for (; i < node.next; ++i) {
        for_each_id(vocabulary, trie[i].token, [&](std::uint32_t token) { tokens.emplace_back(token, kInfinite); });
      }
      continue;
    }
    if (node.token != TrieNode::kNoToken && node.depth >= other.equal_length) {
      const bool is_tokenizable = automaton.is_tokenizable(next);
      for_each_id(vocabulary, node.token, [&](std::uint32_t token) {
        tokens.emplace_back(token, is_tokenizable ? bounds.of(token, next) : kInfinite);
        limit.check();
      });
    }
    path[node.depth + std::size_t{1}] = {next, there};
    ++i;
  }
  if (other.far) {
    other.far->each([&](std::uint32_t token) {
      const ExprId next = bounds.next(token);
      const bool leads_on = next != ExprSet::kEmpty && automaton.is_tokenizable(next);
      tokens.emplace_back(token, leads_on ? bounds.of(token, next) : kInfinite);
    });
  }
  language_.meter.step(visited / 8 + 1);
  MaskBuilder builder(vocabulary.word_count());
  builder.copy_from(*other.mask);
  for (const auto& [token, bound] : tokens) {
    if (bound == kInfinite) {
      builder.refuse(token);
    } else {
      builder.allow(token);
      builder.note_length(bound);
    }
  }
  return builder.finish();
}

// A token that stays inside the union of the prefixes leads on if some text completes one of them, since each has a
// continuation. A canonical mask has tokens of the plain one only. So these are decided one by one where the slices do
// not accept them. Null where the state has no slices.
std::shared_ptr<const Mask> CanonicalMasks::compute_from_slices(ExprId state, const SplitPosition& at,
                                                                WalkLimit& limit) {
  SplitState split = masks_.analysis().split(state);
  const bool is_one_slice = split.slices.size() == 1 && split.others.empty() && split.declared.empty();
  std::erase_if(split.slices, [this](const Slice& slice) {
    return slice.is_value || greedy_.length(slice.continuation) == kInfinite;
  });
  if (split.slices.empty()) return nullptr;
  if (is_one_slice) return compute_from_slice(state, at, split.slices[0], limit);

  const Vocabulary& vocabulary = language_.vocabulary();
  std::vector<ExprId> prefixes;
  std::uint32_t longest = 0;  // of the continuations
  for (const Slice& slice : split.slices) {
    prefixes.push_back(slice.prefix);
    longest = std::max(longest, greedy_.length(slice.continuation));
  }
  const ExprId prefix = language_.automaton.edit(
      [&](ExprSet& exprs, Derivatives&, Liveness&) { return exprs.union_of(std::move(prefixes)); });
  const std::shared_ptr<const Mask> accepted = slices_.find(prefix, at, limit).accepted;
  std::vector<std::uint32_t> inside(vocabulary.word_count()), allowed(vocabulary.word_count());
  accepted->add_to(inside.data());
  masks_.mask_of(state)->add_to(allowed.data());
  WalkLimit of_others(language_.automaton, state, give_ups_);
  TokenBounds bounds(language_, search_, state, at);
  bounds.remove_refused(allowed);
  BoundedTokens tokens;
  for (std::uint32_t i = 0; i < allowed.size(); ++i) {
    for (std::uint32_t word = allowed[i] & ~inside[i]; word != 0; word &= word - 1) {
      const std::uint32_t token = i * 32 + static_cast<std::uint32_t>(std::countr_zero(word));
      const std::uint32_t bound = bounds.of(token, bounds.next(token));
      if (bound != kInfinite) tokens.emplace_back(token, bound);
      of_others.check();
    }
  }
  language_.meter.step(static_cast<std::int64_t>(tokens.size()) / 8 + 1);
  MaskBuilder builder(vocabulary.word_count());  // last: a thread builds one mask at a time
  builder.share(accepted);
  builder.note_length(accepted->max_completion_bound() + longest);
  for (const auto& [token, bound] : tokens) {
    builder.allow(token);
    builder.note_length(bound);
  }
  return builder.finish();
}

// The state after a token that stays inside a string of at most n characters, before `continuation`: that of the string
// without this bound, with as many characters as are left. So no state is made at each character of the token. Nothing
// where the form of that state does not show the string.
std::optional<ExprId> CanonicalMasks::after_counted(const CountedString& string, std::uint32_t token,
                                                    ExprId continuation) {
  const std::string_view text = language_.vocabulary().bytes(token);
  const std::uint32_t characters = StringLengths::count(text);
  const ExprId wide = language_.next(string.unbounded, text);
  if (wide == ExprSet::kEmpty || characters > string.maximum) return std::nullopt;
  const std::optional<ExprId> after = masks_.analysis().with_at_most(wide, string.maximum - characters);
  if (!after || *after == ExprSet::kEmpty) return after;
  return language_.automaton.edit(
      [&](ExprSet& exprs, Derivatives&, Liveness&) { return exprs.concat(*after, continuation); });
}

// The state is one slice, and its continuation has a greedy completion.
std::shared_ptr<const Mask> CanonicalMasks::compute_from_slice(ExprId state, const SplitPosition& at,
                                                               const Slice& slice, WalkLimit& limit) {
  const Vocabulary& vocabulary = language_.vocabulary();
  const SliceTokens part = slices_.find(slice.prefix, at, limit);
  TokenBounds bounds(language_, search_, state, at);
  BoundedTokens tokens;
  const auto visit = [&](std::uint32_t token, ExprId next) {
    const std::uint32_t bound = bounds.of(token, next);
    if (bound != kInfinite) tokens.emplace_back(token, bound);
    limit.check();
  };
  const std::optional<CountedString> string = slices_.counted_string(slice.prefix, at.position);
  part.uncertain->each([&](std::uint32_t token) {
    std::optional<ExprId> next;
    if (string && !bounds.ends_inside_character(token)) next = after_counted(*string, token, slice.continuation);
    visit(token, next ? *next : bounds.next(token));
  });
  // A token may be in several parts. Where it leads from the whole state counts.
  walk_suffixes(*masks_.slice_masks().leaving(slice.prefix), vocabulary, language_.automaton, slice.continuation,
                [&](std::uint32_t token, ExprId) { visit(token, bounds.next(token)); });
  language_.meter.step(static_cast<std::int64_t>(tokens.size()) / 8 + 1);

  MaskBuilder builder(vocabulary.word_count());  // last: a thread builds one mask at a time
  builder.share(part.accepted);
  builder.note_length(part.accepted->max_completion_bound() + greedy_.length(slice.continuation));
  for (const auto& [token, bound] : tokens) {
    builder.allow(token);
    builder.note_length(bound);
  }
  return builder.finish();
}

}  // namespace detent

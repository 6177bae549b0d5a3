// Verdicts of the tokens inside a slice.
//
// 1. Naively, walk the trie from the prefix and decide each token by ContextFreeBounds.
// 2. Most prefixes resemble another one whose verdicts are known: a *reference*. Where the two lead to the same state,
//    all tokens below have the same verdict. So the walk follows both prefixes, and decides only tokens that lead them
//    to different states. References, in the order of preference: the prefix without its upper bound, without its lower
//    bound, and the most similar one among the recent prefixes, to which any string in place of a constrained one
//    belongs.
// 3. A prefix with a bound on its repeats shares more verdicts with the unbounded one. A byte consumes at most one
//    repetition, so the bound cannot matter where a token and its completion together have at most that many bytes.
//    Tokens that are short enough have the verdict of the unbounded prefix. So have longer ones after which the bound
//    is still large enough. In a string of characters from one set, the number of a token's characters is known: the
//    bounds are a matter of bits (limit_characters). Only tokens after which the quotation mark is no completion are
//    decided, where few characters are left, and those that have too few characters: once for each number of them.
//    In other strings with a bound on their characters, these tokens are decided one by one (find_counted).
//    A bound on words, or other long rounds, shares the accepted tokens of a smaller one (find_beside_smaller).
// 4. A prefix that differs from all references after most bytes, such as the rest of any string, which has none, has
//    verdicts of most tokens at each of some ten positions. The states after its tokens are the same at all of them:
//    they are kept (prefix_states.h).
// 5. A prefix that excludes words has the verdict of the prefix with the words for each closing token that completes no
//    word. The others are decided (find_conditioned).
// 6. Unsplit tokens are looked at last: a token that was accepted may only complete the text of an unsplit token, which
//    is then encoded as that one. Few tokens can (PretokenTransitions::completes_unsplit). Those for which no other
//    context-free completion is found become uncertain (without_unsplit).
#include "runtime/canonical_slices.h"

#include <algorithm>
#include <bit>
#include <span>

#include "mask/mask_builder.h"
#include "runtime/canonical_slice_walk.h"

namespace detent {
namespace {

constexpr int kManyBytes = 64;  // most tokens begin with one of so many
constexpr std::uint32_t kFewCharacters = 4;
constexpr std::size_t kFewTokens = 256;  // are decided one by one, or a part of the vocabulary

bool has_bit(const std::vector<std::uint32_t>& row, std::uint32_t token) {
  return (row[token >> 5] >> (token & 31) & 1) != 0;
}

std::vector<std::uint32_t> row_of(const Mask& mask, std::size_t word_count) {
  std::vector<std::uint32_t> row(word_count);
  mask.add_to(row.data());
  return row;
}

// Clears the bits of the tokens that a string of bounded length refuses, and of those that leave it.
void keep_lengths(const BoundedString& string, const StringLengths& lengths, std::vector<std::uint32_t>& row) {
  const auto refuse = [&row](std::uint32_t token) { row[token >> 5] &= ~(1u << (token & 31)); };
  lengths.limit(
      string.maximum,
      [&row](std::span<const std::uint32_t> inside) {
        for (std::size_t i = 0; i < row.size(); ++i) row[i] &= inside[i];
      },
      refuse);
  for (const auto& [token, characters] : lengths.closing()) {
    if (characters < string.minimum || characters > string.maximum) refuse(token);
  }
}

// The tokens of a mask that are in `row`, and `more`.
std::shared_ptr<const Mask> part_of(const Mask& mask, std::span<const std::uint32_t> row,
                                    const std::vector<std::uint32_t>& more, std::uint32_t length) {
  MaskBuilder builder(row.size());
  builder.copy_from(mask);
  builder.retain(row);
  builder.allow(more.data(), more.size());
  builder.note_length(length);
  return builder.finish();
}

// The accepted tokens of a slice as bits, at first those of a similar slice, and what is found of single tokens.
struct SliceRow {
  using Verdict = ContextFreeBounds::Verdict;
  std::vector<std::uint32_t> accepted;
  std::uint32_t longest;                      // bound on a completion
  std::vector<std::uint32_t> uncertain = {};  // of the decided tokens

  void decide(std::uint32_t token, const ContextFreeBounds::Bound& bound) {
    if (bound.verdict == Verdict::accepted || bound.verdict == Verdict::closing) {
      longest = std::max(longest, bound.length);
      return;
    }
    accepted[token >> 5] &= ~(1u << (token & 31));
    if (bound.verdict == Verdict::uncertain) uncertain.push_back(token);
  }
};
}  // namespace

Hash128 CanonicalSlices::key(ExprId prefix, PositionId from, UnsplitNode unsplit) const {
  const Hash128 with_key = mix(language_.automaton.hash(prefix), language_.transitions.cache_key());
  return mix(mix(mix(with_key, from.value), 0x696e), unsplit.value);
}

SliceTokens CanonicalSlices::find(ExprId prefix, const SplitPosition& at, WalkLimit& limit) {
  SliceTokens tokens = find(prefix, at.position, limit);
  const std::vector<UnsplitEdge>& completing = language_.transitions.completes_unsplit(at.unsplit);
  if (completing.empty()) return tokens;
  const Hash128 accepted_key = key(prefix, at.position, at.unsplit);
  SliceTokens found = cached(accepted_key, MaskCache::Kind::slice);
  if (found.is_known()) return found;
  found = without_unsplit(prefix, at, tokens, completing, limit);
  insert(accepted_key, found);
  return found;
}

SliceTokens CanonicalSlices::cached(const Hash128& accepted_key, MaskCache::Kind kind) const {
  MaskCache& cache = language_.vocabulary().cache();
  return {cache.find(accepted_key, kind), cache.find(mix(accepted_key, 1), kind),
          cache.find(mix(accepted_key, 2), kind)};
}

void CanonicalSlices::insert(const Hash128& accepted_key, const SliceTokens& tokens) const {
  MaskCache& cache = language_.vocabulary().cache();
  cache.insert(accepted_key, tokens.accepted, MaskCache::Kind::slice);
  cache.insert(mix(accepted_key, 1), tokens.uncertain, MaskCache::Kind::slice);
  cache.insert(mix(accepted_key, 2), tokens.closing, MaskCache::Kind::slice);
}

// Without pre-tokens, completions go on to the end of the text, so that all bounds of a format matter to them.
UnboundedState CanonicalSlices::without_upper_bounds(ExprId prefix) {
  const bool single = language_.encoder().single_pretoken();
  return single ? analysis_.drop_upper_bound(prefix) : analysis_.drop_upper_bounds(prefix);
}

// Nothing where every reference differs from the prefix after most first bytes.
std::optional<CanonicalSlices::Reference> CanonicalSlices::find_reference(ExprId prefix, PositionId from,
                                                                          WalkLimit& limit) {
  constexpr std::uint32_t kManyRounds = 16;  // few tokens are longer
  const auto is_similar = [&](ExprId other) { return other != prefix && !differs_widely(prefix, other); };
  if (const UnboundedState wide = without_upper_bounds(prefix);
      wide.state != prefix && (wide.rounds >= kManyRounds || is_similar(wide.state))) {
    Reference reference{wide.state, find(wide.state, from, limit), 0};
    const std::uint32_t needed = reference.tokens.accepted->max_completion_bound();
    reference.equal_length = wide.rounds > needed ? wide.rounds - needed : 0;
    return reference;
  }
  if (const ExprId without = analysis_.drop_lower_bound(prefix); is_similar(without)) {
    return Reference{without, find(without, from, limit), 0};
  }
  if (const ExprId any_string = analysis_.any_string_like(prefix); is_similar(any_string)) {
    find(any_string, from, limit);
    recent_.add(any_string);
  }
  for (ExprId similar : recent_.similar_states(prefix)) {  // not found by `find`, which could ask for this prefix again
    const SliceTokens known = cached(key(similar, from, Encoder::kNoUnsplit), MaskCache::Kind::reference);
    if (known.is_known() && is_similar(similar)) return Reference{similar, known, 0};
  }
  return std::nullopt;
}

SliceTokens CanonicalSlices::find(ExprId prefix, PositionId from, WalkLimit& limit) {
  const Hash128 accepted_key = key(prefix, from, Encoder::kNoUnsplit);
  if (const SliceTokens known = cached(accepted_key, MaskCache::Kind::slice); known.is_known()) return known;
  const SliceTokens found = compute(prefix, from, limit);
  insert(accepted_key, found);
  return found;
}

SliceTokens CanonicalSlices::compute(ExprId prefix, PositionId from, WalkLimit& limit) {
  const std::optional<BoundedString> string = analysis_.bounded_string(prefix);
  const bool is_inside = string && !string->is_before && !from.decoded().inside_character();
  if (is_inside) return limit_characters(prefix, *string, find(string->unbounded, from, limit), from, limit);
  if (std::optional<SliceTokens> found = find_counted(prefix, from, limit)) return *std::move(found);
  if (std::optional<SliceTokens> found = find_beside_smaller(prefix, from, limit)) return *std::move(found);
  const std::optional<Reference> reference = find_reference(prefix, from, limit);
  if (reference && language_.vocabulary().max_token_length() <= reference->equal_length) return reference->tokens;
  if (!reference) {
    if (std::optional<SliceTokens> found = find_conditioned(prefix, from, limit)) {
      recent_.add(prefix);
      return *std::move(found);
    }
  }
  const bool is_wide = !reference && differs_widely(prefix, ExprSet::kEmpty);
  const std::shared_ptr<const PrefixStates> states = is_wide ? states_after(prefix, limit) : nullptr;
  SliceWalk walk(*this, reference ? &*reference : nullptr, from, limit);
  const SliceTokens found = states ? walk.run(prefix, *states) : walk.run(prefix);
  recent_.add(prefix);
  return found;
}

// The tokens of a prefix that excludes words, from those of the prefix with the words. After a closing token that the
// condition permits, the byte that completes the prefix ends no word. The state decides each other token. Nothing where
// these are many.
std::optional<SliceTokens> CanonicalSlices::find_conditioned(ExprId prefix, PositionId from, WalkLimit& limit) {
  constexpr std::size_t kTokensForOne = 16;  // one in so many is decided
  const std::optional<ConditionedPrefix> parts = analysis_.conditioned_prefix(prefix);
  if (!parts || parts->needs_characters_followed) return std::nullopt;
  const Vocabulary& vocabulary = language_.vocabulary();
  const SliceTokens all = find(parts->all, from, limit);
  const std::vector<std::uint32_t> permitted =
      row_of(*masks_.mask_of_condition(parts->condition), vocabulary.word_count());
  const std::vector<std::uint32_t> closing = row_of(*all.closing, vocabulary.word_count());
  SliceRow row{row_of(*all.accepted, vocabulary.word_count()), all.accepted->max_completion_bound()};
  std::vector<std::uint32_t> others;
  for (std::uint32_t i = 0; i < row.accepted.size(); ++i) {
    row.accepted[i] &= permitted[i];
    for (std::uint32_t word = row.accepted[i] & ~closing[i]; word != 0; word &= word - 1) {
      others.push_back(i * 32 + static_cast<std::uint32_t>(std::countr_zero(word)));
    }
  }
  if (others.size() > std::max(kFewTokens, vocabulary.size() / kTokensForOne)) return std::nullopt;
  ContextFreeBounds bounds(language_, completions_, endings_, search_, from);
  for (std::uint32_t token : others) {
    limit.check();
    row.decide(token, bounds.of(token, language_.next(prefix, vocabulary.bytes(token)), bounds.target_of(token)));
  }
  language_.meter.step(vocabulary.size() / 64 + 1);
  return SliceTokens{part_of(*all.accepted, row.accepted, {}, row.longest),
                     part_of(*all.uncertain, permitted, row.uncertain, 0), part_of(*all.closing, row.accepted, {}, 0)};
}

// The tokens of a prefix with a bound on its rounds, from those of the smaller prefix (smaller_prefix), which all such
// bounds share. Its uncertain tokens stay uncertain. The state decides the others that may stay inside. Nothing where
// these are many.
std::optional<SliceTokens> CanonicalSlices::find_beside_smaller(ExprId prefix, PositionId from, WalkLimit& limit) {
  const ExprId smaller = smaller_prefix(prefix);
  if (smaller == prefix) return std::nullopt;
  const Vocabulary& vocabulary = language_.vocabulary();
  const SliceTokens few = find(smaller, from, limit);
  SliceRow row{row_of(*few.accepted, vocabulary.word_count()), few.accepted->max_completion_bound()};
  const std::vector<std::uint32_t> uncertain = row_of(*few.uncertain, vocabulary.word_count());
  std::vector<std::uint32_t> inside = row_of(*masks_.mask_of(prefix), vocabulary.word_count());
  language_.transitions.row(from).remove_refused(inside);
  if (const ExprId any_string = analysis_.any_string_like(prefix); any_string != prefix) {
    const SliceTokens any = find(any_string, from, limit);
    std::vector<std::uint32_t> may_stay = row_of(*any.accepted, vocabulary.word_count());
    any.uncertain->add_to(may_stay.data());
    for (std::size_t i = 0; i < inside.size(); ++i) inside[i] &= may_stay[i];
  }
  std::vector<std::uint32_t> others;
  for (std::uint32_t i = 0; i < inside.size(); ++i) {
    for (std::uint32_t word = inside[i] & ~row.accepted[i] & ~uncertain[i]; word != 0; word &= word - 1) {
      others.push_back(i * 32 + static_cast<std::uint32_t>(std::countr_zero(word)));
    }
  }
  if (others.size() > kFewTokens) return std::nullopt;
  ContextFreeBounds bounds(language_, completions_, endings_, search_, from);
  for (std::uint32_t token : others) {
    limit.check();
    row.accepted[token >> 5] |= 1u << (token & 31);
    row.decide(token, bounds.of(token, language_.next(prefix, vocabulary.bytes(token)), bounds.target_of(token)));
  }
  std::erase_if(others, [&row](std::uint32_t token) { return !has_bit(row.accepted, token); });
  language_.meter.step(vocabulary.size() / 64 + 1);
  return SliceTokens{part_of(*few.accepted, row.accepted, others, row.longest),
                     part_of(*few.uncertain, uncertain, row.uncertain, 0), few.closing};
}

// The tokens of a string of other texts with at most n characters, such as counted words: a walk would make a state at
// each character of tokens such as a hundred dashes. What completes the string without this bound (`wide`) after a
// token completes this one, too, if both have at most n characters, without the quotation mark. The state decides the
// other tokens: that of the wide string, with as many characters as are left. Nothing where these tokens may be many.
std::optional<SliceTokens> CanonicalSlices::find_counted(ExprId prefix, PositionId from, WalkLimit& limit) {
  constexpr std::size_t kTokensForOne = 64;  // one in so many is looked at
  const std::optional<CountedString> string = counted_string(prefix, from);
  if (!string) return std::nullopt;
  const Vocabulary& vocabulary = language_.vocabulary();
  const StringLengths& lengths = vocabulary.string_lengths();
  const SliceTokens wide = find(string->unbounded, from, limit);
  const BoundedString bounded{string->unbounded, string->minimum, string->maximum, false};
  SliceRow row{row_of(*wide.accepted, vocabulary.word_count()), wide.accepted->max_completion_bound()};
  keep_lengths(bounded, lengths, row.accepted);
  std::vector<std::uint32_t> longer = row.accepted;  // need more than the quotation mark
  const std::vector<std::uint32_t> closing = row_of(*wide.closing, vocabulary.word_count());
  for (std::size_t i = 0; i < longer.size(); ++i) longer[i] &= ~closing[i];
  std::vector<std::uint32_t> others;
  const std::uint32_t surely = string->maximum >= row.longest ? string->maximum - row.longest + 1 : 0;
  lengths.each_longer(surely, longer, [&others](std::uint32_t token) { others.push_back(token); });
  if (others.size() > std::max(kFewTokens, vocabulary.size() / kTokensForOne)) return std::nullopt;
  ContextFreeBounds bounds(language_, completions_, endings_, search_, from);
  for (std::uint32_t token : others) {
    limit.check();
    const std::string_view text = vocabulary.bytes(token);
    const std::uint32_t characters = StringLengths::count(text);
    if (characters <= surely) continue;
    const std::size_t target = bounds.target_of(token);
    const ExprId next = language_.next(string->unbounded, text);
    const std::uint32_t length = bounds.of(token, next, target).length;
    if (length != kInfinite && characters + length - 1 <= string->maximum) continue;
    std::optional<ExprId> after;
    if (!bounds.inside_character(target)) after = analysis_.with_at_most(next, string->maximum - characters);
    row.decide(token, bounds.of(token, after ? *after : language_.next(prefix, text), target));
  }
  language_.meter.step(vocabulary.size() / 64 + 1);
  std::vector<std::uint32_t> uncertain = row_of(*wide.uncertain, vocabulary.word_count());
  keep_lengths(bounded, lengths, uncertain);
  return SliceTokens{part_of(*wide.accepted, row.accepted, {}, row.longest),
                     part_of(*wide.uncertain, uncertain, row.uncertain, 0),
                     part_of(*wide.closing, row.accepted, {}, 0)};
}

// The tokens of a string of m to n characters, from those of the string without these bounds (`wide`). The quotation
// mark alone completes it after the same tokens, if they have m characters. Any other completion of b bytes has at most
// b - 1 characters before the mark, so it is one here, too, after a token of at most n - (b - 1) characters. After
// other tokens the state decides. It is the same after all tokens with as many characters, but for those that end
// inside a character.
SliceTokens CanonicalSlices::limit_characters(ExprId prefix, const BoundedString& string, const SliceTokens& wide,
                                              PositionId from, WalkLimit& limit) {
  const Vocabulary& vocabulary = language_.vocabulary();
  const StringLengths& lengths = vocabulary.string_lengths();
  SliceRow row{row_of(*wide.accepted, vocabulary.word_count()), wide.accepted->max_completion_bound()};
  keep_lengths(string, lengths, row.accepted);
  std::vector<std::uint32_t> longer = row.accepted;  // need more than the quotation mark
  const std::vector<std::uint32_t> closing = row_of(*wide.closing, vocabulary.word_count());
  for (std::size_t i = 0; i < longer.size(); ++i) longer[i] &= ~closing[i];
  const std::uint32_t surely = string.maximum >= row.longest ? string.maximum - row.longest + 1 : 0;
  ContextFreeBounds bounds(language_, completions_, endings_, search_, from);
  const auto decide_alone = [&](std::uint32_t token) {
    limit.check();
    row.decide(token, bounds.of(token, language_.next(prefix, vocabulary.bytes(token)), bounds.target_of(token)));
  };
  for (std::uint32_t characters = 1; characters < StringLengths::kRows; ++characters) {
    if (characters > string.maximum) break;
    const bool is_enough = characters >= string.minimum;
    if (is_enough && characters <= surely) continue;
    ExprId next = ExprSet::kEmpty;
    const std::vector<ContextFreeBounds::Verdict>* verdicts = nullptr;
    lengths.each_of_length(characters, is_enough ? longer : row.accepted, [&](std::uint32_t token) {
      const std::size_t target = bounds.target_of(token);
      if (bounds.inside_character(target) || lengths.has_escape(token)) return decide_alone(token);
      if (!verdicts) {
        next = language_.next(prefix, vocabulary.bytes(token));
        verdicts = &bounds.targets_of(next).verdicts;
      }
      const ContextFreeBounds::Verdict known = (*verdicts)[target];
      const bool is_accepted =
          known == ContextFreeBounds::Verdict::accepted || known == ContextFreeBounds::Verdict::closing;
      if (!is_accepted) row.decide(token, bounds.of(token, next, target));
    });
    limit.check();
  }
  const std::vector<std::uint32_t> long_tokens = row.accepted;
  lengths.each_longer(StringLengths::kRows - 1, long_tokens, [&](std::uint32_t token) {
    const std::uint32_t characters = StringLengths::count(vocabulary.bytes(token));
    if (characters < string.minimum || (characters > surely && has_bit(longer, token))) decide_alone(token);
  });
  language_.meter.step(vocabulary.size() / 64 + 1);
  std::vector<std::uint32_t> uncertain = row_of(*wide.uncertain, vocabulary.word_count());
  keep_lengths(string, lengths, uncertain);
  // The quotation mark completes no token of fewer characters than the minimum. Where that may be many, none are named.
  std::vector<std::uint32_t> enough(row.accepted.size());
  if (string.minimum <= kFewCharacters) enough = row.accepted;
  for (std::uint32_t characters = 1; characters < std::min(string.minimum, kFewCharacters); ++characters) {
    lengths.each_of_length(characters, row.accepted,
                           [&enough](std::uint32_t token) { enough[token >> 5] &= ~(1u << (token & 31)); });
  }
  return {part_of(*wide.accepted, row.accepted, {}, row.longest), part_of(*wide.uncertain, uncertain, row.uncertain, 0),
          part_of(*wide.closing, enough, {}, 0)};
}

// Whether so many bytes lead two prefixes, of which the second may be dead, to different states that a walk beside the
// second would decide most tokens.
bool CanonicalSlices::differs_widely(ExprId prefix, ExprId other) {
  int different = 0;
  for (unsigned byte = 0; byte < 256; ++byte) {
    const ExprId next = language_.next(prefix, static_cast<std::uint8_t>(byte));
    const ExprId there = other == ExprSet::kEmpty ? other : language_.next(other, static_cast<std::uint8_t>(byte));
    different += next != ExprSet::kEmpty && next != there ? 1 : 0;
  }
  return different >= kManyBytes;
}

// The states after the tokens of a prefix, or null where they are too many.
std::shared_ptr<const PrefixStates> CanonicalSlices::states_after(ExprId prefix, WalkLimit& limit) {
  Automaton& automaton = language_.automaton;
  RecentPrefixStates& recent = language_.transitions.prefix_states();
  const Hash128 key = automaton.hash(prefix);
  std::shared_ptr<const PrefixStates> states = recent.find(key);
  if (!states) {
    states = recent.add(key, PrefixStates::of(language_.vocabulary(), automaton, prefix, limit));
    language_.meter.step(language_.vocabulary().size() / 8 + 1);
  }
  return states->too_many ? nullptr : states;
}

// The bound on a context-free completion after a token that does not make the pre-token the text of an unsplit token;
// kInfinite if none is known.
std::uint32_t CanonicalSlices::bound_beside_unsplit(ExprId prefix, const SplitPosition& at, const UnsplitEdge& edge) {
  const auto [token, unsplit_after] = edge;
  const PretokenTransitions& transitions = language_.transitions;
  const Encoder& encoder = language_.encoder();
  if (encoder.single_pretoken()) return kInfinite;
  const TransitionRow& row = language_.transitions.row(at.position);
  const SplitPosition after{row.targets[row.target_of(token)], unsplit_after};
  const ExprId next = language_.next(prefix, language_.vocabulary().bytes(token));
  const PretokenPosition position = after.position.decoded();
  // A token that starts a pre-token is all of it so far, and no text that merges to one token is that of an unsplit
  // one.
  const PretokenPosition before = at.position.decoded();
  const bool is_pretoken = !before.inside_character() && before.starts_pretoken && !position.inside_character();
  if (is_pretoken || transitions.may_end_pretoken(after, token)) {
    const std::uint32_t bound = completions_.context_free_bound(next, position.state);
    if (bound != kInfinite) return bound;
  }
  const PretokenEndingSet* set = endings_.find_context_free(next, after.position);
  if (!set || !encoder.may_have_neighbours(token)) return kInfinite;
  for (const PretokenEnding& ending : set->endings) {
    if (!encoder.may_follow(token, ending.first)) continue;
    const UnsplitNode unsplit = encoder.unsplit_step(after.unsplit, ending.text);
    if (encoder.unsplit_token(unsplit) != Encoder::kNone) continue;
    return ending.bytes + completions_.context_free_bound(ending.state, ending.boundary);
  }
  return kInfinite;
}

std::optional<CountedString> CanonicalSlices::counted_string(ExprId prefix, PositionId from) {
  if (from.decoded().inside_character()) return std::nullopt;
  std::optional<CountedString> string = analysis_.counted_string(prefix);
  if (string && (string->is_before || string->minimum > 1)) string.reset();
  return string;
}

// A prefix with a bound on its rounds, such as a hundred words, shares most accepted tokens with that of at most four
// words: what completes this completes the given one, too. The given prefix where there is none.
ExprId CanonicalSlices::smaller_prefix(ExprId prefix) {
  return without_upper_bounds(prefix).state == prefix ? analysis_.with_fewer_rounds(prefix) : prefix;
}

// A prefix such that what completes it after a token completes the given one, too, if both together have at most so
// many characters. The given prefix where there is none.
std::pair<ExprId, std::uint32_t> CanonicalSlices::similar_prefix(ExprId prefix, PositionId from) {
  const std::optional<BoundedString> bounded = analysis_.bounded_string(prefix);
  if (bounded && !bounded->is_before && bounded->minimum <= 1 && !from.decoded().inside_character()) {
    return {bounded->unbounded, bounded->maximum};
  }
  if (const std::optional<CountedString> counted = counted_string(prefix, from)) {
    return {counted->unbounded, counted->maximum};
  }
  return {smaller_prefix(prefix), kInfinite};
}

SliceTokens CanonicalSlices::without_unsplit(ExprId prefix, const SplitPosition& at, const SliceTokens& tokens,
                                             const std::vector<UnsplitEdge>& completing, WalkLimit& limit) {
  const std::size_t words = language_.vocabulary().word_count();
  const std::vector<std::uint32_t> accepted = row_of(*tokens.accepted, words);
  std::vector<std::uint32_t> doubtful, accepted_there(words);
  std::uint32_t longest = tokens.accepted->max_completion_bound(), longest_there = 0;
  const auto [similar, most_characters] = similar_prefix(prefix, at.position);
  if (similar != prefix) {
    const SliceTokens there = find(similar, at, limit);
    there.accepted->add_to(accepted_there.data());
    longest_there = there.accepted->max_completion_bound();
    longest = std::max(longest, longest_there);
  }
  const auto is_surely_accepted = [&](std::uint32_t token) {
    if (!has_bit(accepted_there, token)) return false;
    return most_characters == kInfinite ||
           StringLengths::count(language_.vocabulary().bytes(token)) + longest_there <= most_characters;
  };
  for (const UnsplitEdge& edge : completing) {
    if (!has_bit(accepted, edge.first) || is_surely_accepted(edge.first)) continue;
    const std::uint32_t bound = bound_beside_unsplit(prefix, at, edge);
    if (bound == kInfinite) {
      doubtful.push_back(edge.first);
    } else {
      longest = std::max(longest, bound);
    }
  }
  if (doubtful.empty() && longest == tokens.accepted->max_completion_bound()) return tokens;
  SliceTokens found;
  {
    MaskBuilder builder(words);
    builder.copy_from(*tokens.uncertain);
    builder.allow(doubtful.data(), doubtful.size());
    found.uncertain = builder.finish();
  }
  MaskBuilder builder(words);
  builder.copy_from(*tokens.accepted);
  for (std::uint32_t token : doubtful) builder.refuse(token);
  builder.note_length(longest);
  found.accepted = builder.finish();
  found.closing = builder.finish();
  return found;
}

}  // namespace detent

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
// 4. A prefix that differs from all references after most bytes, such as the rest of any string, which has none, has
//    verdicts of most tokens at each of some ten positions. The states after its tokens are the same at all of them:
//    they are kept (prefix_states.h).
// 5. Unsplit tokens are looked at last: a token that was accepted may only complete the text of an unsplit token, which
//    is then encoded as that one. Few tokens can (PretokenTransitions::completes_unsplit). Those for which no other
//    context-free completion is found become uncertain (without_unsplit).
#include "runtime/canonical_slices.h"

#include <algorithm>
#include <array>
#include <span>
#include <unordered_map>

#include "mask/mask_builder.h"

namespace detent {
namespace {

constexpr int kManyBytes = 64;              // most tokens begin with one of so many
constexpr std::uint8_t kTallSubtree = 255;  // Vocabulary::height of this much or more

bool has_bit(const std::vector<std::uint32_t>& row, std::uint32_t token) {
  return (row[token >> 5] >> (token & 31) & 1) != 0;
}

std::vector<std::uint32_t> row_of(const Mask& mask, std::size_t word_count) {
  std::vector<std::uint32_t> row(word_count);
  mask.add_to(row.data());
  return row;
}

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

}  // namespace

Hash128 CanonicalSlices::key(ExprId prefix, PositionId from, UnsplitNode unsplit) const {
  const Hash128 with_key = mix(language_.automaton.hash(prefix), language_.transitions.cache_key());
  return mix(mix(mix(with_key, from.value), 0x696e), unsplit.value);
}

SliceTokens CanonicalSlices::find(ExprId prefix, const SplitPosition& at, WalkLimit& limit) {
  SliceTokens tokens = find(prefix, at.position, limit);
  const std::vector<std::uint32_t>& completing = language_.transitions.completes_unsplit(at.unsplit);
  if (completing.empty()) return tokens;
  const Hash128 accepted_key = key(prefix, at.position, at.unsplit);
  SliceTokens found = cached(accepted_key, MaskCache::Kind::slice);
  if (found.is_known()) return found;
  found = without_unsplit(prefix, at, tokens, completing);
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

// Walks the trie from a prefix, beside a reference if there is one.
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
    for (std::uint32_t token = 0; token < vocabulary_.size(); ++token) {
      const std::uint8_t index = states.state_of[token];
      const std::size_t target = bounds_.target_of(token);
      Verdict verdict = verdicts_of[index][target];
      if (verdict > Verdict::accepted) verdict = decide(token, state_of[index], target);
      const bool is_closing = verdict == Verdict::closing;
      accepted[token >> 5] |= std::uint32_t{is_closing || verdict == Verdict::accepted} << (token & 31);
      closing[token >> 5] |= std::uint32_t{is_closing} << (token & 31);
    }
    language_.meter.step(vocabulary_.size() / 64 + 1);
    return {mask_of(accepted, longest_), uncertain_mask(), mask_of(closing, 0)};
  }

 private:
  using Verdict = ContextFreeBounds::Verdict;
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
  const std::optional<Reference> reference = find_reference(prefix, from, limit);
  if (reference && language_.vocabulary().max_token_length() <= reference->equal_length) return reference->tokens;
  const bool is_wide = !reference && differs_widely(prefix, ExprSet::kEmpty);
  const std::shared_ptr<const PrefixStates> states = is_wide ? states_after(prefix) : nullptr;
  SliceWalk walk(*this, reference ? &*reference : nullptr, from, limit);
  const SliceTokens found = states ? walk.run(prefix, *states) : walk.run(prefix);
  recent_.add(prefix);
  return found;
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
  std::vector<std::uint32_t> accepted = row_of(*wide.accepted, vocabulary.word_count());
  keep_lengths(string, lengths, accepted);
  std::vector<std::uint32_t> longer = accepted;  // need more than the quotation mark
  const std::vector<std::uint32_t> closing = row_of(*wide.closing, vocabulary.word_count());
  for (std::size_t i = 0; i < longer.size(); ++i) longer[i] &= ~closing[i];
  std::uint32_t longest = wide.accepted->max_completion_bound();
  const std::uint32_t surely = string.maximum >= longest ? string.maximum - longest + 1 : 0;
  ContextFreeBounds bounds(language_, completions_, endings_, search_, from);
  std::vector<std::uint32_t> doubtful;
  const auto decide = [&](std::uint32_t token, ExprId next, std::size_t target) {
    const auto [verdict, length] = bounds.of(token, next, target);
    if (verdict == ContextFreeBounds::Verdict::accepted || verdict == ContextFreeBounds::Verdict::closing) {
      longest = std::max(longest, length);
      return;
    }
    accepted[token >> 5] &= ~(1u << (token & 31));
    if (verdict == ContextFreeBounds::Verdict::uncertain) doubtful.push_back(token);
  };
  const auto decide_alone = [&](std::uint32_t token) {
    limit.check();
    decide(token, language_.next(prefix, vocabulary.bytes(token)), bounds.target_of(token));
  };
  for (std::uint32_t characters = 1; characters < StringLengths::kRows; ++characters) {
    if (characters > string.maximum) break;
    const bool is_enough = characters >= string.minimum;
    if (is_enough && characters <= surely) continue;
    ExprId next = ExprSet::kEmpty;
    const std::vector<ContextFreeBounds::Verdict>* verdicts = nullptr;
    lengths.each_of_length(characters, is_enough ? longer : accepted, [&](std::uint32_t token) {
      const std::size_t target = bounds.target_of(token);
      if (bounds.inside_character(target) || lengths.has_escape(token)) return decide_alone(token);
      if (!verdicts) {
        next = language_.next(prefix, vocabulary.bytes(token));
        verdicts = &bounds.targets_of(next).verdicts;
      }
      const ContextFreeBounds::Verdict known = (*verdicts)[target];
      const bool is_accepted =
          known == ContextFreeBounds::Verdict::accepted || known == ContextFreeBounds::Verdict::closing;
      if (!is_accepted) decide(token, next, target);
    });
    limit.check();
  }
  const std::vector<std::uint32_t> long_tokens = accepted;
  lengths.each_longer(StringLengths::kRows - 1, long_tokens, [&](std::uint32_t token) {
    const std::uint32_t characters = StringLengths::count(vocabulary.bytes(token));
    if (characters < string.minimum || (characters > surely && has_bit(longer, token))) decide_alone(token);
  });
  language_.meter.step(vocabulary.size() / 64 + 1);
  std::vector<std::uint32_t> uncertain = row_of(*wide.uncertain, vocabulary.word_count());
  keep_lengths(string, lengths, uncertain);
  return {part_of(*wide.accepted, accepted, {}, longest), part_of(*wide.uncertain, uncertain, doubtful, 0),
          MaskBuilder(vocabulary.word_count()).finish()};
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
std::shared_ptr<const PrefixStates> CanonicalSlices::states_after(ExprId prefix) {
  Automaton& automaton = language_.automaton;
  RecentPrefixStates& recent = language_.transitions.prefix_states();
  const Hash128 key = automaton.hash(prefix);
  std::shared_ptr<const PrefixStates> states = recent.find(key);
  if (!states) {
    states = recent.add(key, PrefixStates::of(language_.vocabulary(), automaton, prefix));
    language_.meter.step(language_.vocabulary().size() / 8 + 1);
  }
  return states->too_many ? nullptr : states;
}

// The bound on a context-free completion after a token that does not make the pre-token the text of an unsplit token;
// kInfinite if none is known.
std::uint32_t CanonicalSlices::bound_beside_unsplit(ExprId prefix, const SplitPosition& at, std::uint32_t token) {
  const PretokenTransitions& transitions = language_.transitions;
  const Encoder& encoder = language_.encoder();
  if (encoder.single_pretoken()) return kInfinite;
  const TransitionRow& row = language_.transitions.row(at.position);
  const SplitPosition after{row.targets[row.target_of(token)], transitions.unsplit_after(at.unsplit, token)};
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

SliceTokens CanonicalSlices::without_unsplit(ExprId prefix, const SplitPosition& at, const SliceTokens& tokens,
                                             const std::vector<std::uint32_t>& completing) {
  const std::size_t words = language_.vocabulary().word_count();
  const std::vector<std::uint32_t> accepted = row_of(*tokens.accepted, words);
  std::vector<std::uint32_t> doubtful;
  std::uint32_t longest = tokens.accepted->max_completion_bound();
  for (std::uint32_t token : completing) {
    if (!has_bit(accepted, token)) continue;
    const std::uint32_t bound = bound_beside_unsplit(prefix, at, token);
    if (bound == kInfinite) {
      doubtful.push_back(token);
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

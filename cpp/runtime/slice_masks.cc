#include "runtime/slice_masks.h"

#include <algorithm>
#include <iterator>
#include <optional>
#include <utility>

#include "expr/json_string.h"
#include "expr/lengths.h"
#include "runtime/class_run.h"
#include "runtime/trie_walk.h"
#include "runtime/unbounded_reference.h"

namespace detent {
namespace {

constexpr std::uint64_t kLeavingOnly = 0x6C6561766573;  // parts of cache keys
constexpr std::uint64_t kAfterNumber = 0x6E756D626572;
// Whether a suffix may follow a value.
bool may_continue(const Slice& value, std::string_view suffix) {
  return !value.ends_number || !kNumberBytes.contains(static_cast<std::uint8_t>(suffix[0]));
}

}  // namespace

template <class FindSuffixes>
std::shared_ptr<const ContextDependentTokens> SliceMasks::leaving_at(std::vector<std::uint32_t> exits,
                                                                     FindSuffixes find_suffixes) const {
  Hash128 hash{};
  for (std::uint32_t exit : exits) hash = mix(hash, exit);
  const Hash128 key = mask_key(hash, MaskKind::exits);
  MaskCache& cache = vocabulary_.cache();
  if (const std::shared_ptr<const Mask> known = cache.find(key, MaskCache::Kind::reference)) {
    return known->context_dependent();
  }
  std::vector<ContextDependentTokens::TokenSuffix> suffixes = find_suffixes(exits);
  std::shared_ptr<const ContextDependentTokens> tokens =
      ContextDependentTokens::of(std::move(suffixes), std::move(exits));
  MaskBuilder builder(vocabulary_.word_count());
  cache.insert(key, builder.finish(tokens), MaskCache::Kind::reference);
  return tokens;
}

std::shared_ptr<const ContextDependentTokens> SliceMasks::keep_exits(
    const std::shared_ptr<const ContextDependentTokens>& tokens,
    const std::function<bool(std::string_view)>& keep) const {
  std::vector<std::uint32_t> exits;
  for (std::uint32_t exit : tokens->exits) {
    if (keep(vocabulary_.text_of_node(exit))) exits.push_back(exit);
  }
  if (exits.size() == tokens->exits.size()) return tokens;
  return leaving_at(std::move(exits), [&tokens](const std::vector<std::uint32_t>& kept) {
    std::vector<ContextDependentTokens::TokenSuffix> suffixes;
    std::ranges::copy_if(tokens->suffixes, std::back_inserter(suffixes),
                         [&kept](const auto& suffix) { return std::ranges::binary_search(kept, suffix.exit); });
    return suffixes;
  });
}

std::shared_ptr<const ContextDependentTokens> SliceMasks::keep_exits_accepted(
    const std::shared_ptr<const ContextDependentTokens>& tokens, ExprId state) const {
  return keep_exits(tokens,
                    [&](std::string_view text) { return automaton_.accepting(automaton_.advance(state, text)); });
}

// The sorted suffixes of the tokens below these trie nodes for which keep(id, suffix) is true.
template <class Keep>
std::vector<ContextDependentTokens::TokenSuffix> SliceMasks::suffixes_after(const std::vector<std::uint32_t>& exits,
                                                                            Keep keep) const {
  std::vector<ContextDependentTokens::TokenSuffix> suffixes;
  const std::vector<TrieNode>& trie = vocabulary_.trie();
  for (std::uint32_t exit : exits) {
    const std::size_t read = trie[exit].depth + std::size_t{1};
    for (std::uint32_t i = exit + 1; i < trie[exit].next; ++i) {
      for_each_id(vocabulary_, trie[i].token, [&](std::uint32_t id) {
        const std::string_view suffix = vocabulary_.bytes(id).substr(read);
        if (keep(id, suffix)) suffixes.push_back({suffix, id, exit});
      });
    }
  }
  if (exits.size() > 1) ContextDependentTokens::sort(suffixes);  // the trie's order is that of the bytes
  return suffixes;
}

std::shared_ptr<const Mask> SliceMasks::mask_of(ExprId prefix) {
  const Hash128 key = mask_key(automaton_.hash(prefix), MaskKind::slice);
  MaskCache& cache = vocabulary_.cache();
  if (std::shared_ptr<const Mask> known = cache.find(key, MaskCache::Kind::slice)) return known;
  std::shared_ptr<const Mask> mask = compute_by_form(prefix);
  if (!mask) mask = compute_from_reference(prefix);
  cache.insert(key, mask, MaskCache::Kind::slice);
  return mask;
}

std::shared_ptr<const Mask> SliceMasks::compute_by_form(ExprId prefix) {
  if (std::shared_ptr<const Mask> mask = compute_conditioned(prefix)) return mask;
  if (const auto string = analysis_.bounded_string(prefix)) return compute_bounded(prefix, *string);
  if (const auto string = analysis_.counted_string(prefix)) return compute_counted(prefix, *string);
  if (std::shared_ptr<const Mask> mask = compute_excluding(prefix)) return mask;
  return compute_literals(prefix);
}

std::shared_ptr<const Mask> SliceMasks::compute_from_reference(ExprId prefix) {
  constexpr std::int64_t kLittleWork = 3'000;  // a tenth of a walk by conjuncts over a large vocabulary, or less
  const auto nodes = static_cast<std::int64_t>(vocabulary_.trie().size());
  ReferenceMask reference = find_reference(prefix);
  if (!reference.mask && follows_conjuncts(automaton_, prefix)) {
    std::shared_ptr<const Mask> mask = compute_from_any_string(prefix, kLittleWork);
    return mask ? mask : compute(prefix, {});
  }
  if (!reference.mask) reference = recent_.nearest_state(prefix, nodes - nodes / 8);
  if (!reference.mask) {
    if (std::shared_ptr<const Mask> mask = compute_from_any_string(prefix, INT64_MAX)) {
      recent_.add(prefix);
      return mask;
    }
    reference = recent_.nearest_state(prefix, nodes / 4);  // a run of a class costs more than a few differences
  }
  if (!reference.mask) {
    if (std::shared_ptr<const Mask> mask = compute_from_class(prefix)) {
      recent_.add(prefix);
      return mask;
    }
    if (const ExprId any_string = analysis_.any_string_like(prefix); any_string != prefix) {
      mask_of(any_string);
      recent_.add(any_string);
    }
    reference = recent_.nearest_state(prefix);
  }
  if (reference.mask && reference.equal_below >= vocabulary_.max_token_length()) return reference.mask;
  std::shared_ptr<const Mask> mask = compute(prefix, reference);
  recent_.add(prefix);
  return mask;
}

std::shared_ptr<const ContextDependentTokens> SliceMasks::leaving(ExprId prefix) {
  return mask_with_leaving(prefix)->context_dependent();
}

// A mask of which only the context-dependent tokens are exact. Its reference is the prefix without upper bounds: a
// token that leaves after at most `rounds` bytes leaves both prefixes at the same byte.
std::shared_ptr<const Mask> SliceMasks::mask_with_leaving(ExprId prefix) {
  const UnboundedState wide = analysis_.drop_upper_bounds(prefix);
  if (wide.state == prefix) return mask_of(prefix);
  const Hash128 key = mix(mask_key(automaton_.hash(prefix), MaskKind::slice), kLeavingOnly);
  MaskCache& cache = vocabulary_.cache();
  if (std::shared_ptr<const Mask> known = cache.find(key, MaskCache::Kind::slice)) return known;
  const ReferenceMask reference{
      .state = wide.state, .mask = mask_with_leaving(wide.state), .equal_below = wide.rounds, .is_larger = true};
  const bool is_equal = reference.equal_below >= vocabulary_.max_token_length();
  std::shared_ptr<const Mask> mask = is_equal ? reference.mask : compute_by_form(prefix);
  if (!mask) mask = compute(prefix, reference);
  cache.insert(key, mask, MaskCache::Kind::slice);
  return mask;
}

// Follows each literal through the trie. A walk by states would make a new state at nearly each byte of hundreds of
// words.
std::shared_ptr<const Mask> SliceMasks::compute_literals(ExprId prefix) {
  const std::optional<std::vector<std::string>> literals = analysis_.literals_of(prefix);
  if (!literals) return nullptr;
  const std::vector<TrieNode>& trie = vocabulary_.trie();
  MaskBuilder builder(vocabulary_.word_count());
  ExitDelta exits;
  for (const std::string& literal : *literals) {
    std::size_t read = 0;
    std::uint32_t node = vocabulary_.root(static_cast<std::uint8_t>(literal[0]));
    std::uint32_t end = static_cast<std::uint32_t>(trie.size());
    while (node < end) {
      ++read;
      if (trie[node].token != TrieNode::kNoToken) {
        for_each_id(vocabulary_, trie[node].token, [&builder](std::uint32_t id) { builder.allow(id); });
        builder.note_length(static_cast<std::uint32_t>(literal.size() - read));
      }
      if (read == literal.size()) {
        exits.added.push_back(node);
        break;
      }
      end = trie[node].next;
      node = vocabulary_.child(node, static_cast<std::uint8_t>(literal[read]));
    }
  }
  std::ranges::sort(exits.added);
  exits.added.erase(std::ranges::unique(exits.added).begin(), exits.added.end());
  return builder.finish(merge_exits(nullptr, exits));
}

std::shared_ptr<const Mask> SliceMasks::compute_from_class(ExprId prefix) {
  if (prefers_conjuncts(automaton_)) return nullptr;
  MaskBuilder builder(vocabulary_.word_count());
  ExitDelta exits;
  if (!add_class_run(vocabulary_, automaton_, prefix, builder, &exits)) return nullptr;
  return builder.finish(merge_exits(nullptr, exits));
}

// The cache key of a value's mask: its prefix, and whether it ends in a number (see may_continue).
Hash128 SliceMasks::key_of_value(const Slice& value) {
  const Hash128 key = mask_key(automaton_.hash(value.prefix), MaskKind::value);
  return value.ends_number ? mix(key, kAfterNumber) : key;
}

std::shared_ptr<const Mask> SliceMasks::mask_of_value(const Slice& value) {
  const Hash128 key = key_of_value(value);
  MaskCache& cache = vocabulary_.cache();
  if (std::shared_ptr<const Mask> known = cache.find(key, MaskCache::Kind::slice)) return known;
  MaskBuilder builder(vocabulary_.word_count());
  ExitDelta exits;
  ReferenceWalk(vocabulary_, automaton_, {}, builder, &exits, TokenCheck::none, &kept_).run(value.prefix);
  const std::vector<std::uint32_t> row = builder.row();
  std::vector<ContextDependentTokens::TokenSuffix> suffixes =
      suffixes_after(exits.added, [&](std::uint32_t id, std::string_view suffix) {
        return (row[id >> 5] >> (id & 31) & 1) == 0 && may_continue(value, suffix);
      });
  const std::shared_ptr<const Mask> mask =
      builder.finish(ContextDependentTokens::of(std::move(suffixes), std::move(exits.added)));
  cache.insert(key, mask, MaskCache::Kind::slice);
  return mask;
}

std::shared_ptr<const Mask> SliceMasks::mask_of_value(const Slice& value, const ContextDependentTokens& tokens) {
  const Hash128 key = mix(key_of_value(value), tokens.serial);
  MaskCache& cache = vocabulary_.cache();
  if (std::shared_ptr<const Mask> known = cache.find(key, MaskCache::Kind::slice)) return known;
  MaskBuilder builder(vocabulary_.word_count());
  std::vector<ContextDependentTokens::TokenSuffix> suffixes;
  std::vector<std::uint32_t> allowed;
  const auto& class_of = automaton_.class_of();
  std::vector<ExprId> path(vocabulary_.max_token_length() + std::size_t{1});  // path[d]: the state after d bytes
  path[0] = value.prefix;
  for (std::uint32_t i = 0; i < tokens.nodes.size();) {
    const ContextDependentTokens::Node& node = tokens.nodes[i];
    const ExprId next = automaton_.row(path[node.depth])[class_of[node.byte]];
    if (next == ExprSet::kEmpty) {
      i = node.next;
      continue;
    }
    for (std::uint32_t k = node.first; k < node.last; ++k) {
      builder.allow(tokens.ids[k]);
      allowed.push_back(tokens.ids[k]);
    }
    builder.note_length(automaton_.completion_bound(next));
    path[node.depth + std::size_t{1}] = next;
    if (automaton_.accepting(next)) {
      for (std::uint32_t below = i + 1; below < node.next; ++below) {
        for (std::uint32_t k = tokens.nodes[below].first; k < tokens.nodes[below].last; ++k) {
          const std::string_view suffix = tokens.suffixes[k].text.substr(node.depth + std::size_t{1});
          if (may_continue(value, suffix)) suffixes.push_back({suffix, tokens.ids[k], 0});
        }
      }
    }
    ++i;
  }
  std::ranges::sort(allowed);
  std::erase_if(suffixes, [&](const auto& suffix) { return std::ranges::binary_search(allowed, suffix.id); });
  ContextDependentTokens::sort(suffixes);
  const std::shared_ptr<const Mask> mask = builder.finish(ContextDependentTokens::of(std::move(suffixes), {}));
  cache.insert(key, mask, MaskCache::Kind::slice);
  return mask;
}

// Tries these references in order; returns no mask if none applies:
//   1. the prefix without its first upper bound;
//   2. any string, if the prefix is a string in which each text is live;
//   3. the prefix without all large upper bounds;
//   4. the prefix without its lower bound;
//   5. the prefix without excluded texts.
// For a walk by conjuncts, only 1, if no token reaches the bound, and 2, which takes no search.
ReferenceMask SliceMasks::find_reference(ExprId prefix) {
  constexpr std::uint32_t kFewBytes = 8, kManyBytes = 32;  // many tokens are longer than 8 bytes; few than 32
  const auto mask_of_wide = [this](ExprId wide) { return mask_of(wide); };
  const bool by_conjuncts = follows_conjuncts(automaton_, prefix);
  UnboundedState unbounded = analysis_.drop_upper_bound(prefix);
  ReferenceMask reference;
  if (!by_conjuncts || unbounded.rounds >= vocabulary_.max_token_length()) {
    reference = unbounded_reference(unbounded, prefix, mask_of_wide);
  }
  if (reference.mask && unbounded.in_intersection && reference.equal_below < kManyBytes) {
    unbounded.needed = analysis_.needed_inside(unbounded);
    reference = unbounded_reference(unbounded, prefix, mask_of_wide);
  }
  if (reference.mask && reference.equal_below >= kFewBytes) return reference;
  if (const ExprId any_string = analysis_.any_string_like(prefix); any_string != prefix) {
    if (const auto bound = automaton_.bound_inside_string(prefix)) {
      return {any_string, mask_of(any_string), 0, true, *bound};
    }
  }
  if (by_conjuncts) return {};
  const UnboundedState wide_inside = analysis_.drop_large_upper_bounds(prefix);
  ReferenceMask inside = unbounded_reference(wide_inside, prefix, mask_of_wide);
  if (inside.mask && inside.equal_below >= kFewBytes) return inside;
  if (reference.mask) return reference;
  if (const ExprId wide = analysis_.drop_lower_bound(prefix); wide != prefix) {
    std::shared_ptr<const Mask> mask = mask_of(wide);
    // The rounds that the lower bound asks for may follow the round in which a token ends.
    const std::uint32_t bound = saturating_add(mask->max_completion_bound(), automaton_.completion_bound(prefix));
    return {wide, std::move(mask), 0, true, bound};
  }
  if (const ExprId wide = analysis_.drop_exclusions(prefix); wide != prefix)
    return {.state = wide, .mask = mask_of(wide)};
  if (const std::optional<ExcludingString> string = analysis_.excluding_string(prefix)) {
    return {string->all, mask_of(string->all), 0, true, string->inside_bound};
  }
  return {};
}

std::shared_ptr<const Mask> SliceMasks::compute(ExprId prefix, const ReferenceMask& reference) {
  MaskBuilder builder(vocabulary_.word_count());
  if (reference.mask) builder.copy_from(*reference.mask);
  if (reference.equal_inside) {  // the walk visits only exits; a token may also end inside a character
    builder.note_length(saturating_add(reference.inside_bound, std::uint64_t{4} * kMaxEscapeLength));
  }
  ExitDelta delta;
  ReferenceWalk(vocabulary_, automaton_, reference, builder, &delta, TokenCheck::none, &kept_).run(prefix);
  std::shared_ptr<const ContextDependentTokens> tokens;
  if (reference.mask) tokens = reference.mask->context_dependent();
  if (!tokens || !delta.added.empty() || !delta.removed.empty()) tokens = merge_exits(tokens.get(), delta);
  return builder.finish(std::move(tokens));
}

// The context-dependent tokens of the reference, without the tokens at removed exits, with the tokens at added exits.
std::shared_ptr<const ContextDependentTokens> SliceMasks::merge_exits(const ContextDependentTokens* reference,
                                                                      const ExitDelta& delta) const {
  using TokenSuffix = ContextDependentTokens::TokenSuffix;
  const auto suffixes_of = [this](const std::vector<std::uint32_t>& exits) {
    return suffixes_after(exits, [](std::uint32_t, std::string_view) { return true; });
  };
  if (!reference) return leaving_at(delta.added, suffixes_of);
  const auto is_removed = [&delta](std::uint32_t exit) {
    const auto after = std::ranges::upper_bound(delta.removed, exit, {}, [](const auto& range) { return range.first; });
    return after != delta.removed.begin() && exit < std::prev(after)->second;
  };
  const auto merged = [&is_removed]<class T>(const std::vector<T>& known, const std::vector<T>& more, auto exit_of) {
    std::vector<T> remaining;
    remaining.reserve(known.size());
    std::ranges::remove_copy_if(known, std::back_inserter(remaining), is_removed, exit_of);
    std::vector<T> all(remaining.size() + more.size());
    std::ranges::merge(remaining, more, all.begin());
    return all;
  };
  return leaving_at(merged(reference->exits, delta.added, std::identity{}), [&](const std::vector<std::uint32_t>&) {
    return merged(reference->suffixes, suffixes_of(delta.added), &TokenSuffix::exit);
  });
}

}  // namespace detent

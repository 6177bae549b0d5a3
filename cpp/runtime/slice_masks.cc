#include "runtime/slice_masks.h"

#include <algorithm>
#include <functional>
#include <iterator>
#include <optional>
#include <unordered_map>
#include <utility>

#include "expr/json_string.h"
#include "expr/lengths.h"
#include "runtime/class_run.h"
#include "runtime/free_bytes.h"
#include "runtime/trie_walk.h"
#include "runtime/unbounded_reference.h"

namespace detent {
namespace {

constexpr std::uint64_t kLeavingOnly = 0x6C6561766573;  // parts of cache keys
constexpr std::uint64_t kAfterNumber = 0x6E756D626572;
// Most tokens have at least this many characters. If tokens this short may be too long, walking the trie is faster than
// testing each token: the walk stops at each prefix that is too long.
constexpr std::uint32_t kFewCharacters = 4;

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

// Keeps the context-dependent tokens for which keep(bytes) is true; with the last of `bytes`, the token leaves the
// slice.
template <class Keep>
std::shared_ptr<const ContextDependentTokens> SliceMasks::keep_exits(
    const std::shared_ptr<const ContextDependentTokens>& tokens, Keep keep) const {
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

std::shared_ptr<const ContextDependentTokens> SliceMasks::keep_exits_alive(
    const std::shared_ptr<const ContextDependentTokens>& tokens, ExprId state) const {
  return keep_exits(tokens, [&](std::string_view text) { return automaton_.advance(state, text) != ExprSet::kEmpty; });
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

// Keeps the tokens that leave a string after `minimum` to `maximum` characters.
template <class String>
std::shared_ptr<const ContextDependentTokens> SliceMasks::keep_exits_of_length(
    const std::shared_ptr<const ContextDependentTokens>& tokens, const String& string) const {
  return keep_exits(tokens, [&string](std::string_view text) {
    if (string.is_before) text.remove_prefix(text.find('"') + 1);
    text.remove_suffix(1);
    const std::uint32_t characters = StringLengths::count(text);
    return characters >= string.minimum && characters <= string.maximum;
  });
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
  const auto nodes = static_cast<std::int64_t>(vocabulary_.trie().size());
  ReferenceMask reference = find_reference(prefix);
  if (!reference.mask) reference = recent_.nearest_state(prefix, nodes - nodes / 8);
  if (!reference.mask) {
    if (std::shared_ptr<const Mask> mask = compute_from_any_string(prefix)) {
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

// Takes the tokens of the unbounded string with at most `maximum` characters. A token that ends the string must also
// have at least `minimum`.
std::shared_ptr<const Mask> SliceMasks::compute_bounded(ExprId prefix, const BoundedString& string) {
  const std::shared_ptr<const Mask> all = mask_of(string.unbounded);
  MaskBuilder builder(vocabulary_.word_count());
  builder.copy_from(*all);
  if (string.is_before) {
    limit_quoted(*all, string.minimum, string.maximum, [](auto, auto) { return false; }, builder);
  } else {
    limit_characters(string.minimum, string.maximum, builder);
  }
  // A token may end inside a character.
  builder.note_length(saturating_add(automaton_.completion_bound(prefix), std::uint64_t{4} * kMaxEscapeLength));
  return builder.finish(keep_exits_of_length(all->context_dependent(), string));
}

// Besides compute_bounded, removes each token after which every completion has too many characters. Only tokens of more
// than maximum - most_to_come characters can be too long. These are followed in the unbounded string, which has few
// states.
std::shared_ptr<const Mask> SliceMasks::compute_counted(ExprId prefix, const CountedString& string) {
  const std::shared_ptr<const Mask> all = mask_of(string.unbounded);
  MaskBuilder builder(vocabulary_.word_count());
  builder.copy_from(*all);
  const auto& class_of = automaton_.class_of();
  std::unordered_map<std::uint32_t, std::optional<std::uint32_t>> known;  // characters_to_come by state
  const auto is_too_long = [&](ExprId state, std::string_view token, std::uint32_t characters) {
    const auto [to_come, is_new] = known.try_emplace(state.value);
    if (is_new) to_come->second = analysis_.characters_to_come(state);
    if (!to_come->second) return automaton_.advance(prefix, token) == ExprSet::kEmpty;
    return *to_come->second + std::uint64_t{characters} > string.maximum;
  };
  const auto after = [&](std::string_view token) {
    ExprId state = string.unbounded;
    for (char byte : token) state = automaton_.row(state)[class_of[static_cast<std::uint8_t>(byte)]];
    return state;
  };
  const std::uint32_t surely = string.maximum > string.most_to_come ? string.maximum - string.most_to_come : 0;
  if (string.is_before) {
    const auto is_long = [&](std::string_view token, std::uint32_t characters) {
      return characters > surely && is_too_long(after(token), token, characters);
    };
    limit_quoted(*all, string.minimum, string.maximum, is_long, builder);
  } else if (limit_characters(string.minimum, string.maximum, builder); surely < kFewCharacters) {
    const auto is_beyond = [&](ExprId state, std::string_view token) {
      return is_too_long(state, token, StringLengths::count(token));
    };
    refuse_beyond(string.unbounded, is_beyond, builder);
  } else {
    vocabulary_.string_lengths().each_longer(surely, builder.row(), [&](std::uint32_t id) {
      const std::string_view token = vocabulary_.bytes(id);
      if (is_too_long(after(token), token, StringLengths::count(token))) builder.refuse(id);
    });
  }
  const std::uint64_t longest = std::uint64_t{string.most_to_come} + 1;  // characters, one of them partial
  const std::uint64_t missing = std::uint64_t{string.minimum} * kMaxEscapeLength;
  builder.note_length(saturating_add(longest * 4 * kMaxEscapeLength + missing, 1));
  if (string.is_before) builder.note_length(automaton_.completion_bound(prefix));
  return builder.finish(keep_exits_of_length(all->context_dependent(), string));
}

// Removes the tokens that stay inside a string if is_beyond(state, prefix) is true for the token or a token that is its
// prefix; `state` is the state of the string after that prefix. Does not walk below such a prefix.
template <class IsBeyond>
void SliceMasks::refuse_beyond(ExprId string, IsBeyond is_beyond, MaskBuilder& builder) {
  const std::vector<TrieNode>& trie = vocabulary_.trie();
  const auto& class_of = automaton_.class_of();
  std::vector<std::uint32_t> kept(vocabulary_.word_count());
  std::vector<ExprId> path(vocabulary_.max_token_length() + std::size_t{1});  // path[d]: the state after d bytes
  path[0] = string;
  for (std::uint32_t i = 0; i < trie.size();) {
    const TrieNode& node = trie[i];
    const ExprId next = automaton_.row(path[node.depth])[class_of[node.byte]];
    const bool is_inside = next != ExprSet::kEmpty && !automaton_.accepting(next);
    path[node.depth + std::size_t{1}] = next;
    if (node.token != TrieNode::kNoToken) {
      const std::uint32_t id = node.token & TrieNode::kShared ? vocabulary_.shared_ids(node.token)[0] : node.token;
      if (is_inside && is_beyond(next, vocabulary_.bytes(id))) {
        i = node.next;
        continue;
      }
      for_each_id(vocabulary_, node.token, [&kept](std::uint32_t each) { kept[each >> 5] |= 1u << (each & 31); });
    }
    i = is_inside ? i + 1 : node.next;
  }
  builder.retain(kept);
}

// Takes the mask of the string without exclusions. Removes the tokens, and the exits, that end the string with an
// excluded text.
std::shared_ptr<const Mask> SliceMasks::compute_excluding(ExprId prefix) {
  const std::optional<ExcludingString> string = analysis_.excluding_string(prefix);
  if (!string || !string->written) return nullptr;
  const std::vector<TrieNode>& trie = vocabulary_.trie();
  std::vector<std::uint32_t> exits, refused;
  for (std::string text : *string->written) {
    text.push_back('"');
    const std::optional<std::uint32_t> exit = vocabulary_.find_node(text);
    if (!exit) continue;
    exits.push_back(*exit);
    for_each_id(vocabulary_, trie[*exit].token, [&refused](std::uint32_t id) { refused.push_back(id); });
  }
  const std::shared_ptr<const Mask> all = mask_of(string->all);
  MaskBuilder builder(vocabulary_.word_count());
  if (refused.empty()) {
    builder.share(all);
  } else {
    builder.copy_from(*all);
    for (std::uint32_t id : refused) builder.refuse(id);
  }
  builder.note_length(saturating_add(string->inside_bound, std::uint64_t{4} * kMaxEscapeLength));
  const std::shared_ptr<const ContextDependentTokens>& tokens = all->context_dependent();
  return builder.finish(exits.empty() ? tokens : ContextDependentTokens::without_exits(tokens, exits));
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
  MaskBuilder builder(vocabulary_.word_count());
  ExitDelta exits;
  if (!add_class_run(vocabulary_, automaton_, prefix, builder, &exits)) return nullptr;
  return builder.finish(merge_exits(nullptr, exits));
}

// Allows the tokens over free bytes that any string allows, and follows the tokens with other bytes.
std::shared_ptr<const Mask> SliceMasks::compute_from_any_string(ExprId prefix) {
  const ExprId any_string = analysis_.any_string_like(prefix);
  if (any_string == prefix) return nullptr;
  const std::optional<FreeBytes> free = find_free_bytes(vocabulary_, automaton_, prefix, any_string);
  if (!free) return nullptr;
  const std::shared_ptr<const Mask> all = mask_of(any_string);
  MaskBuilder builder(vocabulary_.word_count());
  builder.copy_from(*all);
  builder.note_length(free->completion_bound);
  const auto& class_of = automaton_.class_of();
  const auto after = [&](ExprId state, std::string_view text) {
    for (char byte : text) {
      if (state == ExprSet::kEmpty) break;
      state = automaton_.row(state)[class_of[static_cast<std::uint8_t>(byte)]];
    }
    return state;
  };
  ExprId noted = ExprSet::kEmpty;  // the state whose completion was noted last
  const auto refuse = [&builder](std::uint32_t id) { builder.refuse(id); };
  each_token_from(vocabulary_, free->dead_first, refuse);
  const std::vector<std::uint32_t> row = builder.row();
  each_token_with(vocabulary_, free->dead, refuse);
  for (unsigned byte = 0; byte < 256; ++byte) {
    if (!free->others.contains(static_cast<std::uint8_t>(byte))) continue;
    const std::span<const std::uint32_t> tokens = *vocabulary_.tokens_with(static_cast<std::uint8_t>(byte));
    for (std::uint32_t id : tokens) {
      if ((row[id >> 5] >> (id & 31) & 1) == 0) continue;
      const ExprId state = after(prefix, vocabulary_.bytes(id));
      if (state == ExprSet::kEmpty) {
        builder.refuse(id);
        continue;
      }
      builder.allow(id);
      if (state != noted) builder.note_length(automaton_.completion_bound(noted = state));
    }
  }
  return builder.finish(keep_exits(all->context_dependent(), [&](std::string_view text) {
    const ExprId state = after(prefix, text);
    return state != ExprSet::kEmpty && automaton_.accepting(state);
  }));
}

// The same as limit_characters for a prefix that begins before the opening quotation mark. Few tokens contain the mark.
// Also removes each token that stays inside the string and for which is_long(token, characters) is true.
template <class IsLong>
void SliceMasks::limit_quoted(const Mask& mask, std::uint32_t minimum, std::uint32_t maximum, IsLong is_long,
                              MaskBuilder& builder) const {
  mask.each([&](std::uint32_t id) {
    const std::string_view token = vocabulary_.bytes(id);
    const std::size_t quote = token.find('"');
    if (quote == std::string_view::npos) return;
    const std::string_view text = token.substr(quote + 1);
    const std::size_t end = StringLengths::end_of_string(text);
    const std::uint32_t characters = StringLengths::count(text.substr(0, end));
    const bool is_inside = end == text.size();
    if (characters > maximum || (is_inside ? is_long(token, characters) : characters < minimum)) builder.refuse(id);
  });
}

// Removes the tokens with more than `maximum` characters, and those that end the string with fewer than `minimum`.
void SliceMasks::limit_characters(std::uint32_t minimum, std::uint32_t maximum, MaskBuilder& builder) const {
  const StringLengths& lengths = vocabulary_.string_lengths();
  lengths.limit(
      maximum, [&builder](std::span<const std::uint32_t> row) { builder.retain(row); },
      [&builder](std::uint32_t id) { builder.refuse(id); });
  for (const auto& [id, characters] : lengths.closing()) {
    if (characters < minimum || characters > maximum) builder.refuse(id);
  }
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
  ReferenceWalk(vocabulary_, automaton_, {}, builder, &exits, TokenCheck::none).run(value.prefix);
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
ReferenceMask SliceMasks::find_reference(ExprId prefix) {
  constexpr std::uint32_t kFewBytes = 8, kManyBytes = 32;  // many tokens are longer than 8 bytes; few than 32
  const auto mask_of_wide = [this](ExprId wide) { return mask_of(wide); };
  UnboundedState unbounded = analysis_.drop_upper_bound(prefix);
  ReferenceMask reference = unbounded_reference(unbounded, prefix, mask_of_wide);
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
  ReferenceWalk(vocabulary_, automaton_, reference, builder, &delta, TokenCheck::none).run(prefix);
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

// SliceMasks: the masks of strings, from those of the strings without bounds, exclusions or patterns.
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "expr/json_string.h"
#include "expr/lengths.h"
#include "runtime/free_bytes.h"
#include "runtime/slice_masks.h"
#include "runtime/trie_walk.h"

namespace detent {
namespace {

// Most tokens have at least this many characters. If tokens this short may be too long, walking the trie is faster than
// testing each token: the walk stops at each prefix that is too long.
constexpr std::uint32_t kFewCharacters = 4;

}  // namespace

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
  std::unordered_map<std::uint32_t, std::optional<std::uint32_t>> known;  // characters_to_come by state
  const auto is_too_long = [&](ExprId state, std::string_view token, std::uint32_t characters) {
    const auto [to_come, is_new] = known.try_emplace(state.value);
    if (is_new) to_come->second = analysis_.characters_to_come(state);
    if (!to_come->second) return automaton_.advance(prefix, token) == ExprSet::kEmpty;
    return *to_come->second + std::uint64_t{characters} > string.maximum;
  };
  const auto after = [&](std::string_view token) { return automaton_.advance(string.unbounded, token); };
  const std::uint32_t surely = string.maximum > string.most_to_come ? string.maximum - string.most_to_come : 0;
  if (string.is_before) {
    const auto is_long = [&](std::string_view token, std::uint32_t characters) {
      return characters > surely && is_too_long(after(token), token, characters);
    };
    limit_quoted(*all, string.minimum, string.maximum, is_long, builder);
  } else if (limit_characters(string.minimum, string.maximum, builder); surely < kFewCharacters) {
    refuse_beyond(string.unbounded, is_too_long, builder);
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

// Removes the tokens that stay inside a string if is_beyond(state, prefix, characters) is true for the token or a token
// that is its prefix; `state` is the state of the string after that prefix. Does not walk below such a prefix. Counts
// characters along the trie, since reading the bytes of most tokens takes as long as the rest.
template <class IsBeyond>
void SliceMasks::refuse_beyond(ExprId string, IsBeyond is_beyond, MaskBuilder& builder) {
  const std::vector<TrieNode>& trie = vocabulary_.trie();
  const auto& class_of = automaton_.class_of();
  std::vector<std::uint32_t> kept(vocabulary_.word_count());
  struct Reached {
    ExprId state;
    std::uint32_t characters;  // unless `has_escape`
    bool has_escape;
  };
  std::vector<Reached> path(vocabulary_.max_token_length() + std::size_t{1});  // path[d]: after d bytes
  path[0] = {string, 0, false};
  for (std::uint32_t i = 0; i < trie.size();) {
    const TrieNode& node = trie[i];
    const Reached& at = path[node.depth];
    const ExprId next = automaton_.row(at.state)[class_of[node.byte]];
    const bool is_inside = next != ExprSet::kEmpty && !automaton_.accepting(next);
    // The rest of a character with which a token begins counts.
    const bool begins = node.depth == 0 || (node.byte & 0xC0) != 0x80;
    const Reached& after =
        path[node.depth + std::size_t{1}] = {next, at.characters + begins, at.has_escape || node.byte == '\\'};
    if (node.token != TrieNode::kNoToken) {
      const std::uint32_t id = node.token & TrieNode::kShared ? vocabulary_.shared_ids(node.token)[0] : node.token;
      const std::string_view token = vocabulary_.bytes(id);
      if (is_inside && is_beyond(next, token, after.has_escape ? StringLengths::count(token) : after.characters)) {
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

// Allows the tokens that any string allows, but for those that may leave the states found; follows these.
std::shared_ptr<const Mask> SliceMasks::compute_from_any_string(ExprId prefix, std::int64_t max_work) {
  const ExprId any_string = analysis_.any_string_like(prefix);
  if (any_string == prefix) return nullptr;
  const std::optional<FreeBytes> free = find_free_bytes(vocabulary_, automaton_, prefix, any_string, max_work);
  if (!free) return nullptr;
  const std::shared_ptr<const Mask> all = mask_of(any_string);
  MaskBuilder builder(vocabulary_.word_count());
  builder.copy_from(*all);
  builder.note_length(free->completion_bound);
  ExprId noted = ExprSet::kEmpty;  // the state whose completion was noted last
  const auto refuse = [&builder](std::uint32_t id) { builder.refuse(id); };
  each_token_from(vocabulary_, free->dead_first, refuse);
  const std::vector<std::uint32_t> row = builder.row();
  if (!free->dead.empty()) each_token_with(vocabulary_, free->dead, refuse);
  for (const OtherByte& other : free->others) {
    const std::span<const std::uint32_t> tokens = *vocabulary_.tokens_with(other.byte);
    for (std::uint32_t id : tokens) {
      if ((row[id >> 5] >> (id & 31) & 1) == 0 || !other.may_leave(vocabulary_.bytes(id))) continue;
      const ExprId state = automaton_.advance(prefix, vocabulary_.bytes(id));
      if (state == ExprSet::kEmpty) {
        builder.refuse(id);
        continue;
      }
      builder.allow(id);
      if (state != noted) builder.note_length(automaton_.completion_bound(noted = state));
    }
  }
  return builder.finish(keep_exits(all->context_dependent(), [&](std::string_view text) {
    const ExprId state = automaton_.advance(prefix, text);
    return state != ExprSet::kEmpty && automaton_.accepting(state);
  }));
}

// The same as limit_characters for a prefix that begins before the opening quotation mark. Few tokens contain the mark.
// Also removes each token that stays inside the string and for which is_long(token, characters) is true.
template <class IsLong>
void SliceMasks::limit_quoted(const Mask& mask, std::uint32_t minimum, std::uint32_t maximum, IsLong is_long,
                              MaskBuilder& builder) const {
  const auto limit = [&](std::uint32_t id) {
    const std::string_view token = vocabulary_.bytes(id);
    const std::size_t quote = token.find('"');
    if (quote == std::string_view::npos) return;
    const std::string_view text = token.substr(quote + 1);
    const std::size_t end = StringLengths::end_of_string(text);
    const std::uint32_t characters = StringLengths::count(text.substr(0, end));
    const bool is_inside = end == text.size();
    if (characters > maximum || (is_inside ? is_long(token, characters) : characters < minimum)) builder.refuse(id);
  };
  if (const auto quoted = vocabulary_.tokens_with('"')) {
    const std::vector<std::uint32_t> row = builder.row();
    for (std::uint32_t id : *quoted) {
      if ((row[id >> 5] >> (id & 31) & 1) != 0) limit(id);
    }
  } else {
    mask.each(limit);
  }
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

}  // namespace detent

#include "runtime/repeated_items.h"

#include <algorithm>
#include <span>

#include "base/fork_guard.h"
#include "runtime/trie_walk.h"

namespace detent {
namespace {

constexpr char kSeparator = ',';  // of items in JSON

}  // namespace

// Whether a token may make a state dead for some text of the item that it ends. `state` is the state after the token,
// whose bytes after that item are `after_item`.
//   1. If it ends with the separator: only if the list may have used up all keys, so that no next item exists.
//   2. If it ends inside the first string of the next item: not if this string has infinitely many texts, since the
//      item can then still become a new one.
bool RepeatedItems::may_repeat(ExprId state, std::string_view after_item) {
  if (after_item.find_first_not_of(" \t\r\n") == std::string_view::npos) return automaton_.may_lack_keys(state);
  return std::ranges::count(after_item, '"') != 1 || !automaton_.is_in_free_string(state);
}

// Whether each byte of a subtree leads a state back to itself. False where the subtree has bytes beyond ASCII: their
// rows would cost more than following the few tokens with a separator.
bool RepeatedItems::is_loop(ExprId state, const Subtree& subtree) {
  if (!subtree.used.is_subset_of(ByteSet::range(0, 0x7F))) return false;
  const ExprId* const row = automaton_.row(state);
  bool is_same = true;
  subtree.used.each([&](std::uint8_t byte) { is_same &= row[automaton_.class_of()[byte]] == state; });
  return is_same;
}

// Walks through the nodes of the trie on the paths to separators. A next item comes after a separator: so an item must
// end before a separator, or be open there. Otherwise no row is read: that of a state before the names of 200 members
// takes 5 ms, and a mask by slices does not need it.
// Case: 30 us for each new state of a schema with a list, when all 1,500 tokens with a separator were followed one by
// one.
void RepeatedItems::find_repeating(ExprId state, std::vector<std::uint32_t>& found) {
  const std::vector<TrieNode>& trie = vocabulary_.trie();
  const std::span<const std::uint32_t> separators = vocabulary_.nodes_with(kSeparator, 0, trie.size());
  struct Reached {
    ExprId state;
    std::uint32_t item_end = 0;  // the bytes up to the end of an item, or 0 where no item has ended
    bool has_separator = false;  // that byte or a later one is a separator
  };
  std::vector<Reached> path(vocabulary_.max_token_length() + std::size_t{1});  // path[d]: after d bytes
  path[0] = {state};
  std::size_t next_separator = 0;  // the first separator at node `i` or after it
  for (std::uint32_t i = 0; i < trie.size();) {
    const TrieNode& node = trie[i];
    const Reached at = path[node.depth];
    while (next_separator < separators.size() && separators[next_separator] < i) ++next_separator;
    const bool is_separator = node.byte == kSeparator;
    const std::size_t after = next_separator + (is_separator ? 1 : 0);
    const bool has_more = after < separators.size() && separators[after] < node.next;
    const bool may_end_item = has_more || (is_separator && automaton_.has_open_item(at.state));
    if (!may_end_item && (at.item_end == 0 || !(at.has_separator || is_separator))) {
      i = node.next;
      continue;
    }
    const ExprId next = automaton_.row(at.state)[automaton_.class_of()[node.byte]];
    const bool may_loop =
        next == at.state && at.item_end == 0 && node.subtree != 0 && !automaton_.has_closed_item(next);
    const bool is_inside_loop = may_loop && is_loop(next, vocabulary_.subtrees()[node.subtree]);
    if (next == ExprSet::kEmpty || is_inside_loop) {
      i = node.next;
      continue;
    }
    Reached& reached = path[node.depth + std::size_t{1}];
    reached = {next, at.item_end, at.has_separator || is_separator};
    if (at.item_end == 0) {
      reached.item_end = automaton_.has_closed_item(next) ? node.depth + std::uint32_t{1} : 0;
      reached.has_separator = reached.item_end > 0 && is_separator;
    }
    if (reached.item_end > 0 && reached.has_separator && node.token != TrieNode::kNoToken) {
      const std::string_view text = vocabulary_.text_of_node(i);
      if (may_repeat(next, text.substr(reached.item_end))) {
        for_each_id(vocabulary_, node.token, [&found](std::uint32_t id) { found.push_back(id); });
      }
    }
    ++i;
  }
}

std::vector<std::uint32_t> RepeatedItems::find(ExprId state) {
  std::vector<std::uint32_t> found;
  find_repeating(state, found);
  if (vocabulary_.tokenizable_texts() && !automaton_.stays_tokenizable(state)) find_doubtful(state, found);
  return found;
}

// Where the vocabulary lacks bytes, adds the tokens after which only tokens of several bytes complete the list: all of
// them may go on with the item that was read.
void RepeatedItems::find_doubtful(ExprId state, std::vector<std::uint32_t>& found) {
  const auto is_doubtful = [&](ExprId next) {
    return !automaton_.completes_by_bytes(next) && (automaton_.has_open_item(next) || automaton_.has_closed_item(next));
  };
  const auto add = [&](std::uint32_t id) { found.push_back(id); };
  walk_tokens(
      vocabulary_, automaton_, state,
      [&](std::uint32_t token, ExprId next) {
        if (is_doubtful(next)) for_each_id(vocabulary_, token, add);
      },
      [&](const Subtree& subtree, ExprId next) {
        if (is_doubtful(next)) any_whole_id(vocabulary_, subtree, add);
      });
}

RepeatedItems::Tokens RepeatedItems::candidates(ExprId any_text) {
  constexpr std::size_t kMaxStates = 10'000;
  const ForkGuard guard;
  const std::lock_guard lock(mutex_);
  if (found_.size() > kMaxStates) found_.clear();
  Tokens& known = found_[any_text.value];
  if (!known) known = std::make_shared<const std::vector<std::uint32_t>>(find(any_text));
  return known;
}

}  // namespace detent

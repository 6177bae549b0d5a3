#include "runtime/repeated_items.h"

#include <algorithm>
#include <optional>
#include <string_view>

#include "base/fork_guard.h"
#include "runtime/trie_walk.h"

namespace detent {
namespace {

constexpr char kSeparator = ',';  // of items in JSON

}  // namespace

std::span<const std::uint32_t> RepeatedItems::tokens_with_separator() {
  if (const auto tokens = vocabulary_.tokens_with(kSeparator)) return *tokens;
  if (with_separator_.empty()) {
    for (std::uint32_t id : vocabulary_.ids_in_order()) {
      if (vocabulary_.bytes(id).find(kSeparator) != std::string_view::npos) with_separator_.push_back(id);
    }
  }
  return with_separator_;
}

// Whether a token may make a state dead for some text of the item that it ends.
//   1. If it ends with the separator: only if the list may have used up all keys, so that no next item exists.
//   2. If it ends inside the first string of the next item: not if this string has infinitely many texts, since the
//      item can then still become a new one.
// A next item comes after a separator. So the item before the last separator must be open there. Otherwise no row is
// read: that of a state before the names of 200 members takes 5 ms, and a mask by slices does not need it.
bool RepeatedItems::may_repeat(ExprId state, std::string_view text) {
  const std::size_t last_separator = text.rfind(kSeparator);
  std::optional<std::string_view> after_item;
  for (std::size_t i = 0; i < text.size(); ++i) {
    const bool may_end_item = i < last_separator || (i == last_separator && automaton_.has_open_item(state));
    if (!after_item && !may_end_item) return false;
    state = automaton_.row(state)[automaton_.class_of()[static_cast<std::uint8_t>(text[i])]];
    if (state == ExprSet::kEmpty) return false;
    if (!after_item && automaton_.has_closed_item(state)) after_item = text.substr(i + 1);
  }
  if (!after_item) return false;
  if (after_item->find_first_not_of(" \t\r\n") == std::string_view::npos) return automaton_.may_lack_keys(state);
  return std::ranges::count(*after_item, '"') != 1 || !automaton_.is_in_free_string(state);
}

std::vector<std::uint32_t> RepeatedItems::find(ExprId state) {
  std::vector<std::uint32_t> found;
  for (std::uint32_t id : tokens_with_separator()) {
    if (may_repeat(state, vocabulary_.bytes(id))) found.push_back(id);
  }
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

std::vector<std::uint32_t> RepeatedItems::candidates(ExprId any_text) {
  constexpr std::size_t kMaxStates = 10'000;
  const ForkGuard guard;
  const std::lock_guard lock(mutex_);
  if (found_.size() > kMaxStates) found_.clear();
  const auto known = found_.find(any_text.value);
  return known != found_.end() ? known->second : found_[any_text.value] = find(any_text);
}

}  // namespace detent

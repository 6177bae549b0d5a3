#include "runtime/repeated_items.h"

#include <string_view>

#include "base/fork_guard.h"

namespace detent {

// JSON separates items by commas.
const std::vector<std::uint32_t>& RepeatedItems::tokens_with_separator() {
  if (!has_with_separator_) {
    for (std::uint32_t id : vocabulary_.ids_in_order()) {
      if (vocabulary_.bytes(id).find(',') != std::string_view::npos) with_separator_.push_back(id);
    }
    has_with_separator_ = true;
  }
  return with_separator_;
}

// After a token that ends with the separator, there is a next item, or the row would not lead there; if items have few
// values, it takes the text to know. Inside a free string, the next item can still become different.
bool RepeatedItems::may_repeat(ExprId state, std::string_view text) {
  bool is_closed = false;
  for (char byte : text) {
    state = automaton_.row(state)[automaton_.class_of()[static_cast<std::uint8_t>(byte)]];
    if (state == ExprSet::kEmpty) return false;
    is_closed = is_closed || automaton_.has_closed_item(state);
  }
  if (!is_closed) return false;
  return automaton_.has_closed_item(state) ? automaton_.has_few_keys() : !automaton_.is_in_free_string(state);
}

std::vector<std::uint32_t> RepeatedItems::find(ExprId state, const std::uint32_t* row) {
  std::vector<std::uint32_t> found;
  for (std::uint32_t id : tokens_with_separator()) {
    if (row[id >> 5] >> (id & 31) & 1 && may_repeat(state, vocabulary_.bytes(id))) found.push_back(id);
  }
  return found;
}

std::vector<std::uint32_t> RepeatedItems::candidates(ExprId any_text, const std::uint32_t* row) {
  constexpr std::size_t kMaxStates = 10'000;
  const ForkGuard guard;
  const std::lock_guard lock(mutex_);
  if (found_.size() > kMaxStates) found_.clear();
  const auto known = found_.find(any_text.value);
  return known != found_.end() ? known->second : found_[any_text.value] = find(any_text, row);
}

}  // namespace detent

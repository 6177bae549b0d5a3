#include "runtime/item_budget.h"

namespace detent {
namespace {

// What a token counts as whose item is tried, beside the steps of the automaton: some 35 us for texts and their tokens.
constexpr std::int64_t kWorkPerItem = 2'000;

// By id: whether a text token contains the byte. To look into each token takes 10 ms.
std::vector<bool> tokens_with(const Vocabulary& vocabulary, char byte) {
  std::vector<bool> found(vocabulary.size());
  if (const auto tokens = vocabulary.tokens_with(static_cast<std::uint8_t>(byte))) {
    for (std::uint32_t id : *tokens) found[id] = true;
  } else {
    for (std::uint32_t id : vocabulary.ids_in_order())
      found[id] = vocabulary.bytes(id).find(byte) != std::string_view::npos;
  }
  return found;
}

}  // namespace

bool ItemBudget::fits(std::uint32_t id, ExprId next) {
  const std::string_view bytes = vocabulary_.bytes(id);
  const auto known = known_.find(next.value);
  if (known != known_.end() && known->second.is_too_long) return false;
  if (known != known_.end() && known->second.completion && !string_.empty() &&
      static_cast<std::uint8_t>(bytes.back()) < 0x80 &&
      !known->second.next.contains(static_cast<std::uint8_t>(bytes[0])) &&
      bytes.find_first_of("\"\\") == std::string_view::npos) {
    return true;
  }
  if (allowance_.work <= 0) return false;
  allowance_.work -= kWorkPerItem;
  const std::optional<std::string> read = item_after(id);
  if (read && !strings_of(*read).empty()) {
    const auto [after, is_new] = known_.try_emplace(next.value);
    if (is_new) after->second = find(next, *read);
    if (after->second.is_too_long) return false;
    if (after->second.completion && repeats_no_item(*after->second.completion, *read)) return true;
  }
  if (budget_.is_large()) return false;
  return budget_.completes_within(automaton_.advance(state_, bytes), tokens_after_, allowance_);
}

bool ItemBudget::ends_item(std::uint32_t id) {
  if (has_comma_.empty()) has_comma_ = tokens_with(vocabulary_, ',');
  return has_comma_[id] && !item_after(id);
}

ItemBudget::AfterItem ItemBudget::find(ExprId next, std::string_view read) {
  AfterItem after;
  const std::int64_t work_before = automaton_.work();
  after.completion = budget_.completion_after_item(next, read);
  allowance_.work -= allowance_.nodes_per_step * (automaton_.work() - work_before);
  if (!after.completion || after.completion->find('\\') != std::string::npos) return {};
  if (vocabulary_.fewest_tokens(*after.completion).size() > tokens_after_) {
    after.is_too_long = true;
    return after;
  }
  const std::string& text = *after.completion;
  if (string_.empty()) return after;
  for (std::size_t i = text.find(string_); i != std::string::npos && i + string_.size() < text.size();
       i = text.find(string_, i + 1)) {
    after.next.insert(static_cast<std::uint8_t>(text[i + string_.size()]));
  }
  return after;
}

}  // namespace detent

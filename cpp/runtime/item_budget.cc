#include "runtime/item_budget.h"

namespace detent {
namespace {

constexpr int kMaxTried = 32;  // tokens of a mask after which a completion is searched for their item alone

}  // namespace

bool ItemBudget::fits(std::uint32_t id, ExprId next) {
  if (!automaton_.has_open_item(next) || automaton_.without_text(next) != next) return false;
  const std::string_view bytes = vocabulary_.bytes(id);
  const auto known = known_.find(next.value);
  if (known != known_.end() && !known->second.completion) return false;
  if (known != known_.end() && is_inside_key_ && static_cast<std::uint8_t>(bytes.back()) < 0x80 &&
      !known->second.next.contains(static_cast<std::uint8_t>(bytes[0])) &&
      bytes.find_first_of("\"\\") == std::string_view::npos) {
    return true;
  }
  const std::optional<std::string> read = item_after(id);
  if (read && Budget::begins_with_key(*read)) {
    const auto [after, is_new] = known_.try_emplace(next.value);
    if (is_new) after->second = find(next, *read);
    if (!after->second.completion) return false;
    if (Budget::repeats_no_item(*after->second.completion, *read)) return true;
  }
  if (++tried_ > kMaxTried || budget_.is_large()) return false;
  return budget_.completes_within(automaton_.advance(state_, bytes), tokens_after_, allowance_);
}

bool ItemBudget::ends_item(std::uint32_t id) const {
  return vocabulary_.bytes(id).find(',') != std::string_view::npos && !item_after(id);
}

ItemBudget::AfterItem ItemBudget::find(ExprId next, std::string_view read) const {
  AfterItem after;
  after.completion = budget_.completion_after_item(next, read);
  if (!after.completion || after.completion->find('\\') != std::string::npos ||
      vocabulary_.fewest_tokens(*after.completion).size() > tokens_after_) {
    return {};
  }
  const std::string& text = *after.completion;
  for (std::size_t i = text.find(item_); i != std::string::npos && i + item_.size() < text.size();
       i = text.find(item_, i + 1)) {
    after.next.insert(static_cast<std::uint8_t>(text[i + item_.size()]));
  }
  return after;
}

}  // namespace detent

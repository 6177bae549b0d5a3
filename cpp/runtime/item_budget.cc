#include "runtime/item_budget.h"

#include <utility>

namespace detent {
namespace {

// What a token counts as whose item is tried, beside the steps of the automaton: some 35 us for texts and their tokens.
constexpr std::int64_t kWorkPerItem = 2'000;
// After so many tokens that do not fit and lead to one state, no other one that leads there is tried: the texts of
// their items hardly matter. Of 23,000 tokens that were tried, none fits after four that did not.
constexpr int kMostFailures = 16;

// Which tokens contain a byte.
std::vector<bool> tokens_with(const Vocabulary& vocabulary, char byte) {
  std::vector<bool> found(vocabulary.size());
  if (const auto tokens = vocabulary.tokens_with(static_cast<std::uint8_t>(byte))) {
    for (std::uint32_t id : *tokens) found[id] = true;
  } else {
    for (std::uint32_t id : vocabulary.ids_in_order()) {
      found[id] = vocabulary.bytes(id).find(byte) != std::string_view::npos;
    }
  }
  return found;
}

}  // namespace

ItemBudget::ItemBudget(const Vocabulary& vocabulary, Automaton& automaton, Budget& budget, ExprId state,
                       std::uint32_t tokens_after)
    : vocabulary_(vocabulary),
      automaton_(automaton),
      budget_(budget),
      state_(state),
      any_text_(automaton.without_text(state)),
      tokens_after_(tokens_after),
      item_(automaton.item(state)),
      with_separator_(automaton.has_lists() ? tokens_with(vocabulary, ',') : std::vector<bool>()),
      with_escape_(automaton.has_lists() ? tokens_with(vocabulary, '\\') : std::vector<bool>()),
      string_(open_string(item_)) {}

bool ItemBudget::fits(std::uint32_t id, ExprId next) {
  const std::string_view bytes = vocabulary_.bytes(id);
  AfterItem& after = known_[next.value];
  int& failures = after.failures[with_escape_[id] ? 1 : 0];
  if (after.is_too_long || failures == kMostFailures) return false;
  if (after.completion && !string_.empty() && static_cast<std::uint8_t>(bytes.back()) < 0x80 &&
      !after.next.contains(static_cast<std::uint8_t>(bytes[0])) && !with_escape_[id] &&
      bytes.find('"') == std::string_view::npos) {
    return true;
  }
  if (allowance_.work <= 0) return false;
  allowance_.work -= kWorkPerItem;
  const std::optional<std::string> read = item_after(id);
  if (read && !strings_of(*read).empty()) {
    if (!std::exchange(after.is_searched, true)) find(after, next, *read);
    if (after.is_too_long) return false;
    if (after.completion && repeats_no_item(*after.completion, *read)) return true;
  }
  if (budget_.is_large()) return false;
  const std::int64_t work_before = automaton_.work();
  const ExprId with_text = automaton_.advance(state_, bytes);
  allowance_.work -= allowance_.nodes_per_step * (automaton_.work() - work_before);
  const bool found = budget_.completes_within(with_text, tokens_after_, allowance_);
  if (!found) ++failures;
  return found;
}

bool ItemBudget::reads_on_after_item(std::uint32_t id) const {
  ExprId state = any_text_;
  for (char byte : vocabulary_.bytes(id)) {
    state = automaton_.row(state)[automaton_.class_of()[static_cast<std::uint8_t>(byte)]];
    if (automaton_.has_closed_item(state)) return true;
  }
  return false;
}

void ItemBudget::find(AfterItem& after, ExprId next, std::string_view read) {
  const std::int64_t work_before = automaton_.work();
  std::optional<std::string> text = budget_.completion_after_item(next, read);
  allowance_.work -= allowance_.nodes_per_step * (automaton_.work() - work_before);
  if (!text || text->find('\\') != std::string::npos) return;
  const std::size_t tokens = vocabulary_.fewest_tokens(*text).size();
  if (tokens == 0) return;  // it has a byte that is no token
  after.is_too_long = tokens > tokens_after_;
  if (after.is_too_long) return;
  for (std::size_t i = text->find(string_);
       !string_.empty() && i != std::string::npos && i + string_.size() < text->size();
       i = text->find(string_, i + 1)) {
    after.next.insert(static_cast<std::uint8_t>((*text)[i + string_.size()]));
  }
  after.completion = std::move(text);
}

}  // namespace detent

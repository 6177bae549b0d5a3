#include "automaton/shortest_keys.h"

#include <algorithm>
#include <optional>

#include "base/error.h"
#include "expr/json_value.h"
#include "expr/lengths.h"

namespace detent {
namespace {

constexpr std::size_t kMaxTexts = 30'000;        // that a search may hold
constexpr std::size_t kMaxTextsForMore = 5'000;  // beyond the least number of keys

}  // namespace

void ShortestKeys::find(std::size_t least, std::size_t count, DistinctKeys& list) {
  add("", list.key, 0);
  while (!pending_.empty() && list.keys.size() < count &&
         texts_.size() < (list.keys.size() < least ? kMaxTexts : kMaxTextsForMore)) {
    const auto [length, read, index] = pending_.top();
    pending_.pop();
    add_next_byte(index);
    visit(index, length, list, true);
  }
  list.has_all_keys = pending_.empty() && list.keys.size() < count;
}

void ShortestKeys::find_short_texts(std::size_t count, DistinctKeys& list) {
  pending_ = {};
  texts_.clear();
  lengths_.clear();
  before_.clear();
  texts_of_keys_.clear();
  list = DistinctKeys{.key = list.key, .is_unbounded = list.is_unbounded};
  add("", list.key, 0);
  for (std::size_t i = 0; i < texts_.size() && list.keys.size() < count && texts_.size() < kMaxTexts; ++i) {
    visit(i, lengths_[i], list, false);
  }
  std::vector<std::size_t> order(list.keys.size());
  for (std::size_t i = 0; i < order.size(); ++i) order[i] = i;
  std::ranges::stable_sort(order, {}, [&list](std::size_t i) { return list.lengths[i]; });
  DistinctKeys sorted{.key = list.key, .is_unbounded = list.is_unbounded};
  for (std::size_t i : order) {
    sorted.texts.push_back(std::move(list.texts[i]));
    sorted.keys.push_back(std::move(list.keys[i]));
    sorted.lengths.push_back(list.lengths[i]);
  }
  list = std::move(sorted);
}

void ShortestKeys::add(std::string text, ExprId state, std::uint32_t length_before, ExprId before) {
  const std::uint32_t length = liveness_.length(state);
  if (length == Liveness::kDead) return;
  held_ += static_cast<std::int64_t>(text.size() + 64);
  meter_.step();
  meter_.check_headroom(held_);
  const std::uint32_t whole = std::max(length_before, saturating_add(text.size(), length));
  pending_.push({whole, text.size(), texts_.size()});
  lengths_.push_back(whole);
  before_.push_back(before);
  texts_.emplace_back(std::move(text), state);
}

void ShortestKeys::add_next_byte(std::size_t index) {
  const ExprId before = before_[index];
  if (before == ExprSet::kEmpty) return;
  auto [text, state] = texts_[index];
  const ExprId* row = derivatives_.row(before);
  for (unsigned byte = static_cast<std::uint8_t>(text.back()) + 1u; byte < 256; ++byte) {
    if (row[derivatives_.class_of()[byte]] != state) continue;
    text.back() = static_cast<char>(byte);
    return add(std::move(text), state, lengths_[index], before);
  }
}

void ShortestKeys::visit(std::size_t index, std::uint32_t length, DistinctKeys& list, bool by_state) {
  const auto [text, state] = texts_[index];
  if (exprs_[state].nullable) {
    const std::optional<JsonValue> value = JsonValue::parse(text);
    if (!value) throw Error(ErrorKind::unsupported, "distinct_values");
    std::string name = value->key();
    std::vector<std::string>& texts = texts_of_keys_[name];
    texts.push_back(text);
    if (texts.size() == 1) {
      list.keys.push_back(std::move(name));
      list.texts.push_back(text);
      list.lengths.push_back(length);
    }
  }
  expand(text, state, length, by_state);
}

void ShortestKeys::expand(const std::string& text, ExprId state, std::uint32_t length, bool by_state) {
  const bool is_remembered = exprs_[state].op == Op::remembered;
  const TextId read = is_remembered ? exprs_[state].text() : TextId{};
  const ExprId before = is_remembered ? exprs_[state].part() : state;
  const ExprId* first = derivatives_.row(before);
  const std::vector<ExprId> row(first, first + derivatives_.class_count());
  std::vector<ExprId> added;
  for (unsigned byte = 0; byte < 256; ++byte) {
    const ExprId next = row[derivatives_.class_of()[byte]];
    if (next == ExprSet::kEmpty || std::ranges::find(added, next) != added.end()) continue;
    // Open items are read: each of their bytes leads to a state of its own.
    const bool leads_together =
        by_state && !is_remembered && !exprs_[next].has_open_item && !exprs_[next].has_closed_item;
    if (leads_together) added.push_back(next);
    const ExprId after = exprs_.after_byte(before, next, read, static_cast<std::uint8_t>(byte));
    add(text + static_cast<char>(byte), after, length, leads_together ? before : ExprSet::kEmpty);
  }
}

}  // namespace detent

#include "automaton/known_texts.h"

#include <algorithm>
#include <utility>

namespace detent {
namespace {

constexpr std::size_t kMost = 8, kLongest = 128;  // texts, and their byte classes
constexpr std::size_t kMostRemembered = 4'096;    // expressions, of each text

}  // namespace

void KnownTexts::add(Text text) {
  if (text.size() > kLongest) return;
  if (texts_.size() == kMost) texts_.pop_back();
  texts_.insert(texts_.begin(), std::make_shared<Known>(Known{std::move(text), {}}));
}

std::shared_ptr<const KnownTexts::Text> KnownTexts::find(ExprId id) {
  const std::vector<std::shared_ptr<Known>> texts = texts_;  // `contains` may change the list
  for (const std::shared_ptr<Known>& known : texts) {
    if (known->text.size() < exprs_[id].min_length || !contains(*known, id, 0)) continue;
    const auto position = std::ranges::find(texts_, known);
    if (position != texts_.begin() && position != texts_.end()) std::iter_swap(position, position - 1);
    return {known, &known->text};
  }
  return nullptr;
}

bool KnownTexts::contains(Known& known, ExprId id, int depth) {
  const Expr& expr = exprs_[id];
  const auto contain = [&](ExprId part) { return contains(known, part, depth + 1); };
  if (depth < kMaxDepth) {
    const auto operands = [&] { return std::vector<ExprId>(exprs_.operands(id).begin(), exprs_.operands(id).end()); };
    if (expr.op == Op::intersection) return std::ranges::all_of(operands(), contain);
    if (expr.op == Op::union_of) return std::ranges::any_of(operands(), contain);
    if (expr.op == Op::complement) return !contain(expr.part());
  }
  if (known.is_in.size() > kMostRemembered) known.is_in.clear();
  if (const auto entry = known.is_in.find(id.value); entry != known.is_in.end()) return entry->second;
  meter_.step(1 + std::ssize(known.text) / 16);  // rows that are new count by themselves
  ExprId at = id;
  for (std::uint8_t byte_class : known.text) {
    if (at == ExprSet::kEmpty) break;
    at = derivatives_.after(at, byte_class);
  }
  return known.is_in[id.value] = exprs_[at].nullable;
}

}  // namespace detent

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
  texts_.insert(texts_.begin(), {std::move(text), {}});
}

const KnownTexts::Text* KnownTexts::find(ExprId id) {
  for (std::size_t i = 0; i < texts_.size(); ++i) {
    if (texts_[i].text.size() < exprs_[id].min_length || !contains(texts_[i], id, 0)) continue;
    if (i > 0) std::swap(texts_[i], texts_[i - 1]);
    return &texts_[i > 0 ? i - 1 : 0].text;
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
  const auto [entry, is_new] = known.is_in.try_emplace(id.value);
  if (!is_new) return entry->second;
  meter_.step(1 + std::ssize(known.text) / 16);  // rows that are new count by themselves
  ExprId at = id;
  for (std::uint8_t byte_class : known.text) {
    if (at == ExprSet::kEmpty) break;
    at = derivatives_.row(at)[byte_class];
  }
  return entry->second = exprs_[at].nullable;
}

}  // namespace detent

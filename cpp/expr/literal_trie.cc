// Unions of many literals that grow by one at a time, as tries: no two operands of a union begin alike.
//
// A flat union of n literals costs n operands for each literal that is added, and n for each row. Of a trie, an added
// literal makes new expressions along its own bytes only, and a derivative is an expression that exists already.
#include <algorithm>
#include <utility>

#include "expr/parts.h"

#include "expr/expr_set.h"

namespace detent {

// Whether a sequence of literals and bytes begins with a byte.
bool ExprSet::begins_with(ExprId id, std::uint8_t byte) const {
  const Expr& expr = exprs_[id.value];
  switch (expr.op) {
    case Op::bytes: return sets_[expr.set_index()].contains(byte);
    case Op::text: return first_byte(id) == byte;
    case Op::concat: return begins_with(expr.first(), byte);  // whose first part is no sequence
    default: return false;
  }
}

// What follows the first byte of a sequence; of a set of bytes, each has the same.
ExprId ExprSet::without_first(ExprId id) {
  const Expr expr = exprs_[id.value];
  if (expr.op == Op::concat) return concat(without_first(expr.first()), expr.second());
  return expr.op == Op::text ? drop_first_byte(id) : kEpsilon;
}

// The strings of a sequence that do not begin with `byte`.
ExprId ExprSet::without_byte(ExprId id, std::uint8_t byte) {
  const Expr expr = exprs_[id.value];
  if (expr.op == Op::concat) return concat(without_byte(expr.first(), byte), expr.second());
  if (expr.op != Op::bytes) return kEmpty;
  ByteSet others = sets_[expr.set_index()];
  others.remove(byte);
  return others.empty() ? kEmpty : bytes(others);
}

ExprId ExprSet::add_to_trie(ExprId trie, std::string_view text) {
  std::vector<std::vector<ExprId>> others;  // operands beside the path of the text, after each of its bytes
  while (others.size() < text.size()) {
    const auto byte = static_cast<std::uint8_t>(text[others.size()]);
    std::vector<ExprId> parts = operands_of(*this, trie, Op::union_of);
    const auto found = std::ranges::find_if(parts, [&](ExprId part) { return begins_with(part, byte); });
    if (found == parts.end()) break;
    meter_.step(std::ssize(parts) / 8 + 1);
    trie = without_first(*found);
    *found = without_byte(*found, byte);
    others.push_back(std::move(parts));
  }
  trie = union_of({trie, literal(text.substr(others.size()))});
  for (; !others.empty(); others.pop_back()) {
    const auto byte = static_cast<std::uint8_t>(text[others.size() - 1]);
    others.back().push_back(concat(bytes(ByteSet::of(byte)), trie));
    trie = union_of(std::move(others.back()));
  }
  return trie;
}

// The texts of a trie or flat union, as many as are asked for.
std::vector<std::string> ExprSet::some_literals(ExprId texts, std::size_t most) const {
  std::vector<std::string> found;
  std::vector<std::pair<std::string, ExprId>> open{{"", texts}};  // what was read, and what follows
  while (!open.empty() && found.size() < most) {
    auto [read, id] = std::move(open.back());
    open.pop_back();
    const auto [head, tail] = split_first(*this, id);
    const auto follow = [&](std::string text) {
      if (tail == kEpsilon) {
        found.push_back(std::move(text));
      } else {
        open.emplace_back(std::move(text), tail);
      }
    };
    switch (exprs_[head.value].op) {
      case Op::union_of:
        for (ExprId operand : operands(head)) open.emplace_back(read, operand);
        break;
      case Op::bytes:
        sets_[exprs_[head.value].set_index()].each([&](std::uint8_t byte) { follow(read + static_cast<char>(byte)); });
        break;
      case Op::text: follow(read.append(text_of(head))); break;
      case Op::epsilon: follow(read); break;
      default: break;
    }
  }
  return found;
}

ExprId ExprSet::union_with_literal(ExprId texts, std::string_view added) {
  constexpr std::size_t kFew = 16;  // texts; more forms of their flat unions are known
  const std::vector<std::string> known = some_literals(texts, kFew + 1);
  if (known.size() < kFew) return union_of({texts, literal(added)});
  if (known.size() == kFew) {
    texts = kEmpty;
    for (const std::string& text : known) texts = texts == kEmpty ? literal(text) : add_to_trie(texts, text);
  }
  return add_to_trie(texts, added);
}

}  // namespace detent

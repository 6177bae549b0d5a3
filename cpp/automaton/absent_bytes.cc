#include "automaton/absent_bytes.h"

#include <unordered_map>

namespace detent {
namespace {

constexpr ByteSet kPrintable = ByteSet::range(' ', '~');  // of ASCII

// Finds the printable bytes of the texts of expressions, or more bytes; not all bytes of unions.
class UsedBytes {
 public:
  explicit UsedBytes(const ExprSet& exprs) : exprs_(exprs) {}

  ByteSet of(ExprId id, int depth) {
    if (depth == kMaxDepth || known_.size() == kMaxVisits) return ByteSet::all();
    const auto [known, is_new] = known_.try_emplace(id.value);
    if (!is_new) return known->second;
    const ByteSet found = find(id, depth + 1);
    return known_[id.value] = found;
  }

 private:
  static constexpr int kMaxDepth = 32;
  static constexpr std::size_t kMaxVisits = 256;  // each state of a condition on 1,500 words has as many parts

  ByteSet find(ExprId id, int depth) {
    ByteSet found;
    for (; exprs_[id].op == Op::concat; id = exprs_[id].second()) found = found | of(exprs_[id].first(), depth);
    const Expr& expr = exprs_[id];
    switch (expr.op) {
      case Op::empty:
      case Op::epsilon: return found;
      case Op::bytes: return found | exprs_.set(expr.set_index());
      case Op::text:
        for (char byte : exprs_.text_of(id)) found.insert(static_cast<std::uint8_t>(byte));
        return found;
      case Op::repeat: return found | of(expr.part(), depth);
      case Op::union_of:
        for (ExprId part : exprs_.operands(id)) {
          found = found | of(part, depth);
          if (kPrintable.is_subset_of(found)) break;  // thousands of words with any text after each
        }
        return found;
      case Op::intersection: {
        ByteSet all = ByteSet::all();
        for (ExprId part : exprs_.operands(id)) all = all & of(part, depth);
        return found | all;
      }
      default: return ByteSet::all();
    }
  }

  const ExprSet& exprs_;
  std::unordered_map<std::uint32_t, ByteSet> known_;
};

}  // namespace

std::optional<TextsBesideExcluded> texts_beside_excluded(const ExprSet& exprs, ExprId id) {
  if (exprs[id].op != Op::intersection) return std::nullopt;
  TextsBesideExcluded found;
  UsedBytes used(exprs);
  for (ExprId operand : exprs.operands(id)) {
    if (exprs[operand].op != Op::complement) {
      found.texts.push_back(operand);
      continue;
    }
    const ByteSet bytes = used.of(exprs[operand].part(), 0);
    ByteSet absent;
    for (char byte = ' '; byte <= '~'; ++byte) {
      if (!bytes.contains(static_cast<std::uint8_t>(byte))) absent.insert(static_cast<std::uint8_t>(byte));
    }
    if (absent.empty()) return std::nullopt;
    found.absent.push_back(absent);
  }
  if (found.texts.empty() || found.absent.empty()) return std::nullopt;
  return found;
}

}  // namespace detent

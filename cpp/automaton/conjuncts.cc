#include "automaton/conjuncts.h"

#include <algorithm>

#include "automaton/alternatives.h"

namespace detent {
namespace {

void split(ExprSet& exprs, ExprId id, int depth, std::vector<ExprId>& found) {
  constexpr int kMaxDepth = 8;
  const Expr expr = exprs[id];
  if (depth == kMaxDepth || found.size() > kMaxConjuncts) {
    found.push_back(id);
    return;
  }
  switch (expr.op) {
    case Op::intersection:
      for (ExprId part : std::vector<ExprId>(exprs.operands(id).begin(), exprs.operands(id).end())) {
        split(exprs, part, depth + 1, found);
      }
      return;
    case Op::complement:
      for (ExprId part : distribute_unions(exprs, expr.part())) found.push_back(exprs.complement(part));
      return;
    case Op::json_escaped: {
      // json_escaped takes only UTF-8 texts (json_string.h). A complement contains other strings too, so each conjunct
      // that is no text by its form is intersected with all texts.
      std::vector<ExprId> texts;
      split(exprs, expr.part(), depth + 1, texts);
      const bool has_texts = std::ranges::any_of(texts, [&exprs](ExprId part) { return exprs[part].is_text; });
      if (!has_texts || exprs.all_texts() == ExprSet::kEmpty) {
        texts = {expr.part()};
      }
      for (ExprId part : texts) {
        if (!exprs[part].is_text && texts.size() > 1) part = exprs.intersection({exprs.all_texts(), part});
        found.push_back(exprs.json_escaped(part, expr.escape_position(), expr.escape_bits()));
      }
      return;
    }
    default: found.push_back(id);
  }
}

// Whether `rest` begins with a quotation mark: it ends the JSON string at one position in all conjuncts.
bool ends_string(const ExprSet& exprs, ExprId rest) {
  const ExprId first = exprs[rest].op == Op::concat ? exprs[rest].first() : rest;
  return exprs[first].op == Op::bytes && exprs.set(exprs[first].set_index()) == ByteSet::of('"');
}

}  // namespace

bool is_self_contained(const Expr& expr) {
  return !expr.has_guard && !expr.has_lookbehind && !expr.has_lookbehind_end && !expr.has_rule && !expr.has_open_item &&
         !expr.has_closed_item;
}

std::vector<ExprId> conjuncts_of(ExprSet& exprs, ExprId id) {
  const Expr expr = exprs[id];
  std::vector<ExprId> found;
  if (!is_self_contained(expr)) return {id};
  if (expr.op != Op::concat) {
    split(exprs, id, 0, found);
  } else if (exprs[expr.first()].op == Op::json_escaped && ends_string(exprs, expr.second())) {
    split(exprs, expr.first(), 0, found);
    for (ExprId& part : found) part = exprs.concat(part, expr.second());
  }
  return found.empty() || found.size() > kMaxConjuncts ? std::vector<ExprId>{id} : found;
}

}  // namespace detent

#include "expr/lookaround.h"

#include <algorithm>
#include <unordered_map>
#include <utility>

#include "base/error.h"

namespace detent {
namespace {

// Tail forms nest as deep as the pattern's groups. Front ends bound that depth; this limit is the second line of
// defence. 500 levels of at most 400 bytes fit into the stack of a small thread.
constexpr int kMaxDepth = 500;

void check_depth(int depth) {
  if (depth > kMaxDepth) throw Error(ErrorKind::limit, "depth", depth, kMaxDepth);
}

// The futures that a lookbehind allows at this position: the part of its residual `id` at ⟨end⟩. `conditions` are the
// futures of the lookbehinds with lower numbers.
ExprId futures_at_end(ExprSet& exprs, ExprId id, const std::vector<ExprId>& conditions, int depth) {
  check_depth(depth);
  const Expr& expr = exprs[id];
  switch (expr.op) {
    case Op::lookbehind_end: return exprs.sigma_star();
    case Op::lookbehind_condition: return conditions[expr.lookbehind_index()];
    case Op::union_of: {
      const std::vector<ExprId> operands(exprs.operands(id).begin(), exprs.operands(id).end());
      std::vector<ExprId> parts;
      for (ExprId operand : operands) {
        if (exprs[operand].has_lookbehind_end) parts.push_back(futures_at_end(exprs, operand, conditions, depth + 1));
      }
      return exprs.union_of(std::move(parts));
    }
    case Op::intersection: {
      // The operands without ⟨end⟩ are lookaheads that the match up to ⟨end⟩ leaves open.
      const std::vector<ExprId> operands(exprs.operands(id).begin(), exprs.operands(id).end());
      std::vector<ExprId> parts;
      for (ExprId operand : operands) {
        const bool inside = exprs[operand].has_lookbehind_end || exprs[operand].op == Op::lookbehind_condition;
        parts.push_back(inside ? futures_at_end(exprs, operand, conditions, depth + 1) : operand);
      }
      return exprs.intersection(std::move(parts));
    }
    case Op::concat:
      return exprs[expr.first()].nullable ? futures_at_end(exprs, expr.second(), conditions, depth + 1)
                                          : ExprSet::kEmpty;
    case Op::loop: throw Error(ErrorKind::unsupported, "loop_in_lookbehind");
    default: return ExprSet::kEmpty;
  }
}

std::vector<ExprId> conditions_of(ExprSet& exprs, std::span<const ExprId> residuals) {
  std::vector<ExprId> conditions;
  for (ExprId residual : residuals) conditions.push_back(futures_at_end(exprs, residual, conditions, 0));
  return conditions;
}

bool nullable_in(ExprSet& exprs, ExprId id, const std::vector<ExprId>& conditions, int depth) {
  check_depth(depth);
  const Expr& expr = exprs[id];
  if (!expr.has_lookbehind) return expr.nullable;
  switch (expr.op) {
    case Op::lookbehind_condition:
      return nullable_in(exprs, conditions[expr.lookbehind_index()], conditions, depth + 1);
    case Op::complement: return !nullable_in(exprs, expr.part(), conditions, depth + 1);
    case Op::concat: return exprs[expr.first()].nullable && nullable_in(exprs, expr.second(), conditions, depth + 1);
    case Op::loop: return nullable_in(exprs, exprs.definition(id), conditions, depth + 1);
    case Op::union_of: {
      for (ExprId operand : exprs.operands(id)) {
        if (nullable_in(exprs, operand, conditions, depth + 1)) return true;
      }
      return false;
    }
    case Op::intersection: {
      for (ExprId operand : exprs.operands(id)) {
        if (!nullable_in(exprs, operand, conditions, depth + 1)) return false;
      }
      return true;
    }
    default: return expr.nullable;
  }
}

}  // namespace

// The residuals that a state carries: the contexts of tails with them, and the residuals after a byte of each class.
//
// A context of x & y is that of x and that of y, and likewise for unions and complements: the text before decides each
// condition. So each operand has a row of its own, which states share, and an operand without a condition has no
// context. A state of a long chain then has thousands of contexts with the same residuals, whose successors have most
// tails in common.
class Residuals {
 public:
  Residuals(ExprSet& exprs, Meter& meter, std::vector<ExprId> list)
      : exprs_(exprs), meter_(meter), list_(std::move(list)), conditions_(conditions_of(exprs, list_)) {}
  ~Residuals() { meter_.release(kEntryBytes * std::ssize(contexts_)); }
  Residuals(const Residuals&) = delete;
  Residuals& operator=(const Residuals&) = delete;

  const std::vector<ExprId>& list() const { return list_; }
  const std::vector<ExprId>& conditions() const { return conditions_; }

  ExprId context_of(ExprId tail, int depth = 0) {
    check_depth(depth);
    if (!exprs_[tail].has_lookbehind) return tail;
    if (const auto known = contexts_.find(tail.value); known != contexts_.end()) return known->second;
    const ExprId context = new_context(tail, depth);
    meter_.allocate(kEntryBytes);
    contexts_.emplace(tail.value, context);
    return context;
  }

  std::vector<Residuals*> after;  // by class, once a row has asked

 private:
  static constexpr std::int64_t kEntryBytes = 48;  // of contexts_

  ExprId new_context(ExprId tail, int depth) {
    const Expr expr = exprs_[tail];
    switch (expr.op) {
      case Op::lookbehind_condition: return context_of(conditions_[expr.lookbehind_index()], depth + 1);
      case Op::complement: return exprs_.complement(context_of(expr.part(), depth + 1));
      case Op::union_of:
      case Op::intersection: {
        std::vector<ExprId> parts(exprs_.operands(tail).begin(), exprs_.operands(tail).end());
        meter_.step(std::ssize(parts) / 16 + 1);
        for (ExprId& part : parts) part = context_of(part, depth + 1);
        return expr.op == Op::union_of ? exprs_.union_of(std::move(parts)) : exprs_.intersection(std::move(parts));
      }
      default: return exprs_.lookbehind_context(tail, list_, nullable_in(exprs_, tail, conditions_, 0));
    }
  }

  ExprSet& exprs_;
  Meter& meter_;
  std::vector<ExprId> list_, conditions_;
  std::unordered_map<std::uint32_t, ExprId> contexts_;  // by tail
};

namespace {

class ScopeCompiler {
 public:
  ScopeCompiler(ExprSet& exprs, Meter& meter, const std::function<ExprId(const NodeRef&)>& intern)
      : exprs_(exprs), meter_(meter), intern_(intern) {}

  ExprId compile(const Node& body) {
    const ExprId tail = then(body, ExprSet::kEpsilon, 0);
    return Residuals(exprs_, meter_, residuals_).context_of(tail);
  }

 private:
  // A match of `node`, then `tail`.
  ExprId then(const NodeRef& node, ExprId tail, int depth) {
    if (!node->has_assertion()) return exprs_.concat(intern_(node), tail);
    return then(*node, tail, depth);
  }

  ExprId then(const Node& node, ExprId tail, int depth) {
    check_depth(depth);
    switch (node.kind()) {
      case NodeKind::concat:
        for (std::size_t i = node.children().size(); i-- > 0;) tail = then(node.children()[i], tail, depth + 1);
        return tail;
      case NodeKind::union_of: {
        std::vector<ExprId> parts;
        for (const NodeRef& child : node.children()) parts.push_back(then(child, tail, depth + 1));
        return exprs_.union_of(std::move(parts));
      }
      case NodeKind::repeat: {
        const NodeRef& body = node.children()[0];
        if (node.maximum() == Node::kUnbounded) {
          tail = loop(body, tail, depth);
        } else {
          const ExprId exit = tail;
          for (std::uint32_t i = node.minimum(); i < node.maximum(); ++i) {
            const ExprId longer = exprs_.union_of({exit, then_nonempty(body, tail, depth + 1)});
            if (longer == tail) break;
            tail = longer;
          }
        }
        for (std::uint32_t i = 0; i < node.minimum(); ++i) {
          const ExprId longer = then(body, tail, depth + 1);
          if (longer == tail) break;
          tail = longer;
        }
        return tail;
      }
      case NodeKind::lookahead:
      case NodeKind::lookbehind: return exprs_.intersection({assertion(node, depth), tail});
      default: throw Error(ErrorKind::unsupported, "assertion_under_algebra");
    }
  }

  // Each round of a loop consumes a byte, so that the definition is guarded. An empty round adds no text, because an
  // assertion only removes texts.
  ExprId loop(const NodeRef& body, ExprId exit, int depth) {
    const Expr& out = exprs_[exit];
    // Whether the body contains a lookbehind is known only after it is built. Assuming that it does costs one context.
    const ExprId id = exprs_.loop(out.nullable && !out.has_lookbehind, true, out.has_lookbehind_end);
    exprs_.define(id, exprs_.union_of({exit, then_nonempty(body, id, depth + 1)}));
    return id;
  }

  // A match of `node` that is not empty, then `tail`.
  ExprId then_nonempty(const NodeRef& ref, ExprId tail, int depth) {
    check_depth(depth);
    const Node& node = *ref;
    if (!node.has_assertion()) {
      const ExprId id = intern_(ref);
      if (!exprs_[id].nullable) return exprs_.concat(id, tail);
      const ExprId some = exprs_.repeat(exprs_.bytes(ByteSet::all()), 1, ExprSet::kUnbounded);
      return exprs_.concat(exprs_.intersection({id, some}), tail);
    }
    switch (node.kind()) {
      case NodeKind::concat: {
        // One union operand for each child that may be the first to consume a byte. The children before it match empty.
        std::vector<ExprId> parts;
        const auto& children = node.children();
        for (std::size_t first = 0; first < children.size(); ++first) {
          ExprId rest = tail;
          for (std::size_t i = children.size(); i-- > first + 1;) rest = then(children[i], rest, depth + 1);
          rest = then_nonempty(children[first], rest, depth + 1);
          for (std::size_t i = first; i-- > 0;) rest = then_empty(children[i], rest, depth + 1);
          parts.push_back(rest);
        }
        return exprs_.union_of(std::move(parts));
      }
      case NodeKind::union_of: {
        std::vector<ExprId> parts;
        for (const NodeRef& child : node.children()) parts.push_back(then_nonempty(child, tail, depth + 1));
        return exprs_.union_of(std::move(parts));
      }
      case NodeKind::repeat: {
        const NodeRef& body = node.children()[0];
        if (node.maximum() == 0) return ExprSet::kEmpty;
        // One round consumes a byte; the other required rounds may be empty.
        const std::uint32_t required = node.minimum() == 0 ? 0 : node.minimum() - 1;
        const std::uint32_t more = node.maximum() == Node::kUnbounded ? Node::kUnbounded : node.maximum() - 1;
        const NodeRef rest = Node::repeat(body, required, more);
        ExprId after = then_nonempty(body, then(*rest, tail, depth + 1), depth + 1);
        if (required == 0) return after;
        // Rounds before the consuming one may be empty, if their assertions allow it.
        return exprs_.union_of({after, then_empty(body, then_nonempty(rest, tail, depth + 1), depth + 1)});
      }
      default: return ExprSet::kEmpty;
    }
  }

  // An empty match of `node`, then `tail`.
  ExprId then_empty(const NodeRef& ref, ExprId tail, int depth) {
    check_depth(depth);
    const Node& node = *ref;
    if (!node.has_assertion()) return exprs_[intern_(ref)].nullable ? tail : ExprSet::kEmpty;
    switch (node.kind()) {
      case NodeKind::concat:
        for (std::size_t i = node.children().size(); i-- > 0;) tail = then_empty(node.children()[i], tail, depth + 1);
        return tail;
      case NodeKind::union_of: {
        std::vector<ExprId> parts;
        for (const NodeRef& child : node.children()) parts.push_back(then_empty(child, tail, depth + 1));
        return exprs_.union_of(std::move(parts));
      }
      case NodeKind::repeat: return node.minimum() == 0 ? tail : then_empty(node.children()[0], tail, depth + 1);
      default: return then(node, tail, depth);
    }
  }

  ExprId assertion(const Node& node, int depth) {
    const NodeRef& body = node.children()[0];
    ExprId condition;
    if (node.kind() == NodeKind::lookahead) {
      condition = then(body, exprs_.sigma_star(), depth + 1);
    } else {
      // Inner lookbehinds have lower numbers, so that their conditions are computed first.
      const ExprId residual = exprs_.concat(exprs_.sigma_star(), then(body, exprs_.lookbehind_end(), depth + 1));
      const auto known = std::find(residuals_.begin(), residuals_.end(), residual);
      condition = exprs_.lookbehind_condition(static_cast<std::uint32_t>(known - residuals_.begin()));
      if (known == residuals_.end()) residuals_.push_back(residual);
    }
    return node.negative() ? exprs_.complement(condition) : condition;
  }

  ExprSet& exprs_;
  Meter& meter_;
  const std::function<ExprId(const NodeRef&)>& intern_;
  std::vector<ExprId> residuals_;
};

}  // namespace

ExprId compile_scope(ExprSet& exprs, Meter& meter, const Node& body,
                     const std::function<ExprId(const NodeRef&)>& intern) {
  return ScopeCompiler(exprs, meter, intern).compile(body);
}

std::vector<ExprId> LookbehindRows::row(ExprId id, const std::vector<ExprId>& conditions, int depth) {
  check_depth(depth);
  meter_.step();
  const Expr& expr = exprs_[id];
  std::vector<ExprId> out(class_count_, ExprSet::kEmpty);
  if (!expr.has_lookbehind) {
    if (const ExprId* known = find_row_(id)) {
      std::copy_n(known, class_count_, out.begin());
    } else {
      missing_.push_back(id);
    }
    return out;
  }
  switch (expr.op) {
    case Op::lookbehind_condition: return row(conditions[expr.lookbehind_index()], conditions, depth + 1);
    case Op::complement: {
      out = row(expr.part(), conditions, depth + 1);
      for (ExprId& derivative : out) derivative = exprs_.complement(derivative);
      return out;
    }
    case Op::loop: return row(exprs_.definition(id), conditions, depth + 1);
    case Op::concat: {
      const ExprId second = expr.second();
      out = row(expr.first(), conditions, depth + 1);
      for (ExprId& derivative : out) derivative = exprs_.concat(derivative, second);
      if (exprs_[expr.first()].nullable) {
        const std::vector<ExprId> skipped = row(second, conditions, depth + 1);
        for (std::uint32_t c = 0; c < class_count_; ++c) out[c] = exprs_.union_of({out[c], skipped[c]});
      }
      return out;
    }
    default: {  // union, intersection
      const std::vector<ExprId> operands(exprs_.operands(id).begin(), exprs_.operands(id).end());
      std::vector<std::vector<ExprId>> rows;
      for (ExprId operand : operands) rows.push_back(row(operand, conditions, depth + 1));
      for (std::uint32_t c = 0; c < class_count_; ++c) {
        std::vector<ExprId> parts;
        for (const auto& inner : rows) parts.push_back(inner[c]);
        out[c] = expr.op == Op::union_of ? exprs_.union_of(std::move(parts)) : exprs_.intersection(std::move(parts));
      }
      return out;
    }
  }
}

LookbehindRows::LookbehindRows(ExprSet& exprs, Meter& meter, FindRow find_row)
    : exprs_(exprs), meter_(meter), find_row_(std::move(find_row)) {}

LookbehindRows::~LookbehindRows() = default;

Residuals& LookbehindRows::find(std::vector<ExprId> list) {
  std::unique_ptr<Residuals>& found = residuals_[list];
  if (!found) found = std::make_unique<Residuals>(exprs_, meter_, std::move(list));
  return *found;
}

// Sets `after` of the residuals; or returns false, and rows are missing.
bool LookbehindRows::follow(Residuals& residuals) {
  if (!residuals.after.empty()) return true;
  std::vector<std::vector<ExprId>> rows;
  for (ExprId residual : residuals.list()) rows.push_back(row(residual, residuals.conditions(), 0));
  if (!missing_.empty()) return false;
  std::vector<Residuals*> after;
  for (std::uint32_t c = 0; c < class_count_; ++c) {
    std::vector<ExprId> list;
    for (const std::vector<ExprId>& inner : rows) list.push_back(inner[c]);
    // Neighbouring classes often lead to the same residuals.
    after.push_back(c > 0 && after.back()->list() == list ? after.back() : &find(std::move(list)));
  }
  residuals.after = std::move(after);
  return true;
}

bool LookbehindRows::derive(ExprId id, std::uint32_t class_count, ExprId* out) {
  constexpr std::size_t kMaxResiduals = 64;  // where each state has residuals of its own, none are met again
  if (residuals_.size() > kMaxResiduals) residuals_.clear();
  missing_.clear();
  class_count_ = class_count;
  const std::vector<ExprId> operands(exprs_.operands(id).begin(), exprs_.operands(id).end());
  Residuals& residuals = find({operands.begin() + 1, operands.end()});
  const std::vector<ExprId> tails = row(operands[0], residuals.conditions(), 0);
  if (!follow(residuals) || !missing_.empty()) return false;
  for (std::uint32_t c = 0; c < class_count_; ++c) out[c] = residuals.after[c]->context_of(tails[c]);
  return true;
}

}  // namespace detent

#include "expr/derivative.h"

#include <algorithm>
#include <map>

#include "expr/lookaround.h"

namespace detent {

void Derivatives::settle() {
  // Refine one class at a time by each set.
  std::array<std::uint16_t, 256> part{};
  std::uint32_t count = 1;
  for (std::uint32_t i = 0; i < exprs_.set_count(); ++i) {
    const ByteSet& set = exprs_.set(i);
    std::array<std::uint16_t, 256> split{};
    for (unsigned byte = 0; byte < 256; ++byte) {
      if (!set.contains(static_cast<std::uint8_t>(byte))) continue;
      split[part[byte]] |= 1;
    }
    for (unsigned byte = 0; byte < 256; ++byte) {
      if (!set.contains(static_cast<std::uint8_t>(byte))) split[part[byte]] |= 2;
    }
    std::array<std::uint16_t, 256> moved{};
    for (unsigned byte = 0; byte < 256; ++byte) {
      const std::uint16_t old = part[byte];
      if (split[old] != 3 || !set.contains(static_cast<std::uint8_t>(byte))) continue;
      if (!moved[old]) moved[old] = static_cast<std::uint16_t>(count++);
      part[byte] = moved[old];
    }
    meter_.step();
  }
  // Number the classes by their first byte, so that rows do not depend on the order of the sets.
  std::array<std::int16_t, 256> number;
  number.fill(-1);
  class_count_ = 0;
  for (unsigned byte = 0; byte < 256; ++byte) {
    std::int16_t& n = number[part[byte]];
    if (n < 0) {
      n = static_cast<std::int16_t>(class_count_);
      representative_[class_count_++] = static_cast<std::uint8_t>(byte);
    }
    class_of_[byte] = static_cast<std::uint8_t>(n);
  }
}

const std::vector<std::uint8_t>& Derivatives::classes_of(std::uint32_t set) {
  if (set >= set_classes_.size()) set_classes_.resize(exprs_.set_count());
  std::vector<std::uint8_t>& classes = set_classes_[set];
  if (classes.empty()) {
    for (std::uint32_t i = 0; i < class_count_; ++i) {
      if (exprs_.set(set).contains(representative_[i])) classes.push_back(static_cast<std::uint8_t>(i));
    }
  }
  return classes;
}

ExprId* Derivatives::allocate_row() {
  if (block_free_ < class_count_) {
    // Blocks double, so that a small pattern stays small.
    const std::size_t rows = std::size_t{8} << std::min<std::size_t>(blocks_.size(), 7);
    meter_.allocate(static_cast<std::int64_t>(rows * class_count_ * sizeof(ExprId)));
    blocks_.push_back(std::make_unique_for_overwrite<ExprId[]>(rows * class_count_));
    block_free_ = rows * class_count_;
    next_row_ = blocks_.back().get();
  }
  ExprId* row = next_row_;
  next_row_ += class_count_;
  block_free_ -= class_count_;
  return row;
}

ExprId* Derivatives::row(ExprId id) {
  if (ExprId* row = known(id)) return row;
  std::vector<ExprId> pending{id};
  std::array<ExprId, 256> out;
  while (!pending.empty()) {
    const ExprId next = pending.back();
    if (known(next)) {
      pending.pop_back();
      continue;
    }
    missing_.clear();
    if (!compute(next, out.data())) {
      pending.insert(pending.end(), missing_.begin(), missing_.end());
      continue;
    }
    meter_.add_state();
    meter_.step(class_count_ / 8 + 1);
    ExprId* row = allocate_row();
    std::copy_n(out.begin(), class_count_, row);
    if (next.value >= rows_.size()) rows_.resize(std::max<std::size_t>(exprs_.size(), rows_.size() * 3 / 2));
    rows_[next.value] = row;
    pending.pop_back();
  }
  return known(id);
}

bool Derivatives::compute(ExprId id, ExprId* out) {
  const Expr& expr = exprs_[id];
  switch (expr.op) {
    case Op::complement: {
      const ExprId* inner = known(ExprId{expr.a});
      if (!inner) {
        missing_.push_back(ExprId{expr.a});
        return false;
      }
      for (std::uint32_t c = 0; c < class_count_; ++c) out[c] = exprs_.complement(inner[c]);
      return true;
    }
    case Op::conjunction: {
      // The row of a complement is that of its operand with each entry complemented: no need to keep it, too.
      struct Operand {
        const ExprId* row;
        bool negated;
      };
      std::vector<Operand> operands;
      for (ExprId operand : exprs_.operands(id)) {
        const bool negated = exprs_[operand].op == Op::complement;
        const ExprId source = negated ? ExprId{exprs_[operand].a} : operand;
        operands.push_back({known(source), negated});
        if (!operands.back().row) missing_.push_back(source);
      }
      if (!missing_.empty()) return false;
      for (std::uint32_t c = 0; c < class_count_; ++c) {
        // Neighbouring classes often go the same way.
        if (c > 0 && std::ranges::all_of(operands, [c](const Operand& o) { return o.row[c] == o.row[c - 1]; })) {
          out[c] = out[c - 1];
          continue;
        }
        std::vector<ExprId> parts;
        for (const Operand& operand : operands) {
          parts.push_back(operand.negated ? exprs_.complement(operand.row[c]) : operand.row[c]);
        }
        out[c] = exprs_.conjunction(std::move(parts));
      }
      return true;
    }
    case Op::context:
      return context(id, out);
    default:
      return linear(id, out);
  }
}

bool Derivatives::linear(ExprId id, ExprId* out) {
  pairs_.clear();
  std::vector<Term> terms{{id, ExprSet::kEpsilon}};
  while (!terms.empty()) {
    const auto [head, tail] = terms.back();
    terms.pop_back();
    meter_.step();
    // An operand whose row is there already, such as the start of a search for words: take the row, not its linear form.
    if (const ExprId* inner = head == id ? nullptr : known(head)) {
      for (std::uint32_t c = 0; c < class_count_; ++c) {
        if (inner[c] != ExprSet::kEmpty) {
          pairs_.emplace_back(static_cast<std::uint8_t>(c), exprs_.concat(inner[c], tail));
        }
      }
      continue;
    }
    const Expr& expr = exprs_[head];
    switch (expr.op) {
      case Op::empty:
      case Op::epsilon:
      case Op::hole:
        break;
      case Op::bytes:
        for (std::uint8_t c : classes_of(expr.a)) pairs_.emplace_back(c, tail);
        break;
      case Op::text:
        terms.push_back({exprs_.spell(head), tail});
        break;
      case Op::concat: {
        const ExprId first{expr.a};
        const ExprId second{expr.b};
        if (exprs_[first].nullable) terms.push_back({second, tail});
        terms.push_back({first, exprs_.concat(second, tail)});
        break;
      }
      case Op::alternation:
        for (ExprId operand : exprs_.operands(head)) terms.push_back({operand, tail});
        break;
      case Op::repeat: {
        const std::uint32_t low = expr.b == 0 ? 0 : expr.b - 1;
        const std::uint32_t high = expr.c == ExprSet::kUnbounded ? expr.c : expr.c - 1;
        const ExprId part{expr.a};
        terms.push_back({part, exprs_.concat(exprs_.repeat(part, low, high), tail)});
        break;
      }
      default:
        missing_.push_back(head);
    }
  }
  if (!missing_.empty()) return false;

  std::sort(pairs_.begin(), pairs_.end());
  std::fill_n(out, class_count_, ExprSet::kEmpty);
  std::vector<ExprId> last;  // the operands of the class before, whose union is often this one's too
  ExprId last_union = ExprSet::kEmpty;
  for (std::size_t i = 0; i < pairs_.size();) {
    const std::uint8_t c = pairs_[i].first;
    std::vector<ExprId> parts;
    for (; i < pairs_.size() && pairs_[i].first == c; ++i) {
      if (parts.empty() || parts.back() != pairs_[i].second) parts.push_back(pairs_[i].second);
    }
    if (parts != last) {
      last = parts;
      last_union = parts.size() == 1 ? parts[0] : exprs_.alternation(std::move(parts));
    }
    out[c] = last_union;
  }
  return true;
}

bool Derivatives::context(ExprId id, ExprId* out) {
  ContextRow step(exprs_, meter_, class_count_, [this](ExprId part) { return known(part); });
  if (step.derive(id, out)) return true;
  missing_ = step.missing();
  return false;
}

}  // namespace detent

#include "expr/derivative.h"

#include <algorithm>
#include <bit>

#include "expr/json_string.h"

namespace detent {

void Derivatives::freeze_byte_classes() {
  const auto count = static_cast<std::uint32_t>(exprs_.set_count());
  if (count == frozen_sets_) return;
  // Two bytes are equivalent if they were before and the same further sets contain them. The signature of a byte is the
  // sum of one random number for its class before and one for each further set.
  std::array<Hash128, 256> signatures;
  for (unsigned byte = 0; byte < 256; ++byte) signatures[byte] = mix(Hash128{}, UINT32_MAX - class_of_[byte]);
  for (std::uint32_t i = std::exchange(frozen_sets_, count); i < count; ++i) {
    const Hash128 number = mix(Hash128{}, i);
    for (unsigned word = 0; word < 4; ++word) {
      for (std::uint64_t bits = exprs_.set(i).words()[word]; bits; bits &= bits - 1) {
        Hash128& signature = signatures[word * 64 + static_cast<unsigned>(std::countr_zero(bits))];
        signature = sum(signature, number);
      }
    }
    meter_.step();
  }
  // Classes are numbered by their first byte, so that rows do not depend on the order of the sets.
  class_count_ = 0;
  std::array<std::uint16_t, 1024> table{};  // open addressing; 1 + a class, 0: free
  for (unsigned byte = 0; byte < 256; ++byte) {
    std::size_t slot = signatures[byte].low % table.size();
    while (table[slot] && signatures[representative_[table[slot] - 1]] != signatures[byte]) {
      slot = (slot + 1) % table.size();
    }
    if (!table[slot]) {
      representative_[class_count_] = static_cast<std::uint8_t>(byte);
      table[slot] = static_cast<std::uint16_t>(++class_count_);
    }
    class_of_[byte] = static_cast<std::uint8_t>(table[slot] - 1);
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
    // Blocks double, so that a small pattern takes little memory.
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
  if (ExprId* row = find_row(id)) return row;
  std::vector<ExprId> pending{id};
  std::array<ExprId, 256> out;
  while (!pending.empty()) {
    const ExprId next = pending.back();
    if (find_row(next)) {
      pending.pop_back();
      continue;
    }
    missing_.clear();
    if (!compute_row(next, out.data())) {
      pending.insert(pending.end(), missing_.begin(), missing_.end());
      continue;
    }
    meter_.add_state();
    meter_.step(class_count_ / 8 + 1);
    ExprId* row = allocate_row();
    std::copy_n(out.begin(), class_count_, row);
    rows_.set(next.value, row);
    pending.pop_back();
  }
  return find_row(id);
}

bool Derivatives::compute_row(ExprId id, ExprId* out) {
  switch (exprs_[id].op) {
    case Op::complement: return row_of_complement(id, out);
    case Op::grown_union:
      for (std::uint32_t c = 0; c < class_count_; ++c) out[c] = after_grown_union(id, c);
      return true;
    case Op::intersection: return row_of_intersection(id, out);
    case Op::lookbehind_context: return row_of_lookbehind(id, out);
    case Op::json_escaped: return row_of_json_string(id, out);
    case Op::decimal:
      for (std::uint32_t c = 0; c < class_count_; ++c) out[c] = after_decimal(id, c);
      return true;
    default: return row_from_linear_form(id, out);
  }
}

bool Derivatives::row_of_complement(ExprId id, ExprId* out) {
  const ExprId part = exprs_[id].part();
  const ExprId* inner = find_row(part);
  if (!inner) {
    missing_.push_back(part);
    return false;
  }
  for (std::uint32_t c = 0; c < class_count_; ++c) out[c] = exprs_.complement(inner[c]);
  return true;
}

ExprId Derivatives::after(ExprId id, std::uint32_t byte_class) {
  if (const ExprId* known = find_row(id)) return known[byte_class];
  switch (exprs_[id].op) {
    case Op::grown_union: return after_grown_union(id, byte_class);
    case Op::decimal: return after_decimal(id, byte_class);
    default: return row(id)[byte_class];
  }
}

ExprId Derivatives::after_grown_union(ExprId id, std::uint32_t byte_class) {
  const auto key = [byte_class](ExprId grown) { return std::uint64_t{grown.value} << 8 | byte_class; };
  std::vector<ExprId> unknown;  // the last grown one first
  while (exprs_[id].op == Op::grown_union && !after_grown_.contains(key(id))) {
    unknown.push_back(id);
    id = exprs_[id].first();
  }
  ExprId next = exprs_[id].op == Op::grown_union ? after_grown_.at(key(id)) : after(id, byte_class);
  for (; !unknown.empty(); unknown.pop_back()) {
    const ExprId grown = unknown.back();
    meter_.step();
    meter_.allocate(48);
    next = exprs_.grown_union(next, after(exprs_[grown].second(), byte_class));
    after_grown_.emplace(key(grown), next);
  }
  return next;
}

bool Derivatives::row_of_intersection(ExprId id, ExprId* out) {
  // The row of a complement is the row of its operand with each entry complemented, so it is not stored.
  struct Operand {
    const ExprId* row;
    bool negated;
  };
  std::vector<Operand> operands;
  operands.reserve(exprs_.operands(id).size());
  std::vector<ExprId> excluded;  // grown unions, without a row
  for (ExprId operand : exprs_.operands(id)) {
    const bool negated = exprs_[operand].op == Op::complement;
    const ExprId source = negated ? exprs_[operand].part() : operand;
    if (negated && exprs_[source].op == Op::grown_union) {
      excluded.push_back(source);
      continue;
    }
    operands.push_back({find_row(source), negated});
    if (!operands.back().row) missing_.push_back(source);
  }
  if (!missing_.empty()) return false;
  if (!excluded.empty()) {
    for (std::uint32_t c = 0; c < class_count_; ++c) {
      std::vector<ExprId> parts;
      for (const Operand& each : operands) parts.push_back(each.negated ? exprs_.complement(each.row[c]) : each.row[c]);
      out[c] = ExprSet::kEmpty;
      if (std::ranges::find(parts, ExprSet::kEmpty) != parts.end()) continue;
      for (ExprId grown : excluded) parts.push_back(exprs_.complement(after(grown, c)));
      out[c] = exprs_.intersection(std::move(parts));
    }
    return true;
  }
  for (std::uint32_t c = 0; c < class_count_; ++c) {
    // Neighbouring classes often have equal entries in all rows.
    if (c > 0 && std::ranges::all_of(operands, [c](const Operand& o) { return o.row[c] == o.row[c - 1]; })) {
      out[c] = out[c - 1];
      continue;
    }
    const auto part = [&](const Operand& operand) {
      return operand.negated ? exprs_.complement(operand.row[c]) : operand.row[c];
    };
    if (operands.size() == 2) {
      // Most classes of neighbouring rows lead to the same pairs.
      const ExprId first = part(operands[0]), second = part(operands[1]);
      if (first == ExprSet::kEmpty || second == ExprSet::kEmpty) {
        out[c] = ExprSet::kEmpty;
        continue;
      }
      CachedPair& cached = recent_[(first.value * 0x9E3779B1u ^ second.value * 0x85EBCA77u) >> kRecentShift];
      if (cached.first != first || cached.second != second) {
        cached = {first, second, exprs_.intersection({first, second})};
      }
      out[c] = cached.result;
      continue;
    }
    std::vector<ExprId> parts;
    parts.reserve(operands.size());
    for (const Operand& operand : operands) parts.push_back(part(operand));
    const bool is_dead = std::ranges::find(parts, ExprSet::kEmpty) != parts.end();
    out[c] = ExprSet::kEmpty;
    if (!is_dead) out[c] = exprs_.intersection(std::move(parts));
  }
  return true;
}

// Replaces dead entries by the empty language in the rows that read the first character of `texts`. Otherwise an escape
// would try each of the 65,536 characters that lead to a dead state.
void Derivatives::drop_dead_characters(ExprId texts) {
  constexpr int kMaxDepth = 8;  // strings nested in strings; deeper ones keep their dead entries
  if (!is_live_ || pruning_depth_ >= kMaxDepth) return;
  ++pruning_depth_;
  struct DepthGuard {
    int& depth;
    ~DepthGuard() { --depth; }
  } guard{pruning_depth_};
  std::vector<std::pair<ExprId, int>> pending{{texts, 0}};
  while (!pending.empty()) {
    const auto [at, bytes_read] = pending.back();
    pending.pop_back();
    if (exprs_[at].nonempty || !pruned_.insert(at.value).second) continue;
    ExprId* entries = row(at);
    const ByteSet live = bytes_read == 0 ? live_after_(at) : ByteSet{};
    std::array<bool, 256> is_live;  // by class, with the rest of the character
    is_live.fill(true);
    for (unsigned byte = 0; byte < 256; ++byte) {
      if (!live.contains(static_cast<std::uint8_t>(byte))) is_live[class_of_[byte]] = false;
    }
    for (std::uint32_t c = 0; c < class_count_; ++c) {
      if (entries[c] == ExprSet::kEmpty || is_live[c]) continue;
      if (!is_live_(entries[c])) {
        entries[c] = ExprSet::kEmpty;
      } else if (bytes_read < 3 && representative_[c] >= 0x80) {
        pending.emplace_back(entries[c], bytes_read + 1);
      }
    }
  }
}

bool Derivatives::row_of_json_string(ExprId id, ExprId* out) {
  const EscapePosition position = escape_position_of(exprs_[id].escape_position());
  const bool reads_digit = position != EscapePosition::text && position != EscapePosition::escape;
  if (reads_digit) drop_dead_characters(exprs_[id].part());
  JsonStringRow step(exprs_, class_of_, class_count_, [this](ExprId part) { return find_row(part); });
  if (step.derive(id, out)) return true;
  missing_ = step.missing();
  return false;
}

bool Derivatives::row_of_lookbehind(ExprId id, ExprId* out) {
  if (lookbehind_rows_.derive(id, class_count_, out)) return true;
  missing_ = lookbehind_rows_.missing();
  return false;
}

}  // namespace detent

// Liveness of `~x & g`, where g calls rules: the state after a token with a guard, such as "no letter may follow".
//
// A search over the states of such an intersection reads bytes of g until ~x restricts it no longer. Each stack of a
// grammar is another g, so that searches share nothing. In the masks of a C grammar they expanded 32,000 states, of
// which walks visited 1,200.
//
// Idea: if no text of x begins with some byte, every text of g that begins with this byte is in the intersection. The
// form of g shows the length of a shortest such text.
//
// Most often the intersection is dead, such as `~(\w Σ*) & [a-z] ...`. Then it is dead with all strings after what g
// begins with, too. All stacks share this question. Case: after each keyword of Python before a bracket, the texts of a
// name that goes on with some byte of \w took 600 states to search.
#include <queue>
#include <set>
#include <utility>

#include "automaton/liveness.h"
#include "expr/lengths.h"
#include "expr/parts.h"

namespace detent {

// The operand of `~x & ~y & g` that is no complement; the empty language if `id` is of another form.
ExprId Liveness::operand_after_guards(ExprId id) const {
  const Expr& expr = exprs_[id];
  if (use_ != Use::bounds || expr.op != Op::intersection || !expr.has_rule || expr.has_lookbehind ||
      expr.has_lookbehind_end || expr.has_open_item || expr.has_closed_item) {
    return ExprSet::kEmpty;
  }
  ExprId found = ExprSet::kEmpty;
  for (ExprId operand : exprs_.operands(id)) {
    const bool is_exclusion = exprs_[operand].op == Op::complement;
    if (is_exclusion ? exprs_[operand].has_rule || exprs_[operand].has_guard : found != ExprSet::kEmpty) {
      return ExprSet::kEmpty;
    }
    if (!is_exclusion) found = operand;
  }
  return found;
}

// A search for a text of g that begins with a byte of no excluded text, by the shortest texts first.
class Liveness::FirstByteSearch {
 public:
  explicit FirstByteSearch(Liveness& liveness) : liveness_(liveness), exprs_(liveness.exprs_) {}

  // The length of such a text for the intersection `id`, whose operand g is `tail`; nothing if the search finds none.
  std::optional<std::uint32_t> run(ExprId id, ExprId tail) {
    free_sets_ = {exprs_.alphabet()};
    for (ExprId operand : std::vector<ExprId>(exprs_.operands(id).begin(), exprs_.operands(id).end())) {
      if (operand != tail) remove_first_bytes(free_sets_[0], exprs_[operand].part());
    }
    push(tail, 0, 0);
    std::set<std::pair<std::uint32_t, std::uint32_t>> seen;
    while (!waiting_.empty() && seen.size() < kMaxParts) {
      const Entry entry = waiting_.top();
      waiting_.pop();
      if (entry.part == ExprSet::kEmpty) return entry.rest;
      if (!seen.emplace(entry.part.value, entry.free_set).second) continue;
      liveness_.meter_.step();
      const Expr& expr = exprs_[entry.part];
      if (expr.has_rule || expr.has_guard) {
        expand(entry);
      } else {  // all stacks share its row
        read_byte(entry);
      }
    }
    return std::nullopt;
  }

 private:
  static constexpr std::size_t kMaxParts = 512;

  // Texts of `part` that begin with a byte of a set, before `rest` bytes; without a part, such a text was found.
  struct Entry {
    std::uint32_t least;  // length in all
    ExprId part;
    std::uint32_t rest;
    std::uint32_t free_set;
    bool operator>(const Entry& other) const { return least > other.least; }
  };

  ExprId after(const ExprId* row, unsigned byte) const { return row[liveness_.derivatives_.class_of()[byte]]; }

  void remove_first_bytes(ByteSet& bytes, ExprId texts) {
    const ExprId* row = liveness_.derivatives_.row(texts);
    for (unsigned byte = 0; byte < 256; ++byte) {
      if (after(row, byte) != ExprSet::kEmpty) bytes.remove(static_cast<std::uint8_t>(byte));
    }
  }

  void push(ExprId part, std::uint64_t rest, std::uint32_t free_set) {
    const std::uint32_t known = liveness_.known(part);
    const std::uint32_t length = known == kUnknown ? exprs_[part].min_length : known;
    if (length == kDead || rest >= kMaxLength) return;
    waiting_.push({saturating_add(length, rest), part, static_cast<std::uint32_t>(rest), free_set});
  }

  void read_byte(const Entry& entry) {
    const ExprId* row = liveness_.derivatives_.row(entry.part);
    for (unsigned byte = 0; byte < 256; ++byte) {
      if (!free_sets_[entry.free_set].contains(static_cast<std::uint8_t>(byte))) continue;
      const std::uint32_t length = liveness_.known(after(row, byte));
      const std::uint32_t total = saturating_add(length, std::uint64_t{entry.rest} + 1);
      if (length < kUnknown && total < kMaxLength) waiting_.push({total, ExprSet::kEmpty, total, entry.free_set});
    }
  }

  void expand(const Entry& entry) {
    const auto [least, part, rest, free_set] = entry;
    const Expr expr = exprs_[part];
    switch (expr.op) {
      case Op::concat: {
        const Expr first = exprs_[expr.first()];
        if (const std::uint32_t second = liveness_.known(expr.second()); second < kUnknown) {
          push(expr.first(), std::uint64_t{rest} + second, free_set);
        }
        if (!first.nullable) break;
        if (!first.has_guard) {
          push(expr.second(), rest, free_set);
        } else if (first.op == Op::maximal_munch && !first.has_rule && !exprs_[first.munched()].has_guard) {
          ByteSet free = free_sets_[free_set];
          remove_first_bytes(free, first.munched());
          free_sets_.push_back(free);
          push(expr.second(), rest, static_cast<std::uint32_t>(free_sets_.size() - 1));
        }
        break;
      }
      case Op::union_of:
        for (ExprId operand : exprs_.operands(part)) push(operand, rest, free_set);
        break;
      case Op::repeat:
        if (const std::uint64_t length = liveness_.known(expr.part()); length < kUnknown) {
          push(expr.part(), rest + (expr.minimum() > 1 ? length * (expr.minimum() - 1) : 0), free_set);
        }
        break;
      case Op::rule: push(exprs_.definition(part), rest, free_set); break;
      case Op::maximal_munch: push(expr.part(), std::uint64_t{rest} + expr.escape(), free_set); break;
      default: break;
    }
  }

  Liveness& liveness_;
  const ExprSet& exprs_;
  std::vector<ByteSet> free_sets_;  // bytes that no excluded text begins with
  std::priority_queue<Entry, std::vector<Entry>, std::greater<>> waiting_;
};

std::optional<std::uint32_t> Liveness::length_by_first_byte(ExprId id) {
  const ExprId tail = operand_after_guards(id);
  if (tail == ExprSet::kEmpty || exprs_[tail].has_strict_guard) return std::nullopt;
  return FirstByteSearch(*this).run(id, tail);
}

std::optional<ExprId> Liveness::widened_after_guards(ExprId id, ExprId tail) {
  constexpr std::size_t kMany = 64;  // alternatives
  if (tail == ExprSet::kEmpty) return std::nullopt;
  std::vector<ExprId> alternatives = operands_of(exprs_, tail, Op::union_of);
  if (alternatives.size() > kMany) return std::nullopt;
  for (ExprId& alternative : alternatives) {
    ExprId first = split_first(exprs_, alternative).first;
    if (exprs_[first].op == Op::maximal_munch) first = exprs_[first].part();
    if (exprs_[first].has_rule || exprs_[first].has_guard || exprs_[first].nullable) return std::nullopt;
    alternative = exprs_.concat(first, exprs_.sigma_star());
  }
  std::vector<ExprId> operands(exprs_.operands(id).begin(), exprs_.operands(id).end());
  std::erase(operands, tail);
  operands.push_back(exprs_.union_of(std::move(alternatives)));
  return exprs_.intersection(std::move(operands));
}

// Notes the bound that a padding shows; returns whether there is one. The padding's own rest is searched without this,
// so that no search begins another one without end.
bool Liveness::note_padded(ExprId state) {
  if (use_ != Use::bounds || is_padding_ || !padded_bound_ || known(state) != kUnknown) return false;
  if (exprs_[state].op != Op::intersection || !exprs_[state].has_rule) return false;
  struct Guard {
    bool& flag;
    ~Guard() { flag = false; }
  } guard{is_padding_};
  is_padding_ = true;
  const std::optional<std::uint32_t> bound = padded_bound_(state);
  if (bound) remember(state, *bound, Use::bounds);
  return bound.has_value();
}

}  // namespace detent

// 1. Derivatives are monotone. If the derivative of x by each byte of a set contains x, so does the residual of x after
//    any text over the set. It is live if x is.
// 2. A union is live if an operand is, and x y if both parts are: the loops of a state are those of its operands, and
//    of the head of each. A guard with an escape is live if what it guards is.
// 3. Inside an intersection, a union is replaced by the operand with the largest loop. This leaves a smaller language,
//    the core.
// 4. Finitely many strings do not matter to an infinite language. The residuals of .*a.{10} & ~(.*b.{11}) are of the
//    form (.*a.{10} | ...) & ~(.*b.{11} | finite languages). So the core drops the finite operands of a union that is
//    excluded. Say that some byte leads the core back to a superset of itself. Then repeats of this byte before a
//    string of the core give strings that are longer than all strings of the dropped operands.
// 5. Beside a condition, a text over the loop is followed by a padding, which makes the condition forget it
//    (padding.h), or by a byte that no excluded text contains (absent_bytes.h): then nothing more is excluded.
#include "automaton/live_loops.h"

#include <algorithm>
#include <array>
#include <utility>

#include "automaton/absent_bytes.h"
#include "automaton/conjuncts.h"
#include "automaton/inclusion.h"
#include "base/utf8_position.h"
#include "expr/json_string.h"
#include "expr/lengths.h"
#include "expr/parts.h"
#include "expr/row_scan.h"

namespace detent {
namespace {

constexpr int kMaxDepth = 8;                   // operators above a union
constexpr std::size_t kMaxOperands = 64;       // of a union, whose loops are compared
constexpr std::uint32_t kMaxExcluded = 4'096;  // bytes of a string that a core leaves out
constexpr std::size_t kMaxCharacters = 16;     // states inside the characters of one lead byte

}  // namespace

LiveLoops::Loop LiveLoops::find(ExprId state) {
  if (exprs_[state].op == Op::union_of && exprs_[state].has_guard) return find_largest(state);
  if (const Loop padded = find_padded(state); !padded.bytes.empty()) return padded;
  const Root root = root_of(state);
  if (root.excluded > kMaxExcluded) return {};
  Loop loop = loop_of(root.texts);
  const std::uint32_t rest = exprs_[root.rest].has_guard ? liveness_.bound(root.rest) : liveness_.length(root.rest);
  if (rest == Liveness::kDead) return {};
  loop.completion_bound = saturating_add(std::max(loop.completion_bound, root.excluded + 1), root.escape + rest);
  loop.keeps_all = loop.keeps_all && root.texts == split_first(exprs_, state).first;
  return loop;
}

LiveLoops::Loop LiveLoops::find_padded(ExprId state) {
  const auto counts = [this](ExprId operand) { return may_count(exprs_, operand); };
  if (exprs_[state].op != Op::intersection || std::ranges::none_of(exprs_.operands(state), counts)) return {};
  std::vector<ExprId> texts;  // what is conditioned, and all texts over the alphabet
  Paddings::Sequences excluded;
  for (ExprId operand : operands_of(exprs_, state, Op::intersection)) {
    if (exprs_[operand].op != Op::complement) {
      texts.push_back(operand);
    } else if (!is_self_contained(exprs_[operand]) || !Paddings::add(exprs_, exprs_[operand].part(), excluded)) {
      return {};
    }
  }
  const Padded padded = find_padded(std::move(texts), excluded);
  Loop loop;
  loop.bytes = loop.first = padded.safe;
  loop.completion_bound = padded.completion_bound;
  return loop;
}

LiveLoops::Padded LiveLoops::find_padded(std::vector<ExprId> texts, const Paddings::Sequences& excluded) {
  ByteSet bytes = ByteSet::all();
  for (ExprId each : texts) {
    const Loop loop = find(each);
    if (!loop.keeps_all) return {};
    bytes = bytes & loop.bytes;
  }
  const std::optional<Paddings::Padding> padding = paddings_.find(excluded, bytes);
  if (!padding) return {};
  texts.push_back(padding->rest);
  const ExprId rest = exprs_.intersection(std::move(texts));
  const std::uint32_t bound = liveness_.bound(rest);
  if (bound == Liveness::kDead) return {};
  return {padding->safe, bytes, saturating_add(bound, padding->length), padding->byte, padding->length, rest};
}

// The largest loop of the operands of a union. The heads of a grammar's states are few, and their loops are known.
LiveLoops::Loop LiveLoops::find_largest(ExprId state) {
  Loop largest;
  const std::vector<ExprId> parts(exprs_.operands(state).begin(), exprs_.operands(state).end());
  if (parts.size() > kMaxOperands || exprs_[state].has_open_item || exprs_[state].has_closed_item) return largest;
  for (ExprId part : parts) {
    Loop loop = find(part);
    if (loop.bytes.size() > largest.bytes.size()) largest = loop;
  }
  largest.keeps_all = false;
  return largest;
}

std::optional<std::uint32_t> LiveLoops::bound_after_any_text(ExprId state) {
  const Root root = root_of(state);
  const Expr& string = exprs_[root.texts];
  if (string.op != Op::json_escaped || find(state).bytes.empty()) return std::nullopt;
  if (!has_every_character(loop_of(string.part()))) return std::nullopt;
  return saturating_add(find(state).completion_bound, std::uint64_t{kMaxEscapeLength} * 2);
}

std::optional<std::uint32_t> LiveLoops::bound_after_characters(ExprId texts) {
  const Loop loop = find(texts);
  return has_every_character(loop) ? std::optional(loop.completion_bound) : std::nullopt;
}

bool LiveLoops::has_every_character(const Loop& loop) const {
  const ByteSet characters = (ByteSet::range(0, 0x7F) | ByteSet::range(0xC2, 0xF4)) & exprs_.alphabet();
  return characters.is_subset_of(loop.bytes);
}

void LiveLoops::mark_live(ExprId state, const ExprId* row) {
  const auto is_unknown = [this](ExprId next) { return next != ExprSet::kEmpty && !liveness_.is_known(next); };
  const auto is_unknown_after = [&](std::uint32_t c) { return is_unknown(row[c]); };
  if (!any_successor(row, derivatives_.class_count(), is_unknown_after)) return;
  const Loop loop = find(state);
  loop.first.each([&](std::uint8_t byte) {
    const ExprId next = row[derivatives_.class_of()[byte]];
    if (!is_unknown(next)) return;
    liveness_.set_bound(next, saturating_add(loop.completion_bound, byte < 0x80 ? 0 : kMaxContinuationBytes));
  });
  any_successor(row, derivatives_.class_count(), [&](std::uint32_t c) {
    if (!is_unknown(row[c])) return false;
    if (const Loop padded = find_padded(row[c]); !padded.bytes.empty()) {
      liveness_.set_bound(row[c], padded.completion_bound);
    }
    return false;
  });
}

LiveLoops::Root LiveLoops::root_of(ExprId state) {
  const Expr& expr = exprs_[state];
  Root root{state};
  if (expr.op == Op::concat) root = {expr.first(), 0, expr.second()};
  // A guard with an escape is live before the escape, whatever else the text that follows may be.
  if (const Expr& head = exprs_[root.texts]; head.op == Op::maximal_munch && !head.has_strict_guard) {
    root.escape = head.escape();
    root.texts = head.part();
  }
  // A finite language has no loop. Any other guard depends on the text that follows, a lookbehind and an item of a list
  // on the text before.
  const Expr& texts = exprs_[root.texts];
  if (texts.max_length != UINT32_MAX || texts.has_guard || expr.has_lookbehind || expr.has_lookbehind_end ||
      texts.has_open_item || texts.has_closed_item) {
    root.texts = ExprSet::kEmpty;
    return root;
  }
  const std::uint32_t key = root.texts.value;
  auto known = cores_.find(key);
  if (known == cores_.end()) {
    std::uint32_t excluded = 0;
    const ExprId core = pick_operands(drop_finite(root.texts, false, excluded, 0), 0);
    known = cores_.insert({key, {core, excluded}}).first;
  }
  root.texts = known->second.texts;
  root.excluded = known->second.excluded;
  return root;
}

// Drops the finite operands of the unions that are excluded: those below an odd number of complements.
ExprId LiveLoops::drop_finite(ExprId id, bool is_excluded, std::uint32_t& longest, int depth) {
  if (depth == kMaxDepth) return id;
  const Expr expr = exprs_[id];
  switch (expr.op) {
    case Op::union_of:
    case Op::intersection: {
      std::vector<ExprId> parts(exprs_.operands(id).begin(), exprs_.operands(id).end());
      const bool drops = is_excluded && expr.op == Op::union_of;
      std::erase_if(parts, [&](ExprId part) {
        const std::uint32_t length = exprs_[part].max_length;
        if (!drops || length == UINT32_MAX) return false;
        longest = std::max(longest, length);
        return true;
      });
      for (ExprId& part : parts) part = drop_finite(part, is_excluded, longest, depth + 1);
      return expr.op == Op::union_of ? exprs_.union_of(std::move(parts)) : exprs_.intersection(std::move(parts));
    }
    case Op::complement: return exprs_.complement(drop_finite(expr.part(), !is_excluded, longest, depth + 1));
    case Op::json_escaped: {
      std::uint32_t inside = 0;
      const ExprId texts = drop_finite(expr.part(), is_excluded, inside, depth + 1);
      longest = std::max(longest, saturating_multiply(inside, kMaxEscapeLength));
      return exprs_.json_escaped(texts, expr.escape_position(), expr.escape_bits());
    }
    default: return id;
  }
}

// Replaces each union by the operand with the largest loop, outside complements.
ExprId LiveLoops::pick_operands(ExprId id, int depth) {
  if (depth == kMaxDepth) return id;
  const Expr expr = exprs_[id];
  switch (expr.op) {
    case Op::union_of: {
      const std::vector<ExprId> parts(exprs_.operands(id).begin(), exprs_.operands(id).end());
      if (parts.size() > kMaxOperands) return id;
      ExprId best = id;
      int most = -1;
      for (ExprId part : parts) {
        const ExprId picked = pick_operands(part, depth + 1);
        const int size = loop_of(picked).bytes.size();
        if (size <= most) continue;
        most = size;
        best = picked;
      }
      return best;
    }
    case Op::intersection: {
      std::vector<ExprId> parts(exprs_.operands(id).begin(), exprs_.operands(id).end());
      for (ExprId& part : parts) part = pick_operands(part, depth + 1);
      return exprs_.intersection(std::move(parts));
    }
    case Op::json_escaped:
      return exprs_.json_escaped(pick_operands(expr.part(), depth + 1), expr.escape_position(), expr.escape_bits());
    default: return id;
  }
}

const LiveLoops::Loop& LiveLoops::loop_of(ExprId texts) {
  const auto known = loops_.find(texts.value);
  if (known != loops_.end()) return known->second;
  const Loop loop = find_loop(texts);
  return loops_[texts.value] = loop;
}

LiveLoops::Loop LiveLoops::find_loop(ExprId texts) {
  if (exprs_[texts].op == Op::json_escaped) return find_loop_of_string(exprs_[texts]);
  if (std::optional<TextsBesideExcluded> parts = texts_beside_excluded(exprs_, texts)) {
    Loop loop;
    loop.bytes = ByteSet::all();
    for (ExprId part : parts->texts) {
      const Loop other = find(part);
      loop.bytes = other.keeps_all ? loop.bytes & other.bytes : ByteSet{};
    }
    const auto is_in_loop = [&loop](const ByteSet& absent) { return !(absent & loop.bytes).empty(); };
    const std::uint32_t bound = liveness_.bound(exprs_.intersection(std::move(parts->texts)));
    if (bound != Liveness::kDead && std::ranges::all_of(parts->absent, is_in_loop)) {
      loop.first = loop.bytes;
      loop.completion_bound = saturating_add(bound, parts->absent.size());
      return loop;
    }
  }
  Loop loop;
  std::uint32_t excluded = 0;
  bool is_infinite = false;
  const ExprId* row = derivatives_.row(texts);
  const auto& class_of = derivatives_.class_of();
  std::vector<ExprId> inside;                     // states after a part of a text over the loop
  std::vector<std::pair<ExprId, bool>> verdicts;  // by successor, of ASCII bytes: few, of many bytes
  for (unsigned byte = 0; byte < 0x80; ++byte) {
    const ExprId next = row[class_of[byte]];
    if (next == ExprSet::kEmpty) continue;
    auto verdict = std::ranges::find(verdicts, next, &std::pair<ExprId, bool>::first);
    if (verdict == verdicts.end()) {
      verdict = verdicts.insert(verdicts.end(), {next, returns(texts, next, excluded)});
      if (verdict->second) inside.push_back(next);
      is_infinite = is_infinite || (verdict->second && includes(exprs_, next, texts));
    }
    if (verdict->second) loop.bytes.insert(static_cast<std::uint8_t>(byte));
  }
  if (!is_infinite || !liveness_.live(texts)) return {};
  bool returned = false;
  for (unsigned lead = 0xC2; lead <= 0xF4; ++lead) {
    // Most lead bytes have the class and the continuations of the one before.
    const bool is_special = lead == 0xE0 || lead == 0xED || lead == 0xF0 || lead == 0xF4;
    const bool is_first = is_special || lead == 0xC2 || lead == 0xE1 || lead == 0xEE || lead == 0xF1;
    if (is_first || class_of[lead] != class_of[lead - 1]) {
      returned = every_character_returns(texts, lead, excluded, inside);
    }
    if (returned) loop.bytes.insert(static_cast<std::uint8_t>(lead));
  }
  if (excluded > kMaxExcluded) return {};
  loop.completion_bound = std::max(liveness_.bound(texts), excluded + 1);
  loop.keeps_all = excluded == 0;
  loop.first = loop.bytes;
  for (ExprId state : inside) {
    if (liveness_.is_known(state)) continue;
    liveness_.set_bound(state, saturating_add(loop.completion_bound, kMaxContinuationBytes));
  }
  return loop;
}

// A JSON string writes the characters of its texts as they are, but for control characters, the quotation mark and the
// backslash.
LiveLoops::Loop LiveLoops::find_loop_of_string(const Expr& string) {
  if (escape_position_of(string.escape_position()) != EscapePosition::text || !exprs_.has_json_escapes()) return {};
  Loop loop = loop_of(string.part());
  if (loop.bytes.empty()) return {};
  const bool has_escape = loop.bytes.contains('"') || loop.bytes.contains('\\');
  loop.bytes = loop.bytes & ByteSet::range(0x20, 0xFF) & exprs_.alphabet();
  loop.bytes.remove('"');
  loop.bytes.remove('\\');
  loop.first = loop.bytes;
  if (has_escape) loop.first.insert('\\');
  loop.completion_bound = saturating_multiply(loop.completion_bound, kMaxEscapeLength);
  return loop;
}

bool LiveLoops::returns(ExprId texts, ExprId next, std::uint32_t& excluded) {
  if (includes(exprs_, next, texts)) return true;
  std::uint32_t longest = excluded;
  const ExprId without_finite = drop_finite(next, false, longest, 0);
  if (without_finite == next || !includes(exprs_, without_finite, texts)) return false;
  excluded = longest;
  return true;
}

// Follows all characters that begin with a lead byte at once (Unicode 15, table 3-7).
bool LiveLoops::every_character_returns(ExprId texts, unsigned lead, std::uint32_t& excluded,
                                        std::vector<ExprId>& inside) {
  const auto& class_of = derivatives_.class_of();
  const auto in_alphabet = [this](unsigned byte) {
    return exprs_.alphabet().contains(static_cast<std::uint8_t>(byte));
  };
  if (!in_alphabet(lead)) return false;
  std::vector<ExprId> states{derivatives_.row(texts)[class_of[lead]]};
  std::vector<ExprId> passed;
  const int length = lead >= 0xF0 ? 4 : lead >= 0xE0 ? 3 : 2;
  for (int position = 1; position < length; ++position) {
    const bool is_second = position == 1;
    const unsigned low = is_second && lead == 0xE0 ? 0xA0 : is_second && lead == 0xF0 ? 0x90 : 0x80;
    const unsigned high = is_second && lead == 0xED ? 0x9F : is_second && lead == 0xF4 ? 0x8F : 0xBF;
    std::vector<ExprId> after;
    for (ExprId state : states) {
      if (state == ExprSet::kEmpty) return false;
      const ExprId* row = derivatives_.row(state);
      for (unsigned byte = low; byte <= high; ++byte) {
        const ExprId next = row[class_of[byte]];
        if (in_alphabet(byte) && (after.empty() || after.back() != next)) after.push_back(next);
      }
    }
    std::ranges::sort(after);
    after.erase(std::ranges::unique(after).begin(), after.end());
    if (after.size() > kMaxCharacters) return false;
    passed.insert(passed.end(), states.begin(), states.end());
    states = std::move(after);
  }
  const auto texts_return = [&](ExprId next) { return returns(texts, next, excluded); };
  if (states.empty() || !std::ranges::all_of(states, texts_return)) return false;
  inside.insert(inside.end(), passed.begin(), passed.end());
  inside.insert(inside.end(), states.begin(), states.end());
  return true;
}

}  // namespace detent

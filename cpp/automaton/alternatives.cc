#include "automaton/alternatives.h"

#include <algorithm>
#include <memory>
#include <utility>

#include "automaton/inclusion.h"
#include "expr/horizon.h"
#include "expr/json_string.h"

namespace detent {
namespace {

constexpr std::size_t kMaxResiduals = 4096;  // of a state, in all classes; a state with more keeps its unions
constexpr int kMaxDepth = 4;                 // operators above the union
constexpr std::uint32_t kLoopReach = 32;     // bytes
constexpr std::uint32_t kLongestCharacter = 4;
constexpr std::int64_t kSplitBytes = 128;  // of the entries of a state

std::vector<ExprId> split(ExprSet& exprs, ExprId id, int depth) {
  const Expr expr = exprs[id];
  if (expr.op == Op::union_of) return {exprs.operands(id).begin(), exprs.operands(id).end()};
  if (depth == kMaxDepth) return {id};
  std::vector<ExprId> parts;
  switch (expr.op) {
    case Op::concat:
      if (exprs[expr.first()].max_length <= kLongestCharacter) return {id};
      parts = split(exprs, expr.first(), depth + 1);
      for (ExprId& part : parts) part = exprs.concat(part, expr.second());
      return parts;
    case Op::json_escaped:
      // Inside an escape, some operands may have no character that goes on.
      if (!is_character_known(expr.escape_position(), expr.escape_bits())) return {id};
      parts = split(exprs, expr.part(), depth + 1);
      for (ExprId& part : parts) part = exprs.json_escaped(part, expr.escape_position(), expr.escape_bits());
      return parts;
    case Op::intersection: {
      const std::vector<ExprId> operands(exprs.operands(id).begin(), exprs.operands(id).end());
      // Several unions would give one alternative for each combination of their operands.
      if (std::ranges::count_if(operands, [&](ExprId operand) { return exprs[operand].op == Op::union_of; }) > 1) {
        return {id};
      }
      for (std::size_t i = 0; i < operands.size(); ++i) {
        parts = split(exprs, operands[i], depth + 1);
        if (parts.size() < 2 || parts.size() > kMaxAlternatives) continue;
        for (ExprId& part : parts) {
          std::vector<ExprId> others = operands;
          others[i] = part;
          part = exprs.intersection(std::move(others));
        }
        return parts;
      }
      return {id};
    }
    default: return {id};
  }
}

// The stacks of a grammar whose union is `id`. The constructors have factored stacks with a common head into one
// sequence: x (y | z) gives the stacks x y and x z again. Returns `id` alone where there would be too many.
std::vector<ExprId> stacks_of(ExprSet& exprs, ExprId id) {
  constexpr std::size_t kMaxStacks = 32;
  constexpr std::size_t kMaxHeads = 16;
  if (!exprs[id].has_rule) return {id};
  struct Open {
    std::vector<ExprId> heads;
    ExprId rest;
  };
  std::vector<Open> open{{{}, id}};
  std::vector<ExprId> found;
  while (!open.empty()) {
    Open at = std::move(open.back());
    open.pop_back();
    const Expr expr = exprs[at.rest];
    if (expr.op == Op::union_of) {
      const std::vector<ExprId> operands(exprs.operands(at.rest).begin(), exprs.operands(at.rest).end());
      if (found.size() + open.size() + operands.size() > kMaxStacks) return {id};
      for (ExprId operand : operands) open.push_back({at.heads, operand});
      continue;
    }
    if (expr.op == Op::concat && at.heads.size() < kMaxHeads) {
      at.heads.push_back(expr.first());
      at.rest = expr.second();
      open.push_back(std::move(at));
      continue;
    }
    for (; !at.heads.empty(); at.heads.pop_back()) at.rest = exprs.concat(at.heads.back(), at.rest);
    found.push_back(at.rest);
  }
  return found;
}

// Whether one of the first parts of a concatenation is a union that is too large to be split. Finding a loop would
// write each of its operands anew, and there is hardly one. Case: blanks before one of 10,000 names.
bool has_wide_union(const ExprSet& exprs, ExprId id) {
  constexpr int kMostParts = 4;
  const auto is_wide = [&exprs](ExprId part) {
    return exprs[part].op == Op::union_of && exprs.operands(part).size() > kMaxAlternatives;
  };
  for (int i = 0; i < kMostParts && exprs[id].op == Op::concat; ++i, id = exprs[id].second()) {
    if (is_wide(exprs[id].first())) return true;
  }
  return is_wide(id);
}

// The entry of an expression.
std::uint32_t& entry(StableVector<std::uint32_t>& entries, ExprId id) {
  while (entries.size() <= id.value) entries.emplace_back();
  return entries[id.value];
}

}  // namespace

std::vector<ExprId> distribute_unions(ExprSet& exprs, ExprId id) { return split(exprs, id, 0); }

std::vector<ExprId> alternatives_of(ExprSet& exprs, Liveness& liveness, ExprId state) {
  std::vector<ExprId> parts = split(exprs, state, 0);
  if (parts.size() < 2 || parts.size() > kMaxAlternatives) return {state};
  std::erase_if(parts, [&liveness](ExprId part) { return part == ExprSet::kEmpty || !liveness.live(part); });
  return parts;
}

AlternativeId Alternatives::id_of(ExprId state) {
  std::uint32_t& number = entry(ids_, state);
  if (number == 0) {
    states_.emplace_back() = state;
    expanded_.emplace_back();
    loops_of_.emplace_back();
    number = static_cast<std::uint32_t>(states_.size());
  }
  return {number - 1};
}

template <class T>
std::span<const T> Alternatives::keep(const std::vector<T>& items) {
  T* const kept = static_cast<T*>(memory_.allocate(items.size() * sizeof(T), alignof(T)));
  std::ranges::uninitialized_copy(items, std::span(kept, items.size()));
  return {kept, items.size()};
}

std::span<const AlternativeId> Alternatives::split(ExprId state) {
  if (const std::uint32_t known = entry(split_of_, state); known != 0) return splits_[known - 1];
  std::vector<AlternativeId> ids;
  for (ExprId part : alternatives_of(exprs_, liveness_, state)) {
    for (ExprId stack : stacks_of(exprs_, part)) ids.push_back(id_of(stack));
  }
  std::ranges::sort(ids);
  ids.erase(std::ranges::unique(ids).begin(), ids.end());
  meter_.step(std::ssize(ids));
  meter_.allocate(kSplitBytes + std::ssize(ids) * static_cast<std::int64_t>(sizeof(AlternativeId)));
  splits_.emplace_back() = keep(ids);
  entry(split_of_, state) = static_cast<std::uint32_t>(splits_.size());
  return splits_[splits_.size() - 1];
}

AlternativeId Alternatives::nearest(ExprId state) {
  const std::span<const AlternativeId> ids = split(state);
  meter_.step(std::ssize(ids) / 4);
  return *std::ranges::min_element(ids, {}, [this](AlternativeId id) { return liveness_.bound(states_[id.value]); });
}

std::optional<AlternativePath> Alternatives::descend(AlternativeId from, std::span<const Letter> letters,
                                                     const std::function<bool(AlternativeId)>& is_end,
                                                     std::int64_t max_steps) {
  constexpr std::size_t kShort = 64;  // bytes; a text of two parts may take more tokens
  const std::int64_t last_step = max_steps == INT64_MAX ? INT64_MAX : meter_.steps() + max_steps;
  AlternativePath path;
  std::uint32_t bound = Liveness::kDead;
  while (true) {
    if (path.text.size() >= kShort && is_end(from)) return path;
    const Alternative& at = expand(from);
    if (at.accepting) return path;
    std::uint32_t least = Liveness::kDead;
    std::uint8_t best = 0;
    for (const Letter& letter : letters) {
      for (AlternativeId next : at.after(letter.byte_class)) {
        const std::uint32_t found = liveness_.bound(states_[next.value]);
        if (meter_.steps() > last_step) return std::nullopt;
        if (found >= least) continue;
        least = found;
        best = letter.byte;
        from = next;
      }
    }
    meter_.step(std::ssize(at.successors) / 16 + 1);
    if (least >= bound) return std::nullopt;
    bound = least;
    path.text += static_cast<char>(best);
    path.after.push_back(from);
  }
}

void Alternatives::drop_included(std::vector<AlternativeId>& set) const {
  const auto has = [this](AlternativeId large, AlternativeId small) {
    return includes(exprs_, states_[large.value], states_[small.value]);
  };
  std::size_t kept = 0;
  for (std::size_t i = 0; i < set.size(); ++i) {
    const AlternativeId each = set[i];
    meter_.step(static_cast<std::int64_t>(kept) + 1);
    const auto end = set.begin() + static_cast<std::ptrdiff_t>(kept);
    if (std::any_of(set.begin(), end, [&](AlternativeId other) { return has(other, each); })) continue;
    const auto larger = std::remove_if(set.begin(), end, [&](AlternativeId other) { return has(each, other); });
    kept = static_cast<std::size_t>(larger - set.begin());
    set[kept++] = each;
  }
  set.resize(kept);
}

void Alternatives::drop_included_heads(AlternativeId from, std::vector<AlternativeId>& set) const {
  constexpr std::size_t kMostCompared = 16;
  std::unordered_map<std::uint32_t, std::vector<ExprId>> kept;  // by what follows the first part
  const auto is_included = [&](AlternativeId id) {
    const ExprId state = states_[id.value];
    std::vector<ExprId>& others = kept[exprs_[state].op == Op::concat ? exprs_[state].second().value : state.value];
    meter_.step(static_cast<std::int64_t>(others.size()) + 1);
    if (std::ranges::any_of(others, [&](ExprId other) { return includes(exprs_, other, state); })) return true;
    if (others.size() < kMostCompared) others.push_back(state);
    return false;
  };
  is_included(from);
  std::erase_if(set, is_included);
}

const Alternative& Alternatives::expand(AlternativeId id) {
  if (const Alternative* known = find(id)) return *known;
  const ExprId state = states_[id.value];
  Alternative alternative;
  alternative.state = state;
  alternative.accepting = exprs_[state].nullable;
  alternative.completion_bound = liveness_.bound(state);
  alternative.last_bytes = last_bytes(state);
  Successors found;
  if (exprs_[state].has_rule && exprs_[state].nonempty) {
    find_successors_by_rules(state, found);
  } else {
    find_successors(state, found);
  }
  found.first.push_back(static_cast<std::uint32_t>(found.ids.size()));
  meter_.allocate(static_cast<std::int64_t>(sizeof(Alternative) + (found.first.size() + found.ids.size()) * 4));
  alternative.first = keep(found.first);
  alternative.successors = keep(found.ids);
  const Alternative& stored = storage_.emplace_back() = alternative;
  expanded_[id.value].store(&stored, std::memory_order_release);
  return stored;
}

void Alternatives::find_successors(ExprId state, Successors& found) {
  const ExprId* row = derivatives_.row(state);
  loops_.mark_live(state, row);
  ExprId last = ExprSet::kEmpty;
  std::span<const AlternativeId> ids;
  for (std::uint32_t c = 0; c < derivatives_.class_count(); ++c) {
    found.first.push_back(static_cast<std::uint32_t>(found.ids.size()));
    if (row[c] == ExprSet::kEmpty) continue;
    if (row[c] != last) {
      last = row[c];
      ids = liveness_.live(last) ? split(last) : std::span<const AlternativeId>{};
    }
    found.ids.insert(found.ids.end(), ids.begin(), ids.end());
  }
}

// Finds the successors as single stacks, before the constructors unite them.
void Alternatives::find_successors_by_rules(ExprId state, Successors& found) {
  const auto residuals = derivatives_.residuals(state);
  if (residuals.size() > kMaxResiduals) return find_successors(state, found);
  std::size_t i = 0;
  for (std::uint32_t c = 0; c < derivatives_.class_count(); ++c) {
    found.first.push_back(static_cast<std::uint32_t>(found.ids.size()));
    for (; i < residuals.size() && residuals[i].first == c; ++i) {
      const ExprId next = residuals[i].second;
      if (next != ExprSet::kEmpty && liveness_.live(next)) found.ids.push_back(id_of(next));
    }
  }
}

// Counts are clamped first, so that `.{0,1000}` has the loop of `.*`. Such a loop is proved only for kLoopReach bytes.
const AlternativeLoop& Alternatives::make_loop(AlternativeId id) {
  if (const AlternativeLoop* known = find_loop(id)) return *known;
  const ExprId state = states_[id.value];
  const bool is_wide = has_wide_union(exprs_, state);
  const ExprId clamped = is_wide ? state : clamp_counts(exprs_, state, kLoopReach, clamped_);
  AlternativeLoop made{is_wide ? LiveLoops::Loop{} : loops_.find(clamped)};
  if (clamped != state) {
    made.reach = kLoopReach;
    made.loop.completion_bound = exprs_[state].max_completion_bound;
    made.loop.keeps_all = false;
  }
  meter_.allocate(static_cast<std::int64_t>(sizeof(AlternativeLoop)));
  const AlternativeLoop& stored = loop_storage_.emplace_back() = made;
  loops_of_[id.value].store(&stored, std::memory_order_release);
  return stored;
}

// The last part of a concatenation. A concatenation of n parts has n states with this last part. Only about one in 64
// suffixes is remembered: it takes little memory, and each walk along the parts soon meets a remembered one.
ExprId Alternatives::last_part(ExprId state) {
  const auto is_kept = [](ExprId at) { return at.value * 0x9E3779B1u >> 26 == 0; };
  std::vector<ExprId> kept;
  std::int64_t steps = 0;
  for (; exprs_[state].op == Op::concat; state = exprs_[state].second(), ++steps) {
    if (!is_kept(state)) continue;
    if (const auto known = last_parts_.find(state.value); known != last_parts_.end()) {
      state = known->second;
      break;
    }
    kept.push_back(state);
  }
  for (ExprId each : kept) last_parts_.emplace(each.value, state);
  meter_.allocate(static_cast<std::int64_t>(kept.size()) * 40);
  meter_.step(steps / 64);
  return state;
}

// Only a byte set or a literal at the end of the state gives a set; it is not nullable, so every string ends in it.
ByteSet Alternatives::last_bytes(ExprId state) {
  state = last_part(state);
  const Expr& expr = exprs_[state];
  if (expr.op == Op::bytes) return exprs_.set(expr.set_index());
  if (expr.op == Op::text) return ByteSet::of(static_cast<std::uint8_t>(exprs_.text_of(state).back()));
  return ByteSet::all();
}

}  // namespace detent

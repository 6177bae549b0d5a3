#include "automaton/liveness.h"

#include <algorithm>
#include <functional>
#include <queue>
#include <set>
#include <span>
#include <unordered_set>
#include <utility>

#include "expr/json_string.h"

namespace detent {

void Liveness::remember(ExprId id, std::uint32_t length) {
  if (lengths_.size() <= id.value)
    lengths_.resize(std::max<std::size_t>(exprs_.size(), lengths_.size() * 3 / 2), kUnknown);
  lengths_[id.value] = length;
}

bool Liveness::parts_of(ExprId id, std::vector<ExprId>& parts) const {
  const Expr& expr = exprs_[id];
  if (expr.has_guard || expr.has_lookbehind || expr.has_lookbehind_end) return false;
  switch (expr.op) {
    case Op::concat: parts = {expr.first(), expr.second()}; return true;
    case Op::repeat: parts = {expr.part()}; return true;
    case Op::union_of: parts.assign(exprs_.operands(id).begin(), exprs_.operands(id).end()); return true;
    case Op::json_escaped: parts = {expr.part()}; return is_character_known(expr.escape_position(), expr.escape_bits());
    case Op::rule:  // what has no text was taken out when this was made
      parts.clear();
      return true;
    case Op::unordered: parts.assign(exprs_.operands(id).begin(), exprs_.operands(id).end()); return true;
    case Op::ordered: {
      const OrderedMembers& series = exprs_.ordered_members(id);
      parts = {series.separator, series.others};
      parts.insert(parts.end(), series.members.begin() + expr.next_member(), series.members.end());
      return true;
    }
    default: return false;
  }
}

// The length of a state, all of whose parts are known.
std::uint32_t Liveness::combine(ExprId id, const std::vector<ExprId>& parts) const {
  const Expr& expr = exprs_[id];
  const auto product = [](std::uint64_t x, std::uint64_t y) {
    return static_cast<std::uint32_t>(std::min<std::uint64_t>(x * y, kLongest));
  };
  switch (expr.op) {
    case Op::concat: {
      const std::uint32_t first = known(parts[0]), second = known(parts[1]);
      if (first == kDead || second == kDead) return kDead;
      return static_cast<std::uint32_t>(std::min<std::uint64_t>(std::uint64_t{first} + second, kLongest));
    }
    case Op::union_of: {
      std::uint32_t least = kDead;
      for (ExprId part : parts) least = std::min(least, known(part));
      return least;
    }
    case Op::repeat: return known(parts[0]) == kDead ? kDead : product(known(parts[0]), expr.minimum());
    case Op::json_escaped:
      if (known(parts[0]) == kDead) return kDead;
      return std::min(product(known(parts[0]), kMaxEscapeLength), kLongest - 8) +
             remaining_escape_bytes(expr.escape_position());
    case Op::unordered: {
      const UnorderedState& pool = exprs_.unordered_state(id);
      const std::span<const ExprId> members = std::span(parts).subspan(2);
      std::uint64_t length = 0;
      for (ExprId member : members.first(pool.required)) length += known(member);
      // Then as many more as the minimum asks for.
      const std::uint32_t least =
          std::max<std::uint32_t>(pool.minimum, pool.position == MemberPosition::after_separator);
      const std::uint32_t more = least > pool.required ? least - pool.required : 0;
      std::vector<std::uint32_t> lengths;
      for (ExprId member : members.subspan(pool.required)) lengths.push_back(known(member));
      std::sort(lengths.begin(), lengths.end());
      if (lengths.size() < more || (parts[1] != ExprSet::kEmpty && more > 0 && known(parts[1]) < lengths[more - 1])) {
        length += std::uint64_t{known(parts[1])} * more;
      } else {
        for (std::uint32_t i = 0; i < more; ++i) length += lengths[i];
      }
      return with_separators(length, pool.required + more, pool.position, parts[0]);
    }
    case Op::ordered: {
      const OrderedMembers& series = exprs_.ordered_members(id);
      const auto place = static_cast<MemberPosition>(expr.member_position());
      std::uint64_t length = 0;
      std::uint32_t count = 0, least = known(parts[1]);
      for (std::size_t i = expr.next_member(); i < series.members.size(); ++i) {
        least = std::min(least, known(series.members[i]));
        if (!series.required[i]) continue;
        length += known(series.members[i]);
        ++count;
      }
      if (count == 0 && place == MemberPosition::after_separator) return std::min(least, kLongest);
      return with_separators(length, count, place, parts[0]);
    }
    default: return std::min(expr.min_length, kLongest);
  }
}

std::uint32_t Liveness::with_separators(std::uint64_t length, std::uint32_t count, MemberPosition place,
                                        ExprId separator) const {
  const std::uint32_t separators = count == 0 ? 0 : place == MemberPosition::after_member ? count : count - 1;
  return static_cast<std::uint32_t>(
      std::min<std::uint64_t>(length + std::uint64_t{known(separator)} * separators, kLongest));
}

std::uint32_t Liveness::length(ExprId state) {
  if (const std::uint32_t length = known(state); length != kUnknown) return length;
  std::vector<ExprId> goals{state};
  std::vector<ExprId> parts;
  while (!goals.empty()) {
    const ExprId goal = goals.back();
    if (known(goal) != kUnknown) {
      goals.pop_back();
      continue;
    }
    meter_.step();
    if (!parts_of(goal, parts)) {
      const ExprId texts = exprs_[goal].op == Op::json_escaped ? exprs_[goal].part() : ExprSet::kEpsilon;
      if (known(texts) == kUnknown) {
        goals.push_back(texts);
      } else if (known(texts) == kDead) {
        remember(goal, kDead);  // there is no need to try every escape
      } else {
        search(goal);
      }
      continue;
    }
    const auto open = std::ranges::find_if(parts, [this](ExprId part) { return known(part) == kUnknown; });
    if (open == parts.end()) {
      remember(goal, combine(goal, parts));
    } else {
      goals.push_back(*open);
    }
  }
  return known(state);
}

// From `state` to a state that is known to be live; where an expression says how long its strings are at least, shorter
// ones first, so that one of ten thousand long words is found without looking at the others. If there is none, all that
// was seen is dead; otherwise all that was seen to reach it is live.
void Liveness::search(ExprId state) {
  constexpr std::size_t kPatience = 5000;               // states of a search that may have no end
  using Entry = std::pair<std::uint32_t, std::size_t>;  // a guess of what is left, and when it was seen
  std::vector<ExprId> order{state};
  std::priority_queue<Entry, std::vector<Entry>, std::greater<>> pending;
  pending.emplace(exprs_[state].min_length, 0);
  std::unordered_map<std::uint32_t, std::vector<std::uint32_t>> sources{{state.value, {}}};
  std::vector<std::uint32_t> reaching;
  const bool may_have_no_end = exprs_[state].op == Op::intersection && exprs_[state].has_rule;
  bool is_live = false;
  while (!pending.empty() && reaching.empty()) {
    if (may_have_no_end && !is_live && order.size() > kPatience) {
      ExprId part, regular;
      if (split(state, part, regular)) {
        if (!meets(part, regular)) return remember(state, kDead);
        is_live = true;  // so that the search has an end
      }
    }
    const ExprId from = order[pending.top().second];
    pending.pop();
    const ExprId* row = derivatives_.row(from);
    std::uint32_t least = kUnknown;
    for (std::uint32_t c = 0; c < derivatives_.class_count(); ++c) {
      const ExprId to = row[c];
      if (to == ExprSet::kEmpty || (c > 0 && to == row[c - 1])) continue;
      meter_.step();
      const std::uint32_t length = known(to);
      if (length == kDead) continue;
      if (length != kUnknown) {
        least = std::min(least, length);
        continue;
      }
      const auto [source, is_new] = sources.try_emplace(to.value);
      source->second.push_back(from.value);
      if (!is_new) continue;
      pending.emplace(exprs_[to].min_length, order.size());
      order.push_back(to);
    }
    if (least != kUnknown) {
      remember(from, std::min(least, kLongest - 1) + 1);
      reaching.push_back(from.value);
    }
  }
  if (reaching.empty()) {
    for (ExprId seen : order) remember(seen, kDead);
    return;
  }
  // Breadth first, so that each is given the least length.
  for (std::size_t i = 0; i < reaching.size(); ++i) {
    const std::uint32_t length = std::min(known(ExprId{reaching[i]}), kLongest - 1) + 1;
    for (std::uint32_t source : sources[reaching[i]]) {
      if (known(ExprId{source}) != kUnknown) continue;
      remember(ExprId{source}, length);
      reaching.push_back(source);
    }
  }
}

bool Liveness::split(ExprId state, ExprId& part, ExprId& regular) {
  if (exprs_[state].has_guard) return false;
  std::vector<ExprId> regulars;
  for (ExprId operand : exprs_.operands(state)) {
    if (!exprs_[operand].has_rule) {
      regulars.push_back(operand);
    } else if (part == ExprSet::kEmpty && exprs_[operand].op != Op::complement) {
      part = operand;
    } else {
      return false;
    }
  }
  regular = exprs_.intersection(std::move(regulars));
  return true;
}

bool Liveness::meets(ExprId part, ExprId regular) {
  // exits[(x, r)]: the states to which the words of x lead r. Whoever waits for them is told of each, once.
  using Place = std::pair<std::uint32_t, std::uint32_t>;
  struct PlaceHash {
    std::size_t operator()(const Place& place) const { return mix(place.first, place.second); }
  };
  struct Waiter {
    Place place;  // whose exits these are a part of
    ExprId then;  // what of that place comes behind; epsilon: nothing
  };
  struct Table {
    std::vector<std::uint32_t> exits;
    std::unordered_set<std::uint32_t> seen;
    std::vector<Waiter> waiters;
  };
  std::unordered_map<Place, Table, PlaceHash> tables;
  struct Lease {  // the tables are gone when the question is decided
    Meter& meter;
    std::int64_t bytes = 0;
    void add(std::int64_t more) {
      meter.allocate(more);
      bytes += more;
    }
    ~Lease() { meter.allocate(-bytes); }
  } lease{meter_};
  std::vector<Place> asked;
  std::vector<std::pair<Place, std::uint32_t>> news;
  const auto tell = [&](const Place& place, std::uint32_t exit) {
    if (tables[place].seen.insert(exit).second) {
      meter_.step();
      lease.add(64);
      tables[place].exits.push_back(exit);
      news.emplace_back(place, exit);
    }
  };
  const auto ask = [&](ExprId x, std::uint32_t r, const Waiter& waiter) {
    const Place place{x.value, r};
    const auto [table, is_new] = tables.try_emplace(place);
    table->second.waiters.push_back(waiter);
    meter_.step();
    if (is_new) {
      lease.add(256);
      asked.push_back(place);
      return;
    }
    const std::vector<std::uint32_t> exits = table->second.exits;
    for (std::uint32_t exit : exits) {
      if (waiter.then == ExprSet::kEpsilon)
        tell(waiter.place, exit);
      else
        news.emplace_back(place, exit);  // told again: the other waiters have seen it
    }
  };
  const Place top{part.value, regular.value};
  tables[top];
  asked.push_back(top);
  while (!asked.empty() || !news.empty()) {
    if (!news.empty()) {
      const auto [place, exit] = news.back();
      news.pop_back();
      if (place == top && exprs_[ExprId{exit}].nullable) return true;
      const std::vector<Waiter> waiters = tables[place].waiters;
      for (const Waiter& waiter : waiters) {
        if (waiter.then == ExprSet::kEpsilon) {
          tell(waiter.place, exit);
        } else {
          const Place rest{waiter.then.value, exit};
          auto& others = tables[rest].waiters;
          const bool waits = std::ranges::any_of(others, [&](const Waiter& other) {
            return other.place == waiter.place && other.then == ExprSet::kEpsilon;
          });
          if (!waits) {
            const bool is_new = others.empty() && tables[rest].exits.empty() && rest != top;
            others.push_back({waiter.place, ExprSet::kEpsilon});
            if (is_new) {
              lease.add(256);
              asked.push_back(rest);
            }
            const std::vector<std::uint32_t> exits = tables[rest].exits;
            for (std::uint32_t known_exit : exits) tell(waiter.place, known_exit);
          }
        }
      }
      continue;
    }
    const Place place = asked.back();
    asked.pop_back();
    const ExprId x{place.first};
    const std::uint32_t r = place.second;
    const Expr expr = exprs_[x];
    meter_.step();
    if (expr.nullable) tell(place, r);
    if (x == ExprSet::kEpsilon) continue;
    if (!expr.has_rule) {  // by bytes
      const std::vector<ExprId> row(derivatives_.row(x), derivatives_.row(x) + derivatives_.class_count());
      const ExprId* other = derivatives_.row(ExprId{r});
      std::set<std::pair<std::uint32_t, std::uint32_t>> steps;
      for (std::uint32_t c = 0; c < derivatives_.class_count(); ++c) {
        if (row[c] != ExprSet::kEmpty && other[c] != ExprSet::kEmpty) steps.emplace(row[c].value, other[c].value);
      }
      for (const auto& [left, state] : steps) ask(ExprId{left}, state, {place, ExprSet::kEpsilon});
      continue;
    }
    switch (expr.op) {
      case Op::concat: ask(expr.first(), r, {place, expr.second()}); break;
      case Op::union_of:
        for (ExprId operand : std::vector<ExprId>(exprs_.operands(x).begin(), exprs_.operands(x).end())) {
          ask(operand, r, {place, ExprSet::kEpsilon});
        }
        break;
      case Op::repeat: {
        const std::uint32_t low = expr.minimum() == 0 ? 0 : expr.minimum() - 1;
        const std::uint32_t high = expr.maximum() == ExprSet::kUnbounded ? expr.maximum() : expr.maximum() - 1;
        ask(expr.part(), r, {place, exprs_.repeat(expr.part(), low, high)});
        break;
      }
      case Op::rule: ask(exprs_.definition(x), r, {place, ExprSet::kEpsilon}); break;
      case Op::ordered:
      case Op::unordered: {
        std::vector<Derivatives::Term> terms;
        if (expr.op == Op::ordered)
          derivatives_.expand_ordered(terms, x, ExprSet::kEpsilon);
        else
          derivatives_.expand_unordered(terms, x, ExprSet::kEpsilon);
        for (const auto& [head, tail] : terms) ask(head, r, {place, tail});
        break;
      }
      default:  // an intersection or complement with rules inside a rule
        throw Error(ErrorKind::unsupported, "rules_under_algebra");
    }
  }
  return false;
}

}  // namespace detent

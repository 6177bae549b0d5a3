#include "automaton/liveness.h"

#include <algorithm>
#include <functional>
#include <iterator>
#include <queue>
#include <unordered_map>
#include <utility>

#include "automaton/alternatives.h"
#include "automaton/cfg_intersection.h"
#include "automaton/conjuncts.h"
#include "automaton/inclusion.h"
#include "expr/json_string.h"
#include "expr/lengths.h"

namespace detent {
namespace {

// Of texts that are remembered, of those that are tried before a search, and of those that are tried where a search
// takes long; in bytes.
constexpr std::size_t kShortWitness = 64;
constexpr std::size_t kWitness = 1 << 12;
constexpr std::size_t kLongWitness = 1 << 16;
constexpr std::size_t kFewExpanded = 24, kManyExpanded = 64;  // states; few searches expand more

}  // namespace

// A best-first search from one state to a state that is known to be live. It expands the state with the least remaining
// length: of ten thousand long words, it follows one and never looks at the others. Such a descent may be endless in
// an infinite state space. So after kDescent states, every second expansion takes the least total length instead (A*).
struct Liveness::Search {
  struct Seen {
    ExprId state;
    std::uint32_t depth;     // bytes from the start
    std::uint32_t from = 0;  // the one before, in `seen`
    std::uint8_t byte_class = 0;
    bool is_expanded = false;
  };
  using Entry = std::pair<std::uint64_t, std::size_t>;  // priority, index into `seen`
  using Queue = std::priority_queue<Entry, std::vector<Entry>, std::greater<>>;

  std::vector<Seen> seen;
  Queue by_remaining, by_total;
  std::size_t expanded = 0;
  bool is_infinite;
  std::unordered_map<std::uint32_t, std::vector<std::uint32_t>> sources;  // predecessors
  std::vector<std::uint32_t> live;                                        // states found to be live
  Seen nearest{};                                                         // a live state that was reached

  explicit Search(bool may_be_infinite) : is_infinite(may_be_infinite) {}

  // `guess` orders the descent; `least` is a lower bound on the bytes that are left.
  void add(const Seen& next, std::uint32_t guess, std::uint32_t least) {
    by_remaining.emplace(guess, seen.size());
    const std::uint32_t total = saturating_add(next.depth, least);
    by_total.emplace(std::uint64_t{total} << 32 | least, seen.size());  // the nearest one of equals
    seen.push_back(next);
  }

  // The index of the next state to expand, or the number of states.
  std::size_t next() {
    constexpr std::size_t kDescent = 500;  // states
    turn_ = !turn_;
    const bool take_total = turn_ && (is_infinite || seen.size() > kDescent);
    for (Queue* queue : {take_total ? &by_total : &by_remaining, take_total ? &by_remaining : &by_total}) {
      while (!queue->empty()) {
        const std::size_t index = queue->top().second;
        queue->pop();
        if (std::exchange(seen[index].is_expanded, true)) continue;
        ++expanded;
        return index;
      }
    }
    return seen.size();
  }

 private:
  bool turn_ = false;
};

void Liveness::remember(ExprId id, std::uint32_t length, Use use) {
  (use == Use::lengths || length == kDead ? lengths_ : bounds_).set(id.value, length);
}

// The residuals of (x | y) & z are unions as well. Searched one by one, n counters that started at different positions
// take n states; together they take 2^n. An intersection of several unions stays one state.
std::vector<ExprId> Liveness::alternatives_of(ExprId id) {
  constexpr std::size_t kMaxOperands = 256;
  const Expr& expr = exprs_[id];
  const auto is_union = [this](ExprId part) { return exprs_[part].op == Op::union_of; };
  if (expr.op != Op::intersection || expr.has_rule || expr.has_guard || expr.has_lookbehind ||
      expr.has_lookbehind_end || expr.has_open_item || expr.has_closed_item ||
      std::ranges::count_if(exprs_.operands(id), is_union) != 1) {
    return {id};
  }
  const auto operands = exprs_.operands(id);
  if (exprs_.operands(*std::ranges::find_if(operands, is_union)).size() > kMaxOperands) return {id};
  std::vector<ExprId> alternatives = distribute_unions(exprs_, id);
  std::erase(alternatives, ExprSet::kEmpty);
  return alternatives;
}

bool Liveness::parts_of(ExprId id, std::vector<ExprId>& parts) {
  const Expr& expr = exprs_[id];
  if (expr.has_strict_guard || (expr.has_guard && use_ == Use::lengths) || expr.has_lookbehind ||
      expr.has_lookbehind_end) {
    return false;
  }
  switch (expr.op) {
    case Op::concat: parts = {expr.first(), expr.second()}; return true;
    case Op::repeat: parts = {expr.part()}; return true;
    case Op::intersection: parts = alternatives_of(id); return parts != std::vector<ExprId>{id};
    case Op::union_of:
    case Op::unordered: parts.assign(exprs_.operands(id).begin(), exprs_.operands(id).end()); return true;
    case Op::json_escaped:
      parts = {expr.part()};
      return exprs_.has_json_escapes() && is_character_known(expr.escape_position(), expr.escape_bits());
    case Op::distinct:
      parts = {exprs_.list(exprs_.list_state(id).list).separator};
      parts.insert(parts.end(), exprs_.list_state(id).keys.begin(), exprs_.list_state(id).keys.end());
      for (const ItemKind& kind : exprs_.list(exprs_.list_state(id).list).kinds) parts.push_back(kind.rest);
      return true;
    case Op::remembered:
    case Op::maximal_munch: parts = {expr.part()}; return true;
    case Op::rule:  // live: the grammar compiler drops empty rules
      parts.clear();
      return true;
    case Op::ordered: {
      const OrderedMembers& members = exprs_.ordered_members(id);
      parts = {members.separator, members.others};
      parts.insert(parts.end(), members.members.begin() + expr.next_member(), members.members.end());
      return true;
    }
    default: return false;
  }
}

std::uint32_t Liveness::find(ExprId state, Use use) {
  if (const std::uint32_t length = known(state, use); length != kUnknown) return length;
  struct UseGuard {
    Use& use;
    const Use before = use;
    ~UseGuard() { use = before; }
  } guard{use_};
  use_ = use;
  std::vector<ExprId> goals{state};
  std::vector<ExprId> parts;
  while (!goals.empty()) {
    const ExprId goal = goals.back();
    if (known(goal) != kUnknown) {
      goals.pop_back();
      continue;
    }
    meter_.step();
    if (const std::optional<std::uint32_t> length = length_past_guards(goal)) {
      remember(goal, *length, Use::bounds);
      continue;
    }
    parts.clear();
    if (parts_of(goal, parts)) {
      const auto is_live = [this](ExprId part) { return known(part) < kUnknown; };
      const auto live = std::ranges::find_if(parts, is_live);
      if (use_ == Use::bounds && exprs_[goal].op == Op::intersection && live != parts.end()) {
        remember(goal, known(*live), Use::bounds);
        continue;
      }
      meter_.step(std::ssize(parts) / 16);
      const std::size_t before = goals.size();
      // All unknown parts are pushed at once: a union may have thousands. Of the alternatives of an intersection only
      // the first one is pushed, since one live alternative decides.
      for (ExprId part : parts) {
        if (known(part) == kUnknown) goals.push_back(part);
        if (goals.size() > before && exprs_[goal].op == Op::intersection) break;
      }
      if (goals.size() == before) combine_known_parts(goal);
      std::reverse(goals.begin() + static_cast<std::ptrdiff_t>(before), goals.end());
      continue;
    }
    // An escape of dead texts is dead: the search need not try each escape.
    const ExprId texts = exprs_[goal].op == Op::json_escaped ? exprs_[goal].part() : ExprSet::kEpsilon;
    if (const std::optional<std::uint32_t> length = length_by_count(goal)) {
      remember(goal, *length, use_);
      continue;
    }
    if (excludes_itself(goal)) {
      remember(goal, kDead, Use::lengths);
      continue;
    }
    if (known(texts) == kUnknown) {
      goals.push_back(texts);
    } else if (known(texts) == kDead) {
      remember(goal, kDead, Use::lengths);
    } else if (const std::optional<std::string> text = use_ == Use::bounds ? witness(goal, kWitness) : std::nullopt) {
      remember(goal, static_cast<std::uint32_t>(text->size()), Use::bounds);
    } else if (const ExprId tail = operand_after_guards(goal); tail != ExprSet::kEmpty && known(tail) == kUnknown) {
      goals.push_back(tail);
    } else if (const std::optional<std::uint32_t> length = length_by_first_byte(goal)) {
      remember(goal, *length, Use::bounds);
    } else if (const std::optional<ExprId> wide = widened_after_guards(goal, tail); wide && known(*wide) == kUnknown) {
      goals.push_back(*wide);
    } else if (wide && known(*wide) == kDead) {
      remember(goal, kDead, Use::lengths);
    } else if (const ExprId next = after_escaped_character(goal); next == ExprSet::kEmpty) {
      search(goal);
    } else if (known(next) == kUnknown) {
      goals.push_back(next);
    } else {
      const std::uint64_t rest = std::uint64_t{known(next)} * bytes_written(next);
      remember(goal, std::min(saturating_add(rest, kLongestEscape), kMaxLength), Use::bounds);
    }
  }
  return known(state);
}

// A bound on the length of some text that all guards of `id` let pass.
std::optional<std::uint32_t> Liveness::length_past_guards(ExprId id) {
  if (use_ != Use::bounds || !exprs_[id].has_strict_guard) return std::nullopt;
  const std::optional<std::uint32_t> length = escaped_lengths_.find(id);
  return length && *length < kMaxLength ? length : std::nullopt;
}

std::optional<std::uint32_t> Liveness::length_by_count(ExprId id) {
  if (const std::optional<std::uint32_t> length = length_by_bytes(id)) return length;
  const std::optional<CharacterCounts::Bounded> bounded = character_counts_.bounded(id);
  if (!bounded) return std::nullopt;
  const std::optional<CharacterCounts::Fewest> fewest = character_counts_.fewest(bounded->texts);
  if (!fewest) return std::nullopt;
  if (fewest->characters > bounded->maximum) return kDead;
  if (fewest->characters >= bounded->minimum) return std::min(fewest->bytes, kMaxLength);
  if (use_ == Use::lengths || !character_counts_.has_every_longer(bounded->texts)) return std::nullopt;
  constexpr std::uint64_t kLongestCharacter = 4;  // bytes
  const std::uint64_t more = bounded->minimum - fewest->characters;
  return std::min(saturating_add(fewest->bytes, more * kLongestCharacter), kMaxLength);
}

// The length of an intersection with all strings of some number of bytes.
std::optional<std::uint32_t> Liveness::length_by_bytes(ExprId id) {
  if (exprs_[id].op != Op::intersection || exprs_.operands(id).size() != 2) return std::nullopt;
  const ExprId any_byte = exprs_[exprs_.sigma_star()].part();
  for (std::size_t i = 0; i < 2; ++i) {
    const Expr& count = exprs_[exprs_.operands(id)[i]];
    const Expr& strings = exprs_[exprs_.operands(id)[1 - i]];
    if (count.op != Op::repeat || count.part() != any_byte || !strings.nonempty || !strings.exact_length) continue;
    if (strings.min_length > count.maximum()) return kDead;
    if (strings.min_length >= count.minimum()) return std::min(strings.min_length, kMaxLength);
  }
  return std::nullopt;
}

// Whether the form shows that an operand of an intersection has only texts that another operand excludes, as in
// x & ~(x | y). A search would visit all states of y; and of a grammar that calls itself, states without end.
bool Liveness::excludes_itself(ExprId id) {
  constexpr std::size_t kMany = 64;  // operands, whose pairs would drop each other from what is remembered
  if (exprs_[id].op != Op::intersection) return false;
  const auto operands = exprs_.operands(id);
  const auto is_included = [&](ExprId large, ExprId small) {
    return operands.size() < kMany ? includes_known(large, small) : includes(exprs_, large, small);
  };
  return std::ranges::any_of(operands, [&](ExprId excluding) {
    if (exprs_[excluding].op != Op::complement) return false;
    const ExprId excluded = exprs_[excluding].part();
    if (excluded == exprs_.all_texts()) {
      return std::ranges::any_of(operands, [this](ExprId each) { return text_proof_.is_text(each); });
    }
    if (operands.size() < kMany) meter_.step(std::ssize(operands) / 4);  // a look-up takes a quarter of a step
    return std::ranges::any_of(operands, [&](ExprId each) { return each != excluding && is_included(excluded, each); });
  });
}

// Intersections share their operands.
bool Liveness::includes_known(ExprId large, ExprId small) {
  constexpr std::size_t kMostRemembered = 1 << 16;
  if (inclusions_.size() > kMostRemembered) inclusions_.clear();
  const auto [known, is_new] = inclusions_.try_emplace(std::uint64_t{large.value} << 32 | small.value);
  if (is_new) known->second = includes(exprs_, large, small);
  return known->second;
}

std::optional<std::string> Liveness::witness(ExprId id) { return witness(id, kWitness); }

std::optional<std::string> Liveness::witness(ExprId id, std::size_t longest) {
  const Expr& expr = exprs_[id];
  if (expr.op != Op::intersection || expr.has_guard || expr.has_lookbehind || expr.has_lookbehind_end ||
      expr.has_open_item || expr.has_closed_item) {
    return std::nullopt;
  }
  return witness_text_.find(id, longest);
}

// Avoids a search, which would read each character of the texts to find out which hexadecimal digits may follow.
ExprId Liveness::after_escaped_character(ExprId id) {
  const Expr& expr = exprs_[id];
  if (use_ != Use::bounds || expr.op != Op::json_escaped || !exprs_.has_json_escapes()) return ExprSet::kEmpty;
  const EscapePosition position = escape_position_of(expr.escape_position());
  if (position != EscapePosition::escape && position != EscapePosition::hex0) return ExprSet::kEmpty;
  const bool writes_all = !is_serialized(expr.escape_position());
  const ExprId* row = derivatives_.row(expr.part());
  ExprId last = ExprSet::kEmpty;
  for (unsigned byte = 0; byte < 256; ++byte) {
    const bool is_letter = position == EscapePosition::escape && (byte == '"' || byte == '\\');
    const bool is_named = byte == '\b' || byte == '\t' || byte == '\n' || byte == '\f' || byte == '\r';
    const bool is_as_u = (byte < 0x20 && !is_named) || byte >= 0x7F;
    if (!writes_all && !is_letter && !is_as_u && !(is_named && position == EscapePosition::escape)) continue;
    const ExprId next = row[derivatives_.class_of()[byte]];
    if (next == ExprSet::kEmpty || next == last) continue;
    if (known(next) != kDead) return next;
    last = next;
  }
  return ExprSet::kEmpty;
}

// Guesses the remaining length. For an intersection it is the sum of the operands' lengths, not their maximum: with the
// maximum, n patterns that may match anywhere, such as .*a.* & .*b.* & ..., take 2^n states; with the sum they take n.
std::uint32_t Liveness::distance_guess(ExprId id) const {
  if (exprs_[id].op != Op::intersection) return exprs_[id].min_length;
  std::uint32_t guess = 0;
  for (ExprId operand : exprs_.operands(id)) guess = saturating_add(guess, exprs_[operand].min_length);
  return guess;
}

// If no state that is known to be live is reachable, each state of the search is dead. Otherwise each state that was
// seen to reach one is live.
void Liveness::search(ExprId state) {
  constexpr std::size_t kMaxStates = 5000;    // of a search that may be infinite
  constexpr std::int64_t kMaxWork = 300'000;  // states grow where a grammar is ambiguous
  constexpr std::size_t kFewStates = 128;
  const std::int64_t first_step = meter_.steps();
  bool has_tried_witness = false;
  Search search(exprs_[state].op == Op::intersection && exprs_[state].has_rule);
  search.add({state, 0}, distance_guess(state), exprs_[state].min_length);
  search.sources[state.value];
  bool is_live = false;
  while (search.live.empty()) {
    if (search.seen.size() > kFewStates && !std::exchange(has_tried_witness, true)) {
      const std::optional<std::string> text = use_ == Use::bounds ? witness(state, kLongWitness) : std::nullopt;
      if (text) return remember(state, static_cast<std::uint32_t>(text->size()), Use::bounds);
    }
    const bool is_long = search.seen.size() > kMaxStates || meter_.steps() - first_step > kMaxWork;
    if (search.is_infinite && !is_live && is_long) {
      ExprId grammar, regular;
      if (split_operands(state, grammar, regular)) {
        CfgIntersection intersection(exprs_, derivatives_, meter_);
        if (!intersection.cfg_meets_regular(grammar, regular)) return remember(state, kDead, Use::lengths);
        is_live = true;  // so the search ends
      }
    }
    const std::size_t next = search.next();
    if (next == search.seen.size()) break;
    // A short search mostly finds a shorter text.
    if (search.expanded > kFewExpanded) {
      if (search.expanded == kFewExpanded + 1 && reach_known_text(search, 0)) break;
      if (reach_known_text(search, next)) break;
    }
    if (expand(search, next)) search.live.push_back(search.seen[next].state.value);
  }
  if (search.live.empty()) {
    for (const Search::Seen& seen : search.seen) remember(seen.state, kDead, Use::lengths);
  } else {
    propagate(search);
    add_text(search);
  }
}

// Whether an intersection of fewer operands is dead. Many states share it.
bool Liveness::has_dead_relaxation(ExprId id) {
  return std::ranges::any_of(relaxations_of(exprs_, id), [this](ExprId each) { return find(each, use_) == kDead; });
}

// Returns whether a known text completes a state of the search, and remembers its length.
bool Liveness::reach_known_text(Search& search, std::size_t index) {
  const ExprId state = search.seen[index].state;
  const std::optional<std::uint32_t> length = length_by_known_text(state);
  if (!length) return false;
  remember(state, *length, use_);
  search.live.push_back(state.value);
  search.nearest = search.seen[index];
  return true;
}

// Remembers the text that was found, where the rest of it is known without a search.
void Liveness::add_text(const Search& search) {
  const ExprId end = search.nearest.state;
  const Expr& expr = exprs_[end];
  KnownTexts::Text text;
  if (!expr.nullable) {
    if (!is_self_contained(expr)) return;
    if (const std::optional<std::string> shown = witness_text_.shown_by(end, kShortWitness)) {
      const auto class_of = [this](char byte) { return derivatives_.class_of()[static_cast<std::uint8_t>(byte)]; };
      std::ranges::transform(*shown, std::back_inserter(text), class_of);
    } else if (const std::shared_ptr<const KnownTexts::Text> rest = known_texts_.find(end)) {
      text = *rest;
    } else {
      return;
    }
  }
  std::ranges::reverse(text);
  for (const Search::Seen* at = &search.nearest; at->depth > 0; at = &search.seen[at->from]) {
    text.push_back(at->byte_class);
  }
  std::ranges::reverse(text);
  known_texts_.add(std::move(text));
}

std::optional<std::uint32_t> Liveness::length_by_known_text(ExprId id) {
  const Expr& expr = exprs_[id];
  if (expr.op != Op::intersection || !is_self_contained(expr)) return std::nullopt;
  const std::shared_ptr<const KnownTexts::Text> text = known_texts_.find(id);
  if (!text) return std::nullopt;
  const auto length = static_cast<std::uint32_t>(text->size());
  if (use_ == Use::bounds) return length;
  std::uint32_t left = length;
  for (std::uint8_t byte_class : *text) {
    id = derivatives_.row(id)[byte_class];
    --left;
    if (known(id) == kUnknown) remember(id, left, Use::lengths);
  }
  return length;
}

void Liveness::combine_known_parts(ExprId id) {
  std::vector<ExprId> parts;
  const auto is_unknown = [this](ExprId part) { return known(part) == kUnknown; };
  if (known(id) != kUnknown || !parts_of(id, parts) || std::ranges::any_of(parts, is_unknown)) return;
  const bool has_lengths = std::ranges::all_of(parts, [this](ExprId part) { return use_for(part) == Use::lengths; });
  remember(id, combine(id, parts), has_lengths ? Use::lengths : Use::bounds);
}

bool Liveness::expand(Search& search, std::size_t index) {
  const ExprId from = search.seen[index].state;
  const std::uint32_t depth = search.seen[index].depth;
  const ExprId* row = derivatives_.row(from);
  std::uint32_t shortest = kUnknown;
  for (std::uint32_t c = 0; c < derivatives_.class_count(); ++c) {
    const ExprId to = row[c];
    if (to == ExprSet::kEmpty || (c > 0 && to == row[c - 1])) continue;
    meter_.step();
    combine_known_parts(to);
    const bool is_known = known(to) != kUnknown;
    const std::vector<ExprId> alternatives = is_known ? std::vector<ExprId>() : alternatives_of(to);
    for (ExprId next : is_known ? std::span(&to, 1) : std::span(alternatives)) {
      if (search.expanded > kFewExpanded) note_padded(next);  // a short search mostly finds a shorter text
      const std::uint32_t length = known(next);
      if (length == kDead) continue;
      if (length != kUnknown) {
        if (length < shortest)
          search.nearest = {next, depth + 1, static_cast<std::uint32_t>(index), static_cast<std::uint8_t>(c)};
        shortest = std::min(shortest, length);
        continue;
      }
      const auto [source, is_new] = search.sources.try_emplace(next.value);
      if (is_new && (excludes_itself(next) || length_by_count(next) == kDead ||
                     (search.expanded > kManyExpanded && has_dead_relaxation(next)))) {
        search.sources.erase(next.value);
        remember(next, kDead, Use::lengths);
        continue;
      }
      source->second.push_back(from.value);
      if (is_new) {
        const Search::Seen seen{next, depth + 1, static_cast<std::uint32_t>(index), static_cast<std::uint8_t>(c)};
        search.add(seen, distance_guess(next), exprs_[next].min_length);
      }
    }
  }
  if (shortest == kUnknown) return false;
  remember(from, std::min(shortest, kMaxLength - 1) + 1, use_for(search.nearest.state));
  return true;
}

// Breadth first over predecessors, so that each state gets the least length.
void Liveness::propagate(Search& search) {
  for (std::size_t i = 0; i < search.live.size(); ++i) {
    const std::uint32_t length = std::min(known(ExprId{search.live[i]}), kMaxLength - 1) + 1;
    for (std::uint32_t source : search.sources[search.live[i]]) {
      if (known(ExprId{source}) != kUnknown) continue;
      remember(ExprId{source}, length, use_for(ExprId{search.live[i]}));
      search.live.push_back(source);
    }
  }
}

bool Liveness::split_operands(ExprId state, ExprId& grammar, ExprId& regular) {
  if (exprs_[state].has_guard) return false;
  std::vector<ExprId> regulars;
  for (ExprId operand : exprs_.operands(state)) {
    if (!exprs_[operand].has_rule) {
      regulars.push_back(operand);
    } else if (grammar == ExprSet::kEmpty && exprs_[operand].op != Op::complement) {
      grammar = operand;
    } else {
      return false;
    }
  }
  regular = exprs_.intersection(std::move(regulars));
  return true;
}

}  // namespace detent

#include "automaton/slice_analysis.h"

#include <algorithm>
#include <unordered_set>
#include <utility>

#include "automaton/conditioned_slices.h"
#include "automaton/fewer_rounds.h"
#include "expr/json_string.h"
#include "expr/lengths.h"
#include "expr/parts.h"

namespace detent {
namespace {

// Whether an expression is one particular byte, or that byte or nothing.
bool is_byte(const ExprSet& exprs, ExprId id) {
  const Expr& expr = exprs[id];
  const Expr& base = expr.op == Op::repeat && expr.maximum() == 1 ? exprs[expr.part()] : expr;
  return base.op == Op::bytes && !exprs.set(base.set_index()).has_more_than(1);
}

// The rest of a JSON string from a position between two characters, with the closing quotation mark. Single bytes may
// stand before it.
struct WholeString {
  std::vector<ExprId> before;  // an opening quotation mark, a space
  ExprId texts;                // without escapes
  std::uint32_t escape_position;
  ExprId quote;

  // The same prefix with other texts in the string.
  ExprId of(ExprSet& exprs, ExprId others) const {
    return concat_elements(exprs, before, exprs.concat(exprs.json_escaped(others, escape_position, 0), quote));
  }
  // Whether the text begins after the first quotation mark of the prefix.
  bool has_opening_quote(const ExprSet& exprs) const {
    const auto is_quote = [&exprs](ExprId id) {
      const Expr& expr = exprs[id];
      const Expr& base = expr.op == Op::repeat ? exprs[expr.part()] : expr;
      return exprs.set(base.set_index()).contains('"');
    };
    return std::ranges::find_if(before, is_quote) == before.end() - 1 && exprs[before.back()].op == Op::bytes;
  }
};

std::optional<WholeString> find_whole_string(const ExprSet& exprs, ExprId prefix) {
  WholeString found;
  for (; exprs[prefix].op == Op::concat && is_byte(exprs, exprs[prefix].first()); prefix = exprs[prefix].second()) {
    found.before.push_back(exprs[prefix].first());
  }
  const Expr& expr = exprs[prefix];
  if (expr.op != Op::concat || exprs[expr.second()].op != Op::bytes) return std::nullopt;
  const Expr& string = exprs[expr.first()];
  const bool is_string = string.op == Op::json_escaped &&
                         escape_position_of(string.escape_position()) == EscapePosition::text &&
                         exprs.set(exprs[expr.second()].set_index()) == ByteSet::of('"');
  if (!is_string) return std::nullopt;
  found.texts = string.part();
  found.escape_position = string.escape_position();
  found.quote = expr.second();
  return found;
}

// The string of a prefix where the last byte before it is its opening quotation mark, or no byte stands before it.
std::optional<WholeString> find_quoted_string(const ExprSet& exprs, ExprId prefix) {
  const std::optional<WholeString> found = find_whole_string(exprs, prefix);
  return found && (found->before.empty() || found->has_opening_quote(exprs)) ? found : std::nullopt;
}

std::string byte_of(const ExprSet& exprs, const Expr& bytes) {
  return {static_cast<char>(exprs.set(bytes.set_index()).first())};
}

// The texts of unions of literals. Nothing where a serialised JSON string may write some text in another form than
// itself.
std::optional<std::vector<std::string>> plain_texts(const ExprSet& exprs, std::vector<ExprId> unions) {
  std::vector<std::string> texts;
  while (!unions.empty()) {
    const ExprId id = unions.back();
    unions.pop_back();
    const Expr& expr = exprs[id];
    if (expr.op == Op::union_of) {
      unions.insert(unions.end(), exprs.operands(id).begin(), exprs.operands(id).end());
      continue;
    }
    if (expr.op == Op::text) {
      texts.emplace_back(exprs.text_of(id));
    } else if (expr.op == Op::bytes && !exprs.set(expr.set_index()).has_more_than(1)) {
      texts.push_back(byte_of(exprs, expr));
    } else if (expr.op == Op::epsilon) {
      texts.emplace_back();
    } else {
      return std::nullopt;
    }
    const auto is_plain = [](char byte) { return byte >= ' ' && byte <= '~' && byte != '"' && byte != '\\'; };
    if (!std::ranges::all_of(texts.back(), is_plain)) return std::nullopt;
  }
  return texts;
}

// Each text after each sequence of `bytes`; an optional byte gives two sequences.
std::vector<std::string> after_bytes(const ExprSet& exprs, const std::vector<ExprId>& bytes,
                                     const std::vector<std::string>& texts) {
  std::vector<std::string> found = texts;
  for (std::size_t i = bytes.size(); i-- > 0;) {
    const Expr& expr = exprs[bytes[i]];
    const bool is_optional = expr.op == Op::repeat && expr.minimum() == 0;
    const std::string byte = byte_of(exprs, expr.op == Op::repeat ? exprs[expr.part()] : expr);
    const std::size_t count = found.size();
    for (std::size_t k = 0; k < count; ++k) {
      if (is_optional) found.push_back(found[k]);
      found[k].insert(0, byte);
    }
  }
  return found;
}

// Whether a text of `id` may begin inside a JSON string, as far as its form shows.
bool may_begin_inside_string(const ExprSet& exprs, ExprId id, int depth) {
  constexpr int kMaxDepth = 8;
  const Expr& expr = exprs[id];
  const auto may_begin = [&](ExprId part) { return may_begin_inside_string(exprs, part, depth + 1); };
  if (depth == kMaxDepth) return true;
  switch (expr.op) {
    case Op::json_escaped: return true;
    case Op::bytes:
    case Op::text:
    case Op::epsilon:
    case Op::empty:
    case Op::complement: return false;  // a condition
    case Op::repeat: return may_begin(expr.part());
    case Op::concat: return may_begin(expr.first()) || (exprs[expr.first()].nullable && may_begin(expr.second()));
    case Op::union_of:
    case Op::intersection: return std::ranges::any_of(exprs.operands(id), may_begin);
    default: return expr.op != Op::ordered && expr.op != Op::unordered && expr.op != Op::rule;
  }
}

// Whether a state, or exactly one operand of an intersection, begins inside a JSON string. Nothing where that depends
// on the alternative.
std::optional<bool> is_inside_string(const ExprSet& exprs, ExprId id) {
  const std::vector<ExprId> operands = exprs[id].op == Op::intersection
                                           ? std::vector<ExprId>(exprs.operands(id).begin(), exprs.operands(id).end())
                                           : std::vector<ExprId>{id};
  int strings = 0;
  for (ExprId operand : operands) {
    if (exprs[split_first(exprs, operand).first].op == Op::json_escaped) {
      ++strings;
    } else if (may_begin_inside_string(exprs, operand, 0)) {
      return std::nullopt;
    }
  }
  return strings > 1 ? std::nullopt : std::optional(strings == 1);
}

// Whether the completions of an expression depend neither on the text around it nor on rules.
bool is_self_contained(const Expr& expr) {
  return !expr.has_guard && !expr.has_rule && !expr.has_lookbehind && !expr.has_lookbehind_end;
}

}  // namespace

SlicedState SliceAnalysis::slice(ExprId state) {
  return automaton_.edit([this, state](ExprSet& exprs, Derivatives& derivatives, Liveness& liveness) {
    SplitState found = find_slices(exprs, derivatives, liveness, state, resets_, nullptr);
    const ExprId remainder = found.slices.empty() ? state : exprs.union_of(std::move(found.others));
    return SlicedState{std::move(found.slices), remainder};
  });
}

SplitState SliceAnalysis::split(ExprId state) {
  return automaton_.edit([this, state](ExprSet& exprs, Derivatives& derivatives, Liveness& liveness) {
    return find_slices(exprs, derivatives, liveness, state, resets_, &numbers_);
  });
}

std::optional<Slice> SliceAnalysis::member_value(ExprId state) {
  return automaton_.edit([this, state](ExprSet& exprs, Derivatives& derivatives,
                                       Liveness& liveness) -> std::optional<Slice> {
    const auto conditioned = split_conditions(exprs, state);
    const Expr& first = exprs[split_first(exprs, conditioned ? conditioned->first : state).first];
    if (first.op != Op::bytes || exprs.set(first.set_index()) != ByteSet::of(':')) return std::nullopt;
    const SplitState split = find_slices(exprs, derivatives, liveness, state, resets_, &numbers_);
    const bool is_value = split.slices.size() == 1 && split.slices[0].is_value;
    return is_value && split.declared.empty() && split.others.empty() ? std::optional(split.slices[0]) : std::nullopt;
  });
}

UnboundedState SliceAnalysis::drop_upper_bound(ExprId state) {
  return automaton_.edit(
      [state](ExprSet& exprs, Derivatives&, Liveness&) { return drop_outermost_bound(exprs, state); });
}

UnboundedState SliceAnalysis::drop_upper_bounds(ExprId state) {
  return automaton_.edit([state](ExprSet& exprs, Derivatives&, Liveness&) { return drop_nested_bounds(exprs, state); });
}

UnboundedState SliceAnalysis::drop_large_upper_bounds(ExprId state) {
  ExprId texts = ExprSet::kEmpty;
  UnboundedState found = automaton_.edit([&](ExprSet& exprs, Derivatives&, Liveness&) {
    ExprId wide_texts = ExprSet::kEmpty;
    UnboundedState wide = drop_large_bounds(exprs, state, wide_texts);
    if (wide.in_intersection && !wide.needed && is_self_contained(exprs[wide_texts])) texts = wide_texts;
    return wide;
  });
  if (texts != ExprSet::kEmpty) found.needed = longest_completion(texts);
  return found;
}

ExprId SliceAnalysis::with_fewer_rounds(ExprId state) {
  return automaton_.edit([state](ExprSet& exprs, Derivatives&, Liveness& liveness) {
    const ExprId smaller = detent::with_fewer_rounds(exprs, state);
    return smaller == state || liveness.live(smaller) ? smaller : state;
  });
}

std::optional<std::uint32_t> SliceAnalysis::needed_inside(const UnboundedState& wide) {
  if (wide.differs_after) return std::nullopt;
  const ExprId texts = automaton_.edit([&wide](ExprSet& exprs, Derivatives&, Liveness&) {
    const Expr& head = exprs[split_first(exprs, wide.state).first];
    return head.op == Op::json_escaped && is_self_contained(exprs[head.part()]) ? head.part() : ExprSet::kEmpty;
  });
  return texts == ExprSet::kEmpty ? longest_stay(wide.state) : longest_completion(texts);
}

std::optional<std::uint32_t> SliceAnalysis::longest_stay(ExprId state) {
  using Found = std::optional<std::uint32_t>;
  const auto known = automaton_.edit([&](ExprSet& exprs, Derivatives&, Liveness&) -> std::optional<Found> {
    const auto entry = longest_stays_.find(state.value);
    if (entry != longest_stays_.end()) return std::optional<Found>(std::in_place, entry->second);
    if (is_inside_string(exprs, state).value_or(false)) return std::nullopt;
    return std::optional<Found>(std::in_place, std::nullopt);
  });
  if (known) return *known;
  const Found found = find_longest_stay(state);
  return automaton_.edit([&](ExprSet&, Derivatives&, Liveness&) { return longest_stays_[state.value] = found; });
}

// The largest number of bytes, over all states inside the string that `state` begins with, to a state outside it.
// Nothing where these states are many.
std::optional<std::uint32_t> SliceAnalysis::find_longest_stay(ExprId state) {
  constexpr std::size_t kMaxStates = 1'024;
  std::vector<ExprId> states{state};
  std::unordered_map<std::uint32_t, std::size_t> index_of{{state.value, 0}};
  std::vector<std::vector<std::size_t>> sources(1);
  std::vector<std::size_t> nearest_first;  // indices of states, those with a way out first
  std::vector<std::uint32_t> stays(1, UINT32_MAX);
  for (std::size_t i = 0; i < states.size(); ++i) {
    if (states.size() > kMaxStates) return std::nullopt;
    const ExprId* row = automaton_.row(states[i]);
    for (std::uint32_t c = 0; c < automaton_.class_count(); ++c) {
      if (row[c] == ExprSet::kEmpty) continue;
      const std::optional<bool> is_inside =
          automaton_.edit([&](ExprSet& exprs, Derivatives&, Liveness&) { return is_inside_string(exprs, row[c]); });
      if (!is_inside) return std::nullopt;
      if (!*is_inside) {
        if (std::exchange(stays[i], 1) != 1) nearest_first.push_back(i);
        continue;
      }
      const auto [known, is_new] = index_of.try_emplace(row[c].value, states.size());
      if (is_new) {
        states.push_back(row[c]);
        sources.emplace_back();
        stays.push_back(UINT32_MAX);
      }
      sources[known->second].push_back(i);
    }
  }
  for (std::size_t i = 0; i < nearest_first.size(); ++i) {
    for (std::size_t source : sources[nearest_first[i]]) {
      if (stays[source] != UINT32_MAX) continue;
      stays[source] = stays[nearest_first[i]] + 1;
      nearest_first.push_back(source);
    }
  }
  return nearest_first.size() == states.size() ? std::optional(stays[nearest_first.back()]) : std::nullopt;
}

std::optional<std::uint32_t> SliceAnalysis::longest_completion(ExprId texts) {
  using Found = std::optional<std::uint32_t>;
  const auto known = automaton_.edit([&](ExprSet&, Derivatives&, Liveness&) -> std::optional<Found> {
    const auto entry = longest_completions_.find(texts.value);
    if (entry == longest_completions_.end()) return std::nullopt;
    return std::optional<Found>(std::in_place, entry->second);  // known, perhaps as nothing
  });
  if (known) return *known;
  const Found found = find_longest_completion(texts);
  return automaton_.edit([&](ExprSet&, Derivatives&, Liveness&) { return longest_completions_[texts.value] = found; });
}

// The largest completion bound, in bytes, of all states after a text of `texts`. Nothing where these states are many
// and no loop shows a bound.
std::optional<std::uint32_t> SliceAnalysis::find_longest_completion(ExprId texts) {
  constexpr std::size_t kMaxStates = 1'024;
  // Beyond this work for each state, the search would take milliseconds.
  constexpr std::int64_t kFirstWork = 3'000, kWorkPerState = 8;
  if (const auto bound = automaton_.bound_after_characters(texts)) return bound;
  std::vector<ExprId> states{texts};
  std::unordered_set<std::uint32_t> seen{texts.value};
  std::uint32_t longest = 0;
  const std::int64_t before = automaton_.work();
  for (std::size_t i = 0; i < states.size(); ++i) {
    const std::int64_t most_work = kFirstWork + kWorkPerState * static_cast<std::int64_t>(i);
    if (states.size() > kMaxStates || automaton_.work() - before > most_work) return std::nullopt;
    longest = std::max(longest, automaton_.completion_bound(states[i]));
    const ExprId* row = automaton_.row(states[i]);
    for (std::uint32_t c = 0; c < automaton_.class_count(); ++c) {
      if (row[c] != ExprSet::kEmpty && seen.insert(row[c].value).second) states.push_back(row[c]);
    }
  }
  return longest;
}

ExprId SliceAnalysis::drop_lower_bound(ExprId prefix) {
  return automaton_.edit([prefix](ExprSet& exprs, Derivatives&, Liveness&) {
    const Expr& expr = exprs[prefix];
    if (expr.op != Op::concat || exprs[expr.second()].op != Op::bytes) return prefix;
    const Expr& head = exprs[expr.first()];
    const bool is_escaped = head.op == Op::json_escaped;
    const Expr& texts = is_escaped ? exprs[head.part()] : head;
    const bool is_bounded = texts.op == Op::repeat && texts.minimum() > 0 && texts.maximum() == ExprSet::kUnbounded;
    if (!is_bounded || exprs[texts.part()].nullable) return prefix;
    ExprId wide = exprs.repeat(texts.part(), 0, ExprSet::kUnbounded);
    if (is_escaped) wide = exprs.json_escaped(wide, head.escape_position(), head.escape_bits());
    return exprs.concat(wide, expr.second());
  });
}

std::optional<std::vector<std::string>> SliceAnalysis::literals_of(ExprId prefix) {
  constexpr std::size_t kMaxLiterals = 4'096;
  return automaton_.edit([prefix](ExprSet& exprs, Derivatives&, Liveness&) -> std::optional<std::vector<std::string>> {
    std::vector<std::string> literals;
    std::vector<std::pair<std::string, ExprId>> open{{"", prefix}};  // what was read, and what follows
    while (!open.empty()) {
      auto [read, id] = std::move(open.back());
      open.pop_back();
      const Expr& expr = exprs[id];
      if (expr.op == Op::union_of) {
        for (ExprId operand : exprs.operands(id)) open.emplace_back(read, operand);
      } else {
        const ExprId head = split_first(exprs, id).first;
        if (exprs[head].op == Op::text) {
          read += exprs.text_of(head);
        } else if (exprs[head].op == Op::bytes && !exprs.set(exprs[head].set_index()).has_more_than(1)) {
          read += byte_of(exprs, exprs[head]);
        } else {
          return std::nullopt;
        }
        if (head == id) {
          literals.push_back(std::move(read));
        } else {
          open.emplace_back(std::move(read), expr.second());
        }
      }
      if (literals.size() + open.size() > kMaxLiterals) return std::nullopt;
    }
    return literals;
  });
}

ExprId SliceAnalysis::drop_exclusions(ExprId prefix) {
  return automaton_.edit([prefix](ExprSet& exprs, Derivatives&, Liveness&) {
    if (exprs[prefix].op != Op::intersection) return prefix;
    std::vector<ExprId> parts(exprs.operands(prefix).begin(), exprs.operands(prefix).end());
    std::erase_if(parts, [&exprs](ExprId part) { return exprs[part].op == Op::complement; });
    return parts.empty() ? prefix : exprs.intersection(std::move(parts));
  });
}

std::optional<BoundedString> SliceAnalysis::bounded_string(ExprId prefix) {
  const std::optional<BoundedString> string = string_of_characters(prefix);
  const bool is_bounded = string && (string->minimum > 0 || string->maximum != ExprSet::kUnbounded);
  return is_bounded ? string : std::nullopt;
}

std::optional<BoundedString> SliceAnalysis::string_of_characters(ExprId prefix) {
  return automaton_.edit([this, prefix](ExprSet& exprs, Derivatives&, Liveness&) -> std::optional<BoundedString> {
    const std::optional<WholeString> whole = find_quoted_string(exprs, prefix);
    if (!whole) return std::nullopt;
    const Expr texts = exprs[whole->texts];
    if (texts.op != Op::repeat) return std::nullopt;
    const auto [known, is_new] = character_sets_.try_emplace(texts.part().value);
    if (is_new) known->second = is_one_character(exprs, texts.part());
    if (!known->second) return std::nullopt;
    const ExprId all = whole->of(exprs, exprs.repeat(texts.part(), 0, ExprSet::kUnbounded));
    return BoundedString{all, texts.minimum(), texts.maximum(), !whole->before.empty()};
  });
}

std::optional<CountedString> SliceAnalysis::counted_string(ExprId prefix) {
  return automaton_.edit([prefix](ExprSet& exprs, Derivatives&, Liveness& liveness) -> std::optional<CountedString> {
    if (!exprs.has_json_escapes()) return std::nullopt;
    const std::optional<WholeString> whole = find_quoted_string(exprs, prefix);
    if (!whole) return std::nullopt;
    const std::optional<CharacterCounts::Bounded> bounded = liveness.character_counts().bounded(whole->texts);
    if (!bounded || bounded->is_inside_character || !liveness.character_counts().fewest(bounded->texts)) {
      return std::nullopt;
    }
    // A token has at least one character.
    if (bounded->minimum > 1 && !liveness.character_counts().has_every_longer(bounded->texts)) return std::nullopt;
    return CountedString{whole->of(exprs, bounded->texts), bounded->minimum, bounded->maximum, !whole->before.empty(),
                         exprs[bounded->texts].max_completion_bound};
  });
}

std::optional<ExprId> SliceAnalysis::with_at_most(ExprId string, std::uint32_t maximum) {
  return automaton_.edit([=](ExprSet& exprs, Derivatives&, Liveness& liveness) -> std::optional<ExprId> {
    const std::optional<WholeString> whole = find_quoted_string(exprs, string);
    if (!whole || !whole->before.empty()) return std::nullopt;
    const ExprId characters = exprs.repeat(exprs[exprs.all_texts()].part(), 0, maximum);
    const ExprId bounded = whole->of(exprs, exprs.intersection({whole->texts, characters}));
    return liveness.live(bounded) ? bounded : ExprSet::kEmpty;
  });
}

std::optional<std::uint32_t> SliceAnalysis::characters_to_come(ExprId state) {
  return automaton_.edit([state](ExprSet& exprs, Derivatives&, Liveness& liveness) -> std::optional<std::uint32_t> {
    const Expr& expr = exprs[state];
    if (expr.op != Op::concat) return std::nullopt;
    const Expr& string = exprs[expr.first()];
    if (string.op != Op::json_escaped || !is_character_known(string.escape_position(), string.escape_bits())) {
      return std::nullopt;
    }
    const std::optional<CharacterCounts::Fewest> fewest = liveness.character_counts().fewest(string.part());
    return fewest ? std::optional(fewest->characters) : std::nullopt;
  });
}

std::optional<ExcludingString> SliceAnalysis::excluding_string(ExprId prefix) {
  return automaton_.edit([prefix](ExprSet& exprs, Derivatives&, Liveness& liveness) -> std::optional<ExcludingString> {
    const std::optional<WholeString> whole = find_whole_string(exprs, prefix);
    if (!whole || exprs[whole->texts].op != Op::intersection) return std::nullopt;
    std::vector<ExprId> parts(exprs.operands(whole->texts).begin(), exprs.operands(whole->texts).end());
    std::uint32_t longest = 0;
    std::vector<ExprId> excluded;
    std::erase_if(parts, [&](ExprId part) {
      if (exprs[part].op != Op::complement || exprs[exprs[part].part()].max_length == UINT32_MAX) return false;
      excluded.push_back(exprs[part].part());
      longest = std::max(longest, exprs[excluded.back()].max_length);
      return true;
    });
    if (excluded.empty() || parts.empty()) return std::nullopt;
    std::optional<std::vector<std::string>> written;
    if (is_serialized(whole->escape_position)) written = plain_texts(exprs, excluded);
    if (!whole->before.empty()) {
      if (!written) return std::nullopt;
      written = after_bytes(exprs, whole->before, *written);
    }
    const ExprId texts = exprs.intersection(std::move(parts));
    if (!exprs[texts].infinite) return std::nullopt;
    const ExprId all = whole->of(exprs, texts);
    // A completion longer than each excluded text is none of them. The loop in `texts` gives such a completion.
    const std::uint64_t more = std::uint64_t{longest} + 1 + exprs[texts].loop_length;
    const std::uint32_t bound = std::max(liveness.bound(all), exprs[all].max_completion_bound);
    return ExcludingString{all, saturating_add(bound, more * kMaxEscapeLength), std::move(written)};
  });
}

// Whether a state continues a started character.
bool SliceAnalysis::is_inside_character(ExprId state) {
  const ExprId* row = automaton_.row(state);
  for (unsigned byte = 0x80; byte < 0xC0; ++byte) {
    if (row[automaton_.class_of()[byte]] != ExprSet::kEmpty) return true;
  }
  return false;
}

ExprId SliceAnalysis::any_string_like(ExprId prefix) {
  const ExprId all_texts = automaton_.all_texts();
  if (all_texts == ExprSet::kEmpty || is_inside_character(prefix)) return prefix;
  return automaton_.edit([prefix, all_texts](ExprSet& exprs, Derivatives&, Liveness&) {
    const Expr& expr = exprs[prefix];
    // The quotation mark must be the last byte of the prefix. Otherwise a token could end after the string and before
    // the end of the prefix.
    if (expr.op != Op::concat || exprs[expr.second()].op != Op::bytes) return prefix;
    const Expr& head = exprs[expr.first()];
    const bool is_in_text =
        head.op == Op::json_escaped && escape_position_of(head.escape_position()) == EscapePosition::text;
    if (!is_in_text) return prefix;
    return exprs.concat(exprs.json_escaped(all_texts, head.escape_position(), 0), expr.second());
  });
}

}  // namespace detent

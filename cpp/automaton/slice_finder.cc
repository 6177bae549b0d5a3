#include "automaton/slice_finder.h"

#include <algorithm>
#include <optional>
#include <string_view>

#include "automaton/conditioned_slices.h"
#include "expr/parts.h"

namespace detent {
namespace {

constexpr std::uint32_t kManyRounds = 8;   // a repeat of fewer rounds does not pay for a separate mask
constexpr int kMaxElements = 4;            // of a prefix
constexpr int kMaxValueElements = 8;       // of a prefix up to a value
constexpr int kFewBytes = 16;              // of a set that may stand for white space
constexpr std::size_t kMaxChoices = 1024;  // alternatives of one state
constexpr int kMaxNumberDepth = 64;

bool is_loop(const Expr& expr) {
  return expr.op == Op::json_escaped || (expr.op == Op::repeat && expr.maximum() >= kManyRounds);
}

// A list of members or items belongs to one language, so that no other state would share the mask of a prefix with it.
bool is_list(const Expr& expr) { return expr.op == Op::ordered || expr.op == Op::unordered || expr.op == Op::distinct; }

// Whether the members that may come next stay together, as DeclaredMembers for example, or each is an alternative.
enum class Members : std::uint8_t { whole, expanded };

// Finds the slices of one state. Lives for one call, under the automaton's lock.
class SliceFinder {
 public:
  using Numbers = std::unordered_map<std::uint32_t, bool>;

  SliceFinder(ExprSet& exprs, Derivatives& derivatives, Liveness& liveness, Numbers* numbers, Members members)
      : exprs_(exprs), derivatives_(derivatives), liveness_(liveness), numbers_(numbers), members_(members) {}

  // Without `numbers`: the slices that end in one byte, or at an item of a list.
  SplitState find(ExprId state) {
    std::vector<ExprId>& others = found_.others;
    pending_ = operands_of(exprs_, state, Op::union_of);
    for (std::size_t i = 0; i < pending_.size(); ++i) {
      if (!liveness_.live(pending_[i])) continue;
      const std::optional<ExprId> alternative = take_white_space(pending_[i]);
      if (!alternative) continue;
      if (split_item(*alternative, others)) continue;
      if (const std::optional<Slice> slice = split_after_loop(*alternative)) {
        found_.slices.push_back(*slice);
      } else if (!numbers_ || !(split_after_value(*alternative) || split_head(*alternative))) {
        others.push_back(*alternative);
      }
    }
    return std::move(found_);
  }

 private:
  bool is_sliceable(const Expr& expr) const {
    return expr.op == Op::concat && !expr.has_lookbehind && !expr.has_lookbehind_end;
  }

  // Whether `head` is a short sequence of small byte sets with at least one loop. Few tokens continue after it.
  bool is_white_space(ExprId head) const {
    bool has_loop = false;
    for (int i = 0; i < kMaxElements; ++i) {
      const auto [first, rest] = split_first(exprs_, head);
      const Expr& element = exprs_[first];
      has_loop = has_loop || is_loop(element);
      const Expr& base = element.op == Op::repeat ? exprs_[element.part()] : element;
      if (base.op != Op::bytes || exprs_.set(base.set_index()).has_more_than(kFewBytes)) return false;
      if (rest == ExprSet::kEpsilon) return has_loop;
      head = rest;
    }
    return false;
  }

  static bool is_optional_part(const Expr& expr) {
    return expr.op == Op::repeat && expr.minimum() == 0 && expr.maximum() == 1;
  }

  // Whether a condition holds for an operand of a union, or for any other expression itself. Copies no operands, since
  // most expressions have no white space.
  template <class Condition>
  bool any_choice(ExprId choices, Condition condition) const {
    return exprs_[choices].op == Op::union_of ? std::ranges::any_of(exprs_.operands(choices), condition)
                                              : condition(choices);
  }

  // Takes the slice (white space, rest) out of `(white space | others) rest`, and returns `others rest`. Returns
  // nothing where `others rest` is a union: its operands are then added to the pending alternatives.
  std::optional<ExprId> take_white_space(ExprId alternative) {
    if (!is_sliceable(exprs_[alternative])) return alternative;
    const ExprId head = exprs_[alternative].first(), rest = exprs_[alternative].second();
    if (exprs_[head].op == Op::text || exprs_[head].op == Op::bytes) return alternative;  // has no loop
    const bool is_optional = is_optional_part(exprs_[head]);
    const ExprId choices = is_optional ? exprs_[head].part() : head;
    const auto is_space = [this](ExprId choice) { return !exprs_[choice].nullable && is_white_space(choice); };
    if (!any_choice(choices, is_space)) return alternative;
    std::vector<ExprId> spaces, others;
    for (ExprId choice : operands_of(exprs_, choices, Op::union_of)) {
      (is_space(choice) ? spaces : others).push_back(choice);
    }
    if (!is_optional && others.empty()) return alternative;
    found_.slices.push_back({exprs_.union_of(std::move(spaces)), rest});
    ExprId other = exprs_.union_of(std::move(others));
    if (is_optional) other = exprs_.repeat(other, 0, 1);
    other = exprs_.concat(other, rest);
    if (exprs_[other].op != Op::union_of) return other;
    const std::vector<ExprId> more = operands_of(exprs_, other, Op::union_of);
    pending_.insert(pending_.end(), more.begin(), more.end());
    return std::nullopt;
  }

  // Splits an alternative at a list of distinct items: the prefix is the next key, or the rest of the item that is
  // being read; the continuation is the remaining list. A prefix excludes the keys of earlier items: its mask is that
  // of the prefix without these (SliceAnalysis::drop_exclusions), with few differences.
  bool split_item(ExprId alternative, std::vector<ExprId>& others) {
    const auto [head, tail] = split_first(exprs_, alternative);
    if (exprs_[head].op == Op::distinct) {
      if (exprs_.list_state(head).position == MemberPosition::after_member) return false;
      const std::vector<ExprId> keys = exprs_.list_state(head).keys;
      if (keys.empty()) return false;
      std::vector<Derivatives::Term> terms;
      derivatives_.expand_distinct(terms, head, tail);
      for (const auto& [first, rest] : terms) {
        if (std::ranges::find(keys, first) != keys.end()) {
          found_.slices.push_back({first, rest});
        } else {
          pending_.push_back(exprs_.concat(first, rest));
        }
      }
      if (exprs_[head].nullable) others.push_back(tail);
      return true;
    }
    if (!exprs_[alternative].has_open_item) return false;
    std::vector<ExprId> elements;
    ExprId rest = alternative;
    while (true) {
      const auto [first, after] = split_first(exprs_, rest);
      if (exprs_[first].has_open_item) break;
      elements.push_back(first);
      rest = after;
    }
    const auto [list, after] = split_first(exprs_, rest);
    if (elements.empty() || exprs_[list].op != Op::distinct) return false;
    const ExprId prefix = concat_elements(exprs_, elements);
    found_.slices.push_back({prefix, rest});
    if (exprs_[prefix].nullable) pending_.push_back(rest);
    return true;
  }

  // Splits an alternative after the first byte that follows a loop: single bytes, then a loop, then up to that byte.
  std::optional<Slice> split_after_loop(ExprId alternative) {
    if (!is_sliceable(exprs_[alternative])) return std::nullopt;
    std::vector<ExprId> elements;
    elements.reserve(kMaxElements);
    ExprId rest = alternative;
    bool has_loop = false, is_complete = false;
    for (int i = 0; i < kMaxElements && !is_complete && rest != ExprSet::kEpsilon; ++i) {
      if (has_loop) rest = with_one_first_byte(rest);
      const auto [first, after] = split_first(exprs_, rest);
      rest = after;
      elements.push_back(first);
      const Expr& element = exprs_[first];
      if (element.has_guard || element.has_rule || is_list(element)) return std::nullopt;
      has_loop = has_loop || is_loop(element);
      if (!has_loop) {  // such as an opening quotation mark
        const bool is_byte =
            element.op == Op::repeat ? exprs_[element.part()].op == Op::bytes : element.op == Op::bytes;
        if (!is_byte) return std::nullopt;
        continue;
      }
      is_complete = element.op == Op::bytes;
      if (element.op == Op::text) {  // the prefix takes its first byte
        rest = exprs_.concat(exprs_.drop_first_byte(first), rest);
        elements.back() = exprs_.bytes(ByteSet::of(exprs_.first_byte(first)));
        is_complete = true;
      }
    }
    if (!is_complete || last_byte_is_in_loop(elements)) return std::nullopt;
    const ExprId prefix = concat_elements(exprs_, elements);
    return Slice{prefix, rest};
  }

  // A union whose operands begin with the same byte, such as the ends of one string in several objects, as that byte
  // and a union. Any other expression is returned unchanged.
  ExprId with_one_first_byte(ExprId id) {
    if (exprs_[id].op != Op::union_of) return id;
    const std::vector<ExprId> operands = operands_of(exprs_, id, Op::union_of);
    const auto split_byte = [this](ExprId operand) -> std::pair<ExprId, ExprId> {
      const auto [first, rest] = split_first(exprs_, operand);
      if (exprs_[first].op != Op::text) return {first, rest};
      return {exprs_.bytes(ByteSet::of(exprs_.first_byte(first))), exprs_.concat(exprs_.drop_first_byte(first), rest)};
    };
    const ExprId byte = split_byte(operands[0]).first;
    if (operands.size() > kMaxChoices || exprs_[byte].op != Op::bytes) return id;
    std::vector<ExprId> rests;
    for (ExprId operand : operands) {
      const auto [first, rest] = split_byte(operand);
      if (first != byte) return id;
      rests.push_back(rest);
    }
    return exprs_.concat(byte, exprs_.union_of(std::move(rests)));
  }

  // Splits an alternative after its first value that other languages share: a number, `true`, or a rule of any value,
  // with the punctuation and the optional white space before it.
  bool split_after_value(ExprId alternative) {
    if (!is_sliceable(exprs_[alternative])) return false;
    std::vector<ExprId> elements;
    elements.reserve(kMaxValueElements);
    ExprId rest = alternative;
    bool is_complete = false, is_number_last = false;
    for (int i = 0; i < kMaxValueElements && !is_complete && rest != ExprSet::kEpsilon; ++i) {
      const auto [first, after] = split_first(exprs_, rest);
      const Expr& element = exprs_[first];
      if (element.has_guard || element.has_open_item || element.has_closed_item) return false;
      if (element.has_rule && !is_any_value(first)) return false;
      if (!elements.empty() && split_white_space(elements, first, after)) return true;
      elements.push_back(first);
      rest = after;
      if (is_punctuation(first)) continue;
      if (is_few_words(first) || element.has_rule) {
        is_complete = true;
      } else if (is_number(first, 0)) {
        is_complete = is_number_last = true;
        for (; rest != ExprSet::kEpsilon; rest = exprs_[rest].second()) {
          const ExprId next = split_first(exprs_, rest).first;
          if (exprs_[next].has_guard || !is_number(next, 0)) break;
          elements.push_back(next);
          if (exprs_[rest].op != Op::concat) return false;
        }
      } else {
        return false;
      }
    }
    if (!is_complete || rest == ExprSet::kEpsilon) return false;
    const ExprId prefix = concat_elements(exprs_, elements);
    found_.slices.push_back({prefix, rest, true, is_number_last && begins_outside_numbers(rest, 0)});
    if (exprs_[prefix].nullable) pending_.push_back(rest);
    return true;
  }

  // Splits an alternative at a choice that contains white space of any length, after `elements`: into that white
  // space, as a slice, and the other choices.
  bool split_white_space(const std::vector<ExprId>& elements, ExprId choice, ExprId rest) {
    const bool is_optional = is_optional_part(exprs_[choice]);
    const ExprId part = is_optional ? exprs_[choice].part() : choice;
    if (!any_choice(part, [this](ExprId each) { return is_white_space(each); })) return false;
    const std::vector<ExprId> choices = operands_of(exprs_, part, Op::union_of);
    const auto after_elements = [&](ExprId last) { return concat_elements(exprs_, elements, last); };
    for (ExprId each : choices) {
      if (is_white_space(each)) {
        found_.slices.push_back({after_elements(each), rest, true});
      } else {
        pending_.push_back(after_elements(exprs_.concat(each, rest)));
      }
    }
    if (is_optional) pending_.push_back(after_elements(rest));
    return true;
  }

  // A byte between values, or such a byte that may be missing.
  bool is_punctuation(ExprId id) const {
    static constexpr std::string_view kBytes = "\":,[]{} ";
    const Expr& expr = exprs_[id];
    const Expr& base = expr.op == Op::repeat && expr.maximum() == 1 ? exprs_[expr.part()] : expr;
    if (base.op != Op::bytes) return false;
    const ByteSet& set = exprs_.set(base.set_index());
    return !set.has_more_than(1) && kBytes.find(static_cast<char>(set.first())) != std::string_view::npos;
  }

  // Whether each text of a rule begins with punctuation, a number or a word, as JSON values do.
  bool is_any_value(ExprId id) {
    if (exprs_[id].op != Op::rule) return false;
    return std::ranges::all_of(operands_of(exprs_, exprs_.definition(id), Op::union_of), [this](ExprId alternative) {
      const ExprId first = split_first(exprs_, alternative).first;
      return is_punctuation(first) || is_few_words(first) || is_number(first, 0);
    });
  }

  bool is_few_words(ExprId id) const {
    constexpr std::size_t kFewWords = 3, kShort = 5;
    const auto is_word = [this](ExprId choice) {
      return exprs_[choice].op == Op::text && exprs_.text_of(choice).size() <= kShort;
    };
    if (is_word(id))
      return exprs_.text_of(id) == "null" || exprs_.text_of(id) == "true" || exprs_.text_of(id) == "false";
    return exprs_[id].op == Op::union_of && exprs_.operands(id).size() <= kFewWords &&
           std::ranges::all_of(exprs_.operands(id), is_word);
  }

  // Whether the form of an expression shows that it has no text that is empty or begins with a byte of numbers.
  bool begins_outside_numbers(ExprId id, int depth) const {
    if (depth == kMaxNumberDepth) return false;
    const Expr& expr = exprs_[id];
    const auto begins_outside = [&](ExprId part) { return begins_outside_numbers(part, depth + 1); };
    switch (expr.op) {
      case Op::bytes: return (exprs_.set(expr.set_index()) & kNumberBytes).empty();
      case Op::text: return !kNumberBytes.contains(exprs_.first_byte(id));
      case Op::union_of: return std::ranges::all_of(exprs_.operands(id), begins_outside);
      case Op::concat:
        if (exprs_[expr.first()].nullable && !begins_outside(expr.second())) return false;
        return begins_outside_unless_empty(expr.first(), depth + 1);
      default: return !expr.nullable && begins_outside_unless_empty(id, depth + 1);
    }
  }

  bool begins_outside_unless_empty(ExprId id, int depth) const {
    const Expr& expr = exprs_[id];
    switch (expr.op) {
      case Op::repeat: return begins_outside_numbers(expr.part(), depth);
      case Op::ordered:
        return static_cast<MemberPosition>(expr.member_position()) == MemberPosition::after_member &&
               begins_outside_numbers(exprs_.ordered_members(id).separator, depth);
      case Op::unordered:
        return exprs_.unordered_state(id).position == MemberPosition::after_member &&
               begins_outside_numbers(exprs_.operands(id)[0], depth);
      case Op::distinct:
        return exprs_.list_state(id).position == MemberPosition::after_member &&
               begins_outside_numbers(exprs_.list(exprs_.list_state(id).list).separator, depth);
      case Op::bytes:
      case Op::text:
      case Op::union_of:
      case Op::concat: return begins_outside_numbers(id, depth);
      default: return false;
    }
  }

  // Whether all bytes of an expression are those of numbers.
  bool is_number(ExprId id, int depth) {
    const Expr expr = exprs_[id];
    if (expr.op == Op::text) {
      return std::ranges::all_of(exprs_.text_of(id),
                                 [](char byte) { return kNumberBytes.contains(static_cast<std::uint8_t>(byte)); });
    }
    if (expr.op == Op::bytes) return exprs_.set(expr.set_index()).is_subset_of(kNumberBytes);
    if (const auto known = numbers_->find(id.value); known != numbers_->end()) return known->second;
    if (depth == kMaxNumberDepth) return false;
    bool found = false;
    switch (expr.op) {
      case Op::concat: found = is_number(expr.first(), depth + 1) && is_number(expr.second(), depth + 1); break;
      case Op::repeat: found = is_number(expr.part(), depth + 1); break;
      case Op::union_of:
      case Op::intersection: {
        const std::vector<ExprId> parts(exprs_.operands(id).begin(), exprs_.operands(id).end());
        const auto is_part = [&](ExprId part) { return is_number(part, depth + 1); };
        found = expr.op == Op::union_of ? std::ranges::all_of(parts, is_part) : std::ranges::any_of(parts, is_part);
        break;
      }
      default: break;
    }
    (*numbers_)[id.value] = found;
    return found;
  }

  // How the next member of an object may begin: only with the literal name of a declared member; with any name, or no
  // member may follow; or with something else.
  enum class Names : std::uint8_t { declared, any, other };
  Names names_of(ExprId id) const {
    const Expr& ordered = exprs_[id];
    const OrderedMembers& list = exprs_.ordered_members(id);
    if (static_cast<MemberPosition>(ordered.member_position()) == MemberPosition::after_member) return Names::other;

    for (std::size_t i = ordered.next_member(); i < list.members.size(); ++i) {
      const Expr& member = exprs_[list.members[i]];
      if (exprs_[member.op == Op::concat ? member.first() : list.members[i]].op != Op::text) return Names::other;
      if (list.required[i]) return Names::declared;
    }
    return list.others == ExprSet::kEmpty && !ordered.nullable ? Names::declared : Names::any;
  }

  // Splits members in a fixed order, after an optional byte, into the declared ones, an undeclared one, and none.
  bool split_members(ExprId state, std::optional<std::uint8_t> before) {
    const auto [head, rest] = split_first(exprs_, state);
    if (exprs_[head].op != Op::ordered) return false;
    const Expr expr = exprs_[head];
    const auto with_byte = [&](ExprId after) {
      return before ? exprs_.concat(exprs_.bytes(ByteSet::of(*before)), after) : after;
    };
    switch (names_of(head)) {
      case Names::declared: return false;
      case Names::any: {
        const auto count = static_cast<std::uint32_t>(exprs_.ordered_members(head).members.size());
        const ExprId others = exprs_.ordered_members(head).others;
        if (expr.next_member() < count) found_.declared.push_back({state, before});
        if (others != ExprSet::kEmpty) {
          const ExprId after = exprs_.ordered(expr.members_index(), count, MemberPosition::after_member);
          pending_.push_back(with_byte(exprs_.concat(others, exprs_.concat(after, rest))));
        }
        break;
      }
      case Names::other: {
        if (before) return false;
        std::vector<Derivatives::Term> terms;
        derivatives_.expand_ordered(terms, head, rest);
        for (const auto& [first, second] : terms) pending_.push_back(exprs_.concat(first, second));
        break;
      }
    }
    if (expr.nullable) pending_.push_back(with_byte(rest));
    return true;
  }

  // Splits members, after an optional byte, into one alternative for each that may come next, and none.
  bool expand_members(ExprId state, std::optional<std::uint8_t> before) {
    const auto [head, rest] = split_first(exprs_, state);
    std::vector<Derivatives::Term> terms;
    if (exprs_[head].op == Op::ordered) {
      derivatives_.expand_ordered(terms, head, rest);
    } else if (exprs_[head].op == Op::unordered) {
      derivatives_.expand_unordered(terms, head, rest);
    } else {
      return false;
    }
    const auto add = [&](ExprId next) {
      pending_.push_back(before ? exprs_.concat(exprs_.bytes(ByteSet::of(*before)), next) : next);
    };
    for (const auto& [first, second] : terms) add(exprs_.concat(first, second));
    if (exprs_[head].nullable) add(rest);
    return true;
  }

  // Splits a repeat of items that begin with punctuation, such as a comma, into its first item and what follows it.
  bool split_items(const Expr& items, ExprId rest) {
    const ExprId first = split_first(exprs_, items.part()).first;
    if (exprs_[items.part()].nullable || exprs_[first].nullable || !is_punctuation(first)) return false;
    const std::uint32_t maximum = items.maximum() == ExprSet::kUnbounded ? ExprSet::kUnbounded : items.maximum() - 1;
    const ExprId more = exprs_.repeat(items.part(), items.minimum() == 0 ? 0 : items.minimum() - 1, maximum);
    pending_.push_back(exprs_.concat(items.part(), exprs_.concat(more, rest)));
    if (items.minimum() == 0) pending_.push_back(rest);
    return true;
  }

  // Splits an alternative into those that its head can choose from.
  bool split_head(ExprId alternative) {
    const auto [head, rest] = split_first(exprs_, alternative);
    const Expr expr = exprs_[head];
    if (expr.has_guard || expr.has_lookbehind || expr.has_lookbehind_end || pending_.size() > kMaxChoices) return false;
    switch (expr.op) {
      case Op::union_of:
        for (ExprId choice : operands_of(exprs_, head, Op::union_of)) pending_.push_back(exprs_.concat(choice, rest));
        return true;
      case Op::repeat:
        if (expr.minimum() == 0 && expr.maximum() == 1 && rest != ExprSet::kEpsilon) {
          pending_.push_back(exprs_.concat(expr.part(), rest));
          pending_.push_back(rest);
          return true;
        }
        return split_items(expr, rest);
      case Op::ordered:
        if (members_ == Members::whole) return split_members(alternative, std::nullopt);
        [[fallthrough]];
      case Op::unordered: return members_ == Members::expanded && expand_members(alternative, std::nullopt);
      case Op::bytes: {
        const ByteSet& set = exprs_.set(expr.set_index());
        if (set != ByteSet::of(' ')) return false;
        return members_ == Members::expanded ? expand_members(rest, ' ') : split_members(rest, ' ');
      }
      default: return false;
    }
  }

  // Whether the last byte may also continue a loop of the prefix. If so, nearly every token leaves the prefix
  // somewhere, and its mask is of no use.
  bool last_byte_is_in_loop(const std::vector<ExprId>& elements) {
    const ByteSet last = exprs_.set(exprs_[elements.back()].set_index());
    for (std::size_t i = 0; i + 1 < elements.size(); ++i) {
      const Expr& element = exprs_[elements[i]];
      if (!is_loop(element)) continue;
      if (element.op == Op::json_escaped && last == ByteSet::of('"')) continue;  // but after a backslash: of few tokens
      const ExprId* row = derivatives_.row(elements[i]);
      for (unsigned byte = 0; byte < 256; ++byte) {
        const ExprId next = row[derivatives_.class_of()[byte]];
        if (last.contains(static_cast<std::uint8_t>(byte)) && next != ExprSet::kEmpty) return true;
      }
    }
    return false;
  }

  ExprSet& exprs_;
  Derivatives& derivatives_;
  Liveness& liveness_;
  Numbers* numbers_;
  Members members_;
  std::vector<ExprId> pending_;  // alternatives
  SplitState found_;
};

}  // namespace

SplitState find_slices(ExprSet& exprs, Derivatives& derivatives, Liveness& liveness, ExprId state, ByteResets& resets,
                       std::unordered_map<std::uint32_t, bool>* numbers) {
  if (const auto parts = split_conditions(exprs, state)) {
    SplitState found = SliceFinder(exprs, derivatives, liveness, numbers, Members::expanded).find(parts->first);
    return narrow_slices(exprs, derivatives, liveness, std::move(found), parts->second, resets);
  }
  return SliceFinder(exprs, derivatives, liveness, numbers, Members::whole).find(state);
}

}  // namespace detent

#include "runtime/literal_walk.h"

#include <algorithm>
#include <tuple>
#include <utility>

#include "expr/json_string.h"
#include "expr/lengths.h"
#include "expr/parts.h"

namespace detent {
namespace {

constexpr std::size_t kMaxChoices = 4096;  // of one state
constexpr int kFewBytes = 4;               // in a byte set that counts as so many literals
constexpr int kMaxFollowed = 1 << 14;      // choices of all states, at all nodes

// Whether few tokens continue after this byte.
bool is_punctuation(unsigned byte) {
  return byte < 0x80 && !(byte >= '0' && byte <= '9') && !(byte >= 'A' && byte <= 'Z') && !(byte >= 'a' && byte <= 'z');
}

// The members that may come next: where the required ones fill the list up, they alone.
std::span<const ExprId> allowed_members(const ExprSet& exprs, ExprId list) {
  const UnorderedState state = exprs.unordered_state(list);
  const std::span<const ExprId> members = exprs.operands(list).subspan(2);
  return state.required == state.maximum ? members.first(state.required) : members;
}

ByteSet indent_bytes() { return ByteSet::of(' ') | ByteSet::of('\t'); }

}  // namespace

bool begins_like_literal(const ExprSet& exprs, ExprId state) {
  const Expr& expr = exprs[state];
  const Expr& head = exprs[split_first(exprs, state).first];
  if (head.op == Op::text || head.op == Op::ordered || head.op == Op::unordered) return true;
  if (head.op == Op::repeat && expr.op == Op::concat && exprs[head.part()].op == Op::bytes) {  // an indent
    return exprs.set(exprs[head.part()].set_index()).is_subset_of(indent_bytes()) &&
           begins_like_literal(exprs, expr.second());
  }
  if (head.op != Op::bytes) return false;
  const ByteSet& set = exprs.set(head.set_index());
  return !set.has_more_than(1) && is_punctuation(set.first());
}

template <class Trie>
void LiteralWalk<Trie>::run(ExprId state) {
  if (trie_.size() == 0) return;
  const OpenState start{state, 0, trie_.size()};
  pending_.push_back(start);
  follow_pending(start);
}

template <class Trie>
void LiteralWalk<Trie>::run(const DeclaredMembers& members) {
  OpenState at{members.state, 0, trie_.size()};
  if (members.before) {
    const std::uint32_t node = trie_.root(*members.before);
    if (node >= trie_.size()) return;
    if (allow(node)) builder_.note_length(liveness_.bound(members.state));
    at = {members.state, node + 1, trie_.node(node).next};
  }
  const auto [list, rest] = split_first(exprs_, members.state);
  follow_members({Choice::Kind::members, list, rest}, at, Undeclared::left_out);
  follow_pending(at);
}

// Follows the pending states, which `start` led to.
template <class Trie>
void LiteralWalk<Trie>::follow_pending(const OpenState& start) {
  const std::size_t open_before = open_.size();
  std::size_t followed = 0;
  while (!pending_.empty()) {
    const OpenState at = pending_.back();
    pending_.pop_back();
    const KnownState known = choices_of(at.state);  // the loop below adds no choices
    for (std::size_t i = known.first; i < known.last; ++i) follow(choices_[i], at);
    followed += known.last - known.first;
    if (followed <= kMaxFollowed) continue;
    // Many sequences of choices lead to the same states, so leave `start` to the caller, whose walk by states visits
    // each state once. The tokens allowed so far stay allowed.
    pending_.clear();
    open_.resize(open_before);
    open_.push_back(start);
  }
}

template <class Trie>
typename LiteralWalk<Trie>::KnownState LiteralWalk<Trie>::choices_of(ExprId state) {
  if (known_.size() <= kFewStates) {
    const auto known = std::ranges::find(known_, state, &KnownState::state);
    if (known != known_.end()) return *known;
  } else if (const auto known = index_of_known_.find(state.value); known != index_of_known_.end()) {
    return known_[known->second];
  }
  const std::size_t first = choices_.size();
  unsplit_.assign(1, state);
  while (!unsplit_.empty()) {
    const ExprId next = unsplit_.back();
    unsplit_.pop_back();
    if (liveness_.live(next)) add_choices(next);
    if (choices_.size() - first + unsplit_.size() > kMaxChoices) {
      choices_.resize(first);
      choices_.push_back({Choice::Kind::other, state, ExprSet::kEpsilon});
      break;
    }
  }
  known_.push_back({state, first, choices_.size()});
  if (known_.size() > kFewStates) {
    for (std::size_t i = index_of_known_.size(); i < known_.size(); ++i) index_of_known_[known_[i].state.value] = i;
  }
  return known_.back();
}

// Splits the head of a state. A head with several choices, such as a union, adds a state for each one to `unsplit_`.
// Any other state is added to `choices_`.
template <class Trie>
void LiteralWalk<Trie>::add_choices(ExprId state) {
  const bool has_rest = exprs_[state].op == Op::concat;
  const ExprId head = has_rest ? exprs_[state].first() : state;
  const ExprId rest = has_rest ? exprs_[state].second() : ExprSet::kEpsilon;
  const Expr expr = exprs_[head];
  const auto is_few_bytes = [this](const Expr& part) {
    return part.op == Op::bytes && !exprs_.set(part.set_index()).has_more_than(kFewBytes);
  };
  Choice::Kind kind = Choice::Kind::other;
  if (!expr.has_guard && !expr.has_lookbehind && !expr.has_lookbehind_end) {
    switch (expr.op) {
      case Op::empty:
      case Op::epsilon: return;
      case Op::text: kind = Choice::Kind::text; break;
      case Op::bytes:
        if (is_few_bytes(expr)) kind = Choice::Kind::bytes;
        break;
      case Op::union_of:
        for (ExprId choice : std::vector<ExprId>(exprs_.operands(head).begin(), exprs_.operands(head).end())) {
          unsplit_.push_back(exprs_.concat(choice, rest));
        }
        return;
      case Op::repeat:
        if (is_few_bytes(exprs_[expr.part()])) {
          kind = Choice::Kind::run;
        } else if (expr.minimum() == 0 && expr.maximum() == 1) {
          unsplit_.push_back(exprs_.concat(expr.part(), rest));
          unsplit_.push_back(rest);
          return;
        }
        break;
      case Op::json_escaped:
        if (has_rest && escape_position_of(expr.escape_position()) == EscapePosition::text) kind = Choice::Kind::string;
        break;
      case Op::rule: unsplit_.push_back(exprs_.concat(exprs_.definition(head), rest)); return;
      case Op::ordered:
        if (static_cast<MemberPosition>(expr.member_position()) != MemberPosition::after_member) {
          kind = Choice::Kind::members;
          if (expr.nullable) unsplit_.push_back(rest);
          break;
        }
        [[fallthrough]];
      case Op::unordered: {
        if (expr.op == Op::unordered && exprs_.unordered_state(head).position != MemberPosition::after_member) {
          kind = Choice::Kind::members;
          if (expr.nullable) unsplit_.push_back(rest);
          break;
        }
        std::vector<Derivatives::Term> terms;
        if (expr.op == Op::ordered) {
          derivatives_.expand_ordered(terms, head, rest);
        } else {
          derivatives_.expand_unordered(terms, head, rest);
        }
        for (const auto& [first, second] : terms) unsplit_.push_back(exprs_.concat(first, second));
        if (expr.nullable) unsplit_.push_back(rest);
        return;
      }
      default: break;
    }
  }
  if (kind == Choice::Kind::other || kind == Choice::Kind::string) {
    choices_.push_back({kind, state, ExprSet::kEpsilon});
  } else {
    choices_.push_back({kind, head, rest});
  }
}

template <class Trie>
void LiteralWalk<Trie>::follow(const Choice& choice, const OpenState& at) {
  switch (choice.kind) {
    case Choice::Kind::text: follow_text(exprs_.text_of(choice.head), choice.rest, at); break;
    case Choice::Kind::bytes: {
      const ByteSet set = exprs_.set(exprs_[choice.head].set_index());  // a search for a completion may make others
      set.each([&](std::uint8_t byte) {
        const char character = static_cast<char>(byte);
        follow_text({&character, 1}, choice.rest, at);
      });
      break;
    }
    case Choice::Kind::members:
      if (exprs_[choice.head].op == Op::unordered) {
        follow_unordered_members(choice, at);
      } else {
        follow_members(choice, at, Undeclared::followed);
      }
      break;
    case Choice::Kind::run: follow_run(exprs_[choice.head], choice.rest, at); break;
    case Choice::Kind::string: follow_string(choice.head, at); break;
    case Choice::Kind::other: open_.push_back({choice.head, at.first, at.end}); break;
  }
}

// Allows the tokens that are prefixes of the text. Where tokens continue after it, `rest` becomes pending there.
template <class Trie>
void LiteralWalk<Trie>::follow_text(std::string_view text, ExprId rest, const OpenState& at) {
  bool is_allowed = false;
  const std::size_t length = text.size();
  const std::optional<OpenState> below = read_text(text, at, is_allowed);
  if (is_allowed) builder_.note_length(saturating_add(length, liveness_.bound(rest)));
  if (below) pending_.push_back({rest, below->first, below->end});
}

// Allows the tokens that are prefixes of the text. Returns the trie nodes below the text, if there are any.
template <class Trie>
std::optional<OpenState> LiteralWalk<Trie>::read_text(std::string_view text, const OpenState& at, bool& is_allowed) {
  OpenState to = at;
  for (char byte : text) {
    if (to.first >= to.end) return std::nullopt;
    const auto next = static_cast<std::uint8_t>(byte);
    const std::uint32_t node = to.first == 0 ? trie_.root(next) : trie_.child(to.first - 1, next);
    if (node >= to.end) return std::nullopt;
    is_allowed |= allow(node);
    to = {to.state, node + 1, trie_.node(node).next};
  }
  return to.first < to.end ? std::optional(to) : std::nullopt;
}

template <class Trie>
ExprId LiteralWalk<Trie>::name_of(ExprId member) const {
  return split_first(exprs_, member).first;
}

// Shortens the common prefix to what the name of a further member begins with too. Returns false, with no common
// prefix, where the member has no literal name.
template <class Trie>
bool LiteralWalk<Trie>::narrow(CommonPrefix& common, ExprId member) const {
  const ExprId name = name_of(member);
  if (exprs_[name].op != Op::text || !exprs_[member].nonempty) {
    common = {};
    return false;
  }
  const std::string_view text = exprs_.text_of(name);
  if (common.name == ExprSet::kEmpty) {
    common.name = name;
    common.length = text.size();
  } else {
    const std::string_view known = text_of(common);
    common.length = static_cast<std::size_t>(std::mismatch(known.begin(), known.end(), text.begin(), text.end()).first -
                                             known.begin());
  }
  return true;
}

template <class Trie>
typename LiteralWalk<Trie>::CommonPrefix LiteralWalk<Trie>::common_prefix(ExprId members) const {
  CommonPrefix common;
  if (exprs_[members].op == Op::unordered) {
    for (ExprId member : allowed_members(exprs_, members)) {
      if (!narrow(common, member)) break;
    }
    return common;
  }
  const OrderedMembers& list = exprs_.ordered_members(members);
  for (std::size_t i = exprs_[members].next_member(); i < list.members.size() && !common.has_required; ++i) {
    if (!narrow(common, list.members[i])) break;
    common.has_required = list.required[i];
  }
  return common;
}

// Follows the members that may come next, the same ones as in Derivatives::expand_ordered. The expression after a
// member is built only where some token begins with the member's name.
template <class Trie>
void LiteralWalk<Trie>::follow_members(const Choice& choice, const OpenState& at, Undeclared undeclared) {
  const Expr state = exprs_[choice.head];
  const OrderedMembers& list = exprs_.ordered_members(choice.head);
  const auto after = [&](ExprId member, std::size_t next) {
    const ExprId rest =
        exprs_.ordered(state.members_index(), static_cast<std::uint32_t>(next), MemberPosition::after_member);
    return exprs_.concat(member, exprs_.concat(rest, choice.rest));
  };
  std::size_t i = state.next_member();
  // After a member, what completes the list before it does, and a separator. So no list after a member is built.
  const auto note = [&](ExprId member) {
    const std::uint32_t left =
        saturating_add(liveness_.bound(list.separator), liveness_.bound(exprs_.concat(choice.head, choice.rest)));
    builder_.note_length(saturating_add(liveness_.bound(member), left));
  };
  const CommonPrefix common = common_prefix(choice.head);
  bool ends_inside = false;
  if (common.length > 0 && !read_text(text_of(common), at, ends_inside)) {
    if (ends_inside) note(list.members[i]);
    if (common.has_required) return;
    i = list.members.size();
  }
  for (; i < list.members.size(); ++i) {
    const Expr member = exprs_[list.members[i]];
    const ExprId name = name_of(list.members[i]);
    const bool has_name = exprs_[name].op == Op::text && member.nonempty;
    bool is_allowed = false;
    const std::optional<OpenState> below =
        has_name ? read_text(exprs_.text_of(name), at, is_allowed) : std::optional(at);
    if (is_allowed) note(list.members[i]);
    const ExprId value = has_name ? split_first(exprs_, list.members[i]).second : list.members[i];
    if (below) pending_.push_back({after(value, i + 1), below->first, below->end});
    if (list.required[i]) return;
  }
  if (undeclared == Undeclared::left_out || list.others == ExprSet::kEmpty) return;
  pending_.push_back({after(list.others, i), at.first, at.end});
}

// Follows the members that may come next in any order, the same ones as in Derivatives::expand_unordered, whose lists
// of the members that are left take quadratic time: such a list is built only where some token reads on after the name.
// The list is live, so after a live member the list that is left is live too.
template <class Trie>
void LiteralWalk<Trie>::follow_unordered_members(const Choice& choice, const OpenState& at) {
  const UnorderedState state = exprs_.unordered_state(choice.head);
  std::optional<MembersLeft> left;  // where some token reads on after a name
  const std::vector<ExprId> parts(exprs_.operands(choice.head).begin(), exprs_.operands(choice.head).end());
  const ExprId separator = parts[0], others = parts[1];
  const std::size_t count = parts.size() - 2, allowed = allowed_members(exprs_, choice.head).size();
  // The texts of `first`, then those of the list without member `i`; of the whole list if there is no such member.
  const auto after = [&](ExprId first, std::size_t i) {
    if (!left) left = exprs_.members_left(choice.head);
    return exprs_.concat(first, exprs_.concat(exprs_.unordered_after(*left, i), choice.rest));
  };
  // After a member, what completes the list without it does, and a separator.
  const auto note = [&](ExprId member) {
    const std::uint32_t others_bound =
        saturating_add(liveness_.bound(separator), liveness_.bound(exprs_.concat(choice.head, choice.rest)));
    builder_.note_length(saturating_add(liveness_.bound(member), others_bound));
  };
  bool ends_inside = false;
  const CommonPrefix common = common_prefix(choice.head);
  const bool is_cut_off = common.length > 0 && !read_text(text_of(common), at, ends_inside);
  if (ends_inside && is_cut_off) note(parts[2]);
  for (std::size_t i = 0; i < (is_cut_off ? 0 : allowed); ++i) {
    const ExprId member = parts[2 + i];
    if (!exprs_[member].nonempty && !liveness_.live(member)) continue;
    const ExprId name = name_of(member);
    const bool has_name = exprs_[name].op == Op::text;
    bool is_allowed = false;
    const std::optional<OpenState> below =
        has_name ? read_text(exprs_.text_of(name), at, is_allowed) : std::optional(at);
    if (is_allowed) note(member);
    if (!below) continue;
    const ExprId value = has_name ? split_first(exprs_, member).second : member;
    pending_.push_back({after(value, i), below->first, below->end});
  }
  if (others != ExprSet::kEmpty && state.required < state.maximum) {
    pending_.push_back({after(others, count), at.first, at.end});
  }
}

// Follows a repeat of few bytes, such as an indent, without an expression for each count.
template <class Trie>
void LiteralWalk<Trie>::follow_run(const Expr& repeat, ExprId rest, const OpenState& at) {
  struct Position {
    std::uint32_t count, first, end;
  };
  const ByteSet set = exprs_.set(exprs_[repeat.part()].set_index());
  const std::uint32_t minimum = repeat.minimum(), maximum = repeat.maximum();
  bool is_allowed = false;
  std::vector<Position> positions{{0, at.first, at.end}};
  while (!positions.empty()) {
    const auto [count, first, end] = positions.back();
    positions.pop_back();
    if (first == end) continue;
    if (count >= minimum) pending_.push_back({rest, first, end});
    if (count == maximum) continue;
    for (std::uint32_t node = first; node < end; node = trie_.node(node).next) {
      if (!set.contains(trie_.node(node).byte)) continue;
      is_allowed |= allow(node);
      positions.push_back({count + 1, node + 1, trie_.node(node).next});
    }
  }
  if (is_allowed) builder_.note_length(saturating_add(minimum, liveness_.bound(rest)));
}

// The texts of a JSON string have no quotation mark. So where only this byte follows in the trie, the string must end
// here. Case: the token `":""` before a member that is a string; the transition row of the string costs some 8 us.
template <class Trie>
void LiteralWalk<Trie>::follow_string(ExprId state, const OpenState& at) {
  const bool must_end = at.first < at.end && trie_.node(at.first).byte == '"' && trie_.node(at.first).next == at.end;
  if (!must_end) {
    open_.push_back({state, at.first, at.end});
  } else if (const auto [string, rest] = split_first(exprs_, state); exprs_[string].nullable) {
    pending_.push_back({rest, at.first, at.end});
  }
}

template <class Trie>
bool LiteralWalk<Trie>::allow(std::uint32_t node) {
  bool is_token = false;
  trie_.each_id(node, [&](std::uint32_t id) {
    builder_.allow(id);
    is_token = true;
  });
  return is_token;
}

// The lists of members that are left differ after each alternative of an object, but few values of one member do. So
// many open states begin alike. Case: an object with 58 alternatives of 50 members has 1,226 open states, 40 united.
template <class Trie>
std::vector<OpenState> LiteralWalk<Trie>::take_open() {
  std::ranges::sort(open_, [](const OpenState& x, const OpenState& y) {
    return std::tie(x.first, x.end, x.state) < std::tie(y.first, y.end, y.state);
  });
  std::vector<OpenState> united;
  for (std::size_t i = 0, j = 0; i < open_.size(); i = j) {
    std::vector<ExprId> states;
    for (; j < open_.size() && open_[j].first == open_[i].first && open_[j].end == open_[i].end; ++j) {
      states.push_back(open_[j].state);
    }
    united.push_back({union_by_head(std::move(states), 0), open_[i].first, open_[i].end});
  }
  open_.clear();
  return united;
}

// The union of states, in which those with one head are one sequence: the head, and the union of what follows it.
template <class Trie>
ExprId LiteralWalk<Trie>::union_by_head(std::vector<ExprId> states, int depth) {
  constexpr int kMaxDepth = 8;
  std::ranges::sort(states);
  const auto repeated = std::ranges::unique(states);
  states.erase(repeated.begin(), repeated.end());
  if (states.size() == 1) return states[0];
  std::vector<std::pair<ExprId, ExprId>> parts;
  for (ExprId state : states) parts.push_back(split_first(exprs_, state));
  std::ranges::sort(parts);
  std::vector<ExprId> sequences;
  for (std::size_t i = 0, j = 0; i < parts.size(); i = j) {
    std::vector<ExprId> tails;
    for (; j < parts.size() && parts[j].first == parts[i].first; ++j) tails.push_back(parts[j].second);
    const ExprId tail =
        depth < kMaxDepth ? union_by_head(std::move(tails), depth + 1) : exprs_.union_of(std::move(tails));
    sequences.push_back(exprs_.concat(parts[i].first, tail));
  }
  return exprs_.union_of(std::move(sequences));
}

template class LiteralWalk<VocabularyTrie>;
template class LiteralWalk<SuffixTrie>;

}  // namespace detent

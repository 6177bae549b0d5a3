// ExprSet: hash-consed regular expressions over bytes, closed under intersection and complement.
//
// Equal expressions have equal indices. The constructors keep a normal form in which an expression has finitely many
// derivatives: concatenation leans right, unions and intersections are flat sorted sets, adjacent repeats of one part
// merge, and overlapping counts of one part merge.
// (Brzozowski 1964; Owens, Reppy & Turon, "Regular-expression derivatives re-examined", 2009.)
//
// Reading a published expression takes no lock; building one takes the lock of the owner (Automaton).
// Cost: a constructor is linear in its operands, plus one hash look-up.
#pragma once

#include <array>
#include <cstdint>
#include <deque>
#include <optional>
#include <set>
#include <span>
#include <string>
#include <string_view>
#include <unordered_map>
#include <utility>
#include <vector>

#include "base/byte_set.h"
#include "base/limits.h"
#include "base/stable_vector.h"
#include "expr/decimal.h"
#include "expr/distinct.h"
#include "expr/expr.h"
#include "expr/expr_table.h"
#include "expr/members.h"

namespace detent {

class ExprSet {
 public:
  static constexpr std::uint32_t kUnbounded = UINT32_MAX;
  static constexpr ExprId kEmpty{0};
  static constexpr ExprId kEpsilon{1};

  explicit ExprSet(Meter& meter);
  // The sizes of all arrays of a set at one time.
  struct Extent {
    std::size_t exprs = 0, operands = 0, texts = 0, unordered_states = 0, list_states = 0, decimals = 0,
                decimal_states = 0;
  };
  Extent extent() const;
  // A copy of `other` as it was at `extent`. The expressions keep their ids.
  ExprSet(const ExprSet& other, const Extent& extent, Meter& meter);
  // Adds the expressions `ids` of `other`, and replaces each id by the one in this set, which is a copy of `other` at
  // an earlier extent. Cost: linear in the new expressions.
  void adopt(const ExprSet& other, std::span<ExprId> ids);

  // Sets the bytes that texts may contain, and those of them that are tokens; to be called before anything is built.
  // JSON strings contain bytes of the alphabet only. All other restrictions are the caller's. The flags of Expr say
  // which expressions are over the alphabet, and which have completions whose bytes are all tokens.
  void set_alphabet(const ByteSet& alphabet, const ByteSet& token_bytes);
  const ByteSet& alphabet() const { return alphabet_; }
  ExprId alphabet_star() const { return alphabet_star_; }  // all strings over the alphabet
  // Whether every text can be written in a JSON string, because the alphabet has ASCII and all continuation bytes.
  bool has_json_escapes() const { return has_json_escapes_; }

  // Constructors of regular expressions (expr_set.cc, concat.cc, boolean.cc).
  ExprId bytes(const ByteSet& set);
  ExprId literal(std::string_view text);
  ExprId concat(ExprId first, ExprId second) {
    if (second == kEpsilon || first == kEmpty) return first;
    CachedPair& cached = recent_[(first.value * 0x9E3779B1u ^ second.value * 0x85EBCA77u) >> kRecentShift];
    if (cached.first != first || cached.second != second) cached = {first, second, concat_normalized(first, second)};
    return cached.result;
  }
  ExprId repeat(ExprId part, std::uint32_t minimum, std::uint32_t maximum);
  ExprId union_of(std::vector<ExprId> parts);
  // The union of `before` and `added`, which does not copy the operands of a large `before`.
  ExprId grown_union(ExprId before, ExprId added);
  // The union of `texts`, which this function made, and one more literal (literal_trie.cc). Cost: the operands along
  // the bytes of the literal.
  ExprId union_with_literal(ExprId texts, std::string_view literal);
  // The union of the tails of sequences with one head that call rules (boolean.cc, rule 3).
  ExprId union_of_tails(std::vector<ExprId> tails);
  ExprId intersection(std::vector<ExprId> parts);
  ExprId complement(ExprId part);
  ExprId sigma_star() const { return sigma_star_; }  // all byte strings
  // Names the expression of all UTF-8 texts, so that unions and intersections absorb it (boolean.cc, rule 6).
  void set_utf8_star(ExprId all_texts);
  // All UTF-8 texts; the empty language where the owner did not name them.
  ExprId all_texts() const { return utf8_star_; }
  // Names the expression of all UTF-8 texts over the alphabet.
  void set_alphabet_texts(ExprId texts) { alphabet_texts_ = texts; }
  // States that every string of an expression is valid UTF-8. To be called before derivatives are computed.
  void mark_text(ExprId id) { exprs_[id.value].is_text = true; }

  // Operators of front ends (members.cc, guards.cc).
  ExprId json_escaped(ExprId texts, std::uint32_t position, std::uint32_t bits);
  // `members` are live; the first `state.required` of them are the required ones.
  ExprId unordered(const UnorderedState& state, ExprId separator, ExprId others, std::span<const ExprId> members);
  MembersLeft members_left(ExprId list) const;
  // The list that is left after a member, given by its index, or after one of `others`: the number of members.
  ExprId unordered_after(MembersLeft& left, std::size_t member);
  std::uint32_t add_members(OrderedMembers members);
  ExprId ordered(std::uint32_t members, std::uint32_t next, MemberPosition position);
  // `escape` is the length of a text that may always come next and breaks no guard; 0 if there may be none.
  ExprId maximal_munch(ExprId part, ExprId munched, std::uint32_t escape);
  ExprId not_followed_by(ExprId part, std::uint32_t escape);

  // Lists of distinct items (distinct.cc).
  std::uint32_t add_list(DistinctList list);
  // `state.key` and `state.used` are filled in.
  ExprId distinct(DistinctState state);
  std::uint32_t add_decimal(const Decimal& number);
  ExprId decimal(std::uint32_t number, const DecimalState& state);
  ExprId remembered(ExprId state, TextId text);
  // The state after a byte: `next` is the entry of the transition row of `before`, and `text` the item so far. Binds
  // the closed lists to the key of their item, and adds the text to a state with open lists.
  ExprId after_byte(ExprId before, ExprId next, TextId text, std::uint8_t byte);
  // The lists that `bind` has made since the last call.
  std::vector<ExprId> take_bound_lists() { return std::exchange(bound_lists_, {}); }
  // Returns `next` with each closed list bound: it gets the keys of the same open list of `before`, and the key of the
  // item that `text` ends with.
  ExprId bind(ExprId before, ExprId next, TextId text);

  // Rules and loops are made first and defined later. `traits` are the flags and lengths of the definition. A loop
  // takes `nullable`, `has_lookbehind` and `has_lookbehind_end` from the expression that follows it.
  ExprId rule(const Expr& traits);
  ExprId loop(bool nullable, bool has_lookbehind, bool has_lookbehind_end);
  void define(ExprId id, ExprId definition) { definitions_[(*this)[id].a_] = definition; }
  ExprId definition(ExprId id) const { return definitions_[(*this)[id].a_]; }

  ExprId lookbehind_condition(std::uint32_t index);
  ExprId lookbehind_end();
  // The tail with its residuals; the tail alone where it contains no condition. The caller computes `nullable`, which
  // depends on the residuals.
  ExprId lookbehind_context(ExprId tail, std::span<const ExprId> residuals, bool nullable);

  const Expr& operator[](ExprId id) const { return exprs_[id.value]; }
  // Operands of a union, intersection, unordered or lookbehind_context. Needs the owner's lock.
  std::span<const ExprId> operands(ExprId id) const {
    const Expr& expr = exprs_[id.value];
    return {&operands_[expr.a_], expr.b_};
  }
  const UnorderedState& unordered_state(ExprId id) const { return unordered_states_[(*this)[id].c_]; }
  const OrderedMembers& ordered_members(ExprId id) const { return ordered_members_[(*this)[id].a_]; }
  // Adds the parts of a text of an ordered or unordered list, the last one first: its required members and the
  // separators before them. Returns false if the list needs other members.
  bool add_required_members(ExprId list, std::vector<ExprId>& parts) const;

  const DistinctState& list_state(ExprId id) const { return list_states_[(*this)[id].a_]; }
  const DistinctList& list(std::uint32_t index) const { return lists_[index]; }
  const std::deque<DistinctList>& lists() const { return lists_; }
  // The kinds of the items of a short completion: the items that must still come, and at least one after a separator.
  std::vector<std::uint32_t> kinds_to_come(const DistinctState& state);
  const Decimal& decimal_number(std::uint32_t index) const { return decimals_[index]; }
  const DecimalState& decimal_state(ExprId id) const { return decimal_states_[(*this)[id].a_]; }
  TextMemory& item_texts() { return item_texts_; }
  // Whether the open lists of a state are states of one list.
  bool has_one_open_list(ExprId id) const;
  bool closed_list_may_lack_keys(ExprId id) const;  // whether a closed list may have used up its keys

  std::string_view text_of(ExprId text) const {
    return std::string_view(texts_).substr(exprs_[text.value].a_, exprs_[text.value].b_);
  }
  std::uint8_t first_byte(ExprId text) const { return static_cast<std::uint8_t>(texts_[exprs_[text.value].a_]); }
  ExprId drop_first_byte(ExprId text);

  const ByteSet& set(std::uint32_t index) const { return sets_[index]; }
  std::size_t set_count() const { return sets_.size(); }
  std::size_t size() const { return exprs_.size(); }

 private:
  // A direct-mapped cache of concatenations: neighbouring classes of a row, and neighbouring rows, repeat them.
  struct CachedPair {
    ExprId first, second, result;
  };
  static constexpr unsigned kRecentShift = 22;
  static constexpr std::size_t kFirstSetTable = 128;

  ExprId concat_normalized(ExprId first, ExprId second);
  bool merge_repeats(ExprId head, ExprId next, ExprId& merged);
  ExprId cons(ExprId head, ExprId tail);
  ExprId text(std::uint32_t begin, std::uint32_t length);
  ExprId new_repeat(ExprId part, std::uint32_t minimum, std::uint32_t maximum);
  ExprId new_union(std::vector<ExprId> parts);
  Expr union_traits(std::span<const ExprId> parts) const;
  bool begins_with(ExprId id, std::uint8_t byte) const;
  ExprId without_first(ExprId id);
  ExprId without_byte(ExprId id, std::uint8_t byte);
  ExprId add_to_trie(ExprId trie, std::string_view text);
  std::vector<std::string> some_literals(ExprId texts, std::size_t most) const;
  void flatten(std::vector<ExprId>& parts, Op op) const;
  void merge_single_bytes(std::vector<ExprId>& parts);
  void absorb_epsilon(std::vector<ExprId>& parts);
  bool is_known_text(ExprId id) const;
  bool is_known_in_alphabet(ExprId id) const;
  void absorb_into_alphabet(std::vector<ExprId>& parts) const;
  void drop_alphabet(std::vector<ExprId>& parts) const;
  void merge_counts(std::vector<ExprId>& parts);
  void absorb_tails(std::vector<ExprId>& parts) const;
  bool have_one_head(std::span<const ExprId> parts) const;
  void left_factor(std::vector<ExprId>& parts);
  bool shorten_complements(std::vector<ExprId>& parts);
  void bound_infinite_intersection(Expr& expr, std::span<const ExprId> parts) const;
  static void inherit_flags(Expr& expr, const Expr& part);
  static void set_only_token_bytes(Expr& expr, bool only_token_bytes);

  ExprId find_or_add(const Expr& expr, std::span<const ExprId> operands);
  std::vector<ExprId> parts_to_adopt(ExprId id) const;
  ExprId adopt_one(const ExprSet& other, ExprId id, const std::unordered_map<std::uint32_t, ExprId>& adopted);
  TextId adopt_text(const TextMemory& other, TextId text);
  bool same(const Expr& known, const Expr& expr, std::span<const ExprId> operands) const;
  std::uint32_t set_index(const ByteSet& set);
  std::uint32_t& set_slot(const ByteSet& set);
  std::uint32_t state_index(const UnorderedState& state);
  ExprId unordered(const UnorderedState& state, std::span<const ExprId> parts, const MemberFacts& facts);
  std::uint32_t min_length_unordered(const UnorderedState& state, std::span<const ExprId> parts,
                                     const MemberFacts& facts) const;

  std::optional<std::uint32_t> length_of_items(const DistinctState& state, std::span<const std::uint32_t> kinds) const;
  bool may_go_on(const DistinctState& state);
  std::uint32_t list_state_index(const Hash128& hash, DistinctState state);
  using OpenLists = std::unordered_map<std::uint32_t, ExprId>;  // by index of the list
  void find_open_lists(ExprId id, OpenLists& lists, int depth) const;
  bool closed_list_may_lack_keys(ExprId id, int depth) const;
  void find_all_open_lists(ExprId id, std::set<std::uint32_t>& lists, int depth) const;
  ExprId bind(ExprId id, const OpenLists& lists, TextId text, int depth);
  ExprId bind_list(DistinctState state, const OpenLists& lists, TextId text);

  Meter& meter_;
  Extent copied_;  // the part that this set has copied from another one
  std::array<CachedPair, 1u << (32 - kRecentShift)> recent_{};
  StableVector<Expr> exprs_;
  ExprTable table_;
  StableVector<ExprId> operands_;  // of one expression side by side
  std::vector<ByteSet> sets_;
  std::vector<std::uint32_t> set_table_;  // open addressing; 1 + the index of a set, 0: free
  std::vector<ExprId> definitions_;
  std::vector<UnorderedState> unordered_states_;
  std::deque<OrderedMembers> ordered_members_;
  std::deque<DistinctList> lists_;
  std::deque<DistinctState> list_states_;
  std::unordered_multimap<std::uint64_t, std::uint32_t> list_state_table_;
  std::vector<ExprId> bound_lists_;
  std::deque<Decimal> decimals_;
  std::unordered_map<std::string, std::uint32_t> decimal_table_;
  std::vector<DecimalState> decimal_states_;
  std::unordered_multimap<std::uint64_t, std::uint32_t> decimal_state_table_;
  TextMemory item_texts_;
  std::string texts_;
  int factoring_depth_ = 0;  // nested calls of left_factor
  struct RecentUnion {
    std::vector<ExprId> parts;  // as given to union_of
    int depth = 0;              // factoring_depth_ at that call
    ExprId result;
  };
  std::vector<RecentUnion> recent_unions_;  // of many operands, by the hash of their parts
  std::size_t recent_part_count_ = 0;       // in all of these
  ExprId sigma_star_;
  ExprId utf8_star_ = kEmpty;      // all UTF-8 texts, if the owner named it
  ExprId not_utf8_star_ = kEmpty;  // its complement
  ByteSet alphabet_ = ByteSet::all();
  ByteSet token_bytes_ = ByteSet::all();
  bool has_json_escapes_ = true;
  bool has_token_escapes_ = true;  // every text can be written in a JSON string with bytes that are tokens
  ExprId alphabet_star_ = kEmpty;
  ExprId alphabet_texts_ = kEmpty;  // UTF-8 texts over the alphabet, if the owner named them
};

}  // namespace detent

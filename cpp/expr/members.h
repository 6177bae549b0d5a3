// Members: the parameters of the operators `unordered` and `ordered`, such as the properties of a JSON object.
//
// A text is a sequence of members with a separator between neighbours. Members are optional or required; `others`, if
// not empty, may occur any number of times. A state of `unordered` is the set of members that may still come, made when
// a text reaches it; a state of `ordered` is an index. So a hundred optional members need no 2^100 states in advance.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "base/hash.h"
#include "expr/expr.h"

namespace detent {

enum class MemberPosition : std::uint8_t {
  start,            // no member was read
  after_member,     // a separator or the end follows
  after_separator,  // a member must follow
};

// The counts of an unordered state. Its operands are: separator, others, then the members that may still come.
struct UnorderedState {
  std::uint32_t minimum = 0;   // members that must still come
  std::uint32_t maximum = 0;   // members that may still come
  std::uint32_t required = 0;  // the first so many members must still come
  MemberPosition position = MemberPosition::start;
  bool operator==(const UnorderedState&) const = default;
};

// What the facts about an unordered state need of some of its members. Those of two sequences add up.
struct MemberFacts {
  std::uint32_t flags = 0;            // each is set if it is set of one member
  std::uint64_t required_length = 0;  // of the shortest texts of the required members
  Hash128 required, optional;         // sums of hashes
};

// The lists that are left of a list of members in any order after each of its members. Together they take linear time
// but for the copies of their operands, since the facts about the members before and after each one are known.
struct MembersLeft {
  UnorderedState state;
  std::vector<ExprId> parts;      // operands of the list
  std::vector<ExprId> remaining;  // operands without the member at `removed`
  std::size_t removed = SIZE_MAX;
  std::vector<MemberFacts> before;  // by member: the members before it
  std::vector<MemberFacts> after;   // by member: the members after it

  std::span<const ExprId> members() const { return std::span(parts).subspan(2); }
};

// A fixed order: each member is left out unless it is required; then any number of `others`.
struct OrderedMembers {
  ExprId separator, others;
  std::vector<ExprId> members;
  std::vector<bool> required;
  // Facts about the members from each index on, filled in by ExprSet::add_members.
  std::vector<Expr> suffix_facts{};              // flags, lengths and hash, without the position
  std::vector<std::uint32_t> suffix_required{};  // number of required members
  std::vector<std::uint32_t> suffix_shortest{};  // length of the shortest member
};

}  // namespace detent

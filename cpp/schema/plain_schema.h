// PlainSchema: the keywords of a schema that is plain, or anyOf or oneOf alone.
#pragma once

#include <cstdint>
#include <optional>
#include <string_view>
#include <utility>
#include <vector>

#include "schema/json_text.h"
#include "schema/schema_members.h"

namespace detent {

// Kinds of values, as in `parse/values.py`.
inline constexpr unsigned kNullKind = 1, kBooleanKind = 2, kIntegerKind = 4, kNumberKind = 4 | 8, kStringKind = 16,
                          kArrayKind = 32, kObjectKind = 64, kEveryKind = 127;

// 0 for a name that no type has.
unsigned kind_named(std::string_view name);
bool is_scalar_kind(unsigned kind);
// Of a type, or of a list of types; none if the argument is malformed.
std::optional<unsigned> kinds_of(const JsonText& text, JsonText::Index types);

struct PlainSchema {
  using Index = JsonText::Index;

  MemberRole unites = MemberRole::unknown;  // any_of or one_of
  unsigned kinds = kEveryKind;
  bool has_unread_parts = false;                                // the general way may not read all schemas inside
  std::vector<std::pair<Index, Index>> members;                 // names and values
  std::vector<Index> required;                                  // the names, each once
  Index additional = JsonText::kNone, items = JsonText::kNone;  // kNone: any value
  std::uint32_t least = 0;                                      // items
  std::optional<std::uint32_t> most;
  // Where the options, or members, other members and items lead by references.
  std::vector<Index> ends;

  // Adds the keywords of objects, of arrays; false if they are not plain.
  bool read_members(const JsonText& text, const SchemaMembers& keywords);
  bool read_items(const JsonText& text, const SchemaMembers& keywords);
  // Whether a schema of every kind of values says something about members or items.
  bool has_condition(const JsonText& text) const;
};

}  // namespace detent

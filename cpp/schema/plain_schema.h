// PlainSchema: the keywords of a plain schema (plain_schemas.h), or of a schema that has only anyOf or only oneOf.
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

// The kinds of the type `name`; 0 if there is no such type.
unsigned kind_named(std::string_view name);
bool is_scalar_kind(unsigned kind);
// The kinds of the argument of `type`, a name or a list of names; nothing if it is malformed.
std::optional<unsigned> kinds_of(const JsonText& text, JsonText::Index types);

struct PlainSchema {
  using Index = JsonText::Index;

  MemberRole unites = MemberRole::unknown;  // any_of, one_of, or unknown for a plain schema
  unsigned kinds = kEveryKind;
  bool has_unread_parts = false;                                // the solver might not read all schemas inside
  std::vector<std::pair<Index, Index>> members;                 // names and values
  std::vector<Index> required;                                  // the names, each once
  Index additional = JsonText::kNone, items = JsonText::kNone;  // kNone: any value
  std::uint32_t min_items = 0;
  std::optional<std::uint32_t> max_items;
  // The subschemas after their references are followed: of anyOf or oneOf; otherwise of the members, then
  // `additional`, then `items`.
  std::vector<Index> targets;

  // Reads the keywords of objects, and those of arrays; return false if they are not plain.
  bool read_members(const JsonText& text, const SchemaMembers& keywords);
  bool read_items(const JsonText& text, const SchemaMembers& keywords);
  // Whether a schema without `type` restricts members or items.
  bool has_condition(const JsonText& text) const;
};

}  // namespace detent

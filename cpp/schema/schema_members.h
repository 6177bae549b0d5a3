// SchemaMembers: the members of one JSON Schema, sorted by their roles in one pass.
#pragma once

#include <array>
#include <cstdint>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "schema/json_text.h"

namespace detent {

// The role of a member of a schema. Each role from `type` on is one keyword.
enum class MemberRole : std::uint8_t {
  annotation,
  definitions,
  identifier,
  keyword,     // any keyword that plain schemas do not have
  constraint,  // on a scalar, such as maxLength
  unknown,
  type,
  reference,
  all_of,
  any_of,
  one_of,
  enumeration,
  constant,
  properties,
  required,
  additional_properties,
  items,
  additional_items,
  min_items,
  max_items,
  unique_items,
};
inline constexpr std::size_t kMemberRoles = 21;

// A set of roles.
struct Roles {
  std::uint32_t bits = 0;

  template <class... Each>
  static constexpr Roles of(Each... each) {
    return {((std::uint32_t{1} << static_cast<unsigned>(each)) | ... | 0U)};
  }
  constexpr bool has(MemberRole role) const { return (bits & of(role).bits) != 0; }
  constexpr bool has_any(Roles others) const { return (bits & others.bits) != 0; }
  constexpr Roles operator|(Roles others) const { return {bits | others.bits}; }
  constexpr Roles without(Roles others) const { return {bits & ~others.bits}; }
  constexpr bool empty() const { return bits == 0; }
};

// The roles that are allowed beside any other members.
inline constexpr Roles kAnnotated = Roles::of(MemberRole::annotation);

struct SchemaMembers {
  Roles roles;
  std::array<JsonText::Index, kMemberRoles> values;  // by role: the value of its last member
  std::vector<JsonText::Index> unknown;              // the names of unknown members
  bool has_sound_definitions = true;                 // the values of $defs and definitions are objects

  JsonText::Index of(MemberRole role) const { return values[static_cast<std::size_t>(role)]; }
};

// The role of each name that a schema may have.
class MemberRoles {
 public:
  // `annotations`, `identifiers` and `constraints` are names of these roles; `keywords` are all keywords.
  MemberRoles(const std::vector<std::string>& annotations, const std::vector<std::string>& identifiers,
              const std::vector<std::string>& constraints, const std::vector<std::string>& keywords);

  MemberRole role(std::string_view name) const {
    const auto known = roles_.find(name);
    return known == roles_.end() ? MemberRole::unknown : known->second;
  }
  // The members of a schema, which is an object.
  SchemaMembers members(const JsonText& text, JsonText::Index schema) const;

 private:
  struct Hash {
    using is_transparent = void;
    std::size_t operator()(std::string_view name) const { return std::hash<std::string_view>{}(name); }
  };
  std::unordered_map<std::string, MemberRole, Hash, std::equal_to<>> roles_;
};

}  // namespace detent

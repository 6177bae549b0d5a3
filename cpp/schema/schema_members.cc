#include "schema/schema_members.h"

namespace detent {

MemberRoles::MemberRoles(const std::vector<std::string>& annotations, const std::vector<std::string>& identifiers,
                         const std::vector<std::string>& constraints, const std::vector<std::string>& keywords) {
  for (const std::string& name : annotations) roles_[name] = MemberRole::annotation;
  for (const std::string& name : identifiers) roles_[name] = MemberRole::identifier;
  for (const std::string& name : keywords) roles_[name] = MemberRole::keyword;
  for (const std::string& name : constraints) roles_[name] = MemberRole::constraint;
  roles_["$defs"] = roles_["definitions"] = MemberRole::definitions;
  roles_["type"] = MemberRole::type;
  roles_["$ref"] = MemberRole::reference;
  roles_["allOf"] = MemberRole::all_of;
  roles_["anyOf"] = MemberRole::any_of;
  roles_["oneOf"] = MemberRole::one_of;
  roles_["enum"] = MemberRole::enumeration;
  roles_["const"] = MemberRole::constant;
  roles_["properties"] = MemberRole::properties;
  roles_["required"] = MemberRole::required;
  roles_["additionalProperties"] = MemberRole::additional_properties;
  roles_["items"] = MemberRole::items;
  roles_["additionalItems"] = MemberRole::additional_items;
  roles_["minItems"] = MemberRole::min_items;
  roles_["maxItems"] = MemberRole::max_items;
  roles_["uniqueItems"] = MemberRole::unique_items;
}

SchemaMembers MemberRoles::members(const JsonText& text, JsonText::Index schema) const {
  SchemaMembers found;
  found.values.fill(JsonText::kNone);
  const JsonText::Index end = text.after(schema);
  for (JsonText::Index at = text.first(schema); at < end; at = text.after(at + 1)) {
    const MemberRole of_name = role(text[at].text);
    found.roles = found.roles | Roles::of(of_name);
    found.values[static_cast<std::size_t>(of_name)] = at + 1;
    if (of_name == MemberRole::unknown) found.unknown.push_back(at);
    if (of_name == MemberRole::definitions && !text.is_object(at + 1)) found.has_sound_definitions = false;
  }
  return found;
}

}  // namespace detent

#include "schema/schema_references.h"

#include <algorithm>
#include <charconv>

namespace detent {
namespace {

constexpr int kLongestChain = 10;
constexpr std::uint32_t kFewMembers = 16;
constexpr std::string_view kSpace = " \t\n\r";

using enum MemberRole;
constexpr Roles kReferring = kAnnotated | Roles::of(reference);
constexpr Roles kWrapping = kAnnotated | Roles::of(all_of);

std::size_t count(std::string_view text, std::string_view word) {
  std::size_t found = 0;
  for (std::size_t at = text.find(word); at != text.npos; at = text.find(word, at + word.size())) ++found;
  return found;
}

// Counts the members `$id` and `id` whose values are strings.
std::size_t count_identifiers(std::string_view text) {
  constexpr std::string_view end_of_name = "id\"";
  std::size_t found = 0;
  for (std::size_t at = text.find(end_of_name); at != text.npos; at = text.find(end_of_name, at + 1)) {
    const std::size_t start = at > 0 && text[at - 1] == '$' ? at - 1 : at;
    if (start == 0 || text[start - 1] != '"') continue;
    const std::size_t colon = text.find_first_not_of(kSpace, at + end_of_name.size());
    if (colon == text.npos || text[colon] != ':') continue;
    const std::size_t value = text.find_first_not_of(kSpace, colon + 1);
    found += value != text.npos && text[value] == '"';
  }
  return found;
}

// A token of a JSON pointer without its escapes, ~0 and ~1.
std::string unescaped(std::string_view token) {
  std::string name;
  for (std::size_t i = 0; i < token.size(); ++i) {
    const bool is_escape = token[i] == '~' && i + 1 < token.size();
    if (is_escape) ++i;
    name += !is_escape ? token[i] : token[i] == '1' ? '/' : '~';
  }
  return name;
}

}  // namespace

bool SchemaReferences::has_one_base(const JsonText& text) {
  constexpr std::string_view drafts = "//json-schema.org/";
  const std::string_view all = text.written(0);
  if (all.find("$dynamicRef") != all.npos || all.find("$recursiveRef") != all.npos) return false;
  if (all.find('\\') != all.npos && (all.find("\\u") != all.npos || all.find("\\/") != all.npos)) return false;
  const auto string_of_root = [&](std::string_view name) -> std::string_view {
    const Index value = text.member(0, name);
    return value != JsonText::kNone && text[value].kind == JsonKind::string ? text.written(value) : std::string_view{};
  };
  const std::size_t identifiers = !string_of_root("$id").empty() + !string_of_root("id").empty();
  return count(all, drafts) <= count(string_of_root("$schema"), drafts) && count_identifiers(all) <= identifiers;
}

std::optional<SchemaReferences::Target> SchemaReferences::target(Index schema) const {
  if (!text_.is_object(schema)) return std::nullopt;
  const Index reference_to = text_.member(schema, "$ref");
  const Index wrapped = reference_to == JsonText::kNone ? text_.member(schema, "allOf") : JsonText::kNone;
  if (reference_to == JsonText::kNone && wrapped == JsonText::kNone) return std::nullopt;
  const SchemaMembers members = roles_.members(text_, schema);
  // The root may have definitions and an identifier beside its reference.
  const auto has_only = [&](Roles roles) {
    const bool is_root = schema == 0 && members.unknown.empty() && members.has_sound_definitions;
    const Roles beside = is_root ? roles | Roles::of(definitions, identifier) : roles;
    return members.roles.without(beside).empty();
  };
  if (reference_to == JsonText::kNone) {
    if (text_[wrapped].kind != JsonKind::array || text_[wrapped].count != 1) return std::nullopt;
    const Index option = text_.first(wrapped);
    if (!has_only(kWrapping) || !text_.is_schema(option)) return std::nullopt;
    return Target{option, "/allOf/0"};
  }
  if (text_[reference_to].kind != JsonKind::string) return std::nullopt;
  if (year_ > kDraft7 && !has_only(kReferring)) return std::nullopt;
  const std::string_view address = text_[reference_to].text;
  const Index found = resolve(address);
  return found != JsonText::kNone && text_.is_schema(found) ? std::optional(Target{found, address}) : std::nullopt;
}

SchemaReferences::Index SchemaReferences::resolve(std::string_view reference) const {
  if (const Index* known = resolved_.find(reference)) return *known;
  Index found = JsonText::kNone;
  if (reference.starts_with('#') && reference.find_first_of("~%") == reference.npos &&
      (reference.size() == 1 || reference[1] == '/')) {
    found = 0;
    std::string_view rest = reference.substr(1);
    while (found != JsonText::kNone && !rest.empty()) {
      const std::size_t end = std::min(rest.find('/', 1), rest.size());
      found = text_.is_object(found) ? member(found, rest.substr(1, end - 1)) : JsonText::kNone;
      rest = rest.substr(end);
    }
  }
  resolved_.insert(reference, found);
  return found;
}

SchemaReferences::Index SchemaReferences::at(std::string_view pointer) const {
  if (pointer.find('%') != pointer.npos) return JsonText::kNone;
  Index found = 0;
  while (found != JsonText::kNone && !pointer.empty()) {
    const std::size_t end = std::min(pointer.find('/', 1), pointer.size());
    const std::string_view token = pointer.substr(1, end - 1);
    if (text_[found].kind == JsonKind::array) {
      found = item(found, token);
    } else if (!text_.is_object(found)) {
      found = JsonText::kNone;
    } else {
      found = token.find('~') == token.npos ? member(found, token) : member(found, unescaped(token));
    }
    pointer = pointer.substr(end);
  }
  return found;
}

SchemaReferences::Index SchemaReferences::item(Index array, std::string_view number) const {
  std::uint32_t left = 0;
  const auto [end, error] = std::from_chars(number.data(), number.data() + number.size(), left);
  if (error != std::errc() || end != number.data() + number.size() || left >= text_[array].count) {
    return JsonText::kNone;
  }
  Index found = text_.first(array);
  for (; left > 0; --left) found = text_.after(found);
  return found;
}

SchemaReferences::Index SchemaReferences::member(Index object, std::string_view name) const {
  if (text_[object].count <= kFewMembers) return text_.member(object, name);
  NameTable& members = members_[object];
  if (members.empty()) {
    for (Index at = text_.first(object); at < text_.after(object); at = text_.after(at + 1)) {
      members.insert(text_[at].text, at + 1);
    }
  }
  const Index* found = members.find(name);
  return found ? *found : JsonText::kNone;
}

SchemaReferences::Index SchemaReferences::follow(Index schema) const {
  for (int i = 0; i < kLongestChain; ++i) {
    const std::optional<Target> found = target(schema);
    if (!found) break;
    schema = found->schema;
  }
  return schema;
}

}  // namespace detent

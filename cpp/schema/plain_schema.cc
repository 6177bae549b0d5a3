#include "schema/plain_schema.h"

#include <algorithm>
#include <array>
#include <charconv>

#include "schema/name_table.h"

namespace detent {
namespace {

constexpr std::array<std::pair<std::string_view, unsigned>, 7> kKinds{{{"null", kNullKind},
                                                                       {"boolean", kBooleanKind},
                                                                       {"integer", kIntegerKind},
                                                                       {"number", kNumberKind},
                                                                       {"string", kStringKind},
                                                                       {"array", kArrayKind},
                                                                       {"object", kObjectKind}}};
constexpr unsigned kScalars = kNullKind | kBooleanKind | kNumberKind | kStringKind;
constexpr std::uint32_t kLargestCount = std::uint32_t{1} << 31;

// A non-negative integer in plain digits; nothing for any other value.
std::optional<std::uint32_t> count(const JsonText& text, JsonText::Index value) {
  const JsonValue& number = text[value];
  std::uint32_t found = 0;
  if (number.kind != JsonKind::number) return std::nullopt;
  const auto [end, error] = std::from_chars(number.text.data(), number.text.data() + number.text.size(), found);
  if (error != std::errc() || end != number.text.data() + number.text.size() || found >= kLargestCount) {
    return std::nullopt;
  }
  return found;
}

}  // namespace

unsigned kind_named(std::string_view name) {
  for (const auto& [known, kind] : kKinds) {
    if (known == name) return kind;
  }
  return 0;
}

bool is_scalar_kind(unsigned kind) { return kind != 0 && (kind & kScalars) == kind; }

std::optional<unsigned> kinds_of(const JsonText& text, JsonText::Index types) {
  const JsonValue& named = text[types];
  unsigned found = 0;
  if (named.kind == JsonKind::string) {
    found = kind_named(named.text);
  } else if (named.kind == JsonKind::array) {
    for (JsonText::Index at = text.first(types); at < text.after(types); at = text.after(at)) {
      const unsigned kind = text[at].kind == JsonKind::string ? kind_named(text[at].text) : 0;
      if (kind == 0) return std::nullopt;
      found |= kind;
    }
  }
  return found == 0 ? std::nullopt : std::optional(found);
}

bool PlainSchema::read_members(const JsonText& text, const SchemaMembers& keywords) {
  if (!(kinds & kObjectKind)) return false;
  additional = keywords.of(MemberRole::additional_properties);
  if (additional != JsonText::kNone && !text.is_schema(additional)) return false;
  const Index listed_members = keywords.of(MemberRole::properties), listed_names = keywords.of(MemberRole::required);
  if (listed_members != JsonText::kNone) {
    if (!text.is_object(listed_members)) return false;
    members.reserve(text[listed_members].count);
    for (Index at = text.first(listed_members); at < text.after(listed_members); at = text.after(at + 1)) {
      if (!text.is_schema(at + 1)) return false;
      members.emplace_back(at, at + 1);
      has_unread_parts |= text.is_false(at + 1);
    }
  }
  if (listed_names == JsonText::kNone) return true;
  if (text[listed_names].kind != JsonKind::array) return false;
  NameTable values, names;
  if (text[listed_names].count > 0) {
    for (const auto& [name, inner] : members) values.insert(text[name].text, inner);
  }
  for (Index at = text.first(listed_names); at < text.after(listed_names); at = text.after(at)) {
    if (text[at].kind != JsonKind::string) return false;
    const Index* known = values.find(text[at].text);
    const Index inner = known ? *known : additional;
    if (inner != JsonText::kNone && text.is_false(inner)) return false;  // no object is valid
    if (names.insert(text[at].text)) required.push_back(at);
  }
  return true;
}

bool PlainSchema::read_items(const JsonText& text, const SchemaMembers& keywords) {
  if (!(kinds & kArrayKind)) return false;
  items = keywords.of(MemberRole::items);
  if (items != JsonText::kNone && !text.is_schema(items)) return false;
  if (keywords.of(MemberRole::unique_items) != JsonText::kNone && !text.is_false(keywords.of(MemberRole::unique_items)))
    return false;
  if (keywords.of(MemberRole::min_items) != JsonText::kNone) {
    const std::optional<std::uint32_t> found = count(text, keywords.of(MemberRole::min_items));
    if (!found) return false;
    min_items = *found;
  }
  if (keywords.of(MemberRole::max_items) != JsonText::kNone) {
    max_items = count(text, keywords.of(MemberRole::max_items));
    if (!max_items || *max_items < min_items) return false;
  }
  has_unread_parts |= (items != JsonText::kNone && text.is_false(items)) || max_items == 0U;
  return true;
}

bool PlainSchema::has_condition(const JsonText& text) const {
  if (!required.empty() || min_items > 0 || max_items) return true;
  const auto says_something = [&](Index inner) {
    return inner != JsonText::kNone && !text.is_true(inner) && !(text.is_object(inner) && text[inner].count == 0);
  };
  return says_something(additional) || says_something(items) ||
         std::ranges::any_of(members, [&](const auto& member) { return says_something(member.second); });
}

}  // namespace detent

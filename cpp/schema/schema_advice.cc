#include "schema/schema_advice.h"

#include <iterator>
#include <unordered_set>

namespace detent {
namespace {

std::string pointer_token(std::string_view name) {
  std::string token = "/";
  for (char character : name) {
    if (character == '~') {
      token += "~0";
    } else if (character == '/') {
      token += "~1";
    } else {
      token += character;
    }
  }
  return token;
}

}  // namespace

void DocumentAdvice::note(Index schema, std::vector<SchemaAdvice> advice) {
  if (advice.empty()) return;
  std::vector<SchemaAdvice>& noted = advice_[schema];
  noted.insert(noted.end(), std::make_move_iterator(advice.begin()), std::make_move_iterator(advice.end()));
}

void DocumentAdvice::note_format(Index schema, std::string_view name) {
  std::vector<SchemaAdvice>& noted = advice_[schema];
  noted.insert(noted.begin(), {std::string(name), {}, {}});
}

std::optional<std::vector<SchemaAdvice>> DocumentAdvice::sorted(
    const JsonText& text, const SchemaReferences& references,
    const std::unordered_map<Index, PlainSchema>& plain) const {
  std::vector<SchemaAdvice> sorted;
  if (advice_.empty()) return sorted;
  for (const auto& [schema, each] : plain) {
    if (each.has_unread_parts) return std::nullopt;
  }
  std::unordered_set<Index> seen;
  std::vector<std::pair<Index, std::string>> pending{{0, ""}};
  std::size_t noted = 0;
  while (!pending.empty()) {
    auto [schema, pointer] = std::move(pending.back());
    pending.pop_back();
    for (auto next = references.target(schema); next; next = references.target(schema)) {
      schema = next->schema;
      if (next->reference.starts_with('#')) {
        pointer = next->reference.substr(1);
      } else {
        pointer += next->reference;
      }
    }
    if (!seen.insert(schema).second) continue;
    if (const auto found = advice_.find(schema); found != advice_.end()) {
      ++noted;
      for (const SchemaAdvice& each : found->second) sorted.push_back({each.name, pointer, each.intended});
    }
    const auto found = plain.find(schema);
    if (found == plain.end()) continue;
    const PlainSchema& keywords = found->second;
    std::vector<std::pair<Index, std::string>> inner;
    if (keywords.unites != MemberRole::unknown) {
      const std::string_view name = keywords.unites == MemberRole::any_of ? "anyOf" : "oneOf";
      const Index options = text.member(schema, name);
      std::size_t number = 0;
      for (Index option = text.first(options); option < text.after(options); option = text.after(option)) {
        inner.emplace_back(option, pointer + "/" + std::string(name) + "/" + std::to_string(number++));
      }
    } else {
      for (const auto& [member, value] : keywords.members) {
        inner.emplace_back(value, pointer + "/properties" + pointer_token(text[member].text));
      }
      if (keywords.additional != JsonText::kNone)
        inner.emplace_back(keywords.additional, pointer + "/additionalProperties");
      if (keywords.items != JsonText::kNone) inner.emplace_back(keywords.items, pointer + "/items");
    }
    pending.insert(pending.end(), std::make_move_iterator(inner.rbegin()), std::make_move_iterator(inner.rend()));
  }
  return noted == advice_.size() ? std::optional(std::move(sorted)) : std::nullopt;
}

}  // namespace detent

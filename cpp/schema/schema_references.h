// SchemaReferences: where the schemas of one document lead to by references alone, inside the document.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <unordered_map>

#include "schema/json_text.h"
#include "schema/schema_members.h"

namespace detent {

// The dialect of a document (`parse/dialect.py`).
struct SchemaDialect {
  std::string uri;
  int year;
};
inline constexpr int kDraft4 = 4, kDraft6 = 6, kDraft7 = 7;

class SchemaReferences {
 public:
  using Index = JsonText::Index;
  // A schema with its address, or its pointer from the schema that leads to it.
  struct Target {
    Index schema;
    std::string_view reference;
  };

  SchemaReferences(const JsonText& text, const MemberRoles& roles, int year)
      : text_(text), roles_(roles), year_(year) {}

  // As `has_one_base` of `parse/schema_text.py`: no identifier below the root, no dynamic reference, no reference to a
  // draft. Cost: linear in the text.
  static bool has_one_base(const JsonText& text);

  // The one schema that a schema refers to, or is a wrapping of; none for any other schema.
  std::optional<Target> target(Index schema) const;
  // The schema to which a schema leads by references alone; any other schema as it is.
  Index end_of(Index schema) const;

 private:
  Index resolve(std::string_view reference) const;
  Index member(Index object, std::string_view name) const;

  const JsonText& text_;
  const MemberRoles& roles_;
  int year_;
  mutable std::unordered_map<std::string_view, Index> resolved_;
  mutable std::unordered_map<Index, std::unordered_map<std::string_view, Index>> members_;  // of large objects
};

}  // namespace detent

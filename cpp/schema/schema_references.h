// SchemaReferences: follows the references of one document. A schema that, besides annotations, has only {"$ref": r} or
// only {"allOf": [s]} stands for the schema that r names, or for s. References to other documents are not followed.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <unordered_map>

#include "schema/json_text.h"
#include "schema/name_table.h"
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
  // A schema, and the reference to it; for allOf, its JSON pointer from the referring schema: "/allOf/0".
  struct Target {
    Index schema;
    std::string_view reference;
  };

  SchemaReferences(const JsonText& text, const MemberRoles& roles, int year)
      : text_(text), roles_(roles), year_(year) {}

  // Whether all references resolve against the root: no identifier below the root, no dynamic reference, no reference
  // to a metaschema. The same test as `has_one_base` of `parse/schema_text.py`. Cost: linear in the text.
  static bool has_one_base(const JsonText& text);

  // The schema that `schema` refers to or wraps in allOf; nothing if it does neither, or has other assertions.
  std::optional<Target> target(Index schema) const;
  // The schema at the end of the chain of targets; `schema` itself if it has no target.
  Index follow(Index schema) const;
  // The value at a JSON pointer; kNone if there is none, or if the pointer has a "%".
  Index at(std::string_view pointer) const;

 private:
  Index resolve(std::string_view reference) const;
  Index member(Index object, std::string_view name) const;
  Index item(Index array, std::string_view number) const;

  const JsonText& text_;
  const MemberRoles& roles_;
  int year_;
  mutable NameTable resolved_;                            // by reference
  mutable std::unordered_map<Index, NameTable> members_;  // of large objects
};

}  // namespace detent

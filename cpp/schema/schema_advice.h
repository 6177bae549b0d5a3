// SchemaAdvice: warnings about names in a document that have no effect: unknown formats, and misspelt keywords.
#pragma once

#include <optional>
#include <string>
#include <unordered_map>
#include <vector>

#include "schema/plain_schema.h"
#include "schema/schema_references.h"

namespace detent {

struct SchemaAdvice {
  std::string name;      // of the format that has no effect, or of the member
  std::string pointer;   // of the schema with the member
  std::string intended;  // the keyword that the member resembles; empty for a format
};

class DocumentAdvice {
 public:
  using Index = JsonText::Index;

  void note(Index schema, std::vector<SchemaAdvice> advice);
  void note_format(Index schema, std::string_view name);
  bool has(Index schema) const { return !advice_.empty() && advice_.contains(schema); }
  // The warnings in the order of the document, once for each schema, with its pointer. Nothing if the solver might not
  // read all of these schemas: then it must issue the warnings.
  std::optional<std::vector<SchemaAdvice>> sorted(const JsonText& text, const SchemaReferences& references,
                                                  const std::unordered_map<Index, PlainSchema>& plain) const;

 private:
  std::unordered_map<Index, std::vector<SchemaAdvice>> advice_;
};

}  // namespace detent

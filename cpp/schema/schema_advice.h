// SchemaAdvice: names in a document that have no effect, each of which needs a warning.
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
  std::string intended;  // what was meant by the member; empty for a format
};

class DocumentAdvice {
 public:
  using Index = JsonText::Index;

  void note(Index schema, std::vector<SchemaAdvice> advice);
  void note_format(Index schema, std::string_view name);
  // Each schema once, in the order of the document, with its pointer. None if the general way may not read all of them.
  std::optional<std::vector<SchemaAdvice>> sorted(const JsonText& text, const SchemaReferences& references,
                                                  const std::unordered_map<Index, PlainSchema>& plain) const;

 private:
  std::unordered_map<Index, std::vector<SchemaAdvice>> advice_;
};

}  // namespace detent

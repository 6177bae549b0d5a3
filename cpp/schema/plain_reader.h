// PlainReader: reads one document for `PlainSchemas`. It is the C++ form of `PlainNodes.document` in `emit/plain.py`.
#pragma once

#include <optional>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "schema/plain_schemas.h"

namespace detent {

class PlainReader {
 public:
  static std::optional<PlainDocument> read(PlainSchemas& schemas, const JsonText& text, std::size_t max_schemas);

 private:
  using Index = JsonText::Index;
  static constexpr Index kNone = JsonText::kNone;

  PlainReader(PlainSchemas& schemas, const JsonText& text, const SchemaDialect& dialect, std::size_t max_schemas);

  std::optional<PlainDocument> document();
  std::optional<NodeRef> node_of(Index schema, unsigned depth);
  std::optional<PlainSchema> read_plain(Index schema);
  std::optional<PlainSchema> read_union(Index schema, const SchemaMembers& members);
  std::optional<NodeRef> scalar(Index schema);
  std::optional<NodeRef> listed(const SchemaMembers& members, std::vector<SchemaAdvice>& advice);
  std::optional<NodeRef> constrained(Index schema, const SchemaMembers& members, std::vector<SchemaAdvice>& advice);
  // Whether the members whose roles are not in `beside` assert nothing. Adds warnings about them to `advice`; without
  // `advice`, returns false where a warning would be due.
  bool asserts_nothing(const SchemaMembers& members, Roles beside, bool is_root, std::vector<SchemaAdvice>* advice);

  PlainSchemas& schemas_;
  const JsonText& text_;
  const SchemaDialect& dialect_;
  std::size_t max_schemas_, plain_count_ = 0;
  SchemaReferences references_;
  std::vector<std::optional<NodeRef>> known_;  // by schema
  std::unordered_map<Index, PlainSchema> plain_;
  DocumentAdvice advice_;
};

}  // namespace detent

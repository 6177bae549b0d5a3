// PlainReader: reads one document for `PlainSchemas`. It is the C++ form of `PlainNodes.document` in `emit/plain.py`.
// Only one thread at a time may use it.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "schema/plain_schemas.h"

namespace detent {

class PlainReader {
 public:
  // As `PlainSchemas::open`.
  static std::unique_ptr<PlainReader> open(PlainSchemas& schemas, std::string text, std::size_t max_schemas);
  PlainReader(const PlainReader&) = delete;
  PlainReader& operator=(const PlainReader&) = delete;
  ~PlainReader() = default;

  // The whole document; nothing if it is not plain.
  std::optional<PlainDocument> document();
  // The node of the schema at a JSON pointer. Nothing if it or a schema inside is not plain, contains itself or needs a
  // warning.
  std::optional<NodeRef> schema_at(std::string_view pointer);

 private:
  using Index = JsonText::Index;
  static constexpr Index kNone = JsonText::kNone;

  PlainReader(PlainSchemas& schemas, std::unique_ptr<const std::string> text, JsonText values,
              const SchemaDialect& dialect, std::size_t max_schemas);

  std::optional<NodeRef> node_of(Index schema, unsigned depth);
  std::optional<NodeRef> closed(Index schema);
  bool needs_warning(Index schema) const { return has_advice_inside_[schema] || advice_.has(schema); }
  std::optional<PlainSchema> read_plain(Index schema);
  std::optional<PlainSchema> read_union(Index schema, const SchemaMembers& members);
  std::optional<NodeRef> scalar(Index schema);
  std::optional<NodeRef> listed(const SchemaMembers& members, std::vector<SchemaAdvice>& advice);
  std::optional<NodeRef> constrained(Index schema, const SchemaMembers& members, std::vector<SchemaAdvice>& advice);
  // Whether the members whose roles are not in `beside` assert nothing. Adds warnings about them to `advice`; without
  // `advice`, returns false where a warning would be due.
  bool asserts_nothing(const SchemaMembers& members, Roles beside, bool is_root, std::vector<SchemaAdvice>* advice);

  PlainSchemas& schemas_;
  std::unique_ptr<const std::string> owned_;
  const JsonText text_;  // a view of `owned_`
  const SchemaDialect& dialect_;
  std::size_t max_schemas_, plain_count_ = 0;
  SchemaReferences references_;
  std::vector<std::optional<NodeRef>> known_;  // by schema
  std::vector<bool> is_refused_;               // by schema: being read, or found to be not plain
  std::vector<bool> has_advice_inside_;        // by schema: a schema inside needs a warning
  std::unordered_map<Index, PlainSchema> plain_;
  DocumentAdvice advice_;
};

}  // namespace detent

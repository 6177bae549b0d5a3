// PlainSchemas: the expression of a document of plain JSON Schemas, from its text.
//
// A schema is plain if its keywords decide different parts of the texts, so that nothing has to be solved: types,
// members with their names, items, bounds of the number of items. Most documents have no others. This is the way of
// `emit/plain.py`, its oracle, without Python objects; it takes fewer documents and gives the same expressions. Of
// scalars with conditions, and of small schemas that are not plain, Python makes the expression, which is kept.
#pragma once

#include <cstddef>
#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <unordered_map>
#include <unordered_set>
#include <vector>

#include "schema/plain_nodes.h"
#include "schema/schema_advice.h"
#include "schema/schema_members.h"
#include "schema/schema_references.h"

namespace detent {

// Expressions that Python makes, by the text of the schema and the dialect. Small ones are kept, so that memory is
// bounded.
class KeptNodes {
 public:
  using Make = std::function<std::optional<NodeRef>(std::string_view schema, const std::string& uri)>;

  explicit KeptNodes(Make make) : make_(std::move(make)) {}
  std::optional<NodeRef> node(std::string_view schema, const std::string& uri);

 private:
  Make make_;
  std::unordered_map<std::string, std::optional<NodeRef>> kept_;
};

struct PlainDocument {
  NodeRef node;
  std::vector<SchemaAdvice> advice;  // in the order of the document
  std::optional<std::string> title;
  std::vector<std::string> first_names;  // of the root's members, four at most
  std::size_t names;                     // of the root
};

class PlainSchemas {
 public:
  using Dialects = std::unordered_map<std::string, SchemaDialect>;
  // What was meant by a name that resembles a keyword; empty for any other name.
  using Intended = std::function<std::string(std::string_view name)>;

  // `dialects` by the value of $schema; the default is that of the empty string. `constrained` makes the expression of
  // one scalar type with constraints, `closed` that of any other schema whose warnings and faults are none.
  PlainSchemas(PlainNodes nodes, MemberRoles roles, const std::vector<std::string>& formats, Dialects dialects,
               KeptNodes constrained, KeptNodes closed, Intended intended);

  // None for a document that is not plain, or of more than `most` plain schemas. Not for several threads at a time.
  // `text` is UTF-8.
  std::optional<PlainDocument> read(std::string_view text, std::size_t most);

 private:
  friend class PlainReader;

  std::string intended(std::string_view name);

  PlainNodes nodes_;
  MemberRoles roles_;
  std::unordered_set<std::string> formats_;
  Dialects dialects_;
  KeptNodes constrained_, closed_;
  Intended make_intended_;
  std::unordered_map<std::string, std::string> intended_;
};

}  // namespace detent

// PlainSchemas: builds the nodes of plain JSON Schemas from the text of their document, without Python objects.
//
// A schema is plain if each keyword restricts a separate part of the value: types, named members, items, the number of
// items. Then no formula has to be solved. Most documents have only such schemas. The oracle is `emit/plain.py`, which
// gives the same nodes and reads more documents. For scalars with constraints, and for small schemas that are not
// plain, a callback into Python makes the node; a cache keeps it. In a document that is not plain as a whole, Python
// reads what is not plain, and takes the plain schemas inside from here.
#pragma once

#include <cstddef>
#include <functional>
#include <memory>
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

// A cache of the nodes that Python makes, by the text of the schema and the dialect. Its size is bounded: it keeps only
// small nodes, and is emptied when it is full.
class NodeCache {
 public:
  using Make = std::function<std::optional<NodeRef>(std::string_view schema, const std::string& uri)>;

  explicit NodeCache(Make make) : make_(std::move(make)) {}
  std::optional<NodeRef> node(std::string_view schema, const std::string& uri);

 private:
  Make make_;
  std::unordered_map<std::string, std::optional<NodeRef>> nodes_;
};

struct PlainDocument {
  NodeRef node;
  std::vector<SchemaAdvice> advice;  // in the order of the document
  std::optional<std::string> title;
  std::vector<std::string> first_names;  // of the root's members, four at most
  std::size_t names;                     // of the root
};

class PlainReader;

class PlainSchemas {
 public:
  using Dialects = std::unordered_map<std::string, SchemaDialect>;
  // The keyword that a name resembles, for a warning; empty for any other name.
  using Intended = std::function<std::string(std::string_view name)>;

  // `dialects` are by the value of $schema; the empty string has the default. `constrained` makes the node of a scalar
  // type with constraints, `closed` the node of any other small schema that has no faults and needs no warnings.
  PlainSchemas(PlainNodes nodes, MemberRoles roles, const std::vector<std::string>& formats, Dialects dialects,
               NodeCache constrained, NodeCache closed, Intended intended);

  // Parses a document, for at most `max_schemas` plain schemas. Null if its text is unusual (json_text.h), if it is no
  // object, or if its references are more than JSON pointers. `text` is UTF-8. The reader must not outlive this object.
  std::unique_ptr<PlainReader> open(std::string text, std::size_t max_schemas);

 private:
  friend class PlainReader;

  std::string intended(std::string_view name);

  PlainNodes nodes_;
  MemberRoles roles_;
  std::unordered_set<std::string> formats_;
  Dialects dialects_;
  NodeCache constrained_, closed_;
  Intended make_intended_;
  std::unordered_map<std::string, std::string> intended_;
};

}  // namespace detent

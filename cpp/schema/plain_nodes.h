// PlainNodes: builds the nodes of plain schemas in one notation of JSON: the same nodes as `emit/plain.py`, its oracle.
#pragma once

#include <functional>
#include <optional>
#include <string_view>
#include <vector>

#include "expr/node.h"
#include "schema/plain_schema.h"

namespace detent {

// The nodes of a notation: of scalars, names and punctuation, made in Python (json_schema/emit).
struct JsonNotation {
  NodeRef null, boolean, integer, integer_of_draft_4, number, string, anything;
  NodeRef true_word, false_word;
  NodeRef any_name, quote, utf8;
  NodeRef comma, colon, open_array, close_array, empty_array, open_object, close_object, empty_object;
  bool is_serialized;  // as serialisers write; else with all escapes
};

class PlainNodes {
 public:
  using Index = JsonText::Index;
  // Returns the node of a subschema; nothing if no value is valid.
  using Inner = std::function<std::optional<NodeRef>(Index)>;

  PlainNodes(JsonNotation notation, bool is_ordered) : notation_(std::move(notation)), is_ordered_(is_ordered) {}

  const NodeRef& anything() const { return notation_.anything; }
  // The node of one scalar type.
  NodeRef scalar(unsigned kind, int year) const;
  // The node of some strings, which are sorted.
  NodeRef listed(const std::vector<std::string_view>& strings) const;
  // The node of all values of a plain schema.
  NodeRef whole(const JsonText& text, const PlainSchema& plain, const Inner& inner) const;

 private:
  NodeRef array(const PlainSchema& plain, const Inner& inner) const;
  NodeRef object(const JsonText& text, const PlainSchema& plain, const Inner& inner) const;
  NodeRef other_label(std::vector<std::string_view> names) const;

  JsonNotation notation_;
  bool is_ordered_;
};

}  // namespace detent

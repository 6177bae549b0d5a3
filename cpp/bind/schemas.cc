// Plain JSON Schemas.
#include <nanobind/stl/optional.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/string_view.h>
#include <nanobind/stl/tuple.h>
#include <nanobind/stl/unique_ptr.h>
#include <nanobind/stl/vector.h>

#include <tuple>

#include "base/error.h"
#include "bind/bindings.h"
#include "schema/plain_reader.h"
#include "schema/plain_schemas.h"

namespace nb = nanobind;
using namespace nb::literals;

namespace detent {
namespace {

using Advice = std::tuple<std::string, std::string, std::string>;
using Found =
    std::tuple<NodeRef, std::vector<Advice>, std::optional<std::string>, std::vector<std::string>, std::size_t>;

NodeRef part(const nb::dict& parts, const char* name) {
  if (!parts.contains(name)) throw Error(ErrorKind::argument, "plain_schemas");
  return nb::cast<NodeRef>(parts[name]);
}

JsonNotation notation(const nb::dict& parts, bool written) {
  return {.null = part(parts, "null"),
          .boolean = part(parts, "boolean"),
          .integer = part(parts, "integer"),
          .integer_of_draft_4 = part(parts, "integer_of_draft_4"),
          .number = part(parts, "number"),
          .string = part(parts, "string"),
          .anything = part(parts, "anything"),
          .true_word = part(parts, "true"),
          .false_word = part(parts, "false"),
          .any_name = part(parts, "any_name"),
          .quote = part(parts, "quote"),
          .utf8 = part(parts, "utf8"),
          .comma = part(parts, "comma"),
          .colon = part(parts, "colon"),
          .open_array = part(parts, "open_array"),
          .close_array = part(parts, "close_array"),
          .empty_array = part(parts, "empty_array"),
          .open_object = part(parts, "open_object"),
          .close_object = part(parts, "close_object"),
          .empty_object = part(parts, "empty_object"),
          .is_serialized = written};
}

NodeCache node_cache(const nb::callable& make) {
  return NodeCache([make](std::string_view schema, const std::string& uri) {
    const nb::object found = make(nb::str(schema.data(), schema.size()), uri);
    return found.is_none() ? std::nullopt : std::optional(nb::cast<NodeRef>(found));
  });
}

void construct(PlainSchemas* self, const nb::dict& parts, bool written, bool ordered,
               const std::vector<std::vector<std::string>>& names, const std::vector<std::string>& formats,
               const std::vector<std::tuple<std::string, std::string, int>>& dialects, const nb::callable& constrained,
               const nb::callable& closed, const nb::callable& intended) {
  if (names.size() != 4) throw Error(ErrorKind::argument, "plain_schemas");
  PlainSchemas::Dialects by_name;
  for (const auto& [name, uri, year] : dialects) by_name[name] = {uri, year};
  const auto intended_keyword = [intended](std::string_view name) {
    return nb::cast<std::string>(intended(nb::str(name.data(), name.size())));
  };
  new (self) PlainSchemas({notation(parts, written), ordered}, {names[0], names[1], names[2], names[3]}, formats,
                          std::move(by_name), node_cache(constrained), node_cache(closed), intended_keyword);
}

std::unique_ptr<PlainReader> open(PlainSchemas& schemas, const nb::str& text, std::size_t max_schemas) {
  Py_ssize_t size = 0;
  const char* data = PyUnicode_AsUTF8AndSize(text.ptr(), &size);
  if (!data) {  // a lone surrogate
    PyErr_Clear();
    return nullptr;
  }
  return schemas.open({data, static_cast<std::size_t>(size)}, max_schemas);
}

std::optional<Found> document(PlainReader& reader) {
  std::optional<PlainDocument> found = reader.document();
  if (!found) return std::nullopt;
  std::vector<Advice> advice;
  for (SchemaAdvice& each : found->advice) {
    advice.emplace_back(std::move(each.name), std::move(each.pointer), std::move(each.intended));
  }
  return Found(std::move(found->node), std::move(advice), std::move(found->title), std::move(found->first_names),
               found->names);
}

}  // namespace

void bind_schemas(nb::module_& m) {
  nb::class_<PlainSchemas>(m, "PlainSchemas", "JSON Schemas whose keywords decide different parts of the texts.")
      .def("__init__", &construct, "parts"_a, "written"_a, "ordered"_a, "names"_a, "formats"_a, "dialects"_a,
           "constrained"_a, "closed"_a, "intended"_a,
           "`names` are those of annotations, identifiers, constraints of scalars, and all keywords.")
      .def("open", &open, "text"_a, "max_schemas"_a, nb::keep_alive<0, 1>(),
           "The reader of a document; None if the text is unusual.");
  nb::class_<PlainReader>(m, "PlainReader", "One document of `PlainSchemas`.")
      .def("document", &document,
           "The expression of the whole document, its advice, the root's title, first names and number of names; None "
           "if it is not plain.")
      .def("schema_at", &PlainReader::schema_at, "pointer"_a,
           "The expression of the schema at a JSON pointer; None if it is not plain or needs a warning.");
}

}  // namespace detent

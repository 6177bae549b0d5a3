// Nodes: the syntax of languages.
#include <nanobind/stl/optional.h>
#include <nanobind/stl/pair.h>
#include <nanobind/stl/shared_ptr.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/vector.h>

#include <algorithm>

#include "automaton/shared_parts.h"
#include "base/error.h"
#include "bind/bindings.h"
#include "bind/convert.h"
#include "expr/node.h"
#include "expr/node_codec.h"
#include "expr/print.h"
#include "expr/special.h"
#include "expr/utf8.h"

namespace nb = nanobind;
using namespace nb::literals;

namespace detent {
namespace {

void bind_node(nb::module_& m) {
  nb::class_<NodeRef>(m, "Node", "The syntax of a language; immutable.")
      .def("__hash__", [](const NodeRef& node) { return static_cast<Py_hash_t>(node->hash().low >> 1); })
      .def("__eq__", [](const NodeRef& x, const NodeRef& y) { return Node::equal(*x, *y); })
      .def(
          "__eq__", [](const NodeRef&, nb::handle) { return nb::steal(Py_NewRef(Py_NotImplemented)); },
          nb::arg().none())
      .def("__repr__", [](const NodeRef& node) { return "Node(" + print_node(*node, 200) + ")"; })
      .def(
          "text", [](const NodeRef& node, std::size_t max_bytes) { return print_node(*node, max_bytes); },
          "max_bytes"_a = 1000, "The textual form (cpp/expr/print.h), cut at so many bytes.")
      .def("to_bytes", [](const NodeRef& node) { return to_bytes(encode_node(node)); })
      .def_prop_ro("depth", [](const NodeRef& node) { return node->depth(); })
      .def_prop_ro("has_special", [](const NodeRef& node) { return node->has_special(); })
      .def_prop_ro("has_distinct", [](const NodeRef& node) { return node->has_distinct(); })
      .def_prop_ro(
          "special_names",
          [](const NodeRef& node) {
            std::vector<nb::bytes> names;
            for (const std::string& name : special_names(node)) names.push_back(to_bytes(name));
            return names;
          },
          "Of the special tokens that a vocabulary must have.");
}

void bind_operators(nb::module_& m) {
  m.attr("UNBOUNDED") = Node::kUnbounded;
  m.def("node_from_bytes", [](const nb::bytes& text) { return decode_node(view(text), true); }, "text"_a);
  m.def("empty", &Node::empty);
  m.def("epsilon", &Node::epsilon);
  m.def("byte_set", [](const nb::bytes& values) { return Node::bytes(byte_set(values)); }, "values"_a);
  m.def("literal", [](const nb::bytes& text) { return Node::literal(std::string(view(text))); }, "text"_a);
  m.def("chars", &utf8_chars, "ranges"_a);
  m.def("concat", &Node::concat, "parts"_a);
  m.def("union", &Node::union_of, "parts"_a);
  m.def("intersection", &Node::intersection, "parts"_a);
  m.def("complement", &Node::complement, "part"_a);
  m.def(
      "repeat",
      [](const NodeRef& part, std::int64_t minimum, std::optional<std::int64_t> maximum) {
        const std::int64_t most = maximum.value_or(Node::kUnbounded);
        if (minimum >= Node::kUnbounded || (maximum && most >= Node::kUnbounded)) {
          throw Error(ErrorKind::limit, "repeat_count", std::max(minimum, most), Node::kUnbounded - 1);
        }
        if (minimum < 0 || most < minimum) throw Error(ErrorKind::argument, "repeat", minimum, most);
        return Node::repeat(part, static_cast<std::uint32_t>(minimum), static_cast<std::uint32_t>(most));
      },
      "part"_a, "minimum"_a, "maximum"_a.none());
  m.def("lookahead", &Node::lookahead, "body"_a, "negative"_a);
  m.def("lookbehind", &Node::lookbehind, "body"_a, "negative"_a);
  m.def("text_scope", &Node::scope, "body"_a);
  m.def(
      "reference",
      [](std::int64_t index) {
        if (index < 0 || index >= Node::kUnbounded)
          throw Error(ErrorKind::argument, "reference", index, Node::kUnbounded);
        return Node::reference(static_cast<std::uint32_t>(index));
      },
      "index"_a);
  m.def(
      "grammar",
      [](std::vector<NodeRef> definitions, std::int64_t start) {
        if (start < 0 || start >= std::ssize(definitions)) {
          throw Error(ErrorKind::argument, "reference", start, std::ssize(definitions));
        }
        return Node::grammar(std::move(definitions), static_cast<std::uint32_t>(start));
      },
      "definitions"_a, "start"_a);
  m.def("share", &share, "node"_a);
}

void bind_members(nb::module_& m) {
  m.def("json_string", &Node::json_string, "texts"_a, "serialized"_a = false);
  m.def(
      "unordered",
      [](const std::vector<std::pair<NodeRef, bool>>& items, const std::optional<NodeRef>& others,
         const NodeRef& separator, std::uint32_t minimum, std::optional<std::uint32_t> maximum) {
        std::vector<NodeRef> members;
        std::string required;
        for (const auto& [member, is_required] : items) {
          members.push_back(member);
          required += is_required ? '1' : '0';
        }
        return Node::unordered(std::move(members), std::move(required), others.value_or(Node::empty()), separator,
                               minimum, maximum.value_or(Node::kUnbounded));
      },
      "items"_a, "others"_a.none(), "separator"_a, "minimum"_a, "maximum"_a.none());
  m.def(
      "ordered",
      [](const std::vector<std::pair<NodeRef, bool>>& members, const std::optional<NodeRef>& others,
         const NodeRef& separator, bool some) {
        std::vector<NodeRef> nodes;
        std::string required;
        for (const auto& [member, is_required] : members) {
          nodes.push_back(member);
          required += is_required ? '1' : '0';
        }
        return Node::ordered(std::move(nodes), std::move(required), others.value_or(Node::empty()), separator, some);
      },
      "members"_a, "others"_a.none(), "separator"_a, "some"_a = false);
  m.def(
      "distinct",
      [](const NodeRef& key, const NodeRef& rest, const NodeRef& separator, std::uint32_t minimum,
         std::optional<std::uint32_t> maximum, bool names) {
        return Node::distinct(key, rest, separator, minimum, maximum.value_or(Node::kUnbounded), names);
      },
      "key"_a, "rest"_a, "separator"_a, "minimum"_a, "maximum"_a.none(), "names"_a = false,
      "Items of which no two have equal keys: JSON values, or names of members.");
  m.def(
      "ordered_kinds",
      [](const std::vector<std::pair<std::optional<NodeRef>, NodeRef>>& kinds, const NodeRef& order,
         const NodeRef& separator) {
        std::vector<NodeRef> parts;
        for (const auto& [key, rest] : kinds) {
          parts.push_back(key.value_or(Node::epsilon()));
          parts.push_back(rest);
        }
        return Node::ordered_kinds(std::move(parts), order, separator);
      },
      "kinds"_a, "order"_a, "separator"_a,
      "Items of several kinds, whose indexes in turn are a text of `order`. No two keys are equal, names of members.");
  m.def(
      "maximal_munch",
      [](const NodeRef& body, const std::optional<NodeRef>& within, const nb::bytes& escape) {
        return Node::maximal_munch(body, within.value_or(body), {escape.c_str(), escape.size()});
      },
      "body"_a, "within"_a.none() = nb::none(), "escape"_a = nb::bytes("", 0),
      "`escape` is a text that may always come next, and that nothing makes a part of the match.");
  m.def(
      "not_followed_by",
      [](const NodeRef& body, const nb::bytes& escape) {
        return Node::not_followed_by(body, {escape.c_str(), escape.size()});
      },
      "body"_a, "escape"_a = nb::bytes("", 0), "`escape` is a text that may always come next, whatever follows it.");
}

void bind_special(nb::module_& m) {
  m.def(
      "special",
      [](const nb::bytes& name, const std::optional<NodeRef>& otherwise) {
        return Node::special(std::string(view(name)), otherwise ? &*otherwise : nullptr);
      },
      "name"_a, "otherwise"_a.none() = nb::none(),
      "A token without text, and what stands for it where a vocabulary has none.");
  m.def(
      "special_as_text",
      [](const NodeRef& node, const std::vector<nb::bytes>& names) {
        std::vector<std::string> texts;
        for (const nb::bytes& name : names) texts.emplace_back(view(name));
        std::sort(texts.begin(), texts.end());
        return special_as_text(node, texts);
      },
      "node"_a, "names"_a, "Where these special tokens are plain texts.");
  m.def("without_special", &without_special, "node"_a, "The texts without special tokens, which have none.");
}

}  // namespace

void bind_nodes(nb::module_& m) {
  bind_node(m);
  bind_operators(m);
  bind_members(m);
  bind_special(m);
}

}  // namespace detent

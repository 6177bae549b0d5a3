"""Texts of Python literals that a JSON Schema allows, as nodes: strings in either quotes, True and None, lists, dicts.

Each subschema is an entry: its children, and how to build its node from theirs. Entries are collected by a work list
and built from the leaves up; what is left then is recursive and becomes a grammar. Whatever a literal cannot hold
exactly is refused with its place.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from decimal import Decimal
from typing import Any
from urllib.parse import unquote

from detent import _core
from detent.errors import ArgumentError, UnsupportedError
from detent.sources.calls.python_strings import constant_string, free_string, held_string
from detent.sources.json_schema.ecma import pattern_node
from detent.sources.json_schema.emit.numbers import number_literal, number_node
from detent.sources.json_schema.formats import format_node
from detent.sources.nodes import CHARACTER, UTF8, concat, optional, repeat, short_repr, union
from detent.sources.types.digits import DIGIT

__all__ = ["SEPARATOR", "Pointer", "literal_nodes", "members"]

Pointer = str
"""The JSON pointer of a subschema, or of a value inside a const or an enum."""

SEPARATOR: _core.Node = concat(",", optional(" "))
"""What stands between the items of a list, the members of a dict, and arguments."""

_COLON = concat(":", optional(" "))
_WHOLE = concat(optional("-"), repeat(DIGIT, 1, None))
_TYPES = ("null", "boolean", "integer", "number", "string", "array", "object")
_NUMBERS = ("minimum", "maximum", "exclusiveMinimum", "exclusiveMaximum")
_REFUSED = """
    $dynamicRef $recursiveRef not if contains minContains maxContains uniqueItems minProperties maxProperties
    patternProperties propertyNames dependentRequired dependentSchemas dependencies unevaluatedProperties
    unevaluatedItems additionalItems extends disallow
""".split()
_ALONE = ("$ref", "allOf", "anyOf", "oneOf", "const", "enum")
_ASSERTIONS = {*_ALONE, *_NUMBERS, *_REFUSED, "type", "multipleOf", "minLength", "maxLength", "pattern", "format"}
_ASSERTIONS |= {"items", "prefixItems", "minItems", "maxItems", "properties", "required", "additionalProperties"}


@dataclass(frozen=True)
class _Entry:
    children: tuple[Pointer, ...]
    build: Callable[[Sequence[_core.Node]], _core.Node]


def literal_nodes(root: Any, starts: Iterable[Pointer], where: str) -> dict[Pointer, _core.Node]:
    """Give the literals of some subschemas of a schema.

    Parameters
    ----------
    root : dict or bool
        The schema, in which references are looked up.
    starts : iterable of str
        The pointers of the subschemas.
    where : str
        What messages call the schema.

    Returns
    -------
    dict
        One node a start, closed. Costs one entry a subschema, however often it is referred to.

    Raises
    ------
    UnsupportedError
        A keyword that is not held exactly here; the message has its pointer.
    ArgumentError
        The schema is malformed, or a reference leads nowhere.
    """
    wanted = list(starts)
    entries = _Reader(root, where).read(wanted)
    nodes: dict[Pointer, _core.Node] = {}
    parents: dict[Pointer, list[Pointer]] = {}
    missing = {pointer: len(set(entry.children)) for pointer, entry in entries.items()}
    for pointer, entry in entries.items():
        for child in set(entry.children):
            parents.setdefault(child, []).append(pointer)
    ready = [pointer for pointer, count in missing.items() if not count]
    while ready:
        pointer = ready.pop()
        entry = entries[pointer]
        nodes[pointer] = entry.build([nodes[child] for child in entry.children])
        for parent in parents.get(pointer, ()):
            missing[parent] -= 1
            if not missing[parent]:
                ready.append(parent)
    rules = {pointer: number for number, pointer in enumerate(p for p in entries if p not in nodes)}
    if rules:
        references = {pointer: _core.reference(number) for pointer, number in rules.items()}
        known = nodes | references
        definitions = [entries[p].build([known[child] for child in entries[p].children]) for p in rules]
        nodes |= {p: _core.grammar(definitions, rules[p]) for p in wanted if p in rules}
    return {pointer: nodes[pointer] for pointer in wanted}


def members(
    items: Sequence[tuple[_core.Node, bool]], others: _core.Node | None, separator: _core.Node = SEPARATOR
) -> _core.Node:
    """Give rows of members in order: those with True always, the rest perhaps; then any number of others.

    >>> from detent.language import Language
    >>> row = members([(concat("a"), False), (concat("b"), True)], None)
    >>> [Language(row, "row").accepts(text) for text in ("a, b", "b", "a", "b, a")]
    [True, True, False, False]
    """
    # `after` is what may follow a member, `first` what may stand where there is none yet.
    after = repeat(concat(separator, others), 0, None) if others else _core.epsilon()
    first = optional(concat(others, after)) if others else _core.epsilon()
    for node, is_required in reversed(items):
        with_it, beginning = concat(separator, node, after), concat(node, after)
        first = beginning if is_required else union(beginning, first)
        after = with_it if is_required else union(with_it, after)
    return first


class _Reader:
    """Turns subschemas into entries."""

    def __init__(self, root: Any, where: str) -> None:
        self.root = root
        self.where = where
        self.waiting: list[tuple[Pointer, Any]] = []

    def read(self, starts: Iterable[Pointer]) -> dict[Pointer, _Entry]:
        """Collect the entries of the starts and of all that they lead to."""
        entries: dict[Pointer, _Entry] = {}
        self.waiting = [(start, self._look_up(start, start)) for start in starts]
        while self.waiting:
            pointer, schema = self.waiting.pop()
            if pointer not in entries:
                entries[pointer] = (
                    self._value(pointer, schema.value) if isinstance(schema, _Const) else self._entry(pointer, schema)
                )
        return entries

    def _child(self, pointer: Pointer, schema: Any) -> Pointer:
        self.waiting.append((pointer, schema))
        return pointer

    def _look_up(self, pointer: Pointer, place: Pointer) -> Any:
        if not pointer:
            return self.root
        found = self.root
        for step in pointer[1:].split("/"):
            name = step.replace("~1", "/").replace("~0", "~")
            try:
                found = found[int(name)] if isinstance(found, list) else found[name]
            except (KeyError, IndexError, ValueError, TypeError):
                raise ArgumentError(
                    f"{self.where} refers to {short_repr(pointer)} at {place or '/'}; it is not there"
                ) from None
        return found

    def _refuse(self, pointer: Pointer, keyword: str, reason: str) -> UnsupportedError:
        return UnsupportedError(
            f"{self.where} has {keyword!r} at {short_repr(pointer + '/' + keyword)}: {reason}; "
            "leave it out, or use a style that writes JSON"
        )

    def _entry(self, pointer: Pointer, schema: Any) -> _Entry:
        if isinstance(schema, bool):
            return _Entry((), lambda _: ANY_LITERAL if schema else _core.empty())
        if not isinstance(schema, dict):
            raise ArgumentError(f"{self.where} has {short_repr(schema)} at {pointer or '/'}, where a schema must stand")
        for keyword in _REFUSED:
            if schema.get(keyword, False) is not False:
                raise self._refuse(pointer, keyword, "Python literals are not held to it")
        for keyword in _ALONE:
            if keyword in schema:
                beside = sorted(name for name in schema if name in _ASSERTIONS - {keyword, "type"})
                if beside:
                    raise self._refuse(pointer, keyword, f"it stands beside {beside[0]!r}")
                return self._alone(pointer, keyword, schema)
        children: list[Pointer] = []
        builders: list[Callable[[Sequence[_core.Node]], _core.Node]] = []
        for kind in self._types(pointer, schema):
            needed, build = getattr(self, f"_{kind}")(pointer, schema)
            start = len(children)
            children += needed
            builders.append(_part(build, start, len(children)))
        return _Entry(tuple(children), lambda nodes: union(*[build(nodes) for build in builders]))

    def _types(self, pointer: Pointer, schema: Mapping[str, Any]) -> list[str]:
        kinds = schema.get("type", list(_TYPES))
        kinds = [kinds] if isinstance(kinds, str) else kinds
        if not isinstance(kinds, list) or any(kind not in _TYPES for kind in kinds):
            raise ArgumentError(f"{self.where} has an unknown type {short_repr(schema['type'])} at {pointer}/type")
        return [kind for kind in kinds if kind != "integer" or "number" not in kinds]

    def _alone(self, pointer: Pointer, keyword: str, schema: Mapping[str, Any]) -> _Entry:
        value = schema[keyword]
        if keyword == "$ref":
            if not isinstance(value, str) or not (value == "#" or value.startswith("#/")):
                raise self._refuse(pointer, "$ref", "only references within the schema, '#/...', are followed")
            target = unquote(value[1:])
            return _Entry((self._child(target, self._look_up(target, f"{pointer}/$ref")),), _only)
        if "type" in schema and keyword in ("allOf", "anyOf", "oneOf"):
            raise self._refuse(pointer, keyword, "it stands beside 'type'")
        if keyword in ("const", "enum"):
            values = [value] if keyword == "const" else value
            kinds = self._types(pointer, schema)
            if not isinstance(values, list):
                raise ArgumentError(f"{self.where} has {short_repr(value)} at {pointer}/enum, where a list must stand")
            places = [
                self._child(f"{pointer}/{keyword}/{number}", _Const(item))
                for number, item in enumerate(values)
                if any(_is_a(item, kind) for kind in kinds)
            ]
            return _Entry(tuple(places), lambda nodes: union(*nodes))
        if not isinstance(value, list) or not value:
            raise ArgumentError(
                f"{self.where} has {short_repr(value)} at {pointer}/{keyword}, where schemas must stand"
            )
        if keyword == "allOf" and len(value) > 1:
            raise self._refuse(pointer, "allOf", "literals are held to one schema, not to several at once")
        if keyword == "oneOf" and not _are_disjoint(value):
            raise self._refuse(pointer, "oneOf", "its schemas are not told apart by 'type'; write anyOf")
        places = [self._child(f"{pointer}/{keyword}/{number}", part) for number, part in enumerate(value)]
        return _Entry(tuple(places), lambda nodes: union(*nodes))

    def _value(self, pointer: Pointer, value: Any) -> _Entry:
        """Make the entry of one value, spelled as `repr` does, in either quotes."""
        if isinstance(value, list):
            places = [self._child(f"{pointer}/{number}", _Const(item)) for number, item in enumerate(value)]
            return _Entry(tuple(places), lambda nodes: concat("[", members([(n, True) for n in nodes], None), "]"))
        if isinstance(value, dict):
            names = [concat(constant_string(str(name)), _COLON) for name in value]
            places = [self._child(f"{pointer}/{number}", _Const(item)) for number, item in enumerate(value.values())]

            def build(nodes: Sequence[_core.Node]) -> _core.Node:
                row = [(concat(name, node), True) for name, node in zip(names, nodes, strict=True)]
                return concat("{", members(row, None), "}")

            return _Entry(tuple(places), build)
        if value is None or isinstance(value, bool):
            return _Entry((), lambda _: concat(str(value)))
        if isinstance(value, str):
            return _Entry((), lambda _: constant_string(value))
        if isinstance(value, (int, float, Decimal)):
            number = number_literal(Decimal(repr(value)) if isinstance(value, float) else Decimal(value))
            is_whole = isinstance(value, int)
            return _Entry((), lambda _: _core.intersection([number, _WHOLE]) if is_whole else number)
        raise ArgumentError(f"{self.where} has {short_repr(value)} at {pointer}, which JSON has no value for")

    # One method a type: the children, and how to build from their nodes.

    def _null(self, pointer: Pointer, schema: Mapping[str, Any]) -> tuple[list[Pointer], Any]:
        return [], lambda _: concat("None")

    def _boolean(self, pointer: Pointer, schema: Mapping[str, Any]) -> tuple[list[Pointer], Any]:
        return [], lambda _: union("True", "False")

    def _number(self, pointer: Pointer, schema: Mapping[str, Any], integer: bool = False) -> tuple[list[Pointer], Any]:
        bounds: dict[str, Any] = {}
        for keyword, name in zip(
            _NUMBERS, ("minimum", "maximum", "exclusive_minimum", "exclusive_maximum"), strict=True
        ):
            bounds[name] = self._decimal(pointer, keyword, schema[keyword]) if keyword in schema else None
        multiples = (self._decimal(pointer, "multipleOf", schema["multipleOf"]),) if "multipleOf" in schema else ()
        node = number_node(integer=integer, multiples=multiples, **bounds)
        return [], lambda _: _core.empty() if node is None else node

    def _integer(self, pointer: Pointer, schema: Mapping[str, Any]) -> tuple[list[Pointer], Any]:
        _, build = self._number(pointer, schema, integer=True)
        # JSON Schema takes 1.0 for an integer; Python takes it for a float.
        return [], lambda nodes: _core.intersection([build(nodes), _WHOLE])

    def _string(self, pointer: Pointer, schema: Mapping[str, Any]) -> tuple[list[Pointer], Any]:
        low, high = self._count(pointer, "minLength", schema) or 0, self._count(pointer, "maxLength", schema)
        held = []
        if "pattern" in schema:
            if not isinstance(schema["pattern"], str):
                raise ArgumentError(f"{self.where} has a pattern that is no text at {pointer}/pattern")
            held.append(pattern_node(schema["pattern"]))
        if isinstance(schema.get("format"), str):
            known = format_node(schema["format"])
            held += [] if known is None else [known]
        if high is not None and high < low:
            return [], lambda _: _core.empty()
        if not held:
            return [], lambda _: free_string(low, high)
        return [], lambda _: held_string(_core.intersection([UTF8, repeat(CHARACTER, low, high), *held]))

    def _array(self, pointer: Pointer, schema: Mapping[str, Any]) -> tuple[list[Pointer], Any]:
        prefix, rest = schema.get("prefixItems", []), schema.get("items", True)
        if not isinstance(prefix, list):
            raise ArgumentError(
                f"{self.where} has {short_repr(prefix)} at {pointer}/prefixItems, where a list must stand"
            )
        low, high = self._count(pointer, "minItems", schema) or 0, self._count(pointer, "maxItems", schema)
        children = [self._child(f"{pointer}/prefixItems/{number}", part) for number, part in enumerate(prefix)]
        children.append(self._child(f"{pointer}/items", rest))

        def build(nodes: Sequence[_core.Node]) -> _core.Node:
            return concat("[", _items(nodes[:-1], nodes[-1], low, high), "]")

        return children, build

    def _object(self, pointer: Pointer, schema: Mapping[str, Any]) -> tuple[list[Pointer], Any]:
        declared, required = schema.get("properties", {}), schema.get("required", [])
        if not isinstance(declared, dict) or not isinstance(required, list):
            raise ArgumentError(f"{self.where} has malformed properties or required at {pointer or '/'}")
        others = schema.get("additionalProperties", True)
        children = [self._child(f"{pointer}/properties/{_quote(name)}", declared[name]) for name in declared]
        children.append(self._child(f"{pointer}/additionalProperties", others))
        names = list(dict.fromkeys([*declared, *required]))

        def build(nodes: Sequence[_core.Node]) -> _core.Node:
            values = [*nodes[:-1], *[nodes[-1]] * (len(names) - len(declared))]
            row = [
                (concat(constant_string(name), _COLON, value), name in required)
                for name, value in zip(names, values, strict=True)
            ]
            taken = _core.intersection([UTF8, _core.complement(union(*[concat(name) for name in names]))])
            others_row = concat(held_string(taken) if names else free_string(0, None), _COLON, nodes[-1])
            return concat("{", members(row, None if others is False else others_row), "}")

        return children, build

    def _decimal(self, pointer: Pointer, keyword: str, value: Any) -> Decimal:
        if isinstance(value, bool) or not isinstance(value, (int, float, Decimal)) or value != value:
            raise ArgumentError(
                f"{self.where} has {short_repr(value)} at {pointer}/{keyword}, where a number must stand"
            )
        return Decimal(repr(value)) if isinstance(value, float) else Decimal(value)

    def _count(self, pointer: Pointer, keyword: str, schema: Mapping[str, Any]) -> int | None:
        value = schema.get(keyword)
        if value is None:
            return None
        if isinstance(value, bool) or not isinstance(value, (int, float)) or value != int(value) or value < 0:
            raise ArgumentError(
                f"{self.where} has {short_repr(value)} at {pointer}/{keyword}, where a count must stand"
            )
        return int(value)


@dataclass(frozen=True)
class _Const:
    value: Any


def _part(
    build: Callable[[Sequence[_core.Node]], _core.Node], start: int, end: int
) -> Callable[[Sequence[_core.Node]], _core.Node]:
    return lambda nodes: build(nodes[start:end])


def _only(nodes: Sequence[_core.Node]) -> _core.Node:
    return nodes[0]


def _items(prefix: Sequence[_core.Node], rest: _core.Node, low: int, high: int | None) -> _core.Node:
    """Give rows of items: those of the prefix in their places, then the rest, `low` to `high` in all."""
    if high is not None and high < low:
        return _core.empty()
    known = list(prefix if high is None else prefix[:high])
    if not known:
        if high == 0:
            return _core.epsilon()
        row = concat(rest, repeat(concat(SEPARATOR, rest), max(low - 1, 0), None if high is None else high - 1))
        return row if low else optional(row)
    more = None if high is None else high - len(known)
    row = repeat(concat(SEPARATOR, rest), max(low - len(known), 0), more)
    for place in range(len(known) - 1, -1, -1):
        row = concat(SEPARATOR if place else "", known[place], row)
        row = row if place < low else optional(row)
    return row


def _are_disjoint(parts: Sequence[Any]) -> bool:
    """Whether no value satisfies two of the schemas, seen by their types and constants alone."""
    seen: set[str] = set()
    for part in parts:
        if not isinstance(part, dict):
            return False
        if "const" in part or "enum" in part:
            values = [part["const"]] if "const" in part else part["enum"]
            kinds = {kind for value in values for kind in _TYPES if _is_a(value, kind)}
        else:
            given = part.get("type", list(_TYPES))
            kinds = {given} if isinstance(given, str) else set(given)
        kinds |= {"integer", "number"} if kinds & {"integer", "number"} else set()
        if kinds & seen:
            return False
        seen |= kinds
    return True


def _is_a(value: Any, kind: str) -> bool:
    match kind:
        case "null":
            return value is None
        case "boolean":
            return isinstance(value, bool)
        case "integer":
            return not isinstance(value, bool) and (
                isinstance(value, int) or (isinstance(value, float) and value.is_integer())
            )
        case "number":
            return not isinstance(value, bool) and isinstance(value, (int, float, Decimal))
        case "string":
            return isinstance(value, str)
        case "array":
            return isinstance(value, list)
        case _:
            return isinstance(value, dict)


def _quote(name: str) -> str:
    return name.replace("~", "~0").replace("/", "~1")


def _any_literal() -> _core.Node:
    value = _core.reference(0)
    number = number_node(integer=False)
    assert number is not None  # noqa: S101 - without bounds there are numbers
    row = optional(concat(value, repeat(concat(SEPARATOR, value), 0, None)))
    member = concat(free_string(0, None), _COLON, value)
    table = optional(concat(member, repeat(concat(SEPARATOR, member), 0, None)))
    scalars = union("None", "True", "False", number, free_string(0, None))
    return _core.grammar([union(scalars, concat("[", row, "]"), concat("{", table, "}"))], 0)


ANY_LITERAL: _core.Node = _any_literal()
"""Any literal of None, truth values, numbers, strings, lists, and dicts whose keys are strings."""

"""JSON Schema: the texts of the JSON values that are valid against a schema, exactly.

The compiler has four stages with typed data between them; imports run from the last to the first.

1. `parse`: JSON text to plain values; `References` resolves `$ref`.
2. `assertions`: the keywords of each schema to `Assertions`: formulas about one kind of value, and disjunctions.
3. `solve`: conjunctions of schemas to `MergedAssertions`; from these sets of scalars, `ObjectPlan` and `ArrayPlan`.
4. `emit`: sets and plans to expressions of the core, in a `Spelling`.

`ecma`, `formats` and `python_types` are beside them: patterns, formats, and the schemas of Python types.
`schema_source` explains texts that are no values, with `position`, and schemas without values, with `conflict`.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import lru_cache
from typing import TYPE_CHECKING, Any, Literal, Protocol, TypedDict, TypeVar, overload

from detent import _core
from detent.errors import ArgumentError, SchemaError
from detent.language import Language
from detent.limits import DEFAULT_LIMITS, Limits, read_limits
from detent.origin import Origin, Quotes
from detent.sources.json_schema.assertions.diagnostics import summary
from detent.sources.json_schema.assertions.document import SchemaDocument, has_default_texts
from detent.sources.json_schema.description import describe
from detent.sources.json_schema.emit.closed import closed_schema
from detent.sources.json_schema.emit.emitter import Emitter
from detent.sources.json_schema.emit.json_spelling import JsonSpelling, SpellingName, json_spelling
from detent.sources.json_schema.emit.plain import PlainNodes
from detent.sources.json_schema.emit.plain_text import open_text, read_plain_text
from detent.sources.json_schema.parse.decoder import loads
from detent.sources.json_schema.parse.dialect import DEFAULT, find_dialect
from detent.sources.json_schema.parse.schema_text import as_dicts, check_size, has_one_base, read_text
from detent.sources.json_schema.python_types import schema_of
from detent.sources.json_schema.schema_source import SchemaSource
from detent.sources.json_schema.solve.solver import Solver
from detent.sources.nodes import check_flag, short_repr
from detent.suggestions import read_the_file, suggests_names

if TYPE_CHECKING:
    from typing_extensions import Unpack

__all__ = ["json_schema", "json_value"]

T_co = TypeVar("T_co", covariant=True)
_Value = TypeVar("_Value")


@dataclass(frozen=True)
class _JsonValue:
    """From a JSON text to its value.

    >>> _JsonValue()('{"a": [1, 2.5]}')
    {'a': [1, 2.5]}
    """

    def __call__(self, text: str) -> object:
        return loads(text)


class _Adapter(Protocol[T_co]):
    """A TypeAdapter of pydantic."""

    def validate_json(self, data: str, /) -> T_co:
        """Return the value of a text."""


class _Options(TypedDict, total=False):
    order: Literal["schema", "any"]
    spelling: SpellingName
    whitespace: str | Language[Any] | None
    lenient: bool
    formats: Mapping[str, Language[Any]] | None
    limits: Limits | None


@overload
def json_schema(  # type: ignore[overload-overlap]
    source: type[_Value], **options: Unpack[_Options]
) -> Language[_Value]: ...
@overload
def json_schema(source: Mapping[str, Any] | bool | str, **options: Unpack[_Options]) -> Language[Any]: ...
@overload
def json_schema(source: _Adapter[_Value], **options: Unpack[_Options]) -> Language[_Value]: ...
@overload
def json_schema(source: Callable[..., object], **options: Unpack[_Options]) -> Language[dict[str, Any]]: ...
@overload
def json_schema(source: object, **options: Unpack[_Options]) -> Language[Any]: ...
@suggests_names
def json_schema(
    source: Any,
    *,
    order: Literal["schema", "any"] = "schema",
    spelling: SpellingName = "written",
    whitespace: str | Language | None = None,
    lenient: bool = False,
    formats: Mapping[str, Language] | None = None,
    limits: Limits | None = None,
) -> Language[Any]:
    """Make the language of the JSON texts that are valid against a schema.

    >>> import detent
    >>> point = detent.json_schema({"type": "object", "properties": {"x": {"type": "integer"}}, "required": ["x"]})
    >>> point.parse('{"x": 3}'), point.accepts('{"x": 3.5}'), point.accepts('{"y": 3}')
    ({'x': 3}, False, False)

    Dialects are 2020-12 (the default), 2019-09 and drafts 7, 6 and 4, by `$schema`. Every text of the language is
    valid. By default the texts are those that serialisers write of valid values, such as ``json.dumps`` with any
    `ensure_ascii`, `indent` and `separators`, or ``JSON.stringify``:

    - integers are digits (``24``, never ``24.0``), others have at most 16 digits before the point and 16 after it;
    - characters have no escapes that are not needed; those above ASCII may be escaped;
    - at most one space, or a line break and an indent, stands where serialisers put it;
    - members that `properties` declare come in its order, those of several schemas in the order of their first
      appearance, others last (or, with ``order="any"``, all in any order).

    With ``spelling="any"`` strings and numbers have every text of JSON, for validation of foreign texts: all escapes
    (but in declared names, const and enum), ``1.0`` as an integer, exponents.

    Formats of the specification are assertions; other formats have no effect, and a `SchemaWarning` says so. Nothing is
    fetched: references lead into the schema itself or to the metaschemas of the drafts.

    Parameters
    ----------
    source : dict or other mapping, bool, str or type
        A schema, its JSON text, or a Python type: a pydantic model, dataclass, TypedDict, Enum, Literal, or a union of
        such. Of a function, the parameters are meant.
    order : "schema" or "any"
        The order of members.
    spelling : "written" or "any"
        The texts of values: those that serialisers write, or all of JSON. `Language.parse` and `accepts` take the same
        texts as `generate` writes; parse foreign texts with a language of ``spelling="any"``.
    whitespace : "written", "line", "bounded", "compact", "single", str or Language, optional
        The white space between the tokens of the text. "written", the default: a space after a comma or colon, or a
        line break and up to 96 spaces or tabs after a comma or bracket. "line": at most a space after a comma or colon.
        "bounded", the default of ``spelling="any"``: at most a space or such a line break between any two tokens.
        "compact": none. "single": a space after each comma and colon. Or a pattern or language of white space.
    lenient : bool
        Drop what cannot be held exactly, with a `SchemaWarning` for each, in the place of an error.
    formats : Mapping[str, Language], optional
        Languages of further formats, or in the place of the known ones.
    limits : Limits, optional
        Bounds on the text (`source_bytes`, `depth`) and on the work of combining schemas (`pattern_size`).

    Returns
    -------
    Language
        Its value is what `json.loads` gives, or the Python type. Costs some 25 us a subschema.

    Raises
    ------
    SchemaError
        The schema is malformed, or a reference leads nowhere; `pointer` says where.
    UnsupportedSchemaError
        A keyword cannot be held exactly, such as uniqueItems of items with many values beside contains, or a pattern
        that is not regular.
    LimitError
        A limit was reached, or schemas combine in too many ways.
    ArgumentError
        An argument has the wrong type.
    """
    if not isinstance(order, str) or order not in ("schema", "any"):
        raise ArgumentError(f'order must be "schema" or "any", got {short_repr(order)}')
    bounds = read_limits(limits)
    check_flag(lenient, "json_schema", "lenient")
    formats = {} if formats is None else _checked_formats(formats)
    options: dict[str, Any] = {
        "order": order,
        "spelling": spelling,
        "whitespace": whitespace,
        "lenient": lenient,
        "formats": formats,
        "limits": bounds,
    }
    is_text = isinstance(source, str)
    reader: _core.PlainReader | None = None
    if is_text and not (lenient or formats) and bounds is DEFAULT_LIMITS:
        check_size(source, bounds)
        reader = open_text(source, json_spelling(spelling, whitespace), is_ordered=order == "schema")
        plain = None if reader is None else read_plain_text(reader, source)
        if plain is not None:
            return Language(plain.node, plain.description, _JsonValue(), _origin=_origin(source, options))
    schema, value = _read(source, bounds)
    node = _node(schema, has_one_base=is_text and has_one_base(source, schema), reader=reader, **options)
    return Language(node, describe(schema), value, _origin=_origin(schema, options))


def _checked_formats(formats: object) -> dict[str, Language[Any]]:
    if not isinstance(formats, Mapping):
        raise ArgumentError(f"formats must map names to languages, got {short_repr(formats)}")
    for name, language in formats.items():
        if not isinstance(name, str) or not isinstance(language, Language):
            raise ArgumentError(f"formats must map names to languages, got {short_repr(name)}: {short_repr(language)}")
    return dict(formats)


def _origin(source: Any, options: dict[str, Any]) -> Origin:
    return Origin(quotes=Quotes.BALANCED, source=SchemaSource(source, options, _build))


def _build(schema: Any, **options: Any) -> Language[Any]:
    return Language(_node(schema, **options), describe(schema))


def _node(
    schema: Any,
    *,
    order: str,
    spelling: SpellingName,
    whitespace: str | Language[Any] | None,
    lenient: bool,
    formats: Mapping[str, Language[Any]],
    limits: Limits,
    has_one_base: bool = False,
    reader: _core.PlainReader | None = None,
) -> _core.Node:
    written, is_ordered = json_spelling(spelling, whitespace), order == "schema"
    if has_one_base and reader is None and isinstance(schema, dict):
        dialect = find_dialect(str(schema["$schema"])) if "$schema" in schema else DEFAULT
        has_defaults = has_default_texts(lenient, formats, limits)
        nodes = _plain_nodes(written, is_ordered, has_defaults)
        node = nodes.document(schema, dialect, limits.pattern_size) if dialect else None
        if node is not None:
            return node
    document = SchemaDocument(schema, lenient, formats, limits, has_one_base=has_one_base)
    return Emitter(Solver(document), written, is_ordered=is_ordered, reader=reader).emit()


@lru_cache(maxsize=16)
def _plain_nodes(spelling: JsonSpelling, is_ordered: bool, has_default_texts: bool) -> PlainNodes:
    """Return the maker of the expressions of plain documents; documents share it and the scalars that it has made."""
    return PlainNodes(spelling, is_ordered=is_ordered, has_default_texts=has_default_texts, closed=closed_schema)


@suggests_names
def json_value(*, spelling: SpellingName = "written", whitespace: str | Language | None = None) -> Language[Any]:
    """Make the language of all JSON texts (RFC 8259).

    >>> import detent
    >>> detent.json_value().parse('[1, {"a": null}]')
    [1, {'a': None}]

    Parameters
    ----------
    spelling, whitespace
        As in `json_schema`.

    Returns
    -------
    Language
        Its value is what `json.loads` gives.

    Raises
    ------
    ArgumentError
        `whitespace` is no white space.
    """
    node = json_spelling(spelling, whitespace).anything
    return Language(node, "any JSON", _JsonValue(), _origin=Origin(quotes=Quotes.BALANCED))


def _read(source: Any, limits: Limits) -> tuple[Any, Callable[[str], object]]:
    if isinstance(source, (dict, bool)):
        return source, _JsonValue()
    if isinstance(source, Mapping):
        return as_dicts(source), _JsonValue()
    if isinstance(source, str):
        if source.strip().endswith(".json"):
            raise ArgumentError(
                f"json_schema takes the text of a schema, got the file name {short_repr(source)}; write "
                "pathlib.Path(name).read_text()"
            )
        schema = read_text(source, limits)
        if not isinstance(schema, (dict, bool)):
            raise SchemaError(f"a schema must be an object or a boolean, got {summary(schema)}")
        return schema, _JsonValue()
    if isinstance(source, (bytes, bytearray, int, float, list, os.PathLike)):
        raise ArgumentError(
            f"json_schema needs a dict, a bool, JSON text or a Python type, got {type(source).__name__}"
            + ("; the type of a list is written list[...]" if isinstance(source, list) else read_the_file(source))
        )
    found = schema_of(source)
    if found is None:
        raise ArgumentError(
            f"json_schema needs a dict, a bool, JSON text or a Python type that has a schema, got {short_repr(source)}"
        )
    return found

"""Schema text: from untrusted JSON text, or a mapping, to dicts and lists with exact numbers."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from decimal import Decimal
from itertools import accumulate
from typing import Any

from detent.errors import LimitError, SchemaError
from detent.limits import Limits
from detent.sources.nodes import short_repr

__all__ = ["as_dicts", "check_size", "has_one_base", "parse", "read_text"]

_STEPS = {**dict.fromkeys(b"[{", 1), **dict.fromkeys(b"]}", -1)}
_NO_BRACKETS = bytes(byte for byte in range(256) if byte not in _STEPS)
_LARGEST_EXPONENT = 9
_IDENTIFIER = re.compile(r'"\$?id"\s*:\s*"')
"""A member that may be an identifier; a property of that name has a schema."""


def check_size(text: str, limits: Limits) -> None:
    """Refuse a schema that is too long."""
    size = len(text) if text.isascii() else len(text.encode("utf-8", "surrogatepass"))
    if size > limits.source_bytes:
        raise LimitError(
            f"the schema has {size} bytes, above the limit of {limits.source_bytes}; "
            "shorten it or raise Limits(source_bytes=...)",
            subject="source_bytes",
            limit=limits.source_bytes,
            given=size,
        )


def read_text(text: str, limits: Limits) -> Any:
    """Parse a schema."""
    check_size(text, limits)
    _check_depth(text, limits.depth)
    try:
        return parse(text)
    except json.JSONDecodeError as error:
        raise SchemaError(
            f"the schema is no JSON: {error.msg} at line {error.lineno}, column {error.colno} of {short_repr(text)}; "
            "correct it there, or pass a dict or a Python type"
        ) from None
    except RecursionError:
        raise LimitError(
            "the schema is nested too deeply to be read; flatten it or pass a dict", subject="depth"
        ) from None


def parse(text: str) -> Any:
    """Return the value of a JSON text whose nesting is bounded.

    `json.loads` with functions for numbers makes a decoder at each call: 26 of 93 us in cold caches.
    """
    if text.startswith("{") and text.endswith("}"):
        schema, end = _DECODER.raw_decode(text)
        if end == len(text):
            return schema
    return json.loads(text, **_NUMBERS)


def has_one_base(text: str, schema: Any) -> bool:
    """Whether the text of a schema plainly has no base below its root, dynamic reference, or reference to a draft.

    >>> has_one_base('{"$ref": "#/$defs/a"}', {}), has_one_base('{"$defs": {"a": {"$id": "a"}}}', {})
    (True, False)
    >>> has_one_base('{"properties": {"id": {"type": "string"}}}', {})
    True
    """
    if "\\" in text and ("\\u" in text or "\\/" in text):
        return False
    if "$dynamicRef" in text or "$recursiveRef" in text:
        return False
    of_root = schema if isinstance(schema, dict) else {}
    identifiers = len(_IDENTIFIER.findall(text)) if 'id"' in text else 0  # the search is faster
    identifiers -= isinstance(of_root.get("$id"), str) + isinstance(of_root.get("id"), str)
    named = of_root.get("$schema")
    drafts = text.count("//json-schema.org/") - (named.count("//json-schema.org/") if isinstance(named, str) else 0)
    return identifiers <= 0 and drafts <= 0


def as_dicts(source: Mapping[str, Any]) -> dict[str, Any]:
    """Copy a mapping, such as a read-only view, and the mappings inside it to dicts. A shared value is copied once.

    >>> from types import MappingProxyType
    >>> as_dicts(MappingProxyType({"items": [MappingProxyType({"type": "null"})]}))
    {'items': [{'type': 'null'}]}
    """
    copies: dict[int, Any] = {}
    work: list[Any] = []

    def copied(value: Any) -> Any:
        if not isinstance(value, (Mapping, list)):
            return value
        if id(value) not in copies:
            copies[id(value)] = [] if isinstance(value, list) else {}
            work.append(value)
        return copies[id(value)]

    root: dict[str, Any] = copied(source)
    while work:
        value = work.pop()
        copy = copies[id(value)]
        if isinstance(value, list):
            copy.extend([copied(inner) for inner in value])
        else:
            copy.update({name: copied(inner) for name, inner in value.items()})
    return root


def _check_depth(text: str, limit: int) -> None:
    """Refuse deep nesting before the standard parser, which recurses, sees the text."""
    if text.count("[") + text.count("{") <= limit:
        return
    if "\\" in text:
        text = text.replace("\\\\", "").replace('\\"', "")
    outside = "".join(text.split('"')[::2]).encode("utf-8", "surrogatepass")
    if max(accumulate(map(_STEPS.__getitem__, outside.translate(None, _NO_BRACKETS))), default=0) > limit:
        raise LimitError(
            f"the schema is nested over {limit} deep; flatten it, pass a dict, or raise Limits(depth=...)",
            subject="depth",
            limit=limit,
        )


def _number(text: str) -> Decimal:
    exponent = text.lower().partition("e")[2].lstrip("+-").lstrip("0")
    if len(exponent) > _LARGEST_EXPONENT:
        raise SchemaError(f"the schema has a number with an exponent of {len(exponent)} digits; write a smaller one")
    return Decimal(text)


def _integer(text: str) -> int | Decimal:
    # int() refuses thousands of digits, Decimal takes them.
    return int(text) if len(text) < 600 else Decimal(text)


def _no_number(text: str) -> Decimal:
    raise SchemaError(f"the schema has {text}, which is no JSON; leave it out")


_NUMBERS: dict[str, Any] = {"parse_float": _number, "parse_constant": _no_number, "parse_int": _integer}
_DECODER = json.JSONDecoder(**_NUMBERS)

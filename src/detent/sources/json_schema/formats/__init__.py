"""JSON Schema's `format`: the texts of each format that the specification names.

Each format is the grammar of its RFC. Where the RFC's language is not regular, the format is a regular subset without
wrong texts: `hostname` has no Punycode, `regex` no back-references and no comparisons of distant parts, and a leap
second has an offset of whole quarters of an hour. `idn-email` takes letters of any script in a domain, where RFC 5890
has tables. `idn-hostname`, which consists of these tables, is refused.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import cache

from detent import _core
from detent.errors import UnsupportedError
from detent.sources.json_schema.formats import calendar, network, syntax
from detent.sources.nodes import UTF8

__all__ = ["ASSERTING_FORMATS", "KNOWN_FORMATS", "format_node", "is_known_format"]

_FORMATS: dict[str, Callable[[], _core.Node]] = {
    "date": calendar.date,
    "date-time": calendar.date_time,
    "time": calendar.time,
    "duration": calendar.duration,
    "email": network.email,
    "idn-email": network.idn_email,
    "hostname": network.hostname,
    "ipv4": network.ipv4,
    "ipv6": network.ipv6,
    "uri": network.uri,
    "uri-reference": network.uri_reference,
    "iri": network.iri,
    "iri-reference": network.iri_reference,
    "uri-template": network.uri_template,
    "uuid": syntax.uuid,
    "json-pointer": syntax.json_pointer,
    "relative-json-pointer": syntax.relative_json_pointer,
    "regex": syntax.regular_expression,
}

# Formats of OpenAPI's registry about numbers, display or transport. `byte` is Base64 there, but real documents have PEM
# and plain text in such members, and validators of JSON Schema accept them.
_FREE = frozenset({"password", "binary", "byte", "int32", "int64", "float", "double"})

ASSERTING_FORMATS = (*_FORMATS, "idn-hostname")
"""The formats that the specification names: each asserts something."""

KNOWN_FORMATS = frozenset((*ASSERTING_FORMATS, *_FREE))
"""The formats that have a meaning, are known to have none, or cannot be held."""


def is_known_format(name: str) -> bool:
    """Whether a format is one of `KNOWN_FORMATS`."""
    return name in KNOWN_FORMATS


@cache
def _known(name: str) -> _core.Node:
    return _FORMATS[name]()


def format_node(name: str) -> _core.Node | None:
    """Return the texts of a format, or None if it is none that the specification or OpenAPI's registry names.

    >>> from detent.language import Language
    >>> dates = Language(format_node("date"), "date")
    >>> dates.accepts("2024-02-29"), dates.accepts("2023-02-29")
    (True, False)

    Parameters
    ----------
    name : str
        As in a schema. `password`, `binary`, `byte` and the formats of numbers have every text.

    Returns
    -------
    Node or None
        Within valid UTF-8. Costs up to 5 ms when first asked for, a look-up from then on.

    Raises
    ------
    UnsupportedError
        The format is `idn-hostname`.
    """
    if name in _FORMATS:
        return _known(name)
    if name == "idn-hostname":
        raise UnsupportedError(
            "the format idn-hostname cannot be held exactly: the length of a label counts in Punycode; "
            'use "hostname", or a "pattern" of the letters that you expect'
        )
    return UTF8 if name in _FREE else None

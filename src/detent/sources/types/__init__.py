"""Typed values: languages whose texts stand for a Python value, each with the parser that gives it.

`numbers` are ranges of decimal digits (`digits`), `calendar`, `network` and `identifiers` are patterns, and `markdown`
are blocks. A text is in the language exactly when it is valid: leap days, ranges, lengths and check digits count.
"""

from detent.sources.types.calendar import date, datetime, duration, time
from detent.sources.types.identifiers import hex_colour, iban, phone, semver, slug
from detent.sources.types.markdown import code_block, markdown_table
from detent.sources.types.network import email, hostname, ipv4, ipv6, uri, uuid
from detent.sources.types.numbers import boolean, integer, number

__all__ = [
    "boolean",
    "code_block",
    "date",
    "datetime",
    "duration",
    "email",
    "hex_colour",
    "hostname",
    "iban",
    "integer",
    "ipv4",
    "ipv6",
    "markdown_table",
    "number",
    "phone",
    "semver",
    "slug",
    "time",
    "uri",
    "uuid",
]

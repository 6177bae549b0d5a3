"""The regexes that are measured: the URL and the number of the Outlines post, and shapes that users ask for.

Written so that all engines read them alike: `[0-9]` instead of `\\d` (which is ASCII in some engines and Unicode in others).
Two differences remain: `\\w` in the last pattern of `PATTERNS` is ASCII in xgrammar and Unicode elsewhere, and `.` in `COUNTED`
takes a line feed in xgrammar only.
"""

from __future__ import annotations

_OCTET = "(25[0-5]|2[0-4][0-9]|1?[0-9]?[0-9])"
_TEXT = r'"([^"\\\x00-\x1f]|\\["\\/bfnrt])*"'
_NUMBER = r"-?(0|[1-9][0-9]*)(\.[0-9]+)?([eE][+-]?[0-9]+)?"
_FIELDS = (
    [f'"name{i}": {_TEXT}' for i in range(5)]
    + [f'"size{i}": {_NUMBER}' for i in range(5)]
    + [f'"flag{i}": (true|false|null)' for i in range(5)]
)

PATTERNS: dict[str, str] = {
    "date": "[0-9]{4}-[0-9]{2}-[0-9]{2}",
    "ISO datetime": (
        r"[0-9]{4}-(0[1-9]|1[0-2])-(0[1-9]|[12][0-9]|3[01])T([01][0-9]|2[0-3]):[0-5][0-9]:[0-5][0-9](\.[0-9]{1,6})?"
        r"(Z|[+-]([01][0-9]|2[0-3]):[0-5][0-9])"
    ),
    "email": r"[a-zA-Z0-9._%+-]+@[a-zA-Z0-9-]+(\.[a-zA-Z0-9-]+)*\.[a-zA-Z]{2,10}",
    "IPv4": rf"({_OCTET}\.){{3}}{_OCTET}",
    "URL": r"(https:\/\/www\.|http:\/\/www\.|https:\/\/|http:\/\/)[a-zA-Z]{2,20}\.(com|ai|org|edu)",
    "number": r"([0-9]+)?\.[0-9]+",
    "[A-Za-z0-9 ]{1,400}": "[A-Za-z0-9 ]{1,400}",
    '[^"]{0,1000}': '[^"]{0,1000}',
    "JSON, 15 fields": r"\{" + ", ".join(_FIELDS) + r"\}",
    r"(\w+ ){1,50}\w+": r"(\w+ ){1,50}\w+",
}
"""The set whose medians are reported."""

COUNTED: dict[str, str] = {".*": ".*", ".{0,1000}": ".{0,1000}"}
"""A pair that ought to cost the same."""

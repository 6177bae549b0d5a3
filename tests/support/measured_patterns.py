r"""Regexes: those that are measured, and those of the Outlines post, on which masks are compared with the oracle's.

Those that are measured are written so that all engines read them alike: `[0-9]` instead of `\d`, which is ASCII in some
engines and Unicode in others. Two differences remain: `\w` in the last pattern of `PATTERNS` is ASCII in xgrammar and
Unicode elsewhere, and `.` in `COUNTED` takes a line feed in xgrammar only.
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

_SINGLE = (
    r"[^\S\r\n]{2}\{\n[^\S\r\n]{4}\"title\":[^\S\r\n]\"[^\"]+\""
    r"(,\n[^\S\r\n]{4}\"album\":[^\S\r\n]\"[^\"]+\")?"
    r",\n[^\S\r\n]{4}\"year\":[^\S\r\n][12][0-9]{3}"
    r"(,\n[^\S\r\n]{4}\"us-chart-max\":[^\S\r\n][0-9]{1,3})?"
    r"(,\n[^\S\r\n]{4}\"uk-chart-max\":[^\S\r\n][0-9]{1,3})?\n[^\S\r\n]{2}\}"
)
_ATEXT = "[a-z0-9!#$%&'*+/=?^_`{|}~-]+"

OUTLINES: dict[str, str] = {
    "[0-9]+\\.[0-9]+": r"[0-9]+\.[0-9]+",
    "[a-z]{3}[0-9]": "[a-z]{3}[0-9]",
    "Ahab": "(ishmael|moby dick)",
    "phone": r"(\([0-9]{3}\) ?|[0-9]{3}-)[0-9]{3}-[0-9]{4}",
    "RFC email": (
        rf'(?i:(?:{_ATEXT}(?:\.{_ATEXT})*|"(?:[\x01-\x08\x0b\x0c\x0e-\x1f\x21\x23-\x5b\x5d-\x7f]'
        r'|\\[\x01-\x09\x0b\x0c\x0e-\x7f])*")'
        r"@(?:(?:[a-z0-9](?:[a-z0-9-]*[a-z0-9])?\.)+[a-z0-9](?:[a-z0-9-]*[a-z0-9])?"
        r"|\[(?:(?:25[0-5]|2[0-4][0-9]|[01]?[0-9][0-9]?)\.){3}(?:25[0-5]|2[0-4][0-9]|[01]?[0-9][0-9]?"
        r"|[a-z0-9-]*[a-z0-9]:(?:[\x01-\x08\x0b\x0c\x0e-\x1f\x21-\x5a\x53-\x7f]|\\[\x01-\x09\x0b\x0c\x0e-\x7f])+)\]))"
    ),
    "Pink Floyd": rf"\[\n({_SINGLE})(,\n{_SINGLE})*\n\]",
}
"""The other patterns of the post that began it (Louf, Klett and Simpson 2023; arXiv:2307.09702), its typos mended."""

EXAMPLES: dict[str, str] = {
    "date": "2026-11-21",
    "ISO datetime": "2026-11-21T09:30:59.125+01:00",
    "email": "ahab.captain+1@pequod.example.com",
    "IPv4": "192.168.0.255",
    "URL": "https://www.pequod.com",
    "number": "3.1415926535",
    "[A-Za-z0-9 ]{1,400}": "Call me Ishmael 1851",
    '[^"]{0,1000}': "Naïve 漢字, 😀\n\tand so on",
    "JSON, 15 fields": (
        "{"
        + ", ".join(
            [*(f'"name{i}": "a\\n \\" é{i}"' for i in range(5))]
            + [*(f'"size{i}": -1{i}.50e+{i}' for i in range(5))]
            + [f'"flag{i}": {word}' for i, word in enumerate(("true", "false", "null", "true", "false"))]
        )
        + "}"
    ),
    r"(\w+ ){1,50}\w+": "Überall ist 漢字 3 times",
    "phone": "(555) 123-4567",
    "RFC email": "o'neil.x@[1.22.255.a:b\\\t]",
    "Pink Floyd": (
        '[\n  {\n    "title": "Money",\n    "album": "The Dark\u2026",\n    "year": 1973,\n    "us-chart-max": 13'
        "\n  },\n"
        '  {\n    "title": "Arnold Layne é",\n    "year": 1967,\n    "uk-chart-max": 20\n  }\n]'
    ),
}
"""A text for patterns whose far parts a random walk seldom reaches."""

EVERY = PATTERNS | OUTLINES | COUNTED

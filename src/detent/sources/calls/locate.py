r"""Finds where JSON values and Python literals end in a text, and writes Python literals as JSON; without recursion.

A literal becomes JSON token by token: its brackets, commas and colons stay, strings are spelled anew. The text is known
to be in the language, so nothing is checked here.
"""

from __future__ import annotations

import json
import re

__all__ = ["LiteralEnd", "arguments_as_json", "json_end", "literal_as_json"]

_TOKEN = re.compile(r"""\s*('(?:[^'\\]|\\.)*'|"(?:[^"\\]|\\.)*"|[\[{\]},:]|[^\s'"\[\]{},:)]+)""", re.DOTALL)
_JSON = re.compile(
    r'"(?:[^"\\]|\\.)*"|[\[{]|[\]}]|-?[0-9]+(?:\.[0-9]+)?(?:[eE][+-]?[0-9]+)?|true|false|null', re.DOTALL
)
_ARGUMENT = re.compile(r"[\s,]*([^\W\d]\w*)=")
_ESCAPE = re.compile(r"\\(?:x([0-9a-fA-F]{2})|u([0-9a-fA-F]{4})|U([0-9a-fA-F]{8})|(.))", re.DOTALL)
_NAMED = {"a": "\a", "b": "\b", "f": "\f", "n": "\n", "r": "\r", "t": "\t", "v": "\v"}
_NAMES = {"None": "null", "True": "true", "False": "false"}


def json_end(text: str, start: int) -> int:
    """Return where the JSON value that begins at `start` ends; white space before it is passed over.

    >>> json_end('[{"a]": 1}], 2', 0)
    11
    """
    depth = 0
    for token in _JSON.finditer(text, start):
        depth += (token[0] in "[{") - (token[0] in "]}")
        if not depth:
            return token.end()
    return len(text)


def literal_as_json(text: str, start: int = 0) -> tuple[str, int]:
    r"""Return the Python literal that begins at `start` as JSON, and where it ends.

    >>> literal_as_json("[{'a': -1.5}, 'it\\'s', None], 'rest'")
    ('[{"a":-1.5},"it\'s",null]', 28)
    """
    parts: list[str] = []
    depth, position = 0, start
    while token := _TOKEN.match(text, position):
        position, written = token.end(), token[1]
        if written[0] in "'\"":
            written = json.dumps(_ESCAPE.sub(_character, written[1:-1]), ensure_ascii=False)
        depth += (written in "[{") - (written in "]}")
        parts.append(_NAMES.get(written, written))
        if not depth:
            break
    return "".join(parts), position


class LiteralEnd:
    """Where a Python literal ends in a text that grows; each token is read once.

    >>> end = LiteralEnd(2)
    >>> [end.find(text) for text in ("a=[1", "a=[1, 'x'", "a=[1, 'x'], b")]
    [None, None, 10]
    """

    def __init__(self, start: int) -> None:
        """Begin at the position of the literal."""
        self._position = start
        self._depth = 0

    def find(self, text: str) -> int | None:
        """Return the end in a text that continues that of the last call; None if more may follow."""
        while token := _TOKEN.match(text, self._position):
            if token.end() == len(text):
                return None  # the token may continue
            depth = self._depth + (token[1] in "[{") - (token[1] in "]}")
            if not depth:
                return token.end()
            self._position, self._depth = token.end(), depth
        return None


def arguments_as_json(text: str, start: int) -> tuple[str, int]:
    """Return `name=literal, ...)` as a JSON object, and where it ends, after the parenthesis.

    >>> arguments_as_json("a=1, b='x')]", 0)
    ('{"a":1,"b":"x"}', 11)
    """
    members: list[str] = []
    position = start
    while name := _ARGUMENT.match(text, position):
        value, position = literal_as_json(text, name.end())
        members.append(f'"{name[1]}":{value}')
    return "{" + ",".join(members) + "}", position + 1


def _character(escape: re.Match[str]) -> str:
    digits = escape[1] or escape[2] or escape[3]
    return chr(int(digits, 16)) if digits else _NAMED.get(escape[4], escape[4])

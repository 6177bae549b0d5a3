"""Reason: why a language does not have a continuation of a text, as the parts of the rule that refuse it.

A continuation is a text that may stand, and the byte, or the end, that may not follow it. There are two kinds of
reasons:

- *Conditions* that must all hold: keywords of a schema, excluded words, operands of ``&``, assertions of a pattern. The
  reason is a smallest set: together these conditions allow the text and refuse the continuation, and without any one of
  them the others do not. (Minimal unsatisfiable subsets, by deletion: Zeller & Hildebrandt 2002; Marques-Silva 2010.)
- *Locations* of which one must go on: items of a pattern, terminals in rules of a grammar, operands of ``|``. The
  reason is all locations that could read the next byte of some text of the language; none of them reads this one.
  In a turn the locations are its parts; arguments and answers that are open have reasons of their own.

Both are found when they are asked for, by asking other languages: decoding carries nothing along.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Literal, NamedTuple, TypeVar

from detent import _core
from detent.errors import LimitError
from detent.queries import ByteDfa

__all__ = ["LOCATIONS", "Continuation", "Marks", "Reason", "ReasonKind", "listed", "printable", "smallest"]

ReasonKind = Literal[
    "pattern", "assertion", "keyword", "order", "syntax", "rule", "lexer", "difference", "word", "part", "language"
]

LOCATIONS: frozenset[ReasonKind] = frozenset(("pattern", "rule", "part"))
"""The kinds of reasons that are locations, one of which must go on; the others are conditions."""

_Part = TypeVar("_Part")

_MOST_QUESTIONS = 1000
"""Languages that one search for a smallest set asks."""

_SHOWN = 40
_MOST_LISTED = 3


@dataclass(frozen=True)
class Reason:
    """A part of a rule that refuses a continuation of a text; `str` is a phrase for a sentence.

    >>> import detent
    >>> limits = detent.json_schema({"type": "object", "properties": {"age": {"type": "integer", "maximum": 120}}})
    >>> limits.why('{"age": 130}').reasons
    (Reason(kind='keyword', name='/properties/age/maximum', text='120', position=None, part=''),)

    Parameters
    ----------
    kind : str
        "pattern": an item of a regex that could read the next character. "assertion": an anchor, lookaround or
        possessive repeat of a regex. "keyword": a keyword of a JSON Schema. "order": members in another order than
        that of `properties`. "syntax": no JSON text is written so. "rule": a terminal in a rule of a grammar that could
        be read next. "lexer": a terminal that the grammar's lexer does not read there. "difference": a ``-`` in a rule.
        "word": an excluded word. "part": a part of a turn that could be read next. "language": an operand without
        parts.
    name : str
        The item as written; the JSON pointer of the keyword in the schema; the rule; the word; the description of the
        operand. Of a turn: "thinking", "text", "name" (of a function), "id", "arguments", "answer" or "notation".
    text : str
        The pattern; the keyword's value; the terminal. Of a turn: the names that may be called, the function of the
        arguments, or the notation's text.
    position : int or None
        The character in the pattern, from 0; the line in the grammar, from 1.
    part : str
        The part of a turn whose rule refuses: "the answer", or "the arguments of 'get_weather'".
    """

    kind: ReasonKind
    name: str
    text: str = ""
    position: int | None = None
    part: str = ""

    def __str__(self) -> str:
        return f"{self._phrase()} in {self.part}" if self.part else self._phrase()

    def _phrase(self) -> str:
        name = _cut(self.name)
        if self.kind == "pattern":
            return f"{_quoted(name)} at character {self.position} of {_quoted(_cut(self.text))}"
        if self.kind == "assertion":
            return f"the assertion {_quoted(name)} at character {self.position} of {_quoted(_cut(self.text))}"
        if self.kind == "keyword":
            return f"{self.name} {_cut(self.text)}".strip()  # whole: a pointer that is cut leads nowhere
        if self.kind in ("rule", "lexer"):
            what = "in" if self.kind == "rule" else "which the lexer does not read here, in"
            line = "" if self.position is None else f" at line {self.position}"
            return f"{_cut(self.text)} {what} rule {name}{line}"
        if self.kind == "difference":
            return f"the difference in rule {name} at line {self.position}"
        if self.kind == "word":
            return f"the excluded word {name}"
        if self.kind == "part":
            return self._part_phrase()
        return name

    def _part_phrase(self) -> str:
        if self.name == "notation":
            return f"{_cut(repr(self.text))} of the notation"
        if self.name == "name":
            return f"the name of a function ({_cut(self.text)})"
        if self.name == "arguments":
            return f"the arguments of {self.text!r}"
        return self.name if self.name == "thinking" else f"the {self.name}"


class Continuation(NamedTuple):
    """A text that may stand in a language, and the byte that may not follow it.

    Parameters
    ----------
    text : bytes
        The text.
    following : bytes
        One byte; empty for the end of the text.
    beside : tuple of Node
        Languages that must have the continuation too.
    quotes : int
        Where the texts have strings in quotes (`detent.origin.Quotes`), in which words are found too.
    is_excluded : bool
        Whether the texts of the language are the excluded ones.
    """

    text: bytes
    following: bytes
    beside: tuple[_core.Node, ...] = ()
    quotes: int = 0
    is_excluded: bool = False

    def is_refused(self, dfa: ByteDfa) -> bool:
        """Return whether a language alone has the text, as the beginning of another, and refuses the continuation."""
        state = dfa.after(self.text)
        if state == 0:
            return False
        return dfa.step(state, self.following[0]) == 0 if self.following else not dfa.is_accepting(state)

    def is_refused_by(self, node: _core.Node) -> bool:
        """Return whether the language of a node and those beside it refuse; False if a limit is reached."""
        try:
            return self.is_refused(ByteDfa(_core.intersection([node, *self.beside]) if self.beside else node))
        except LimitError:
            return False

    def within(self, start: int) -> Continuation:
        """Return the continuation of the text from a position on."""
        return self._replace(text=self.text[start:])


def smallest(parts: Sequence[_Part], refuses: Callable[[list[_Part]], bool]) -> list[_Part] | None:
    """Return a smallest set of conditions that refuse together: without any one of them, the others do not.

    Asks for halves of halves, so that k of n conditions take some ``2 k log n`` questions. Returns None if all
    conditions together do not refuse, or after `_MOST_QUESTIONS`.

    >>> smallest("abcdefgh", lambda kept: "c" in kept and "g" in kept)
    ['c', 'g']
    """
    asked = 0

    def ask(kept: list[_Part]) -> bool:
        nonlocal asked
        asked += 1
        return refuses(kept)

    kept = list(parts)
    if not ask(kept):
        return None
    size = max(1, len(kept) // 2)
    while True:
        start, has_removed = 0, False
        while start < len(kept):
            if asked >= _MOST_QUESTIONS:
                return None
            rest = kept[:start] + kept[start + size :]
            if ask(rest):
                kept, has_removed = rest, True
            else:
                start += size
        if size == 1 and not has_removed:
            return kept
        size = max(1, size // 2)


class Marks:
    """Marks before some parts of an expression, which say whether a text may go on with them.

    A mark is a byte string that no text has: 0xFF and a number, all of the same length. In an expression, replace a
    part by ``part | mark``: then a mark may follow a text if and only if the part may begin there.

    Parameters
    ----------
    count : int
        How many marks there may be.
    """

    def __init__(self, count: int) -> None:
        self._width = 1
        while 64**self._width < count:
            self._width += 1

    def node(self, number: int) -> _core.Node:
        """Return the node of a mark."""
        digits = bytes(0x80 + (number >> 6 * digit & 63) for digit in range(self._width))
        return _core.literal(b"\xff" + digits)

    def found(self, dfa: ByteDfa, state: int) -> list[int]:
        """Return the marks that may follow in a state, ascending."""
        reached = [(dfa.step(state, 0xFF), 0)]
        for digit in range(self._width):
            reached = [
                (dfa.step(at, byte), number + (byte - 0x80 << 6 * digit))
                for at, number in reached
                if at
                for byte in dfa.expected(at)
            ]
        return sorted(number for at, number in reached if at)


def listed(reasons: Sequence[Reason]) -> str:
    """Return the reasons as a phrase: locations are alternatives, conditions hold together."""
    names = [str(reason) for reason in reasons[:_MOST_LISTED]]
    if len(reasons) > _MOST_LISTED:
        names.append(f"{len(reasons) - _MOST_LISTED} more")
    last = "or" if all(reason.kind in LOCATIONS for reason in reasons) else "and"
    return f"{', '.join(names[:-1])} {last} {names[-1]}" if len(names) > 1 else names[0]


def _cut(text: str) -> str:
    return text if len(text) <= _SHOWN else text[: _SHOWN - 1] + "…"


def _quoted(text: str) -> str:
    """Return a text in quotes, its backslashes as they are, so that positions in it can be counted."""
    return f"'{printable(text)}'"


def printable(text: str) -> str:
    """Return a text with escapes for control characters, line breaks among them, that a terminal would obey."""
    return "".join(each if each.isprintable() else repr(each)[1:-1] for each in text)

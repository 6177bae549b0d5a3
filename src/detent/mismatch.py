"""Mismatch: where a text leaves a language, and what could have followed.

A language that operators made is explained by the operand that is not met. A concatenation is read part by part. A
front end may say more than the bytes that are expected: see `detent.origin.Source`.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import cached_property, reduce
from operator import and_
from time import monotonic
from typing import TYPE_CHECKING, Any, NamedTuple

from detent import _core
from detent.errors import EmptyLanguageError, LimitError
from detent.origin import MAX_NESTING
from detent.queries import ByteDfa
from detent.reason import Reason, listed, printable
from detent.reason_search import find_reasons

if TYPE_CHECKING:
    from detent.language import Language

__all__ = ["Mismatch", "explain", "explain_empty"]

_MAX_SHOWN = 60
"""Characters of the text before and after the position that a message shows."""


@dataclass(frozen=True)
class Mismatch:
    """Why a text is not in a language; `str` writes it as a sentence with a caret.

    Parameters
    ----------
    text : str
        The text.
    position : int
        The character where it leaves the language; its length if it ends too early.
    expected : str
        What may stand there: a set of bytes such as ``[0-9]``, ``the end``, or both.
    example : str or None
        A text of the language that begins like this one up to `position`, if there is one that is short.
    part : str or None
        The part of the rule that is not met, if the rule has parts.
    rule : str
        The rule's description.
    hint : str or None
        What to write for a language that has the text, if the front end knows one.
    """

    text: str
    position: int
    expected: str
    example: str | None
    part: str | None
    rule: str
    hint: str | None = None
    _language: Language[Any] | None = field(default=None, repr=False, compare=False)
    _data: bytes = field(default=b"", repr=False, compare=False)
    _has_keywords: bool = field(default=False, repr=False, compare=False)

    @cached_property
    def reasons(self) -> tuple[Reason, ...]:
        """The parts of the rule that refuse the text: keywords, locations in a pattern, rules of a grammar, words.

        Found when they are first asked for, as `Refusal.reasons`; empty if the rule has no parts that are known.
        """
        if self._language is None:
            return ()
        position = self._language._dfa().longest_prefix(self._data)[0]
        return find_reasons(self._language, self._data[:position], self._data[position : position + 1])

    def __str__(self) -> str:
        found = repr(self.text[self.position]) if self.position < len(self.text) else "the end of the text"
        where = f" of {self.part}" if self.part else ""
        example = f"; for example {_cut(self.example)!r}" if self.example is not None else ""
        start = max(0, self.position - _MAX_SHOWN)
        line = printable(self.text[start : self.position + _MAX_SHOWN])
        caret = " " * len(printable(self.text[start : self.position]))
        keywords = [each for each in self.reasons if each.kind == "keyword"] if self._has_keywords else []
        by = f", by {listed(keywords)}" if keywords else ""
        wanted = f"{self.expected}{where} is expected{by}{example}"
        hint = f"\n{self.hint}" if self.hint else ""
        return f"not in {self.rule}: character {self.position} is {found} where {wanted}\n  {line}\n  {caret}^{hint}"


_EXCLUSION = "it asks for things that exclude each other"
_MOST_OPERANDS = 5
"""Operands that a message names."""

_MOST_SECONDS = 1.0
"""How long operands that are not needed for a conflict are looked for."""

_NOTHING = "nothing at all (the rule has no text)"


class _Reason(NamedTuple):
    """Why bytes are not in a language: where they leave it, the text expected there, an example, the part at fault."""

    position: int
    expected: str
    example: str | None = None
    part: str | None = None
    hint: str | None = None
    has_keywords: bool = False


def explain(language: Language[Any], data: bytes) -> Mismatch:
    """Return why a text is not in a language, which does not have it."""
    reason = _Reason(0, _NOTHING) if language.is_empty() else _explain(language, data, MAX_NESTING)
    if reason.example is not None and not language.accepts(reason.example):
        # One part of the rule allows more than all of them do together.
        dfa = language._dfa()
        position, state = dfa.longest_prefix(data)
        example = (data[:position] + dfa.completion(state)).decode(errors="replace")
        reason = reason._replace(position=position, expected=dfa.expected_text(state), example=example)
    before = data[: reason.position].decode(errors="replace").rstrip("\ufffd")
    return Mismatch(
        data.decode(errors="replace"),
        len(before),
        reason.expected,
        reason.example,
        reason.part,
        _shortened(repr(language)),
        reason.hint,
        language,
        data,
        reason.has_keywords,
    )


def explain_empty(language: Language[Any]) -> EmptyLanguageError:
    """Return the error for a language without texts; it names the parts that exclude each other."""
    try:
        reason = _conflict(language, MAX_NESTING)
    except LimitError:
        reason = _EXCLUSION
    return EmptyLanguageError(f"{_shortened(repr(language))} has no text: {reason}")


def _conflict(language: Language[Any], depth: int) -> str:
    source, form = language._origin.source, language._origin.form
    found = source.conflict() if source is not None else None
    if found is not None:
        return found
    operands = form.operands() if form is not None and depth else []
    empty = next((each for each in operands if each.is_empty()), None)
    if form is None or (empty is None and form.operator == "+"):
        return _EXCLUSION
    if empty is not None and (form.operator != "-" or empty is operands[0]):
        return f"its part {_shortened(empty.description)} has none, {_conflict(empty, depth - 1)}"
    if form.operator == "-":
        excluded = " or ".join(_shortened(each.description) for each in operands[1:4])
        return f"each text of {_shortened(operands[0].description)} is in {excluded}"
    needed = list(operands)
    deadline = monotonic() + _MOST_SECONDS
    for each in operands:
        if monotonic() > deadline:
            break
        rest = [other for other in needed if other is not each]
        if rest and reduce(and_, rest).is_empty():
            needed = rest
    names = [_shortened(each.description) for each in needed[:_MOST_OPERANDS]]
    return f"{', '.join(names[:-1])} and {names[-1]} exclude each other"


def _shortened(text: str) -> str:
    return text if len(text) <= _MAX_SHOWN else text[: _MAX_SHOWN - 1] + "…"


def _explain(language: Language[Any], data: bytes, depth: int) -> _Reason:
    form = language._origin.form if depth else None
    operands = form.operands() if form is not None else []
    is_excluded = form is not None and form.operator == "-" and operands[0].accepts(data)
    if form is not None and form.operator == "+":
        found = _explain_parts(operands, data, depth)
        if found is not None:
            return found
    elif form is not None and not is_excluded:
        operand = next((each for each in operands if not each.accepts(data)), None)
        if operand is not None:
            reason = _explain(operand, data, depth - 1)
            return reason._replace(part=reason.part or operand.description)
    dfa = language._dfa()
    if dfa.is_empty():
        return _Reason(0, _NOTHING)
    position, state = dfa.longest_prefix(data)
    example = (data[:position] + dfa.completion(state)).decode(errors="replace")
    if is_excluded:  # the whole text is excluded: no character of it is wrong by itself
        excluded = next(each.description for each in operands[1:] if each.accepts(data))
        return _Reason(position, dfa.expected_text(state), example, f"the rule without {excluded}")
    source = language._origin.source
    known = source.expected(dfa, data, position) if source is not None else None
    expected, part = known or (dfa.expected_text(state), None)
    hint = source.hint(data) if source is not None else None
    # Bytes say little of a value that a keyword refuses; kinds of values and names of members say enough.
    are_bytes = known is not None and expected == dfa.expected_text(state)
    return _Reason(position, expected, example, part, hint, has_keywords=are_bytes)


def _explain_parts(parts: list[Language[Any]], data: bytes, depth: int) -> _Reason | None:
    """Read the parts one after the other; explain the first that the bytes do not meet."""
    start = last = 0  # of this part, of the last one
    for index, part in enumerate(parts):
        dfa = part._dfa()
        following = parts[index + 1]._dfa().only_text() if index + 1 < len(parts) else None
        ends = dfa.ends(data, start)
        if following:
            ends = [end for end in ends if data.startswith(following, end)] or ends[-1:]
            end = ends[0] if ends else None
        else:
            end = ends[-1] if ends else None
        name = f"part {index + 1} of {len(parts)} ({part.description})"
        if end is None:
            reason = _explain(part, data[start:], depth - 1)
            if reason.example is not None:
                rest = ByteDfa(_core.without_special(_core.concat([each._node for each in parts[index + 1 :]])))
                before, after = data[:start].decode(errors="replace"), (rest.shortest() or b"").decode(errors="replace")
                reason = reason._replace(example=before + reason.example + after)
            inner = f"{name}, {reason.part}" if reason.part else name
            return reason._replace(position=start + reason.position, part=inner)
        last, start = start, end
    if start == len(data):
        return None
    _, state = dfa.longest_prefix(data[last:start])
    return _Reason(start, dfa.expected_text(state), data[:start].decode(errors="replace"))


def _cut(text: str) -> str:
    return text if len(text) <= _MAX_SHOWN else text[: _MAX_SHOWN - 1] + "…"

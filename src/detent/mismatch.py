"""Mismatch: where a text leaves a language, and what could have followed.

Position and expected bytes are those of the whole language. A language that operators made is explained by the operand
that is not met. For a concatenation this is the part that the text leaves, if all ways to split the text lead to it. A
front end may say more than the bytes that are expected: see `detent.origin.Source`.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import cached_property, reduce
from operator import and_
from time import thread_time
from typing import TYPE_CHECKING, Any, NamedTuple

from detent.errors import EmptyLanguageError, LimitError
from detent.expected import expected_after
from detent.origin import MAX_NESTING
from detent.reason import Reason, listed, printable
from detent.reason_search import find_reasons, open_parts

if TYPE_CHECKING:
    from detent.language import Language
    from detent.origin import Form

__all__ = ["Mismatch", "conflict_of", "explain", "explain_empty"]

_MAX_SHOWN = 60
"""Characters of a description or an example that a message shows."""

_AROUND = 38
"""Characters of the text before and after the position that a message shows: the caret stays below in 80 columns."""

_MOST_BYTES = 440
"""What a message may have beside the text that `Language.parse` puts before it, so that errors need not be clipped."""

_SHOWN_KINDS = ("keyword", "word", "order")


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
        What may stand there in the whole language: a set of characters such as ``[0-9]``, ``the end``, or both.
    example : str or None
        A text of the language that begins like this one up to `position`, if there is one that is short.
    part : str or None
        The part of the rule that is not met, if the rule has parts and it is one of them.
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
    _has_reasons: bool = field(default=False, repr=False, compare=False)

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
        example = f"; for example {self._shown_example()!r}" if self.example is not None else ""
        start = max(0, self.position - _AROUND)
        line = printable(self.text[start : self.position + _AROUND])
        caret = " " * len(printable(self.text[start : self.position]))
        named = [each for each in self.reasons if each.kind in _SHOWN_KINDS] if self._has_reasons else []
        by = f", by {listed(named)}" if named else ""
        said = f"not in {self.rule}: character {self.position} is {found} where {self.expected}{where} is expected{by}"
        shown = f"\n  {line}\n  {caret}^" + (f"\n{self.hint}" if self.hint else "")
        whole = said + example + shown
        return whole if len(whole.encode(errors="replace")) <= _MOST_BYTES else said + shown

    def _shown_example(self) -> str:
        """Return the example from a little before the position on, where it is long."""
        example = self.example or ""
        start = max(0, self.position - _MAX_SHOWN // 3) if len(example) > _MAX_SHOWN else 0
        return ("…" if start else "") + _cut(example[start:])


_EXCLUSION = "it asks for things that exclude each other"
_MOST_OPERANDS = 5
"""Operands that a message names."""

_MOST_SECONDS = 1.0
"""How long operands that are not needed for a conflict are looked for."""

_NOTHING = "nothing at all (the rule has no text)"


class _Reason(NamedTuple):
    """Why bytes are not in a language: where they leave it, what may follow there, in words, and the part at fault."""

    position: int
    following: tuple[bytes, bool]
    """The bytes that may follow, and whether the end may."""
    expected: str
    part: str | None = None
    hint: str | None = None
    has_reasons: bool = False


def explain(language: Language[Any], data: bytes) -> Mismatch:
    """Return why a text is not in a language, which does not have it."""
    example = None
    if language.is_empty():
        reason = _Reason(0, (b"", False), _NOTHING)
    else:
        reason = _explain(language, data, MAX_NESTING)
        dfa = language._dfa()
        position, state = dfa.longest_prefix(data)
        example = (data[:position] + dfa.readable(dfa.completion(state))).decode(errors="replace")
    before = data[: reason.position].decode(errors="replace").rstrip("\ufffd")
    return Mismatch(
        data.decode(errors="replace"),
        len(before),
        reason.expected,
        example,
        reason.part,
        _shortened(repr(language)),
        reason.hint,
        language,
        data,
        reason.has_reasons,
    )


def explain_empty(language: Language[Any]) -> EmptyLanguageError:
    """Return the error for a language without texts; it names the parts that exclude each other."""
    return EmptyLanguageError(f"{_shortened(repr(language))} has no text: {conflict_of(language)}")


def conflict_of(language: Language[Any]) -> str:
    """Return why a language has no text."""
    try:
        return _conflict(language, MAX_NESTING)
    except LimitError:
        return _EXCLUSION


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
    deadline = thread_time() + _MOST_SECONDS
    for each in operands:
        if thread_time() > deadline:
            break
        rest = [other for other in needed if other is not each]
        if rest and reduce(and_, rest).is_empty():
            needed = rest
    names = [_shortened(each.description) for each in needed[:_MOST_OPERANDS]]
    return f"{', '.join(names[:-1])} and {names[-1]} exclude each other"


def _shortened(text: str) -> str:
    return text if len(text) <= _MAX_SHOWN else text[: _MAX_SHOWN - 1] + "…"


def _explain(language: Language[Any], data: bytes, depth: int) -> _Reason:
    """Explain in the words of the operand at fault, where they are true of the whole; else in those of the source."""
    dfa = language._dfa()
    position, state = dfa.longest_prefix(data)
    whole = _Reason(position, (dfa.expected(state), dfa.is_accepting(state)), expected_after(dfa, data[:position]))
    form, source = language._origin.form if depth else None, language._origin.source
    if form is not None:
        operands = form.operands()
        if form.operator == "-" and operands[0].accepts(data):
            # The whole text is excluded: no character of it is wrong by itself. Escapes in it may hide the word.
            excluding = [each for each in operands[1:] if each.accepts(data)] or operands[1:]
            return whole._replace(part=f"the rule without {excluding[0].description}", has_reasons=True)
        try:
            explain_operands = _explain_parts if form.operator == "+" else _explain_conditions
            found = explain_operands(form, data, whole, depth)
        except LimitError:  # of an operand by itself
            found = None
        if found is not None:
            return found
        whole = whole._replace(has_reasons=form.operator != "+")  # words in strings, which no operand finds by itself
    if source is None:
        return whole
    known = source.expected(dfa, data, position)
    expected, part = known or (whole.expected, None)
    # Bytes say little of what a keyword or a word refuses; kinds of values and names of members say enough.
    are_bytes = known is not None and expected == whole.expected
    return whole._replace(expected=expected, part=part, hint=source.hint(data), has_reasons=are_bytes)


def _explain_conditions(form: Form, data: bytes, whole: _Reason, depth: int) -> _Reason | None:
    """Explain by the operand that the bytes leave first, of those that they must be in."""
    operands = form.operands()[:1] if form.operator == "-" else form.operands()
    refusing = [each for each in operands if not each.accepts(data)]
    if not refusing:
        return None
    reasons = [_explain(each, data, depth - 1) for each in refusing]
    inner, operand = min(zip(reasons, refusing, strict=True), key=lambda pair: pair[0].position)
    return _as_whole(inner, whole, inner.part or operand.description, operand.description)


def _explain_parts(form: Form, data: bytes, whole: _Reason, depth: int) -> _Reason | None:
    """Explain by the part that the bytes leave; None if it is not known, as where several parts go on."""
    parts = form.operands()
    found = open_parts(parts, data[: whole.position])
    if not found or len({index for index, _ in found}) > 1:
        return None
    index, start = found[0]
    name = f"part {index + 1} of {len(parts)} ({parts[index].description})"
    if len(found) > 1:
        return whole._replace(part=name)
    inner = _explain(parts[index], data[start:], depth - 1)
    inner = inner._replace(position=start + inner.position)
    return _as_whole(inner, whole, f"{name}, {inner.part}" if inner.part else name, name)


def _as_whole(inner: _Reason, whole: _Reason, part: str, name: str) -> _Reason:
    """Return the reason of the whole, in the words of an operand if it expects the same at the same position.

    `part` is the part at fault in the operand, `name` the operand itself.
    """
    if inner.position != whole.position:
        return whole._replace(part=name)
    if inner.following != whole.following:
        return inner._replace(following=whole.following, expected=whole.expected, part=part)
    return inner._replace(part=part)


def _cut(text: str) -> str:
    return text if len(text) <= _MAX_SHOWN else text[: _MAX_SHOWN - 1] + "…"

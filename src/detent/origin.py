"""Origin: how a language was made, as far as values, explanations and words in strings need it.

- `Form`: the operator and the operands.
- `Quotes`: whether the texts have strings in quotes, in which escapes may stand for characters.
- The same language *in strings*: words are found in the decoded strings of a text too.
- `Source`: what the front end knows of a text that the language does not have.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from enum import IntEnum
from typing import TYPE_CHECKING, Any, NamedTuple, Protocol, runtime_checkable

from detent import _core
from detent.errors import DetentError

if TYPE_CHECKING:
    from detent.language import Language
    from detent.queries import ByteDfa
    from detent.reason import Continuation, Reason

__all__ = [
    "MAX_NESTING",
    "MAX_OPERANDS",
    "NO_ORIGIN",
    "Alternatives",
    "Derived",
    "FindsWords",
    "Form",
    "HasParts",
    "HasRemedy",
    "Hint",
    "InStrings",
    "Origin",
    "Quotes",
    "Source",
]

MAX_OPERANDS = 1000
"""How many operands of one operator a language remembers."""

MAX_NESTING = 20
"""How deep a language remembers the operators that made it."""


class Quotes(IntEnum):
    """Where the texts of a language have strings in quotes."""

    NONE = 0
    BALANCED = 1
    """Each quote begins or ends a string: JSON and calls."""
    MIXED = 2
    """Free text may have quotes too: JSON after a text."""


class Source(Protocol):
    """What a front end says about its own languages."""

    def expected(self, dfa: ByteDfa, text: bytes, position: int) -> tuple[str, str | None] | None:
        """Return a phrase for the text expected at a position, and the part of the value there; None if unknown."""

    def hint(self, text: bytes) -> str | None:
        """Return advice how to write a language that has the text; None if there is none."""

    def conflict(self) -> str | None:
        """Return why the language has no text."""

    def reasons(self, refused: Continuation) -> tuple[Reason, ...]:
        """Return the parts of the language that refuse a continuation; nothing if they are not known."""


@runtime_checkable
class HasParts(Protocol):
    """A source whose language has parts with a cost of their own, such as the subschemas of a schema."""

    def parts(self) -> Iterator[tuple[str, Language[Any]]]:
        """Yield the name of each part, such as its JSON pointer, and its language; not the parts of parts."""


@runtime_checkable
class HasRemedy(Protocol):
    """A source that may know why its language costs much."""

    def remedy(self) -> str | None:
        """Return what to write instead, or None if nothing is known."""


class FindsWords(Protocol):
    """A condition on words, for texts with strings."""

    def __call__(self, node: _core.Node, quotes: Quotes, /) -> _core.Node:
        """Return the node of the condition, such that words are found in strings too; `node` is that of the text."""


@dataclass(frozen=True)
class Hint:
    """A source that knows another language, which may have been meant.

    Parameters
    ----------
    language : callable
        Makes the other language.
    advice : str
        How it is written.
    """

    language: Callable[[], Language[Any]]
    advice: str

    def expected(self, dfa: ByteDfa, text: bytes, position: int) -> None:
        """Return None: the bytes that are expected say enough."""

    def hint(self, text: bytes) -> str | None:
        """Return the advice if the other language has the text."""
        try:
            return self.advice if self.language().accepts(text) else None
        except DetentError:  # there is no such language
            return None

    def conflict(self) -> None:
        """Return None: the language has texts, or its parts say why not."""

    def reasons(self, refused: Continuation) -> tuple[Reason, ...]:
        """Return nothing: the language has no parts."""
        return ()


@dataclass(frozen=True)
class Alternatives:
    """The operands of a union; a chain of unions is one flat tuple."""

    operands: tuple[Language[Any], ...]
    depth: int = 1

    @classmethod
    def of(cls, left: Language[Any], right: Language[Any]) -> Alternatives | None:
        """Return the operands of a union, or None if they are too many or nested too deep."""
        found = [each._origin.source for each in (left, right)]
        operands: tuple[Language[Any], ...] = ()
        for each, source in zip((left, right), found, strict=True):
            operands += source.operands if isinstance(source, Alternatives) else (each,)
        depth = 1 + max((_nesting(each) for each in operands), default=0)
        return cls(operands, depth) if len(operands) <= MAX_OPERANDS and depth <= MAX_NESTING else None

    def expected(self, dfa: ByteDfa, text: bytes, position: int) -> None:
        """Return None: the bytes that are expected say enough."""

    def hint(self, text: bytes) -> None:
        """Return None: no other language is known."""

    def conflict(self) -> None:
        """Return None: no operand has a text."""

    def reasons(self, refused: Continuation) -> tuple[Reason, ...]:
        """Return nothing: the operands have reasons."""
        return ()


@dataclass(frozen=True)
class Derived:
    """A language that an operator made of one operand: repeated, optional, or the complement.

    Parameters
    ----------
    operator : "repeat" or "~"
        The operator.
    operand : Language
        Its operand.
    maximum : int or None
        The most rounds of a repetition; None if they have no bound.
    depth : int
        How deep such languages and unions are nested.
    """

    operator: str
    operand: Language[Any]
    maximum: int | None = None
    depth: int = 1

    @classmethod
    def of(cls, operator: str, operand: Language[Any], maximum: int | None = None) -> Derived | None:
        """Return the operator and its operand, or None if the operand is nested too deep."""
        depth = 1 + _nesting(operand)
        return cls(operator, operand, maximum, depth) if depth <= MAX_NESTING else None

    def expected(self, dfa: ByteDfa, text: bytes, position: int) -> None:
        """Return None: the bytes that are expected say enough."""

    def hint(self, text: bytes) -> None:
        """Return None: no other language is known."""

    def conflict(self) -> None:
        """Return None: the operand says why there is no text."""

    def reasons(self, refused: Continuation) -> tuple[Reason, ...]:
        """Return nothing: the operand has reasons."""
        return ()


def _nesting(language: Language[Any]) -> int:
    """Return how deep unions are nested in a language, inside other operators too."""
    source, form = language._origin.source, language._origin.form
    inner = source.depth if isinstance(source, (Alternatives, Derived)) else 0
    return inner if form is None else max(inner, form.unions) + 1


class Form(NamedTuple):
    """An operator with two operands."""

    operator: str
    left: Language[Any]
    right: Language[Any]
    depth: int
    """How deep different operators are nested."""
    size: int
    """Number of operands."""
    unions: int = 0
    """How deep unions are nested in the operands."""

    @classmethod
    def of(cls, operator: str, left: Language[Any], right: Language[Any]) -> Form | None:
        """Return the form of a language, or None if its operands are nested too deep or too many."""
        depth = max(_depth(operator, left), _depth(operator, right))
        size = _size(operator, left) + _size(operator, right)
        if depth > MAX_NESTING or size > MAX_OPERANDS:
            return None
        return cls(operator, left, right, depth, size, max(_nesting(left), _nesting(right)))

    def operands(self) -> list[Language[Any]]:
        """Return the operands; a chain of the same operator is one flat list."""
        operands: list[Language[Any]] = []
        pending = [self.right, self.left]
        while pending:
            language = pending.pop()
            form = language._origin.form
            if form is None or form.operator != self.operator or (self.operator == "-" and operands):
                operands.append(language)  # the right operand of a difference is a language of its own
            else:
                pending += [form.right, form.left]
        return operands


def _depth(operator: str, operand: Language[Any]) -> int:
    form = operand._origin.form
    return 0 if form is None else form.depth + (form.operator != operator or operator == "-")


def _size(operator: str, operand: Language[Any]) -> int:
    form = operand._origin.form
    return form.size if form is not None and form.operator == operator else 1


class InStrings(NamedTuple):
    """A Boolean combination of languages, some of which find words; called, it is the combination in strings."""

    operator: str
    operands: tuple[Language[Any], ...]
    depth: int = 1

    @classmethod
    def of(cls, operator: str, operands: tuple[Language[Any], ...]) -> FindsWords | None:
        """Return the combination of operands if one of them finds words; a chain of one operator is one flat list."""
        if operator not in ("~", "|", "&", "-") or all(each._origin.in_strings is None for each in operands):
            return None
        left = operands[0]._origin.in_strings
        if operator != "~" and isinstance(left, InStrings) and left.operator == operator:
            return cls(operator, (*left.operands, *operands[1:]), left.depth)
        inner = [each._origin.in_strings for each in operands]
        depth = 1 + max((each.depth for each in inner if isinstance(each, InStrings)), default=0)
        combined = cls(operator, operands, depth)
        return combined if depth <= MAX_NESTING else _Nodes.of(combined)

    def __call__(self, node: _core.Node, quotes: Quotes) -> _core.Node:
        """Return the combination in texts with strings; its node in other texts is not needed."""
        nodes: list[_core.Node] = []
        pending: list[Language[Any] | InStrings] = [self]
        while pending:
            item = pending.pop()
            if isinstance(item, InStrings) and item.operator.startswith("done"):
                count = len(item.operands)
                parts, nodes[-count:] = nodes[-count:], []
                nodes.append(_combine(item.operator[-1], parts))
            elif isinstance(item, InStrings):
                pending.append(InStrings(f"done {item.operator}", item.operands))
                pending += reversed(item.operands)
            elif isinstance(item._origin.in_strings, InStrings):
                pending.append(item._origin.in_strings)
            else:
                found = item._origin.in_strings
                nodes.append(item._node if found is None else found(item._node, quotes))
        return nodes[0]


@dataclass(frozen=True)
class _Nodes:
    """A combination that is nested too deep to be remembered, as nodes."""

    balanced: bytes
    mixed: bytes

    @classmethod
    def of(cls, combined: InStrings) -> _Nodes:
        empty = _core.empty()
        return cls(combined(empty, Quotes.BALANCED).to_bytes(), combined(empty, Quotes.MIXED).to_bytes())

    def __call__(self, node: _core.Node, quotes: Quotes) -> _core.Node:
        return _core.node_from_bytes(self.mixed if quotes is Quotes.MIXED else self.balanced)


def _combine(operator: str, parts: list[_core.Node]) -> _core.Node:
    if operator == "~":
        return _core.complement(parts[0])
    if operator == "|":
        return _core.union(parts)
    return _core.intersection([parts[0], *map(_core.complement, parts[1:])] if operator == "-" else parts)


class Origin(NamedTuple):
    """How a language was made."""

    form: Form | None = None
    quotes: Quotes = Quotes.NONE
    in_strings: FindsWords | None = None
    source: Source | None = None
    letter_tags: tuple[str, ...] = ()
    """Names of special tokens that are letters in texts, and where a vocabulary lacks them: the tags of a turn."""

    @classmethod
    def of(cls, operator: str, *operands: Language[Any], has_form: bool = True) -> Origin:
        """Return the origin of a language that an operator made."""
        origins = [operand._origin for operand in operands]
        form = Form.of(operator, operands[0], operands[-1]) if has_form else None
        in_strings = InStrings.of(operator, operands)
        source = Alternatives.of(*operands) if operator == "|" else None
        quotes = _quotes(operator, [each.quotes for each in origins])
        tags = tuple(sorted({tag for each in origins for tag in each.letter_tags}))
        return cls(form, quotes, in_strings, source, tags)


def _quotes(operator: str, operands: list[Quotes]) -> Quotes:
    if operator == "~" or not any(operands):
        return Quotes.NONE
    if operator == "-":
        return operands[0]
    if operator == "&":  # a part of a language with balanced quotes
        return min(each for each in operands if each)
    return Quotes.BALANCED if all(each is Quotes.BALANCED for each in operands) else Quotes.MIXED


NO_ORIGIN = Origin()

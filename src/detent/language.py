"""Language: a set of byte strings, an immutable expression of the algebra: closed under `| & ~ - +` and repetition."""

from __future__ import annotations

import re
from contextlib import contextmanager
from importlib import import_module
from operator import index
from random import Random
from types import EllipsisType
from typing import TYPE_CHECKING, Any, Generic, SupportsIndex, final, overload
from weakref import ref

from detent import _core
from detent.errors import ArgumentError, EmptyLanguageError, LimitError
from detent.limits import Limits
from detent.mismatch import Mismatch, explain, explain_empty
from detent.origin import MAX_OPERANDS, NO_ORIGIN, Alternatives, Derived, Form, Origin
from detent.queries import ByteDfa
from detent.suggestions import as_language, suggests_names
from detent.values import Capture, Concatenation, Items, Narrowed, OptionalValue, UnionValue

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from typing import TypeAlias
    from weakref import ReferenceType

    from typing_extensions import Never, TypeVar

    from detent.turns.parser import Parser
    from detent.vocabulary import Vocabulary

    T_co = TypeVar("T_co", covariant=True, default=Any)
    U = TypeVar("U", default=Any)
    PartBudget: TypeAlias = tuple[_core.Node, int]
else:
    from typing import TypeVar

    T_co = TypeVar("T_co", covariant=True)

__all__ = ["Language"]

_LITERAL = re.compile(r"b?'(?:[^'\\]|\\.)*'|b?\"(?:[^\"\\]|\\.)*\"")
"""The description of a fixed text, which needs no parentheses."""

_REFLECTED = {"|": "__ror__", "&": "__rand__", "-": "__rsub__", "+": "__radd__"}
"""The methods by which other objects combine with a language."""


@final
class Language(Generic[T_co]):
    """An immutable set of byte strings that constrains a text. ``Language[T]`` has values of type T.

    Made by `detent.regex`, `detent.literal`, `detent.choice` and their like, and combined by operators:
    ``a | b`` union, ``a & b`` intersection, ``a - b`` difference, ``a + b`` concatenation, ``~a`` the complement.
    A string or bytes as the other operand is taken literally.

    ``a == b`` and ``a <= b`` compare the *sets*, however they are written; see `counterexample`.

    >>> import detent
    >>> word = detent.regex("[a-z]+") - detent.literal("never")
    >>> word.accepts("ever"), word.accepts("never")
    (True, False)
    >>> detent.regex("(ab)*a") == detent.regex("a(ba)*")
    True

    Parameters
    ----------
    node : Node
        The core's expression.
    description : str or callable
        How it was written; what `repr` shows. Or a function that returns it, which is called when it is asked for.
    value : callable, optional
        Turns an accepted text into a Python value; `parse` uses it.
    """

    __slots__ = ("_description", "_dfa_cache", "_machine_cache", "_node", "_origin", "_part_budgets", "value")

    value: Callable[[str], T_co] | None
    _node: _core.Node
    _description: str | Callable[[], str]
    _dfa_cache: ByteDfa | None
    _machine_cache: tuple[ReferenceType[Vocabulary], _core.LanguageMachine] | None
    _origin: Origin
    _part_budgets: tuple[PartBudget, ...]

    def __init__(
        self,
        node: _core.Node,
        description: str | Callable[[], str],
        value: Callable[[str], T_co] | None = None,
        *,
        _origin: Origin = NO_ORIGIN,
    ) -> None:
        put = object.__setattr__
        put(self, "_node", node)
        put(self, "_dfa_cache", None)
        put(self, "_machine_cache", None)
        put(self, "_origin", _origin)
        # Combined languages would otherwise carry texts that double with every step.
        put(self, "_description", _cut(description) if isinstance(description, str) else description)
        put(self, "value", value)
        put(self, "_part_budgets", ())

    @property
    def description(self) -> str:
        """How the language was written; what `repr` shows."""
        known = self._description
        return known if isinstance(known, str) else _cut(known())

    def __setattr__(self, name: str, value: object) -> Never:
        raise ArgumentError(f"a Language is immutable; cannot set {name!r}")

    def __delattr__(self, name: str) -> Never:
        raise ArgumentError(f"a Language is immutable; cannot delete {name!r}")

    def __repr__(self) -> str:
        shown = self.description if len(self.description) <= 100 else self.description[:99] + "…"
        return f"Language({shown})"

    def __reduce__(self) -> tuple[Any, ...]:
        form = self._origin.form
        # Flat, since a chain of a thousand operators would nest too deep for pickle.
        flat = None if form is None else (form.operator, tuple(form.operands()))
        rest = self._origin._replace(form=None)
        origin = None if rest == NO_ORIGIN else rest
        budgets = tuple((part.to_bytes(), tokens) for part, tokens in self._part_budgets)
        return _restore, (self._node.to_bytes(), self.description, self.value, flat, origin, budgets)

    def _with_part_budgets(self, budgets: tuple[PartBudget, ...]) -> Language[T_co]:
        """Return this new language with budgets: a text that begins with a part has it in at most so many tokens."""
        object.__setattr__(self, "_part_budgets", budgets)
        return self

    def _refuse_part_budgets(self, operation: str) -> None:
        if self._part_budgets:
            raise ArgumentError(
                f"{self!r} has a budget for its first part, so it must begin the text alone; {operation} cannot keep "
                "it. Combine the languages first, and give thinking_tokens to the whole"
            )

    def __bool__(self) -> Never:
        raise ArgumentError(
            "a Language is neither true nor false; write a & b for the texts of both, a | b for those of either, "
            "and a.is_empty() to ask whether it has a text"
        )

    # The algebra.

    @overload
    def __or__(self, other: str | bytes) -> Language[T_co | str]: ...
    @overload
    def __or__(self, other: Language[U]) -> Language[T_co | U]: ...
    def __or__(self, other: Language[Any] | str | bytes) -> Language[Any]:
        """Return the texts of either."""
        right = _language(other, "|")
        if right is NotImplemented:
            return NotImplemented
        for operand in (self, right):
            operand._refuse_part_budgets("|")
        value = UnionValue(_options(self) + _options(right)) if self.value or right.value else None
        node = _core.union([self._node, right._node])
        return Language(node, _infix(self, "|", right), value, _origin=Origin.of("|", self, right, has_form=False))

    def __ror__(self, other: str | bytes) -> Language[T_co | str]:
        left = _language(other, "|")
        return NotImplemented if left is NotImplemented else left | self

    @overload
    def __and__(self, other: Language[str] | str | bytes) -> Language[T_co]: ...
    @overload
    def __and__(self: Language[str], other: Language[U]) -> Language[U]: ...
    @overload
    def __and__(self, other: Language[Any]) -> Language[T_co]: ...
    def __and__(self, other: Language[Any] | str | bytes) -> Language[Any]:
        """Return the texts of both. The value is the left operand's, if it has one, else the right one's."""
        right = _language(other, "&")
        if right is NotImplemented:
            return NotImplemented
        node = _core.intersection([_beside(self, right), _beside(right, self)])
        value = _narrowed(self) or _narrowed(right)
        both = Language(node, _infix(self, "&", right), value, _origin=Origin.of("&", self, right))
        return both._with_part_budgets(self._part_budgets + right._part_budgets)

    def __rand__(self, other: str | bytes) -> Language[T_co]:
        left = _language(other, "&")
        return NotImplemented if left is NotImplemented else left & self

    def __invert__(self) -> Language[str]:
        """Return all byte strings that are not in this language."""
        self._refuse_part_budgets("~")
        origin = Origin.of("~", self, has_form=False)._replace(source=Derived.of("~", self))
        return Language(_core.complement(self._node), f"~{_group(self)}", _origin=origin)

    def __sub__(self, other: Language[Any] | str | bytes) -> Language[T_co]:
        """Return the texts of this language that are not in the other."""
        right = _language(other, "-")
        if right is NotImplemented:
            return NotImplemented
        node = _core.intersection([_beside(self, right), _core.complement(_beside(right, self))])
        right._refuse_part_budgets("-")
        rest = Language(node, _infix(self, "-", right), _narrowed(self), _origin=Origin.of("-", self, right))
        return rest._with_part_budgets(self._part_budgets)

    def __rsub__(self, other: str | bytes) -> Language[str]:
        left = _language(other, "-")
        return NotImplemented if left is NotImplemented else left - self

    @overload
    def __add__(self, other: str | bytes) -> Language[T_co]: ...
    @overload
    def __add__(self, other: Language[Any]) -> Language[Any]: ...
    def __add__(self, other: Language[Any] | str | bytes) -> Language[Any]:
        """Return the texts of this language, each followed by one of the other.

        If a part has a value of its own or is captured, the whole has the values of its parts; see `capture`.

        >>> import detent
        >>> (detent.integer() + " " + detent.choice("EUR", "USD")).parse("12 EUR")
        (12, 'EUR')
        """
        right = _language(other, "+")
        if right is NotImplemented:
            return NotImplemented
        right._refuse_part_budgets("+")
        origin = Origin.of("+", self, right)
        value = None
        if self.value is not None or right.value is not None:
            if origin.form is None:
                raise LimitError(
                    f"a text with values has at most {MAX_OPERANDS} parts; write repeat or join for lists",
                    subject="parts",
                    limit=MAX_OPERANDS,
                )
            value = Concatenation(tuple(origin.form.operands()))
        node = _core.concat([self._node, right._node])
        whole: Language[Any] = Language(node, _infix(self, "+", right), value, _origin=origin)
        return whole._with_part_budgets(self._part_budgets)

    def __radd__(self, other: str | bytes) -> Language[T_co]:
        left = _language(other, "+")
        return NotImplemented if left is NotImplemented else left + self

    def capture(self, name: str) -> Language[dict[str, Any]]:
        """Name this part: the value of a language with captures is a dict of their values.

        >>> import detent
        >>> answer = "<think>" + detent.text() + "</think>" + detent.integer().capture("answer")
        >>> answer.parse("<think>6 times 7</think>42")
        {'answer': 42}

        Some texts can be cut into parts in several ways. A part that a single text follows then ends where that text
        occurs first. Any other part is as long as possible.
        """
        if not isinstance(name, str) or not name:
            raise ArgumentError(f"capture needs a name, got {_short_repr(name)}")
        described = f"{_group(self)}.capture({name!r})"
        named = Language(self._node, described, Capture(name, self), _origin=self._origin._replace(form=None))
        return named._with_part_budgets(self._part_budgets)

    @overload
    def repeat(
        self: Language[str], minimum: int | None = None, maximum: int | EllipsisType | None = ...
    ) -> Language[Any]: ...
    @overload
    def repeat(self, minimum: int | None = None, maximum: int | EllipsisType | None = ...) -> Language[list[T_co]]: ...
    @suggests_names
    def repeat(self, minimum: int | None = None, maximum: int | EllipsisType | None = ...) -> Language[Any]:
        """Repeat the texts of this language: ``repeat(3)`` exactly three times, ``repeat(2, 5)`` two to five times.

        ``repeat(2, None)`` is two or more, and ``repeat()`` any number. If the language has a value of its own or a
        capture, the value is the list of the items' values.

        >>> import detent
        >>> detent.regex("ab").repeat(2, 3).accepts("ababab"), detent.regex("ab").repeat(2).accepts("ababab")
        (True, False)
        >>> (detent.integer() + ";").repeat().parse("1;20;")
        [1, 20]
        """
        self._refuse_part_budgets("repeat")
        low = 0 if minimum is None else _check_count("a repeat count", minimum)
        high = (None if minimum is None else low) if isinstance(maximum, EllipsisType) else maximum
        if high is not None:
            _check_count("a repeat count", high)
        given = (
            [] if minimum is None and high is None else [low] if high == low and minimum is not None else [low, high]
        )
        value = Items(self, None, low, high) if self.value is not None else None
        described = f"{_group(self)}.repeat({', '.join(map(str, given))})"
        origin = Origin.of("repeat", self, has_form=False)._replace(source=Derived.of("repeat", self, high))
        return Language(_core.repeat(self._node, low, high), described, value, _origin=origin)

    def optional(self) -> Language[T_co | None]:
        """Return the texts of this language and the empty text, whose value is None if the language has values."""
        value: Any = OptionalValue(self) if self.value else None
        origin = Origin.of("repeat", self, has_form=False)._replace(source=Derived.of("repeat", self, 1))
        perhaps = Language(_core.repeat(self._node, 0, 1), f"{_group(self)}.optional()", value, _origin=origin)
        return perhaps._with_part_budgets(self._part_budgets)

    # Questions; none needs a model. They cost the states that they visit, within `Limits()`.

    def is_empty(self) -> bool:
        """Return whether the language has no text."""
        return self._dfa().is_empty()

    def accepts(self, text: str | bytes) -> bool:
        """Return whether `text` (a string as its UTF-8 bytes) is in the language."""
        return self._dfa().accepts(_bytes(text))

    __contains__ = accepts

    def shortest(self) -> bytes:
        """Return the shortest text; of several, the first in byte order. `EmptyLanguageError` if there is none.

        Raises `LimitError` where the search for it takes too long.
        """
        text = self._dfa().shortest()
        if text is None:
            raise explain_empty(self)
        return text

    def enumerate(self) -> Iterator[bytes]:
        """Yield every text, shorter ones first, equal lengths in byte order; an infinite language has no end.

        >>> import detent
        >>> list(detent.regex("a?b{1,2}").enumerate())
        [b'b', b'ab', b'bb', b'abb']
        """
        return self._dfa().counts.enumerate()

    @suggests_names
    def count(self, max_bytes: int | None = None) -> int:
        """Count the texts, or those of at most `max_bytes` bytes. Linear in the length times the states visited.

        >>> import detent
        >>> detent.regex("[0-9]{1,3}").count(), detent.regex("[0-9]+").count(max_bytes=2)
        (1110, 110)

        Raises `ArgumentError` without `max_bytes` if there are infinitely many, or more than `Limits()` allow to visit;
        `LimitError` if this takes too long; its `limit` is a shorter length that may do.
        """
        dfa = self._dfa()
        if max_bytes is not None:
            return dfa.counts.count(_check_count("max_bytes", max_bytes))
        try:
            longest = dfa.counts.longest()
        except LimitError:
            raise ArgumentError(
                f"{self!r} has infinitely many texts, or too many to tell; give max_bytes to count the shorter ones"
            ) from None
        if longest is None:
            raise ArgumentError(f"{self!r} has infinitely many texts; give max_bytes to count the shorter ones")
        return dfa.counts.count(max(longest, 0))

    @suggests_names
    def sample(self, seed: SupportsIndex | Random | None = None, max_bytes: int | None = None) -> bytes:
        """Draw a text at random.

        >>> import detent
        >>> detent.regex("[ab]{3}").sample(seed=0)
        b'bab'

        Parameters
        ----------
        seed : int or Random, optional
            The same seed draws the same text; a `random.Random` goes on with each call. By default another text each
            time.
        max_bytes : int, optional
            The longest text that may be drawn; by default 64, or a few more than a short text takes.

        Returns
        -------
        bytes
            Where few states are within reach: a length uniformly among those that occur, then a text uniformly among
            those of that length. Elsewhere (JSON, grammars) the end of a random walk that never needs to go back.

        Raises
        ------
        EmptyLanguageError
            No text is that short.
        """
        dfa = self._dfa()
        if max_bytes is None:
            length = dfa.length_of_short_text()
            max_bytes = max(64, (len(self.shortest()) if length is None else length) + 16)
        if seed is not None and (not isinstance(seed, (SupportsIndex, Random)) or isinstance(seed, bool)):
            raise ArgumentError(f"seed must be an int or a random.Random, got {_short_repr(seed)}")
        try:
            rng = seed if isinstance(seed, Random) else Random(None if seed is None else index(seed))
        except TypeError:  # an array has the method of an integer
            raise ArgumentError(f"seed must be an int or a random.Random, got {_short_repr(seed)}") from None
        text = dfa.counts.sample(rng, _check_count("max_bytes", max_bytes))
        if text is None:
            raise EmptyLanguageError(f"{self!r} has no text of at most {max_bytes} bytes")
        return text

    def min_tokens(self, vocabulary: Vocabulary) -> int:
        """Return the least number of tokens that write a text, end-of-text not counted.

        Searches breadth first over token steps: costs a walk over the vocabulary for each state on the way. Raises
        `LimitError` where this takes too long; the length of a matcher's `completion` is an upper bound.

        Rules that call themselves have infinitely many states, so that the search ends early: the number is the least
        that it has found. Where such rules are items of a list of distinct items, it is that of a known completion.
        """
        with _within_a_question("finding the fewest tokens", "take the length of a matcher's completion()"):
            return len(self._machine(vocabulary).shortest())

    def max_tokens(self, vocabulary: Vocabulary) -> int | None:
        """Return the largest number of tokens that write a text, or None if there is no such bound.

        Visits every state: raises `LimitError` where there are too many.
        """
        with _within_a_question("finding the most tokens", "bound the repeats"):
            return self._machine(vocabulary).longest()

    def _machine(self, vocabulary: Vocabulary) -> _core.LanguageMachine:
        tables = getattr(vocabulary, "_tables", None)
        if tables is None:
            raise ArgumentError(f"needs a detent.Vocabulary, got {type(vocabulary).__name__}")
        bounds, known = Limits(), self._machine_cache
        # A new machine replaces one that many texts have filled; matchers keep theirs.
        if known is not None and known[0]() is vocabulary and known[1].memory_bytes <= bounds.memory_bytes // 4:
            return known[1]
        node, core = tables.for_language(self._node)
        machine = _core.LanguageMachine(node, core, bounds.states, bounds.memory_bytes, bounds.work)
        object.__setattr__(self, "_machine_cache", (ref(vocabulary), machine))
        return machine

    @suggests_names
    def parse(self, text: str | bytes) -> T_co:
        """Return the Python value of a text of the language; the text itself where the language has no other.

        Raises `ArgumentError` if the text is not in the language; its message is that of `why`. An error of a
        validator, as of a pydantic model, is raised as it is.
        """
        mismatch = self.why(text)
        if mismatch is not None:
            raise ArgumentError(f"{_shorten(mismatch.text, 40)!r} is {mismatch}")
        if not isinstance(text, str):
            try:
                text = bytes(text).decode()
            except UnicodeDecodeError as error:
                raise ArgumentError(f"the value of a text is that of its UTF-8: byte {error.start} is none") from None
        value: Any = text if self.value is None else self.value(text)
        return value  # type: ignore[no-any-return]

    @suggests_names
    def why(self, text: str | bytes) -> Mismatch | None:
        """Return why `text` is not in the language: where it leaves it, and what was expected; None if it is in it.

        >>> import detent
        >>> print(detent.date().why("2021-13-07"))
        not in Language(date): character 6 is '3' where [0-2] is expected; for example '2021-10-01'
          2021-13-07
                ^
        """
        data = _bytes(text)
        return None if self.accepts(data) else explain(self, data)

    def parser(self, vocabulary: Vocabulary | None = None) -> Parser:
        """Start a parser: it yields the events of a text that is fed in pieces; see `detent.turns.Parser`.

        >>> import detent
        >>> parser = detent.json_schema({"type": "array"}).parser()
        >>> parser.feed("[1, 2, ")
        [AnswerDelta(text='[1, 2, ', value=[1, 2])]
        >>> parser.feed("x")[-1].reason
        'mismatch'
        """
        # Parsers rest on languages. So that imports run one way, the module is found by its name.
        make: Callable[[Language[Any], Vocabulary | None], Parser] = import_module("detent.turns.parser").Parser
        return make(self, vocabulary)

    def to_html(self, text: str | bytes | None = None) -> str:
        """Return a page that shows the language: some texts, how many there are, the automaton, how a text is read.

        >>> import detent
        >>> page = detent.regex("[0-9]{2}-[0-9]").to_html("12/3")
        >>> "number of texts" in page, "<svg" in page, "<script" in page
        (True, True, False)

        Parameters
        ----------
        text : str or bytes, optional
            A text to be read; where it leaves the language, the page says why.

        Returns
        -------
        str
            An HTML document that needs no other file and no script. Questions that would take more than a fraction of a
            second are left out, and the page says so. In notebooks a language shows itself so.
        """
        pictures = import_module("detent.pictures")
        return str(pictures.page(pictures.title_of(self.description), pictures.language_body(self, text)))

    def _repr_html_(self) -> str:
        pictures = import_module("detent.pictures")
        return str(pictures.framed(pictures.language_body(self)))

    def _repr_mimebundle_(self, include: Any = None, exclude: Any = None) -> dict[str, Any]:
        pictures = import_module("detent.pictures")
        bundle: dict[str, Any] = pictures.mime_bundle(self, include, exclude, svg=lambda: pictures.language_svg(self))
        return bundle

    def counterexample(self, other: Language[Any] | str | bytes) -> bytes | None:
        """Return the shortest text that is in this language and not in the other; None shows that ``self <= other``.

        >>> import detent
        >>> detent.regex("a*").counterexample(detent.regex("a{0,3}"))
        b'aaaa'
        """
        right = _language(other, "counterexample")
        if self._node == right._node:  # a grammar's rules may not end as an automaton
            return None
        return ByteDfa(_core.intersection([self._node, _core.complement(right._node)])).shortest()

    def __le__(self, other: Language[Any] | str | bytes) -> bool:
        return self.counterexample(_language(other, "<=")) is None

    def __ge__(self, other: Language[Any] | str | bytes) -> bool:
        return _language(other, ">=").counterexample(self) is None

    def __lt__(self, other: Language[Any] | str | bytes) -> bool:
        return self <= (right := _language(other, "<")) and not right <= self

    def __gt__(self, other: Language[Any] | str | bytes) -> bool:
        return (left := _language(other, ">")) <= self and not self <= left

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, Language):
            return NotImplemented
        return self._node == other._node or (self <= other and other <= self)

    def __hash__(self) -> int:
        # Equal languages must have equal hashes, however they were made. The first bytes depend on the texts alone.
        return hash(self._dfa().first_bytes())

    def _text_node(self) -> _core.Node:
        """Return the expression of the texts without special tokens; the tags of a turn are letters in its text."""
        tags = sorted(tag.encode() for tag in self._origin.letter_tags)
        return _core.without_special(_core.special_as_text(self._node, tags) if tags else self._node)

    def _dfa(self) -> ByteDfa:
        known = self._dfa_cache
        # One that earlier questions have filled is given up; whoever knows its states keeps it.
        if known is None or known.is_filled:
            known = ByteDfa(self._text_node())
            object.__setattr__(self, "_dfa_cache", known)
        return known


def _options(language: Language[Any]) -> tuple[Language[Any], ...]:
    return language.value.options if isinstance(language.value, UnionValue) else (language,)


def _narrowed(language: Language[Any]) -> Callable[[str], Any] | None:
    return Narrowed(language) if isinstance(language.value, UnionValue) else language.value


def _cut(description: str) -> str:
    return description if len(description) <= 200 else description[:199] + "…"


def _restore(
    node: bytes,
    description: str,
    value: Callable[[str], Any] | None,
    flat: tuple[str, tuple[Language[Any], ...]] | None,
    origin: Origin | None,
    part_budgets: tuple[tuple[bytes, int], ...] = (),
) -> Language[Any]:
    form = None
    if flat is not None:
        operator, (left, *rest) = flat
        for index, right in enumerate(rest):
            form = Form.of(operator, left, right)
            if index < len(rest) - 1:
                left = Language(_core.empty(), "", _origin=Origin(form))
    origin = (origin or NO_ORIGIN)._replace(form=form)
    language: Language[Any] = Language(_core.node_from_bytes(node), description, value, _origin=origin)
    return language._with_part_budgets(tuple((_core.node_from_bytes(part), tokens) for part, tokens in part_budgets))


def _beside(language: Language[Any], other: Language[Any]) -> _core.Node:
    """Return the node of an operand: beside a language of texts with strings, words are found in the strings too."""
    in_strings, quotes = language._origin.in_strings, other._origin.quotes
    return in_strings(language._node, quotes) if in_strings is not None and quotes else language._node


def _shorten(text: str, limit: int = 100) -> str:
    return text if len(text) <= limit else text[: limit - 1] + "…"


@contextmanager
def _within_a_question(asked: str, remedy: str) -> Iterator[None]:
    """Add what was asked, and what to do, to the error of a limit that a question reaches."""
    try:
        yield
    except LimitError as error:
        raise LimitError(
            f"{asked} takes too long: {error}; {remedy}", subject=error.subject, limit=error.limit, given=error.given
        ) from None


def _short_repr(value: object) -> str:
    try:
        return _shorten(repr(value), 40)
    except (ValueError, RecursionError):  # an integer of thousands of digits, deep nesting
        return f"a very large {type(value).__name__}"


def _language(operand: object, operator: str) -> Any:
    """Return the operand as a language, a string literally; NotImplemented for objects that define the operator."""
    if isinstance(operand, Language):
        return operand
    if isinstance(operand, (str, bytes)):
        return Language(_core.literal(_bytes(operand)), _shorten(repr(operand)))
    kind = type(operand)
    reflected = _REFLECTED.get(operator, "")
    if (
        kind.__module__ != "builtins"
        and not isinstance(operand, type)
        and any(reflected in vars(k) for k in kind.__mro__)
    ):
        return NotImplemented
    raise ArgumentError(
        f"a Language takes a language, str or bytes as the other operand of {operator}, "
        f"got {_short_repr(operand)} ({type(operand).__name__}); {as_language(operand)}"
    )


def _bytes(text: str | bytes) -> bytes:
    if isinstance(text, str):
        try:
            return text.encode()
        except UnicodeEncodeError as error:
            raise ArgumentError(f"a lone surrogate at character {error.start} is no text; remove it") from None
    if isinstance(text, (bytes, bytearray, memoryview)):
        return bytes(text)
    advice = "; write its JSON text, as json.dumps gives it" if isinstance(text, (dict, list)) else ""
    raise ArgumentError(f"a text is a str or bytes, got {_short_repr(text)} ({type(text).__name__}){advice}")


def _check_count(noun: str, count: int) -> int:
    if not isinstance(count, int) or isinstance(count, bool) or not 0 <= count < _core.UNBOUNDED:
        raise ArgumentError(f"{noun} must be an integer from 0 to {_core.UNBOUNDED - 1}, got {_short_repr(count)}")
    return count


def _group(language: Language) -> str:
    shown = language.description
    return f"({shown})" if " " in shown and not _LITERAL.fullmatch(shown) else shown


def _infix(left: Language, operator: str, right: Language) -> str:
    form, source = left._origin.form, left._origin.source
    is_chain = isinstance(source, Alternatives) if operator == "|" else form is not None and form.operator == operator
    return f"{left.description if is_chain else _group(left)} {operator} {_group(right)}"

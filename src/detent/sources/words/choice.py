"""`choice`: one text of a list, with the option that it stands for as its value."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from enum import Enum
from functools import cached_property, partial
from typing import Any, Literal, TypeVar, get_args, get_origin, overload

from detent.errors import ArgumentError
from detent.language import Language
from detent.origin import Hint, Origin
from detent.sources.nodes import check_flag, decimal, encode, short_repr
from detent.sources.words.caseless import CaselessAlphabet
from detent.sources.words.trie import bytes_trie, trie
from detent.suggestions import suggests_names

__all__ = ["choice"]

_Member = TypeVar("_Member", bound=Enum)
_Option = TypeVar("_Option", str, bytes, int)

_SHOWN_OPTIONS = 4


@dataclass(frozen=True)
class _ChoiceValue:
    """The function from the text of an option to the option.

    >>> _ChoiceValue((("1", 1), ("one", "one")))("1")
    1
    """

    options: tuple[tuple[str, object], ...]
    ignore_case: bool = False

    def __call__(self, text: str) -> object:
        if text in self._by_text or not self.ignore_case:
            return self._by_text[text]
        return self._by_folded[self._alphabet.fold(text)]

    @cached_property
    def _alphabet(self) -> CaselessAlphabet:
        return CaselessAlphabet(text for text, _ in self.options)

    @cached_property
    def _by_folded(self) -> dict[str, object]:
        return {self._alphabet.fold(text): option for text, option in self.options}

    @cached_property
    def _by_text(self) -> dict[str, object]:
        return dict(self.options)


@overload
def choice(  # type: ignore[overload-overlap]
    options: type[_Member], /, *, ignore_case: bool = ...
) -> Language[_Member]: ...
@overload
def choice(  # type: ignore[overload-overlap]
    *options: _Option, ignore_case: bool = ...
) -> Language[_Option]: ...
@overload
def choice(*options: str | bytes | int | Enum, ignore_case: bool = ...) -> Language[Any]: ...
@overload
def choice(options: Iterable[_Option], /, *, ignore_case: bool = ...) -> Language[_Option]: ...
@overload
def choice(options: object, /, *, ignore_case: bool = ...) -> Language[Any]: ...
@suggests_names
def choice(*options: object, ignore_case: bool = False) -> Language[Any]:
    """Make the language of one out of some options.

    >>> import detent
    >>> from typing import Literal
    >>> detent.choice("yes", "no")
    Language('yes' or 'no')
    >>> detent.choice(Literal["low", "high", 0])
    Language('low', 'high' or '0')

    Parameters
    ----------
    options : str, bytes, int, bool or Enum members; or one iterable, Enum class or ``Literal[...]`` of them
        An int is written in decimal, a bool as ``true`` or ``false``, an Enum member as its value; bytes must be
        UTF-8. The same option twice is one.
    ignore_case : bool
        Whether an option may be written in any case, as ``re.IGNORECASE`` has it: one character for one.

    Returns
    -------
    Language
        Its value is the option itself: the Enum member, the int. 10,000 options take 0.1 s. For a choice between
        languages write ``a | b``.

    Raises
    ------
    ArgumentError
        There is no option; an option has another type; two different options have the same text; `ignore_case` is no
        bool.
    """
    check_flag(ignore_case, "choice", "ignore_case")
    members = _members(options)
    by_text: dict[str, object] = {}
    for member in members:
        text = _write(member)
        known = by_text.setdefault(text, member)
        if known is not member and (type(known) is not type(member) or known != member):
            raise ArgumentError(
                f"choice got {short_repr(known)} and {short_repr(member)}, which are both written {short_repr(text)}"
            )
    if not by_text:
        raise ArgumentError("choice needs at least one option, got none")
    texts = [(text, encode(text, "choice")) for text in by_text]
    value = _ChoiceValue(tuple(by_text.items()), ignore_case)
    if not ignore_case:
        hint = Hint(partial(choice, *by_text.values(), ignore_case=True), "choice(..., ignore_case=True) has this text")
        node = bytes_trie(sorted(raw for _, raw in texts))
        return Language(node, _describe(list(by_text)), value, _origin=Origin(source=hint))
    alphabet = CaselessAlphabet(by_text)
    folded: dict[str, str] = {}
    for text in by_text:
        known = folded.setdefault(alphabet.fold(text), text)
        if known != text:
            raise ArgumentError(f"choice got {short_repr(known)} and {short_repr(text)}, which differ in case only")
    return Language(trie(sorted(folded), alphabet), f"{_describe(list(by_text))}, ignoring case", value)


def _members(options: tuple[object, ...]) -> Iterable[object]:
    if len(options) != 1:
        return options
    only = options[0]
    if get_origin(only) is Literal:
        return get_args(only)
    if isinstance(only, (str, bytes, Enum)) or not isinstance(only, Iterable):
        return options
    return only


def _write(member: object) -> str:
    value = member.value if isinstance(member, Enum) else member
    if isinstance(value, str):
        return str(value)
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, int):
        return decimal(value, "choice")
    if isinstance(value, bytes):
        try:
            return value.decode()
        except UnicodeDecodeError:
            raise ArgumentError(
                f"choice got {short_repr(value)}, which is not UTF-8; write literal(...) | literal(...) instead"
            ) from None
    advice = "; write languages as a | b" if isinstance(value, Language) else ""
    raise ArgumentError(
        f"choice takes options of type str, bytes, int, bool or Enum, got {short_repr(member)} "
        f"({type(value).__name__}){advice}"
    )


def _describe(texts: list[str]) -> str:
    names = [short_repr(text, 24) for text in texts[:_SHOWN_OPTIONS]]
    if len(texts) > _SHOWN_OPTIONS:
        names[-1] = f"{len(texts) - _SHOWN_OPTIONS + 1} more"
    return f"{', '.join(names[:-1])} or {names[-1]}" if len(names) > 1 else names[0]

"""`literal`, `text`, `byte_class` and `join`: one text, any text, one byte of a set, and parts with a separator."""

from __future__ import annotations

from functools import partial
from typing import Any, TypeAlias, TypeVar, overload

from detent import _core
from detent.errors import ArgumentError
from detent.language import Language
from detent.origin import Hint, Origin
from detent.sources.nodes import CHARACTER, encode, short_repr
from detent.suggestions import as_language, suggests_names
from detent.values import Concatenation, Items

__all__ = ["byte_class", "check_counts", "join", "literal", "text"]

_LARGEST_COUNT = 2**32 - 2


@suggests_names
def literal(text: str | bytes) -> Language[str]:
    """Make the language of exactly one text.

    >>> import detent
    >>> detent.literal("a+b")
    Language('a+b')

    Parameters
    ----------
    text : str or bytes
        Any text, the empty one too; bytes need not be UTF-8.

    Returns
    -------
    Language
        Costs time linear in the text.

    Raises
    ------
    ArgumentError
        It is no text, or holds half of a surrogate pair.
    """
    return Language(_literal(text, "literal"), short_repr(text))


@suggests_names
def text(minimum: int = 0, maximum: int | None = None) -> Language[str]:
    """Make the language of any text, that is, of all valid UTF-8.

    >>> import detent
    >>> detent.text(1, 280)
    Language(text of 1 to 280 characters)

    Parameters
    ----------
    minimum, maximum : int, optional
        How long it is, in characters (code points); no upper bound by default.

    Returns
    -------
    Language
        Costs the same whatever the bounds are.

    Raises
    ------
    ArgumentError
        A bound is negative or above 2**32 - 2, or the two exclude each other.
    """
    check_counts("text", minimum, maximum)
    return Language(_core.repeat(CHARACTER, minimum, maximum), _describe_counts("text", "character", minimum, maximum))


@suggests_names
def byte_class(values: bytes) -> Language[str]:
    """Make the language of one byte out of some.

    >>> import detent
    >>> detent.byte_class(b"01")
    Language(one byte of b'01')

    A part of UTF-8 text where the bytes are ASCII; others let text be written that is not UTF-8.

    Parameters
    ----------
    values : bytes
        The bytes; repeated ones count once.

    Returns
    -------
    Language
        Strings of one byte.

    Raises
    ------
    ArgumentError
        There is no byte, or it is not a bytes object.
    """
    if not isinstance(values, (bytes, bytearray)):
        raise ArgumentError(f"byte_class needs bytes, such as b'abc', got {type(values).__name__}")
    if not values:
        raise ArgumentError("byte_class needs at least one byte to choose from, got none")
    distinct = bytes(sorted(set(values)))
    return Language(_core.byte_set(distinct), f"one byte of {short_repr(distinct)}")


_Item = TypeVar("_Item")
_Separator: TypeAlias = str | bytes | Language[Any]


@overload
def join(
    separator: _Separator, part: Language[_Item], /, *, minimum: int, maximum: int | None = ...
) -> Language[list[_Item]]: ...
@overload
def join(
    separator: _Separator, part: Language[_Item], /, *, minimum: int | None = ..., maximum: int
) -> Language[list[_Item]]: ...
@overload
def join(
    separator: _Separator, part: str | bytes, /, *, minimum: int, maximum: int | None = ...
) -> Language[list[str]]: ...
@overload
def join(
    separator: _Separator, part: str | bytes, /, *, minimum: int | None = ..., maximum: int
) -> Language[list[str]]: ...
@overload
def join(
    separator: _Separator, *parts: str | bytes | Language[Any], minimum: int | None = ..., maximum: int | None = ...
) -> Language[Any]: ...
@suggests_names
def join(
    separator: str | bytes | Language[Any],
    *parts: str | bytes | Language[Any],
    minimum: int | None = None,
    maximum: int | None = None,
) -> Language[Any]:
    """Make the language of a sequence of parts, with a separator between each two.

    >>> import detent
    >>> detent.join("-", detent.regex("[A-Z]{2}"), detent.regex("[0-9]{4}"))
    Language(2 parts joined by '-')
    >>> detent.join(", ", detent.regex("[a-z]+"), minimum=1)
    Language(1 or more of regex '[a-z]+' joined by ', ')

    It has two meanings. Without counts it is as `str.join`: each part once, in the order given; so ``join(", ", x)`` is
    `x`, and ``join(", ")`` the empty text. With `minimum` or `maximum` it is a list: one part, repeated.

    Parameters
    ----------
    separator : str, bytes or Language
        What stands between two parts; not before the first, nor after the last.
    parts : str, bytes or Language
        The parts; exactly one of them with `minimum` or `maximum`.
    minimum, maximum : int, optional
        How often the part is there: 0 and unbounded if only the other is given.

    Returns
    -------
    Language
        Of a list: its value is the list of the items' values. Of parts: as for ``a + b``. An item that the separator
        follows ends where the separator occurs first (see `Language.capture`).

    Raises
    ------
    ArgumentError
        A part is no language, or a count is negative, above 2**32 - 2, excludes the other, or goes with several parts.
    """
    between = _part(separator, "separator")
    each = [_part(part, f"part {index}") for index, part in enumerate(parts)]
    by = f"joined by {_name(separator)}"
    if minimum is None and maximum is None:
        sequence = [language for part in each for language in (between, part)][1:]
        cut = Concatenation(tuple(sequence)) if any(language.value is not None for language in sequence) else None
        origin = Origin.of("join", between, *each, has_form=False)
        if len(each) == 1:
            advice = "join repeats a part where it is given a count: join(..., minimum=0) has this text"
            origin = origin._replace(source=Hint(partial(join, between, each[0], minimum=0), advice))
        counted = "1 part" if len(each) == 1 else f"{len(each)} parts"
        node = _core.concat([language._node for language in sequence])
        return Language(node, f"{counted} {by}", cut, _origin=origin)
    if len(each) != 1:
        raise ArgumentError(f"join repeats exactly one part when it is given a count, got {len(each)}; join them first")
    least = 0 if minimum is None else minimum
    check_counts("join", least, maximum)
    described = f"{_describe_counts('', '', least, maximum)} of {_name(parts[0])} {by}"
    origin = Origin.of("join", between, each[0], has_form=False)
    value = Items(each[0], between, least, maximum)
    return Language(_list(between._node, each[0]._node, least, maximum), described, value, _origin=origin)


def _list(between: _core.Node, item: _core.Node, minimum: int, maximum: int | None) -> _core.Node:
    if maximum == 0:
        return _core.epsilon()
    more = _core.repeat(_core.concat([between, item]), max(minimum - 1, 0), None if maximum is None else maximum - 1)
    some = _core.concat([item, more])
    return _core.union([_core.epsilon(), some]) if minimum == 0 else some


def _part(part: object, name: str) -> Language[Any]:
    if isinstance(part, Language):
        part._refuse_part_budgets("join")
        return part
    return Language(_literal(part, f"join, as its {name},"), short_repr(part))


def _name(part: str | bytes | Language) -> str:
    return part.description if isinstance(part, Language) else short_repr(part)


def _literal(text: object, asker: str) -> _core.Node:
    if isinstance(text, str):
        return _core.literal(encode(text, asker))
    if isinstance(text, bytes):
        return _core.literal(text)
    raise ArgumentError(
        f"{asker} needs a text of type str or bytes, got {short_repr(text)} ({type(text).__name__}); "
        f"{as_language(text)}"
    )


def check_counts(asker: str, minimum: object, maximum: object) -> None:
    """Raise `ArgumentError` unless the counts are numbers in order; `asker` is what the message names."""
    for name, count in (("minimum", minimum), ("maximum", maximum)):
        if name == "maximum" and count is None:
            continue
        if not isinstance(count, int) or isinstance(count, bool) or not 0 <= count <= _LARGEST_COUNT:
            advice = f"; write literal({short_repr(count, 20)}) for the text itself" if isinstance(count, str) else ""
            raise ArgumentError(f"{asker} needs a {name} from 0 to {_LARGEST_COUNT}, got {short_repr(count)}{advice}")
    if isinstance(minimum, int) and isinstance(maximum, int) and minimum > maximum:
        raise ArgumentError(f"{asker} got a minimum of {minimum}, above the maximum of {maximum}; swap them")


def _describe_counts(what: str, unit: str, minimum: int, maximum: int | None) -> str:
    if maximum is None:
        counts = f"{minimum} or more" if minimum else ""
    else:
        counts = f"{minimum}" if minimum == maximum else f"{minimum} to {maximum}"
    if not unit:
        return counts or "any number"
    return f"{what} of {counts} {unit}{'s' * (counts != '1')}" if counts else what

"""Suggestions in error messages: the name that was meant, and what to write where a language is expected."""

from __future__ import annotations

import difflib
import inspect
import os
import re
import sys
import types
import typing
from collections.abc import Callable, Iterable, Mapping
from functools import wraps
from typing import Any, TypeVar, cast

__all__ = [
    "as_language",
    "did_you_mean",
    "is_type_form",
    "read_the_file",
    "suggests_arguments",
    "suggests_names",
    "unknown_keyword",
]

_Function = TypeVar("_Function", bound=Callable[..., Any])
_Class = TypeVar("_Class", bound=type)

_ADVICE: tuple[tuple[Any, str], ...] = (
    (Mapping, "write detent.json_schema(...) for the JSON of a schema"),
    (
        os.PathLike,
        "read the file, path.read_text(), and pass the text to detent.json_schema, detent.grammar or the like",
    ),
    (
        (str, bytes),
        "write detent.regex(...) for a pattern, detent.literal(...) for a text, detent.json_schema(...) for a schema",
    ),
)
"""What to write for values of some types where a language is expected."""

_PACKAGE = __name__.partition(".")[0]

_MAX_LISTED = 12
"""Parameters that a message lists where none is near."""


def did_you_mean(name: str, known: Iterable[str]) -> str:
    """Return the end of a message that names the known name nearest to `name`; empty if none is near.

    >>> did_you_mean("regx", ["regex", "literal"])
    "; did you mean 'regex'?"
    """
    similar = difflib.get_close_matches(name, list(known), 1)
    return f"; did you mean {similar[0]!r}?" if similar else ""


def unknown_keyword(function: str, name: str, known: Iterable[str]) -> TypeError:
    """Return the error for a keyword argument that a function does not take.

    >>> print(unknown_keyword("regex", "flag", ["pattern", "flags"]))
    regex() got an unexpected keyword argument 'flag'; did you mean 'flags'?
    >>> print(unknown_keyword("regex", "locale", ["pattern", "flags"]))
    regex() got an unexpected keyword argument 'locale'; it takes pattern and flags
    """
    names = list(known)
    hint = did_you_mean(name, names)
    if not hint and 0 < len(names) <= _MAX_LISTED:
        hint = f"; it takes {' and '.join([', '.join(names[:-1]), names[-1]] if len(names) > 1 else names)}"
    return TypeError(f"{function}() got an unexpected keyword argument {name!r}{hint}")


def suggests_names(function: _Function) -> _Function:
    """Make a function name its parameters where a keyword argument is unknown, as Python does from 3.13 on.

    >>> @suggests_names
    ... def repeat(*, minimum=0):
    ...     return minimum
    >>> repeat(minumum=2)
    Traceback (most recent call last):
        ...
    TypeError: repeat() got an unexpected keyword argument 'minumum'; did you mean 'minimum'?
    """
    named = (inspect.Parameter.POSITIONAL_OR_KEYWORD, inspect.Parameter.KEYWORD_ONLY)
    parameters = inspect.signature(function).parameters.values()
    names = [each.name for each in parameters if each.kind in named and each.name not in ("self", "cls")]
    known = frozenset(names)

    @wraps(function)
    def call(*args: Any, **keywords: Any) -> Any:
        if not known.issuperset(keywords):
            unknown = next(name for name in keywords if name not in known)
            raise unknown_keyword(function.__qualname__.removesuffix(".__init__"), unknown, names)
        return function(*args, **keywords)

    return cast("_Function", call)


def suggests_arguments(kind: _Class) -> _Class:
    """Make the constructor of a class name its parameters where a keyword argument is unknown."""
    kind.__init__ = suggests_names(kind.__init__)  # type: ignore[misc]
    return kind


def _call_of_ours(value: object) -> str:
    """Return the call of a public function of detent that makes a language, and "" for other values.

    >>> import detent
    >>> _call_of_ours(detent.date), _call_of_ours(detent.regex), _call_of_ours(detent.compile), _call_of_ours(print)
    ('detent.date()', 'detent.regex(...)', '', '')
    """
    if not isinstance(value, types.FunctionType):
        return ""
    signature = inspect.signature(value)
    public: object = vars(sys.modules[_PACKAGE]).get(value.__name__)
    if public is not value or not str(signature.return_annotation).startswith("Language"):
        return ""
    needs_arguments = any(each.default is each.empty for each in signature.parameters.values())
    return f"{_PACKAGE}.{value.__name__}({'...' if needs_arguments else ''})"


def read_the_file(value: object) -> str:
    """Return the end of a message for a path in the place of the text of a file, which no function here reads.

    >>> from pathlib import Path
    >>> read_the_file(Path("rules.lark")), read_the_file(5)
    ('; read the file: path.read_text()', '')
    """
    return "; read the file: path.read_text()" if isinstance(value, os.PathLike) else ""


def is_type_form(value: object) -> bool:
    """Whether a value is a type or an annotation, such as ``int | None`` or ``Literal["a"]``.

    >>> [is_type_form(each) for each in (int, list[int], int | None, typing.Any, 5)]
    [True, True, True, True, False]
    """
    if isinstance(value, (type, types.UnionType, typing.TypeVar)) or typing.get_origin(value) is not None:
        return True
    return hasattr(value, "__supertype__") or type(value).__module__ in ("typing", "typing_extensions")


def as_language(value: object) -> str:
    """Return advice: how to write a value that was passed where a language is expected.

    >>> as_language(int), as_language(["a", "b"])
    ('write detent.json_schema(...) for the JSON of a type', 'write detent.choice(...) for one of several texts')
    """
    if is_type_form(value):
        return "write detent.json_schema(...) for the JSON of a type"
    for kind, advice in _ADVICE:
        if isinstance(value, kind):
            return advice
    if isinstance(value, re.Pattern):
        return "write detent.regex(pattern.pattern, pattern.flags) for its full matches"
    if isinstance(value, (bool, int, float)):
        return f"write the text {str(value)!r} for the number as it stands, detent.integer(...) for a range"
    if value is None:
        return "write detent.text() for any text, language.optional() for a text or nothing"
    if hasattr(type(value), "model_fields") or hasattr(type(value), "__dataclass_fields__"):
        return f"pass the type {type(value).__name__} itself"
    if isinstance(value, Iterable):
        return "write detent.choice(...) for one of several texts"
    if callable(value):
        ours = _call_of_ours(value)
        other = "write detent.calls([...]) for calls of a function, detent.json_schema(...) for its arguments"
        return f"call the function: {ours}" if ours else other
    return "make a language of it with detent.regex, detent.choice, detent.json_schema or their like"

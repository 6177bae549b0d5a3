"""The signature of functions that take the options of `Request` as keyword arguments."""

from __future__ import annotations

import inspect
from collections.abc import Callable
from typing import TypeVar

from detent.errors import ArgumentError
from detent.generation.request import Options, Request

__all__ = ["refuse_retries", "with_options"]

_Function = TypeVar("_Function", bound=Callable[..., object])


def with_options(function: _Function) -> _Function:
    """Show the options of `Request` in the signature of a function that takes ``**options``."""
    signature = inspect.signature(function)
    named = [each for each in signature.parameters.values() if each.kind is not inspect.Parameter.VAR_KEYWORD]
    options = [
        each.replace(kind=inspect.Parameter.KEYWORD_ONLY)
        for name, each in inspect.signature(Request).parameters.items()
        if name in Options.__annotations__
    ]
    function.__signature__ = signature.replace(parameters=[*named, *options])  # type: ignore[attr-defined]
    return function


def refuse_retries(options: Options) -> None:
    """Raise `ArgumentError` if a stream is asked for retries."""
    if options.get("retries"):
        raise ArgumentError("a stream has shown its text and cannot be asked again; leave out retries, or use generate")

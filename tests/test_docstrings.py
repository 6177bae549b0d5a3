"""Docstrings of what is public: compiled members have one, with an example that runs; others pytest finds by itself."""

from __future__ import annotations

import doctest
import inspect
from collections.abc import Iterator
from typing import Any

import pytest

import detent
from detent import _core


def public_members() -> Iterator[tuple[str, Any]]:
    """Yield the methods and properties of the package's public classes that detent defines, by name."""
    for name in detent.__all__:
        found = getattr(detent, name)
        if not inspect.isclass(found):
            continue
        for owner in found.__mro__:
            if owner.__module__.startswith("detent"):
                for member, value in vars(owner).items():
                    if not member.startswith("_") and (callable(value) or isinstance(value, property)):
                        yield f"{name}.{member}", value


MEMBERS = dict(reversed(list(public_members())))
COMPILED = [f"Matcher.{name}" for name, value in vars(_core.Matcher).items() if not name.startswith("_")]


def test_every_public_member_has_a_docstring() -> None:
    bare = [name for name, value in MEMBERS.items() if not text_of(value)]
    assert not bare


@pytest.mark.parametrize("name", COMPILED)
def test_the_examples_of_compiled_members_run(name: str) -> None:
    text = text_of(MEMBERS[name])
    test = doctest.DocTestParser().get_doctest(text, {}, name, None, None)
    assert test.examples
    report: list[str] = []
    doctest.DocTestRunner(optionflags=doctest.ELLIPSIS).run(test, out=report.append)
    assert not report, "".join(report)


def text_of(member: Any) -> str:
    """Return a member's docstring without the signature, which a compiled one begins with."""
    text = inspect.getdoc(member) or ""
    first, _, rest = text.partition("\n")
    return rest.strip() if "(self" in first and "->" in first else text

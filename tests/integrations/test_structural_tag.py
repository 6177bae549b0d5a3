"""Structural tags: each format is its language, the older notation is that of `detent.structural_tags`."""

from __future__ import annotations

import itertools
import re
from typing import Any

import pytest

import detent
from detent.integrations.structural_tag import structural_tag


def _language(**described: Any) -> detent.Language:
    return structural_tag({"type": "structural_tag", "format": described})


def _literal(value: str) -> dict[str, Any]:
    return {"type": "const_string", "value": value}


_ANY = {"type": "any_text"}
_TAG = {"begin": "y", "content": _ANY, "end": "z"}
_CASES: list[tuple[dict[str, Any], str]] = [
    (_literal("ab"), "ab"),
    ({"type": "regex", "pattern": "a+b?"}, "a+b?"),
    ({"type": "grammar", "grammar": 'root ::= "a" | "b" root'}, "b*a"),
    ({"type": "any_text", "excludes": ["ab"]}, "(?!.*ab).*"),
    ({"type": "any_text", "max_chars": 2}, ".{0,2}"),
    ({"type": "sequence", "elements": [_literal("a"), {"type": "regex", "pattern": "b*"}]}, "ab*"),
    ({"type": "or", "elements": [_literal("a"), _literal("bb")]}, "a|bb"),
    ({"type": "optional", "content": _literal("ab")}, "(ab)?"),
    ({"type": "star", "content": _literal("ab")}, "(ab)*"),
    ({"type": "plus", "content": _literal("ab")}, "(ab)+"),
    ({"type": "repeat", "min": 1, "max": 2, "content": _literal("a")}, "a{1,2}"),
    ({"type": "repeat", "min": 1, "max": -1, "content": _literal("a")}, "a+"),
    ({"type": "tag", "begin": "a", "content": _ANY, "end": "bb"}, "a((?!bb).)*bb"),
    ({"type": "tag", "begin": "a", "content": _ANY, "end": ["bb", "ab"]}, "a((?!bb|ab).)*(bb|ab)"),
    ({"type": "tag", "begin": "a", "content": _literal("b"), "end": "a"}, "aba"),
    (
        {
            "type": "tags_with_separator",
            "separator": "b",
            "tags": [{"begin": "a", "content": _literal("a"), "end": "b"}],
        },
        "(aab(baab)*)?",
    ),
    (
        {
            "type": "tags_with_separator",
            "separator": "b",
            "at_least_one": True,
            "stop_after_first": True,
            "tags": [{"begin": "a", "content": _literal("a"), "end": "b"}],
        },
        "aab",
    ),
    (
        {
            "type": "triggered_tags",
            "triggers": ["ab"],
            "tags": [{"begin": "aba", "content": _literal("b"), "end": "a"}],
        },
        "(((?!ab).)*ababa)*((?!ab).)*",
    ),
    (
        {
            "type": "triggered_tags",
            "triggers": ["ab"],
            "at_least_one": True,
            "stop_after_first": True,
            "tags": [{"begin": "ab", "content": _literal("b"), "end": "a"}],
        },
        "((?!ab).)*abba",
    ),
]


@pytest.mark.parametrize(("described", "pattern"), _CASES)
def test_each_format_has_the_texts_of_a_pattern(described: dict[str, Any], pattern: str) -> None:
    language, expected = _language(**described), re.compile(pattern, re.DOTALL)
    found = 0
    for length in range(9):
        for characters in itertools.product("ab", repeat=length):
            text = "".join(characters)
            wanted = expected.fullmatch(text) is not None
            assert language.accepts(text) is wanted, text
            found += wanted
    assert found


def test_the_older_notation_is_that_of_structural_tags() -> None:
    add = {"enum": [1, 22]}
    older = {
        "type": "structural_tag",
        "structures": [{"begin": "<f=add>", "schema": add, "end": "</f>"}],
        "triggers": ["<f="],
    }
    expected = detent.structural_tags([("<f=add>", add, "</f>")], triggers=["<f="])
    language, found = structural_tag(older), 0
    pieces = ["x", "<f=", "<f=add>", "1", "22", "</f>"]
    for count in range(6):
        for parts in itertools.product(pieces, repeat=count):
            text = "".join(parts)
            assert language.accepts(text) is expected.accepts(text), text
            found += expected.accepts(text)
    assert found > 100


@pytest.mark.parametrize(
    ("described", "error", "message"),
    [
        ({"type": "any_text", "max_tokens": 3}, detent.UnsupportedError, "max_tokens"),
        ({"type": "qwen"}, detent.UnsupportedError, "supported are"),
        ({"type": "json_schema", "json_schema": {}, "style": "qwen_xml"}, detent.UnsupportedError, "style"),
        ({"type": "token", "token": 4}, detent.UnsupportedError, "name of a special token"),
        ({"type": "sequence", "elements": []}, detent.ArgumentError, "empty"),
        ({"type": "const_string"}, detent.ArgumentError, "must be a string"),
        ({"type": "repeat", "min": 3, "max": 2, "content": _ANY}, detent.ArgumentError, "at least 3"),
        ({"type": "triggered_tags", "triggers": [], "tags": []}, detent.ArgumentError, "triggers"),
        (
            {"type": "triggered_tags", "triggers": ["x"], "tags": [{"begin": "y", "content": _ANY, "end": "z"}]},
            detent.ArgumentError,
            "none of the triggers",
        ),
        ("text", detent.ArgumentError, "object with a type"),
        (
            {"type": "tags_with_separator", "separator": ",", "tags": [_TAG], "at_least_one": "no"},
            detent.ArgumentError,
            "at_least_one must be true or false, got 'no'",
        ),
        (
            {"type": "triggered_tags", "triggers": ["y"], "tags": [_TAG], "stop_after_first": 0},
            detent.ArgumentError,
            "stop_after_first must be true or false, got 0",
        ),
    ],
)
def test_what_cannot_be_held_is_refused(described: Any, error: type[Exception], message: str) -> None:
    with pytest.raises(error, match=message):
        structural_tag({"type": "structural_tag", "format": described})


def test_deep_nesting_is_refused() -> None:
    described: dict[str, Any] = _literal("a")
    for _ in range(100):
        described = {"type": "optional", "content": described}
    with pytest.raises(detent.UnsupportedError, match="deeper"):
        _language(**described)

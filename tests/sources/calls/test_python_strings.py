"""Python's string literals: beside Python's own parser, both ways."""

from __future__ import annotations

import ast
import json
import re
import warnings
from itertools import product
from random import Random

import pytest

from detent.language import Language
from detent.sources.calls.locate import literal_as_json
from detent.sources.calls.python_strings import any_string, constant_string, string_matching
from detent.sources.nodes import CHARACTER, concat, repeat
from detent.sources.regex import regex
from tests.support.random_texts import texts

FREE = Language(any_string(0, 3), "free")
HELD = Language(string_matching(repeat(CHARACTER, 0, 3)), "held")

# What is left out on purpose: octal escapes, continuations, raw control characters, texts of several literals.
LEFT_OUT = re.compile(r"""\\[0-7]|\\\n|[\x00-\x1f]|'[uU]?'|"[uU]?"|\\[^\\'"abfnrtvxuU]""", re.DOTALL)


def value_of(text: str, longest: int = 3) -> str | None:
    """Return what Python reads, None if that is no text of at most `longest` characters."""
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        try:
            value = ast.literal_eval(text)
            return value if isinstance(value, str) and len(value) <= longest and value.encode() is not None else None
        except (SyntaxError, ValueError):
            return None


def read(text: str) -> tuple[object, int]:
    """Return what detent reads, and how far."""
    written, end = literal_as_json(text)
    return json.loads(written), end


def test_literals_are_those_of_python() -> None:
    choose = Random(0)
    letters = [*"'\"\\nx41u0d8Ué/a", "\n", "\t", "\\u", "\\x", "d83d", "\\U0001", "f600"]
    for _ in range(20_000):
        quote = choose.choice("'\"")
        text = quote + "".join(choose.choices(letters, k=choose.randint(0, 6))) + choose.choice([quote, quote, "a"])
        value = value_of(text)
        accepted = FREE.accepts(text)
        assert accepted == (value is not None) or (not accepted and LEFT_OUT.search(text)), text
        assert not HELD.accepts(text) or value is not None, text
        if accepted:
            assert read(text) == (value, len(text))


@pytest.mark.parametrize("language", [FREE, HELD], ids=["free", "held"])
def test_samples_are_read_by_python(language: Language) -> None:
    for text in texts(language, 100):
        value = value_of(text)
        assert value is not None
        assert read(text) == (value, len(text))


@pytest.mark.parametrize("value", ["", "a", "it's", 'a "b"', "\\", "\n\r\t", "\x00\x1f", "é😀\u2028", "'\"", "\x7f"])
def test_values_have_a_literal_in_either_quote(value: str) -> None:
    spelled = [text.decode() for text in Language(constant_string(value), "constant").enumerate()]
    assert len(spelled) == 2
    assert {text[0] for text in spelled} == {"'", '"'}
    assert {ast.literal_eval(text) for text in spelled} == {value}
    held = Language(string_matching(concat(value)), "held")
    assert {ast.literal_eval(text) for text in texts(held, 20)} == {value}


def is_documented(text: str, value: str) -> bool:
    """Whether a literal is spelled as `string_matching` says."""
    body = text[1:-1]
    escapes = re.findall(r"\\(.)", body)
    if not escapes:
        return True
    if any(escape not in '"\\bfnrt' for escape in escapes):
        return False
    return text[0] == '"' or ("'" not in value and '"' not in re.sub(r"\\.", "", body))


@pytest.mark.parametrize("pattern", ["[an\"'\\n\\\\]*", 'a?"a*"', "'?a'", '[^"]{1,2}', "[\"']{2}|nn"])
def test_all_short_literals_of_patterns(pattern: str) -> None:
    held, accepted = Language(string_matching(regex(pattern)._node), "held"), 0
    for length in range(6):
        for letters in product("a\"'\\n", repeat=length):
            for quote in "'\"":
                text = f"{quote}{''.join(letters)}{quote}"
                is_one = quote not in re.sub(r"\\.", "", text[1:-1])
                value = value_of(text, longest=length) if is_one else None
                matches = value is not None and re.fullmatch(pattern, value, re.DOTALL) is not None
                assert held.accepts(text) == (matches and is_documented(text, value or "")), text
                accepted += matches
    assert accepted

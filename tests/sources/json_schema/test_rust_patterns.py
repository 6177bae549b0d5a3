"""Patterns of pydantic's strings: detent takes the texts that pydantic takes, which compiles them with Rust's regex."""

from __future__ import annotations

import itertools
import json
import random
from typing import Annotated, Any

import pytest

import detent
from detent.errors import UnsupportedError
from detent.sources.json_schema.python_types.rust_patterns import as_ecma_pattern

pydantic = pytest.importorskip("pydantic")

CLASSES = [
    *(r"\d", r"\D", r"\w", r"\W", r"\s", r"\S", ".", r"\pL", r"\PL", r"\p{Lu}", r"\x{e9}", r"\U000000e9", r"\a", r"\-"),
    *(
        r"[\W_]",
        r"[^\W_]",
        r"[^\D1]",
        r"[^\S\D]",
        r"[\w-]",
        r"[-\s]",
        "[]a]",
        "[^]a]",
        "[]-a]",
        "[^]-a]",
        "[--a]",
        "[-a]",
    ),
    *("[a-]", "[^-a-]", "[]-]", r"[a-c\-]", r"[\[\]]", "[.(?P<]", "[{1}]", r"[\d.]", "(?P<name>a)", "(?:a|b)"),
]
CASED = [
    "(?i)k",
    "(?i:[^k])",
    r"(?i:\w)",
    r"(?i)\W",
    r"(?i)[^\W_]",
    "(?i:[a-z])",
    "(?i)ß",
    "(?i)i",
    r"(?i:\p{Lu})",
    "(?i)(?-i)a",
    "(?i:.)",
]
OTHERS = [r"\b", r"\B", r"\A", r"\z", "^", "$", "a{1,2}", r"\w{ 2 }", "a*", "_"]
CHARACTERS = [*"aAb1_- .é٣\u0301\u200c\u2028\n\r\t\xa0\ufeff\u2167²日[](?P<&~{}\x07\x85\U0001f600"]


def adapter(pattern: str, **config: Any) -> Any:
    return pydantic.TypeAdapter(Annotated[str, pydantic.Field(pattern=pattern)], config=config or None)


def check_texts(pattern: str, texts: list[str]) -> None:
    kind = adapter(pattern)
    language = detent.json_schema(kind)
    for text in texts:
        try:
            kind.validate_python(text)
            is_valid = True
        except pydantic.ValidationError:
            is_valid = False
        assert language.accepts(json.dumps(text, ensure_ascii=False)) == is_valid, (pattern, text)


@pytest.mark.parametrize("pattern", CLASSES)
def test_each_class_has_the_characters_of_pydantic(pattern: str) -> None:
    check_texts(f"^{pattern}$", CHARACTERS)


@pytest.mark.parametrize("pattern", CASED)
def test_case_is_ignored_as_in_pydantic(pattern: str) -> None:
    check_texts(f"^{pattern}$", [*CHARACTERS, *"kKsSßſẞiIıσςΣ", "\u0130", "\u212a", "ss"])


@pytest.mark.parametrize("pattern", OTHERS)
def test_each_assertion_and_repeat_is_that_of_pydantic(pattern: str) -> None:
    check_texts(pattern, ["", *CHARACTERS, *map("".join, itertools.product("aé_ 1", repeat=2))])


@pytest.mark.parametrize("seed", range(40))
def test_random_patterns_take_the_texts_of_pydantic(seed: int) -> None:
    rng = random.Random(seed)
    pattern = "".join(rng.choice(CLASSES + OTHERS) for _ in range(rng.randint(2, 5))).replace("name", "n", 1)
    if pattern.count("(?P<") - pattern.count("[.(?P<") > 1:
        pattern = pattern.replace("(?P<name>a)", "a")
    texts = ["".join(rng.choice(CHARACTERS) for _ in range(rng.randint(0, 4))) for _ in range(60)]
    check_texts(f"^{pattern}$" if seed % 3 else pattern, texts)


@pytest.mark.parametrize(
    "pattern",
    [
        *("[[:alpha:]]", "[a[bc]]", "[a-z&&[^b]]", "[a-z--b]", "[a~~b]", "[]--a]", r"[^\w&&a]", r"\<a", r"\b{start}a"),
        *("(?s).", "(?m:^a)", "(?U)a*", "(?i-u:a)", r"(?i)\P{Lu}"),
    ],
)
def test_what_only_rust_reads_is_refused(pattern: str) -> None:
    with pytest.raises(UnsupportedError, match="Rust's"):
        detent.json_schema(adapter(pattern))
    with pytest.raises(UnsupportedError, match="Rust's"):
        as_ecma_pattern(pattern)


def test_a_comment_may_have_a_bracket() -> None:
    with pytest.raises(UnsupportedError, match="flags of Rust's"):
        detent.json_schema(adapter("(?x)^a # [ x"))


def test_patterns_of_another_engine_are_left_alone() -> None:
    python = detent.json_schema(adapter(r"^[a[]\d$", regex_engine="python-re"))
    assert python.accepts('"[1"') and not python.accepts('"b1"')


def test_patterns_of_pydantic_in_annotations_and_arguments_are_read_alike() -> None:
    assert detent.json_schema(WORD).accepts('"é"') and not detent.json_schema(WORD).accepts('"-"')
    assert detent.json_schema(DIGIT).accepts('"٣"')
    assert detent.json_schema(_call).accepts('{"word": "é", "digit": "٣"}')


WORD = Annotated[str, pydantic.Field(pattern=r"^\w+$")]
DIGIT = Annotated[str, pydantic.StringConstraints(pattern=r"^\d$")]


def _call(word: WORD, digit: DIGIT) -> None: ...

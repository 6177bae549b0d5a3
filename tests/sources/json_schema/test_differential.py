"""Random schemas and instances: detent beside `jsonschema`, both ways.

A text that detent accepts is a valid value; a valid value has a text that detent accepts; what detent generates is
valid. A schema may be refused, never weakened. DETENT_FUZZ_SCHEMAS=100000 runs that many schemas instead of a few
hundred, from DETENT_FUZZ_SEED on.
"""

from __future__ import annotations

import json
import math
import os
from collections.abc import Iterator
from fractions import Fraction
from itertools import permutations, product
from random import Random
from typing import Any

import pytest
from jsonschema import Draft202012Validator
from referencing import Registry

import detent
from tests.support.random_schemas import RandomSchemas, is_circular

_COUNT = int(os.environ.get("DETENT_FUZZ_SCHEMAS", "240"))
_SEED = int(os.environ.get("DETENT_FUZZ_SEED", "0"))
_CHUNKS = 8
_TOKENS = [bytes([byte]) for byte in range(256)]
_TOKENS += [
    b'"a"',
    b'": ',
    b", ",
    b'{"',
    b"}",
    b"]]",
    b"[[",
    b"true",
    b"null",
    b"12",
    b"0.5",
    b'a"',
    b'b":',
    "é".encode(),
]
_VOCABULARY = detent.Vocabulary([*_TOKENS, b""], eos_token_ids=[len(_TOKENS)])


pytestmark = pytest.mark.filterwarnings("ignore::detent.SchemaWarning")  # of the format that is made up


def validator(schema: Any) -> Draft202012Validator:
    """Make the judge; it fetches nothing."""
    return Draft202012Validator(schema, registry=Registry(), format_checker=Draft202012Validator.FORMAT_CHECKER)


def texts(value: Any) -> Iterator[str]:
    """Yield the value's texts, members in every order."""
    if isinstance(value, dict):
        for order in permutations(value):
            for members in product(*[list(texts(value[name])) for name in order]):
                yield "{" + ", ".join(f"{_text(n)}: {m}" for n, m in zip(order, members, strict=True)) + "}"
    elif isinstance(value, list):
        for items in product(*[list(texts(item)) for item in value]):
            yield "[" + ", ".join(items) + "]"
    else:
        yield _text(value)


def orders(value: Any) -> int:
    """Count the value's texts, members in every order."""
    if isinstance(value, dict):
        return math.factorial(len(value)) * math.prod(map(orders, value.values()))
    return math.prod(map(orders, value)) if isinstance(value, list) else 1


def _text(value: Any) -> str:
    return json.dumps(value, ensure_ascii=False)


def _compiled(schema: Any, order: str) -> detent.Language | None:
    """Make the language, None if the schema is refused."""
    try:
        return detent.json_schema(schema, order=order, spelling="any")
    except (detent.UnsupportedError, detent.LimitError):
        return None


@pytest.mark.parametrize("order", ["schema", "any"])
@pytest.mark.parametrize("chunk", range(_CHUNKS))
def test_verdicts_are_those_of_jsonschema(chunk: int, order: str) -> None:
    refused = 0
    seeds = range(_SEED + chunk, _SEED + _COUNT, _CHUNKS)
    for seed in seeds:
        made = RandomSchemas(seed)
        schema = made.schema()
        if is_circular(schema):
            continue
        try:
            language = _compiled(schema, order)
            is_empty = False
        except detent.EmptyLanguageError:
            language, is_empty = None, True
        if language is None and not is_empty:
            refused += 1
            continue
        judge = validator(schema)
        for _ in range(12):
            value = made.instance(schema, schema)
            for candidate in (value, made.mutated(value)):
                if orders(candidate) > 48:
                    continue
                is_valid = judge.is_valid(candidate)
                try:
                    verdicts = [language is not None and language.accepts(text) for text in texts(candidate)]
                except detent.LimitError:
                    continue
                agree = any(verdicts) == is_valid if order == "schema" else all(v == is_valid for v in verdicts)
                assert agree, (seed, _text(schema), _text(candidate), is_valid)
    assert refused <= len(seeds) * 0.5


@pytest.mark.parametrize("chunk", range(_CHUNKS))
def test_what_is_generated_is_valid(chunk: int) -> None:
    for seed in range(_SEED + chunk, _SEED + _COUNT, _CHUNKS):
        schema = RandomSchemas(seed).schema()
        if is_circular(schema):
            continue
        try:
            language = _compiled(schema, "any" if seed % 2 else "schema")
            if language is None:
                continue
            guide, shortest = detent.compile(language, _VOCABULARY), len(language.shortest())
        except (detent.EmptyLanguageError, detent.LimitError):
            continue
        judge, choose = validator(schema), Random(seed)
        for _ in range(3):
            text = _walk(guide.matcher(max_tokens=shortest + choose.randint(0, 40)), choose)
            assert judge.is_valid(json.loads(text, parse_float=_number)), (seed, _text(schema), text)


def _number(text: str) -> object:
    """Read a number so that the judge sees its fraction, however large it is."""
    number = float(text)
    return number if "e" in text.lower() or abs(number) < 2**50 else Fraction(text)


def _walk(matcher: detent.Matcher, choose: Random) -> bytes:
    """Take random allowed tokens to the end; structure more often than letters, so that texts have some."""
    text = b""
    while True:
        allowed = matcher.allowed().tolist()
        if len(_TOKENS) in allowed and choose.random() < 0.3:
            return text
        allowed = [token for token in allowed if token < len(_TOKENS)]
        if not allowed:
            return text
        marked = [token for token in allowed if token >= 256 or chr(token) in '{}[]",:0123456789tfnab']
        token = choose.choice(marked if marked and choose.random() < 0.9 else allowed)
        matcher.advance(token)
        text += _TOKENS[token]

"""Lists of distinct items with more items than a flat union holds, against plain Python: every mask on the way."""

from __future__ import annotations

import json
from collections.abc import Callable
from random import Random
from typing import Any

import jsonschema
import pytest

import detent
from detent import _core
from detent.language import Language
from detent.sources.nodes import concat, union

_LETTERS = [
    first + second + third for first in ("a", "ab", "b") for second in ("", "a", "b") for third in ("", "c", "ca")
]
_NUMBERS = [str(number) for number in (*range(-4, 40), 100, 110, 1200)]
_KINDS: dict[str, list[str]] = {
    "strings": [f'"{text}"' for text in _LETTERS]
    + [f'"long {text}"' for text in _LETTERS]
    + ['""', '"\\u0061"', '"\\""'],
    "numbers": [*_NUMBERS, "1.0", "1e1", "0.5", "5e-1", "0.05", "1.1e2", "12e2", "-4.0"],
    "integers": [*_NUMBERS, "-0", "null", '{"a":-0}', *(f'{{"a":{number}}}' for number in _NUMBERS)],
    "objects": [f'{{"a":{number}}}' for number in _NUMBERS] + ['{ "a" : 7 }', '{"\\u0061":7.0}'],
    "all": [
        *_NUMBERS,
        *(f'"{text}"' for text in _LETTERS),
        *(f'{{"a":{number}}}' for number in _NUMBERS),
        "true",
        "null",
    ],
}
"""The texts of items, which contain no comma; some have equal values."""
_TOKENS = [
    "a",
    "b",
    "c",
    "ca",
    '","',
    '",',
    ",",
    ',"',
    "1",
    "1,",
    "1,1",
    ",1",
    "0",
    "00",
    "},",
    '},{"a":',
    ":1}",
    "[",
    "]",
]
_TOKENS += ['"]', '["', ".0", "e1", "e1,", "long ", ' "', '":', "rue", "-", '{"a":', "0.", "\\u0061", "1200", "110,1"]


def _key(text: str) -> str:
    """Return a text that equal values share."""
    return json.dumps(json.loads(text, parse_int=lambda digits: float(digits) + 0.0), sort_keys=True)


class _Plain:
    """The lists of distinct items, by their texts."""

    def __init__(self, items: list[str]) -> None:
        self._keys = {item: _key(item) for item in items}

    def may_begin(self, text: str) -> bool:
        """Whether a list begins with a text."""
        if not text.startswith("["):
            return text == ""
        is_whole = text.endswith("]")
        *before, last = text[1 : -1 if is_whole else None].split(",")
        used = {self._keys.get(item) for item in before}
        if None in used or len(used) < len(before):
            return False
        if is_whole:
            return (not before and not last) or self._keys.get(last) not in {None, *used}
        return any(item.startswith(last) and key not in used for item, key in self._keys.items())


@pytest.mark.parametrize("name", _KINDS)
def test_every_mask_of_long_lists(name: str) -> None:
    items = _KINDS[name]
    plain = _Plain(items)
    letters = sorted({letter for item in items for letter in item} | set("[],"))
    tokens = list(dict.fromkeys(letters + _TOKENS))
    vocabulary = detent.Vocabulary([token.encode() for token in tokens] + [b""], eos_token_ids=[len(tokens)])
    listed = _core.distinct(union(*items), _core.literal(b""), _core.literal(b","), 0, None)
    guide = detent.compile(Language(concat("[", listed, "]"), "a long list"), vocabulary)
    for seed in range(3):
        rng = Random(seed)
        matcher, text = guide.matcher(), ""
        while text.count(",") < 36 and not text.endswith("]"):
            expected = [i for i, token in enumerate(tokens) if plain.may_begin(text + token)]
            assert [i for i in matcher.allowed() if i < len(tokens)] == expected, text
            going_on = [i for i in expected if not tokens[i].endswith("]")]
            taken = rng.choice(going_on or expected)
            matcher.advance(taken)
            text += tokens[taken]
        assert len(set(map(_key, text[1:].strip("]").split(",")[:-1]))) >= 20, text


def _string(number: int) -> str:
    return "/".join(["list", *str(number), "é\n"][: 2 + number % 9])


_VALUES: dict[str, tuple[Any, Callable[[int], Any]]] = {
    "integers": ({"type": "integer"}, lambda i: i * i - 40),
    "numbers": ({"type": "number"}, lambda i: i / 8),
    "strings": ({"type": "string"}, _string),
    "patterns": ({"type": "string", "pattern": "^k[0-9]+$"}, lambda i: f"k{i}"),
    "objects": ({"properties": {"a": {"type": "integer"}}, "required": ["a"]}, lambda i: {"a": i, "b": _string(i)}),
    "arrays": ({"type": "array", "items": {"type": "integer"}}, lambda i: [i % 7, i]),
    "all": ({}, lambda i: (i, float(i) + 0.5, _string(i), [i], {"k": i})[i % 5]),
}


@pytest.mark.parametrize("name", _VALUES)
def test_repeated_items_are_refused_in_lists_of_all_lengths(name: str) -> None:
    items, value_of = _VALUES[name]
    schema = {"type": "array", "items": items, "uniqueItems": True}
    held, validator = detent.json_schema(schema), jsonschema.Draft202012Validator(schema)
    values: list[Any] = []
    for i in range(120):
        if value_of(i) not in values:
            values.append(value_of(i))
    rng = Random(3)
    for count in (10, 15, 16, 17, 18, 33, len(values)):
        for _ in range(2):
            chosen = rng.sample(values, count)
            assert held.accepts(json.dumps(chosen))
            repeated = [*chosen, rng.choice(chosen)]
            assert not validator.is_valid(repeated)
            assert not held.accepts(json.dumps(repeated))
            mismatch = held.why(json.dumps(repeated))
            assert mismatch is not None
            assert mismatch.position > len(json.dumps(chosen)) - 1


def test_names_of_many_members_are_distinct() -> None:
    schema = {"type": "object", "additionalProperties": {"type": "integer"}, "minProperties": 3}
    held = detent.json_schema(schema)
    names = [_string(i) for i in range(0, 300, 7)]
    members = [f"{json.dumps(name)}: {i}" for i, name in enumerate(dict.fromkeys(names))]
    assert held.accepts("{" + ", ".join(members) + "}")
    for repeated in members[::5]:
        assert not held.accepts("{" + ", ".join([*members, repeated]) + "}")

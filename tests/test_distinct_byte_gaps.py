"""Lists of distinct items over vocabularies that lack tokens for some bytes: masks against all texts of a schema."""

from __future__ import annotations

import json
import random
from typing import Any

import pytest

import detent
from detent.queries import ByteDfa
from tests.support.long_tests import mostly_long
from tests.test_byte_gaps import _VOCABULARIES

_LONGEST = 17
"""The length in bytes of the texts that are listed, where there are infinitely many."""
_WALKED = 8
"""The length up to which such texts are walked: each token that may follow then leads to a text in the list."""

_WORD = {"type": "string", "pattern": "^[aé]*$"}
_LISTS: dict[str, dict[str, Any]] = {
    "short words": {"items": {"type": "string", "pattern": "^[aé]{0,2}$"}, "maxItems": 2},
    "two words": {"items": _WORD, "minItems": 2, "maxItems": 2},
    "words": {"items": _WORD},
    "one character": {"items": {"type": "string", "pattern": "^[b漢é]$"}, "minItems": 1, "maxItems": 3},
    "choices": {"items": {"enum": ["a", "é", "漢"]}, "minItems": 2, "maxItems": 3},
    "two words of é": {"items": {"type": "string", "pattern": "^é{1,2}$"}, "minItems": 2, "maxItems": 2},
    "three words of é": {"items": {"type": "string", "pattern": "^é{0,2}$"}, "minItems": 3, "maxItems": 3},
    "pairs": {"items": {"type": "array", "items": {"enum": ["a", "é"]}, "maxItems": 1}, "maxItems": 2},
}
_SHORT = {"type": "array", "items": {"type": "string", "pattern": "^[aé]$"}, "maxItems": 2, "uniqueItems": True}
_OBJECT = {
    "type": "object",
    "properties": {"a": _SHORT, "b": {"enum": ["é", 1]}},
    "required": ["b"],
    "additionalProperties": False,
}
_SCHEMAS = {name: {"type": "array", "uniqueItems": True, **schema} for name, schema in _LISTS.items()}
_SCHEMAS |= {"members": _OBJECT, "lists": {"type": "array", "items": _SHORT, "maxItems": 1}}


def _language(schema: dict[str, Any], *, unique: bool) -> detent.Language:
    text = json.dumps(schema)
    return detent.json_schema(text if unique else text.replace("uniqueItems", "title"), whitespace="compact")


def _is_distinct(value: Any) -> bool:
    if isinstance(value, dict):
        return all(map(_is_distinct, value.values()))
    if not isinstance(value, list):
        return True
    return all(map(_is_distinct, value)) and all(one != other for i, one in enumerate(value) for other in value[:i])


def _is_infinite(schema: dict[str, Any]) -> bool:
    return schema.get("items") is _WORD


def _texts(schema: dict[str, Any]) -> list[bytes]:
    """List the texts up to a length."""
    core: Any = ByteDfa(_language(schema, unique=False)._node)._core
    found, pending = [], [(b"", core.start)]
    for text, state in pending:
        if core.accepting(state) and _is_distinct(json.loads(text)):
            found.append(text)
        if len(text) < _LONGEST or not _is_infinite(schema):
            row = core.row(state)
            after = [(byte, row[core.class_of[byte]]) for byte in range(256)]
            pending += [(text + bytes([byte]), state) for byte, state in after if state]
    return found


_TEXTS = {name: _texts(schema) for name, schema in _SCHEMAS.items()}


def _following(texts: list[bytes], tokens: list[bytes]) -> dict[bytes, set[int]]:
    """Give the tokens that may follow each beginning; -1 is the end."""
    following: dict[bytes, set[int]] = {}
    by_first: list[list[tuple[int, bytes]]] = [[] for _ in range(256)]
    for number, token in enumerate(tokens):
        by_first[token[0]].append((number, token))
    for text in texts:
        ends_at = [False] * len(text) + [True]  # whether tokens write the text from there on
        steps: list[list[int]] = [[] for _ in ends_at]
        for start in reversed(range(len(text))):
            steps[start] = [
                number
                for number, token in by_first[text[start]]
                if text.startswith(token, start) and ends_at[start + len(token)]
            ]
            ends_at[start] = bool(steps[start])
        if ends_at[0]:
            for end, step in enumerate(steps):
                following.setdefault(text[:end], set()).update(step)
            following[text].add(-1)
    return following


@pytest.mark.parametrize("name", _SCHEMAS)
@pytest.mark.parametrize("gap", _VOCABULARIES)
def test_masks(gap: str, name: str) -> None:
    vocabulary = _VOCABULARIES[gap]
    eos = len(vocabulary) - 1
    tokens = [vocabulary.token_bytes(token) for token in range(eos)]
    following = _following(_TEXTS[name], tokens)
    language = _language(_SCHEMAS[name], unique=True)
    if not following:
        with pytest.raises(detent.EmptyLanguageError):
            detent.compile(language, vocabulary)
        return
    guide = detent.compile(language, vocabulary)
    longest = _WALKED if _is_infinite(_SCHEMAS[name]) else len(max(_TEXTS[name], key=len))
    for seed in range(4):
        choose, matcher, text = random.Random(seed), guide.matcher(), b""
        while len(text) <= longest:
            near = {eos, *(token for token in range(eos) if len(text) + len(tokens[token]) <= longest)}
            expected = {eos if token == -1 else token for token in following[text]} & near
            assert set(matcher.allowed().tolist()) & near == expected, text
            token = choose.choice([*expected, eos])
            if token == eos:
                break
            matcher.advance(token)
            text += tokens[token]


@pytest.mark.parametrize("gap", _VOCABULARIES)
def test_an_undeclared_member_that_must_not_be_an_integer(gap: str) -> None:
    vocabulary = _VOCABULARIES[gap]
    schema = {"type": "object", "not": {"additionalProperties": {"type": "integer"}}}
    language = detent.json_schema(schema, order="any", whitespace="compact")
    try:
        guide = detent.compile(language, vocabulary)
    except detent.EmptyLanguageError:
        return
    for seed in range(9):
        choose, matcher, text = random.Random(seed), guide.matcher(), b""
        for _ in range(40):
            row = matcher.allowed().tolist()
            # Of a name, the end; of a value, any byte.
            ends = [token for token in row if vocabulary.token_bytes(token)[:1] in (b'"', b"}", b"")]
            matcher.advance(token := choose.choice(ends or row))
            if matcher.is_finished:
                break
            text += vocabulary.token_bytes(token)
        if matcher.is_finished:
            values = json.loads(text).values()
            assert any(not isinstance(member, int) or isinstance(member, bool) for member in values)


# Vocabularies of pieces of the texts: most bytes are tokens only together with others.

_OBJECTS: dict[str, dict[str, Any]] = {
    "objects": {"items": {"properties": {"ab": {"enum": [0, 1]}}}, "maxItems": 2},
    "objects with a word": {
        "items": {"properties": {"k": {"pattern": "^[ab]{0,1}$"}}, "required": ["k"]},
        "maxItems": 2,
    },
    "one to two": {"items": {"anyOf": [{"enum": [0, 1]}, {"pattern": "^a{0,1}$"}]}, "minItems": 1, "maxItems": 2},
    "two of twenty": {"items": {"enum": list(range(20))}, "minItems": 2, "maxItems": 2},
}


def _typed(schema: dict[str, Any]) -> dict[str, Any]:
    """Give the parts of a schema a type."""
    typed = {key: _typed(part) if isinstance(part, dict) and key == "items" else part for key, part in schema.items()}
    if "properties" in schema:
        members = {name: _typed(member) for name, member in schema["properties"].items()}
        return {**typed, "type": "object", "properties": members, "additionalProperties": False}
    if "items" in schema:
        return {**typed, "type": "array", "uniqueItems": True}
    if "anyOf" in schema:
        return {"anyOf": [_typed(part) for part in schema["anyOf"]]}
    return {**schema, "type": "string"} if "pattern" in schema else schema


_OBJECT_TEXTS = {name: _texts(_typed(schema)) for name, schema in _OBJECTS.items()}


def _pieces(choose: random.Random, texts: list[bytes]) -> list[bytes]:
    found = set()
    for _ in range(choose.randrange(10, 40)):
        text = choose.choice(texts)
        start = choose.randrange(len(text))
        found.add(text[start : start + choose.choice([1, 2, 3, 4, 6, 9])])
    letters = sorted({bytes([byte]) for text in texts for byte in text})
    found |= {*choose.sample(letters, choose.randrange(len(letters)))}
    return sorted(found)


def _fewest(texts: list[bytes], tokens: list[bytes]) -> dict[bytes, int]:
    """Give the fewest tokens that complete a text after each beginning; of those that tokens cannot write, no entry."""
    fewest: dict[bytes, int] = {}
    for text in texts:
        counts = {len(text): 0}
        for start in reversed(range(len(text))):
            ends = [start + len(token) for token in tokens if text.startswith(token, start)]
            after = [counts[end] for end in ends if end in counts]
            if after:
                counts[start] = 1 + min(after)
        for start, count in counts.items():
            fewest[text[:start]] = min(count, fewest.get(text[:start], count))
    return fewest


@pytest.mark.parametrize("name", _OBJECTS)
@pytest.mark.parametrize("seed", mostly_long(range(200), always=40))
def test_masks_and_budgets_of_pieces(seed: int, name: str) -> None:
    """A mask has the tokens that lead on, and each token that a mask within a budget has may be taken."""
    choose, texts = random.Random(seed), _OBJECT_TEXTS[name]
    tokens = _pieces(choose, texts)
    eos = len(tokens)
    following = _following(texts, tokens)
    language = _language(_typed(_OBJECTS[name]), unique=True)
    vocabulary = detent.Vocabulary([*tokens, b""], eos_token_ids=[eos])
    if not following:
        with pytest.raises(detent.EmptyLanguageError):
            detent.compile(language, vocabulary)
        return
    guide = detent.compile(language, vocabulary)
    fewest = _fewest(texts, tokens)
    for budget in (None, None, *range(fewest[b""], fewest[b""] + 4)):
        try:
            matcher, text = guide.matcher(budget), b""
        except detent.DetentError:
            continue  # no completion is known that fits
        while not matcher.is_finished:
            expected = {eos if token == -1 else token for token in following[text]}
            if budget is not None:
                left = budget - len(matcher) - 1
                expected = {token for token in expected if token == eos or fewest[text + tokens[token]] <= left}
            allowed = set(matcher.allowed().tolist())
            assert allowed == expected if budget is None else allowed and allowed <= expected, (text, budget)
            token = choose.choice(sorted(allowed))
            matcher.advance(token)
            text += b"" if token == eos else tokens[token]


@pytest.mark.parametrize(
    ("schema", "tokens", "expected"),
    [
        # After `["1"` only `,"1"]` goes on.
        (
            {"items": {"type": "string", "pattern": "^[0-9]*$"}, "minItems": 2},
            [b"[", b'["1"', b'["1', b'["2', b',"1"]', b"1", b'"'],
            [b"[", b'["1', b'["2'],
        ),
        # The list has another item after the one that it needs.
        ({"items": {"type": ["string", "integer"]}, "minItems": 1, "maxItems": 2}, [b"[", b'0,""]'], [b"["]),
    ],
    ids=["the same item again", "a second item"],
)
def test_the_first_mask(schema: dict[str, Any], tokens: list[bytes], expected: list[bytes]) -> None:
    language = _language({"type": "array", "uniqueItems": True, **schema}, unique=True)
    guide = detent.compile(language, detent.Vocabulary([*tokens, b""], eos_token_ids=[len(tokens)]))
    assert [tokens[token] for token in guide.matcher().allowed()] == expected


_WITHOUT_COMMA = [bytes([byte]) for byte in range(256) if byte != ord(",")] + [b'{"a"', b'{"b"', b'"b":1', b"[1", b"[3"]


@pytest.mark.parametrize("order", ["schema", "any"])
@pytest.mark.parametrize(
    ("schema", "text"),
    [
        ({"properties": {"b": {"enum": [1, 2]}, "a": {"enum": [1, 2]}}, "required": ["a"]}, b'{"a":1}'),
        ({"properties": {"b": {"enum": [1, 2]}, "a": {"enum": [1, 2]}}, "minProperties": 1}, b'{"b":2}'),
        ({"properties": {"b": {"enum": [1, 2]}, "a": {"enum": [1, 2]}}, "required": ["a", "b"]}, None),
        (
            {"properties": {"b": {"$ref": "#/$defs/c"}}, "$defs": {"c": {"properties": {"b": {"$ref": "#"}}}}},
            b'{"b":{}}',
        ),
        ({"items": {"enum": list(range(7))}, "contains": {"const": 3}}, b"[3]"),
        ({"items": {"enum": list(range(20))}, "minItems": 1}, b"[3]"),
        ({"items": {"enum": list(range(20))}, "minItems": 2}, None),
        ({"items": {"type": "string"}, "minItems": 2}, None),
    ],
    ids=str,
)
def test_a_vocabulary_without_a_comma(schema: dict[str, Any], text: bytes | None, order: Any) -> None:
    """A list has at most one member or item: each allowed token leads to such a one."""
    kind = {"type": "array", "uniqueItems": True} if "items" in schema else {"type": "object"}
    closed = {"additionalProperties": False} if "properties" in schema else {}
    language = detent.json_schema({**schema, **kind, **closed}, order=order, whitespace="compact")
    eos = len(_WITHOUT_COMMA)
    vocabulary = detent.Vocabulary([*_WITHOUT_COMMA, b""], eos_token_ids=[eos])
    if text is None:
        with pytest.raises(detent.EmptyLanguageError):
            detent.compile(language, vocabulary)
        return
    guide = detent.compile(language, vocabulary)
    for start in range(len(text) + 1):
        matcher = guide.matcher()
        matcher.advance_bytes(text[:start])
        allowed = matcher.allowed().tolist()
        assert allowed
        for token in allowed:
            after = matcher.fork()
            after.advance(token)
            written = b"".join(_WITHOUT_COMMA[each] for each in after.completion() if each != eos)
            whole = text[:start] + (b"" if token == eos else _WITHOUT_COMMA[token]) + written
            assert b"," not in whole and language.accepts(whole), whole

"""Masks from slices and reference masks, compared with the naive masks: each token followed byte by byte."""

from __future__ import annotations

import os
import random
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from functools import lru_cache
from typing import Any

import numpy as np
import pytest

import detent
from detent import _core
from detent.language import Language
from detent.queries import ByteDfa
from tests.support.random_schemas import RandomSchemas

_COUNT = int(os.environ.get("DETENT_FUZZ_SCHEMAS", "150"))

_MARKS = ['"', '":', '": "', '", "', ",", "}", "]", "{", "[", " ", "\n"]
_PIECES = [*_MARKS, "\\", "\\n", "\\u", "\\u00", "\\ud83d", '\\"', "é", "😀"]
_WORDS = ["a", "b", "ab", "name", "alpha", "x1", "0", "12", "-", ".5", "e", "true", "null", "/", "@", "foo"]


def _vocabulary(seed: int) -> detent.Vocabulary:
    """Every byte, and tokens of up to 40 bytes from pieces of JSON, some of which end inside a character."""
    choose = random.Random(seed)
    tokens = {bytes([byte]) for byte in range(256)}
    for name in ("a", "ab", "name", "x1", 'na\\"me', "", "é", "0", "true"):
        tokens.update(f'{before}"{name}"{after}'.encode() for before in ("", " ", "{") for after in ("", ":", ": 1, "))
        tokens.update(f'{name}"{after}'.encode() for after in ("", ":", ": 1}"))
    while len(tokens) < 2500:
        parts = choose.choices([*_PIECES, *_WORDS, *_WORDS], k=choose.choice((1, 2, 2, 3, 3, 4, 9)))
        token = "".join(parts).encode()[:40]
        if choose.random() < 0.1:
            token = choose.choice((b"a", b"-", b" ", b"ab", b"foo")) * choose.randrange(2, 14)
        tokens.add(token[: choose.randrange(1, len(token) + 1)] if choose.random() < 0.2 else token)
    ordered = sorted(tokens)
    choose.shuffle(ordered)
    return detent.Vocabulary([*ordered, b""], eos_token_ids=[len(ordered)])


_VOCABULARIES = [_vocabulary(seed) for seed in range(2)]

_STRINGS: list[dict[str, Any]] = [
    {"maxLength": 3},
    {"maxLength": 12},
    {"maxLength": 33},
    {"maxLength": 64},
    {"maxLength": 1000},
    {"minLength": 2, "maxLength": 40},
    {"minLength": 50},
    {"minLength": 5, "maxLength": 9},
    {"minLength": 3, "pattern": "^[a-z ]*$"},
    {"pattern": "^[a-z]+$", "maxLength": 20},
    {"pattern": "^(\\S+\\s){0,5}\\S+$", "maxLength": 30},
    {"pattern": "a.*b", "minLength": 3},
    {"pattern": "^(ab)*$", "maxLength": 7},
    {"pattern": "^[ab]*$", "minLength": 3, "maxLength": 30},
    {"pattern": "^a{0,45}b?$"},
    {"pattern": "^([a-z]{1,26}[.-]){1,27}[a-z]{2,25}$"},
    {"pattern": "^([-a]{1,24}|(foo){0,12}x1?)@([a-b]{1,25}[/-])*[a-z]+$", "maxLength": 48},
    {"not": {"const": "name"}},
    {"not": {"enum": ["a", "name", "foo"]}, "minLength": 2},
    {"not": {"pattern": "foo"}, "maxLength": 100},
    {"format": "date"},
    {"enum": ["a", "ab", "alpha", "é\n"]},
]


_NAMES = [
    ["a"],
    ["name", "alpha"],
    ["a", "ab", "name", "foo", "x1"],
    ["é", 'na"me', "", "a"],
    ["0", "12", "true", "ab"],
]


def _objects() -> list[Any]:
    """Objects whose undeclared members have other names than the declared ones."""
    found: list[Any] = []
    for names in _NAMES:
        declared: dict[str, Any] = {name: {"type": ["integer", "null", "string"]} for name in names}
        found.append({"type": "object", "properties": declared})
        found.append({"type": "object", "properties": declared, "required": names[:1], "minProperties": 1})
        found.append({"type": "object", "properties": {**declared, names[-1]: {"$ref": "#"}}})
        found.append({"type": "object", "properties": declared, "additionalProperties": {"type": "integer"}})
        found.append({"properties": declared, "patternProperties": {"^x": {"$ref": "#"}}, "type": "object"})
    return found


def _schemas() -> list[Any]:
    found: list[Any] = []
    for number, string in enumerate(_STRINGS):
        found.append({"type": "string", **string})
        member = {"type": "object", "properties": {"name": {"type": "string", **string}, "alpha": {"type": "integer"}}}
        found.append(member if number % 2 else {**member, "additionalProperties": {"type": "string", **string}})
        either = {"anyOf": [{"type": "string", **string}, {"type": "string", "maxLength": 5}]}
        found.append({"type": "array", "items": either})
    found += [RandomSchemas(seed).schema() for seed in range(_COUNT)]
    return found


_SCHEMAS = _schemas()


_BEGINNINGS = [
    "",
    "{",
    '{"',
    '{"n',
    '{"na',
    '{"name',
    '{"a',
    '{"a"',
    '{"a":',
    '{"a": 1',
    '{"a": 1,',
    '{"a": 1, ',
    '{"a": 1, "',
    '{"a": 1, "na',
]
_BEGINNINGS += [
    *(f'{{"name": null, {text[1:]}' for text in _BEGINNINGS[2:]),
    *(f'{{"z": {text}' for text in _BEGINNINGS),
]


@pytest.mark.parametrize("order", ["schema", "any"])
@pytest.mark.parametrize("number", range(len(_objects())))
def test_masks_between_names_are_the_naive_ones(number: int, order: Any) -> None:
    vocabulary = _VOCABULARIES[number % 2]
    byte_tokens = {vocabulary.token_bytes(token): token for token in range(len(vocabulary) - 1)}
    language = detent.json_schema(_objects()[number], order=order)
    automaton = ByteDfa(language._node)._core
    guide = detent.compile(language, vocabulary)
    compared = 0
    for beginning in _BEGINNINGS:
        state = automaton.advance(automaton.start, beginning.encode())
        if state == 0:
            continue
        matcher = guide.matcher()
        for byte in beginning.encode():
            matcher.advance(byte_tokens[bytes([byte])])
        actual = {int(token) for token in matcher.allowed()}
        assert actual == _naive(automaton, state, vocabulary), beginning
        compared += 1
    assert compared > 2


_PATTERNS = [
    r'(x|\n[ \t]{0,96})?"[a-z]{3,}"',
    r"( | {2,20}|a)?[ab]{0,3}-[a-z]{9,}-b",
    r"([a-z]{1,20}|[0-9])-foo",
    r"(\n {0,40})?(true|null|name|namealpha)( |\n {0,40})?,",
    r"alpha(x1(name|foo)|ab*)?",
    r'" {0,30}[a-z]{2,40}"[0-9]+',
    r'[a"]{4,}"b',
    r"(ab){5,}-",
    r'": ?(-?(0|[1-9][0-9]*)(\.[0-9]+)?|null|true|"[^"]*"|\{\n {0,96}("name"|"alpha"): ?), ?"b"',
    r'[0-9]{0,15}(\.[0-9]{0,15}[1-9])?(, ?("a"|"ab"|"name": ?[0-9]+))?\n? {0,20}\}',
]


# A quotation mark ends a word, begins one, or is inside: where a string ends, a word may be half read. The last two
# bound the whole text.
_WORDS_LEFT_OUT = [("foo", "ab"), ('x"', "foo"), ('"a', "x1"), ('": ', "f"), ('x",', 'b"}', "ab"), ("\\\\", "o")]
# With every last letter, no letter and no hexadecimal digit is a byte that ends no word. The states of hundreds of
# words are too many to be visited. Further words are in names, numbers and white space.
_MORE_WORDS_LEFT_OUT = [
    [f"{first}{letter}" for letter in "abcdefghijklmnopqrstuvwxyz" for first in "lxz"],
    [f"{a}{b}{c}x{d}" for a in "alm" for b in "abex" for c in "mnoab" for d in "abcefgh"],
    [*"abcdefghijklmnopqrstuvwxyz0123456789"],
    ["name", "12", "tru"],
    ["\n ", "  ", "5"],
    ["é", "\ud7ffa", "a\\"],
    ["abb", "ba"],
    ["12,", "0}", "5,"],
]
_CONDITIONS = [
    *(detent.without(*words) for words in [*_WORDS_LEFT_OUT, *_MORE_WORDS_LEFT_OUT]),
    ~detent.containing("foo", "ab", ignore_case=True),
    ~detent.regex(r'(?s).*[^a]"[]}]?'),
    ~detent.regex(r"(?s)([^x]|x[^1])*"),
    ~detent.regex(r'(?s)[^"]*"name.*'),
    ~detent.regex(r"(?s).{0,40}"),
    detent.text(0, 30),
    detent.text(9, 70),
]


def _naive(automaton: Any, state: int, vocabulary: detent.Vocabulary) -> set[int]:
    tokens = range(len(vocabulary) - 1)
    allowed = {token_id for token_id in tokens if automaton.advance(state, vocabulary.token_bytes(token_id)) != 0}
    if automaton.accepting(state):
        allowed.add(len(vocabulary) - 1)
    return allowed


def _compare_along_walk(
    guide: detent.Guide,
    automaton: Any,
    choose: random.Random,
    steps: int,
    prefer: Callable[[bytes], bool] = lambda token: True,
) -> int:
    """Assert that the masks of a random walk are the naive ones; return their number.

    The walk takes tokens that are preferred where there are any.
    """
    vocabulary, matcher, state = guide.vocabulary, guide.matcher(), automaton.start
    for step in range(steps):
        expected = _naive(automaton, state, vocabulary)
        assert {int(token) for token in matcher.allowed()} == expected, (guide, matcher.token_ids)
        text = sorted(expected - {len(vocabulary) - 1})
        if not text:
            return step + 1
        token = choose.choice([each for each in text if prefer(vocabulary.token_bytes(each))] or text)
        matcher.advance(token)
        for byte in vocabulary.token_bytes(token):
            state = automaton.advance(state, bytes([byte]))
    return steps


@pytest.mark.filterwarnings("ignore::detent.SchemaWarning")
@pytest.mark.parametrize("chunk", range(6))
def test_masks_are_the_naive_ones(chunk: int) -> None:
    """Along random walks, with and without other guides' masks in the cache."""
    compared = 0
    for number, schema in enumerate(_SCHEMAS[chunk::6]):
        choose = random.Random(number)
        vocabulary = _VOCABULARIES[number % 2]
        order = choose.choice(("schema", "any"))
        try:
            language = detent.json_schema(schema, order=order)
            if number % 2 == 0:
                language = language & choose.choice(_CONDITIONS)
            guide = detent.compile(language, vocabulary)
        except detent.DetentError:
            continue
        compared += _compare_along_walk(guide, ByteDfa(language._node)._core, choose, 8)
    assert compared > 50


@pytest.mark.filterwarnings("ignore::detent.SchemaWarning")
@pytest.mark.parametrize("number", range(len(_WORDS_LEFT_OUT) + len(_MORE_WORDS_LEFT_OUT)))
def test_masks_without_words_are_the_naive_ones(number: int) -> None:
    """Along random walks inside strings, names and numbers that exclude words."""
    words = [*_WORDS_LEFT_OUT, *_MORE_WORDS_LEFT_OUT][number]
    choose = random.Random(number)
    vocabulary = _VOCABULARIES[number % 2]
    schemas = [{"type": "string", **string} for string in _STRINGS]
    schemas += [{"type": "array", "items": {"type": "string", **string}, "minItems": 2} for string in _STRINGS[::3]]
    schemas += choose.sample(_objects(), 6)
    compared = 0
    for schema in schemas:
        language = detent.json_schema(schema, order=choose.choice(("schema", "any"))) & detent.without(*words)
        try:
            guide = detent.compile(language, vocabulary)
        except detent.EmptyLanguageError:
            continue
        # Tokens of letters rather than those that end the string, so that walks are long.
        automaton = ByteDfa(language._node)._core
        compared += _compare_along_walk(guide, automaton, choose, 6, lambda token: b'"' not in token)
    assert compared > 40


@pytest.mark.parametrize(
    ("condition", "text"),
    [
        (detent.without("12,"), '{"a": 12, "b": "x", "c": ["y", "name"]}'),  # after 12 another one than after 13
        (detent.without("2, ", "e1"), '{"a": 13, "b": "12, e", "c": ["12"]}'),
        (~detent.regex(r'(?s)[^"]*"a": 1[^"]*"b": "name.*'), '{"a": 2, "b": "name", "c": ["name"]}'),
        (~detent.regex(r'(?s)[^"]*"name.*'), '{"a": 2, "b": "name", "c": ["name"]}'),  # of the first string alone
        (~(detent.regex('[{]x*"') + detent.containing("name")), '{\n"a": 2, "b": "name", "c": ["name"]}'),
        (~detent.regex(r'(?s)[^"]*"[^"]*"[^"]*"name.*'), '{"a": 12, "b": "namex", "c": ["name", "name"]}'),
    ],
)
def test_masks_where_a_condition_depends_on_what_was_read(condition: Language, text: str) -> None:
    pieces = [
        "12",
        "12,",
        "12, ",
        "2, ",
        ": 12",
        ": 12,",
        "1",
        "13, ",
        ' "na',
        "name",
        '"name',
        '"name"',
        '", "',
        '": "',
    ]
    tokens = [*(bytes([byte]) for byte in range(256)), *(piece.encode() for piece in pieces), b""]
    vocabulary = detent.Vocabulary(tokens, eos_token_ids=[len(tokens) - 1])
    items = {"type": "array", "items": {"type": "string"}, "minItems": 1}
    members = {"a": {"type": "integer"}, "b": {"type": "string"}, "c": items}
    language = detent.json_schema({"type": "object", "properties": members, "required": ["a", "c"]}) & condition
    automaton = ByteDfa(language._node)._core
    matcher = detent.compile(language, vocabulary).matcher()
    state = automaton.start
    for byte in text.encode():
        assert {int(token) for token in matcher.allowed()} == _naive(automaton, state, vocabulary), text
        if (state := automaton.advance(state, bytes([byte]))) == 0:
            break
        matcher.advance(byte)


@pytest.mark.parametrize("pattern", _PATTERNS)
def test_masks_of_patterns_are_the_naive_ones(pattern: str) -> None:
    """Along random walks; the second guide finds the slices of the first."""
    language = detent.regex(pattern)
    automaton = ByteDfa(language._node)._core
    for seed in range(12):
        choose = random.Random(seed)
        vocabulary = _VOCABULARIES[seed % 2]
        _compare_along_walk(detent.compile(language, vocabulary), automaton, choose, 12)


_NUMBERS = [
    r"-?(0|[1-9][0-9]?)(\.5)?[,1x]",
    r"[1-9][0-9]{0,2}([.]x|,|e1)",
    r'": (12?|30?)(5x|[]}])',
    r"[1-3][0-9]?[,\]]",  # first: the next one begins with the same number
    r"[1-3][0-9]?x?[0-9y]",
    r"(12?|30?)x?[0-9y]",
    r"(12|3)?(1,|[.,] ?[0-9])*",
    r"[0-9]{1,2}(,5?[0-9]{1,2})*]",
    r"(true|1[0-9]?)(0|,)",
    r"([1-4]?[0-9]|50)([-x][0-9]+)?( {0,9}[0-9]|})",
]


@lru_cache
def _digits() -> detent.Vocabulary:
    """One vocabulary, whose masks the languages of the test share."""
    digits = [
        f"{before}{number}{after}"
        for number in (0, 1, 5, 12, 15, 30, 50, 123)
        for before in ("", " ", "-", ",")
        for after in ("", ",", "}", ".5", "e", "e1,", "x", ",5", "]")
    ]
    tokens = [*(bytes([byte]) for byte in range(256)), *(token.encode() for token in digits if len(token) > 1)]
    return detent.Vocabulary([*tokens, b""], eos_token_ids=[len(tokens)])


@pytest.mark.parametrize("pattern", _NUMBERS)
def test_masks_of_numbers_before_bytes_of_numbers_are_the_naive_ones(pattern: str) -> None:
    """What follows a number may begin with a byte of numbers, but not in JSON."""
    vocabulary = _digits()
    language = detent.regex(pattern)
    guide, automaton = detent.compile(language, vocabulary), ByteDfa(language._node)._core
    for seed in range(20):
        _compare_along_walk(guide, automaton, random.Random(seed), 6)


_BOUNDS = [(0, 0), (0, 1), (0, 2), (1, 1), (1, 3), (2, 2), (2, 5), (3, None), (0, 7), (0, 13), (30, 40), (0, 45)]


@pytest.mark.parametrize("spelling", ["written", "any"])
@pytest.mark.parametrize(
    "characters", ["", "[a-z]", "[^a-m]", "[\\u0000-\\u0022é]", "[é😀]", "[\\ud83d\\ude00-\\ud83d\\ude4f -z]"]
)
def test_masks_of_bounded_strings_are_the_naive_ones(spelling: Any, characters: str) -> None:
    """Escapes, surrogate pairs and parts of characters count as one character."""
    for number, (least, most) in enumerate(_BOUNDS):
        vocabulary = _VOCABULARIES[number % 2]
        bounds: dict[str, Any] = {"minLength": least} | ({} if most is None else {"maxLength": most})
        if characters:
            bounds = {"pattern": f"^{characters}{{{least},{'' if most is None else most}}}$"}
        language = detent.json_schema(
            {"type": "object", "properties": {"a": bounds | {"type": "string"}}}, spelling=spelling
        )
        automaton = ByteDfa(language._node)._core
        guide = detent.compile(language, vocabulary)
        for text in ("", "a", "z", "\\", "\\n", "\\u", "\\ud83d", "\\ud83d\\", "\\ud83d\\ude00", "é", "😀", "zé"):
            prefix = b'{"a": "' + text.encode()
            state = automaton.advance(automaton.start, prefix)
            matcher = guide.matcher()
            if state == 0:
                continue
            matcher.advance_bytes(prefix)
            assert {int(token) for token in matcher.allowed()} == _naive(automaton, state, vocabulary), (bounds, text)


_MANY_ROUNDS: list[dict[str, Any]] = [
    {"pattern": r"^(?=.{1,60}$)([ab]{1,30}\.){1,40}[ab]+$"},
    {"pattern": r"^(?=.{40,50}$)[ab]{0,30}(-[ab]{0,30})*$"},
    {"pattern": r"^(?!.*aaab)(?=.{1,50}$)[ab.-]{0,30}\.[ab-]+b$"},
    {"pattern": r"^(?=(a*b[ab]{14}\.)+a$)([ab]{1,45}\.){1,40}a$"},
    {"pattern": r"^([ab]+ ){0,16}[ab]+$", "maxLength": 64},
    {"pattern": r"^$|^((ab|é){1,13}-){0,30}b$"},
    {"pattern": "^[ab]*$", "not": {"pattern": "^(ab?){0,30}$"}},
    {"pattern": r"^(.{0,26}b){2,3}$", "minLength": 60, "maxLength": 70},
    {"pattern": r"^(é{1,26}-)+$"},
    {"pattern": r"^(?=[^@]{0,48}@)[ab]+([.-][ab]+)*@a$"},
    {"pattern": r"^[ab]*(\.[ab]+)*(--[ab]{3})?$", "maxLength": 45},
    {"format": "email"},
]


@pytest.mark.parametrize("spelling", ["written", "any"])
@pytest.mark.parametrize("string", _MANY_ROUNDS)
def test_masks_of_many_rounds_are_the_naive_ones(spelling: Any, string: dict[str, Any]) -> None:
    """Inside intersections, unions and rounds of rounds, at each distance from the bounds."""
    choose = random.Random(1)
    pieces = ["a", "b", "ab", "-", ".", " ", "é", 'b"', "\\u00e9", "\\u00"]
    tokens = {bytes([byte]) for byte in range(256)}
    tokens |= {piece.encode() * count for piece in ("a", "b", "ab", "é", "a-") for count in range(1, 36)}
    while len(tokens) < 800:
        tokens.add("".join(choose.choices(pieces, k=choose.randrange(2, 24))).encode())
    vocabulary = detent.Vocabulary([*sorted(tokens), b""], eos_token_ids=[len(tokens)])
    language = detent.json_schema({"type": "string", **string}, spelling=spelling)
    automaton = ByteDfa(language._node)._core
    guide = detent.compile(language, vocabulary)
    compared = 0
    for seed in range(4):
        compared += _compare_along_walk(
            guide, automaton, random.Random(seed), 60, lambda token: b'"' not in token and len(token) <= 3
        )
    assert compared > 30


_BOUNDED: list[dict[str, Any]] = [
    {"maxLength": 7},
    {"minLength": 3, "maxLength": 5},
    {"minLength": 4},
    {"pattern": "^[ab]{2,6}$"},
    {"pattern": r"^[ab]*([.-][ab]+)*$", "maxLength": 9},
    {"pattern": r"^([ab]+ )*[ab]+-é$", "minLength": 5, "maxLength": 8},
    *_MANY_ROUNDS,
]


@pytest.mark.parametrize("spelling", ["written", "any"])
@pytest.mark.parametrize("string", _BOUNDED)
def test_masks_before_a_bounded_string_are_the_naive_ones(spelling: Any, string: dict[str, Any]) -> None:
    """The tokens may begin before the opening quotation mark and end after the closing one."""
    choose = random.Random(2)
    pieces = ["a", "b", "ab", "-", ".", " ", "é", "-é", "\\n", "\\u00e9", "\\u00", '\\"', "\\\\"]
    tokens = {bytes([byte]) for byte in range(256)}
    tokens |= {f' "{"a" * count}{end}'.encode() for count in range(61) for end in "ab.- "}
    while len(tokens) < 1500:
        text = "".join(choose.choices(pieces, k=choose.randrange(12)))
        begin, end = choose.choice(['"', ' "', ': "', ':"']), choose.choice(["", "", '"', '"', '",', '"}', '", '])
        tokens.add((begin + text + end).encode())
    vocabulary = detent.Vocabulary([*sorted(tokens), b""], eos_token_ids=[len(tokens)])
    member = {"type": "string", **string}
    for schema in ({"properties": {"a": member}}, {"properties": {"a": member, "b": {}}, "required": ["b"]}):
        language = detent.json_schema({"type": "object", **schema}, spelling=spelling)
        automaton = ByteDfa(language._node)._core
        guide = detent.compile(language, vocabulary)
        for beginning in (b'{"a"', b'{"a":', b'{"a": '):
            matcher = guide.matcher()
            matcher.advance_bytes(beginning)
            expected = _naive(automaton, automaton.advance(automaton.start, beginning), vocabulary)
            assert {int(token) for token in matcher.allowed()} == expected, beginning


@pytest.mark.parametrize("bound", [36, 41, 48, 60])
@pytest.mark.parametrize("inside", [r"[ab]*(\.[ab]+)*", r"[ab]*(\.[ab]{9})?", r"([ab]+|[ab]*\.\.\.\.b)", "[ab]*"])
def test_masks_before_a_bound_of_length_are_the_naive_ones(inside: str, bound: int) -> None:
    """An intersection with a bound of its length, as the local part of an address is one, at each distance."""
    tokens = {bytes([byte]) for byte in range(128)}
    tokens |= {piece * count for piece in (b"a", b"b", b"ab") for count in range(1, 34)}
    tokens |= {b"a" * count + end for count in range(31) for end in (b".", b".a", b"..", b"@", b"@c", b".a@")}
    vocabulary = detent.Vocabulary([*sorted(tokens), b""], eos_token_ids=[len(tokens)])
    language = (detent.regex(inside) & detent.regex(f"(?s:.){{0,{bound}}}")) + detent.regex("@c")
    automaton = ByteDfa(language._node)._core
    guide = detent.compile(language, vocabulary)
    for length in range(bound + 1):
        matcher = guide.matcher()
        text = b"ab" * (length // 2) + b"a" * (length % 2)
        matcher.advance_bytes(text)
        state = automaton.advance(automaton.start, text)
        assert {int(token) for token in matcher.allowed()} == _naive(automaton, state, vocabulary), length


_REQUIRED = [
    [r"^(?=.*[A-Z])(?=.*[0-9]).*$"],
    [r"a.{3}b", r"b.{2}x"],
    [r"^(?=.*b)[^x]*(xy)?$", r"a"],
    [r"\S", r"[0-9]{3}$"],
    [r"^.{5,}$", r"A.*B|1"],
    [r"^\S(.*\S)?$"],
    [r"^(?!.*bb)[^\s]{1,9}x?.*$"],
]


@pytest.mark.parametrize("spelling", ["written", "any"])
@pytest.mark.parametrize("patterns", _REQUIRED, ids=str)
@pytest.mark.parametrize("bound", [12, 40, 62])
def test_masks_of_required_texts_before_a_bound_are_the_naive_ones(
    patterns: list[str], bound: int, spelling: Any
) -> None:
    """Texts that any text inside can still reach, if enough characters are left for them, at each distance."""
    tokens = {bytes([byte]) for byte in range(256)}
    tokens |= {piece * count for piece in (b"a", b"xy", "é".encode(), b"\\n") for count in range(1, 30)}
    tokens |= {
        b"a" * count + end for count in range(0, 31, 3) for end in (b"b", b"A1", b'B"', b"123", b'"', b"\\", b"\xc3")
    }
    tokens |= {b"\\u00e9" * count + end for count in range(1, 7) for end in (b"", b"\\u00", b"A")}
    vocabulary = detent.Vocabulary([*sorted(tokens), b""], eos_token_ids=[len(tokens)])
    required = [{"pattern": pattern} for pattern in patterns]
    language = detent.json_schema({"type": "string", "allOf": required, "maxLength": bound}, spelling=spelling)
    automaton = ByteDfa(language._node)._core
    guide = detent.compile(language, vocabulary)
    for start in (b'"', b'"A1abbbbbx'):
        for length in range(0, bound - 9, 1 if bound < 60 else 3):
            matcher, text = guide.matcher(), start + b"a" * length
            state = automaton.advance(automaton.start, text)
            if state == 0:
                continue
            matcher.advance_bytes(text)
            assert {int(token) for token in matcher.allowed()} == _naive(automaton, state, vocabulary), text


def test_threads_that_share_a_guide_find_the_same_masks() -> None:
    """What strings need beyond a bound is searched once a guide, by whichever thread asks first."""
    schema = {"type": "array", "items": {"allOf": [{"pattern": p} for p in _REQUIRED[0] + ["b.{3}c"]], "maxLength": 60}}
    language = detent.json_schema({**schema, "items": {"type": "string", **schema["items"]}})
    texts = [b'["' + b"ab A1x"[k % 6 :] * (k % 7) + b"y" * k for k in range(24)]

    def masks(guide: detent.Guide, numbers: list[int]) -> dict[int, list[int]]:
        found = {}
        for number in numbers:
            matcher = guide.matcher()
            matcher.advance_bytes(texts[number])
            found[number] = [int(token) for token in matcher.allowed()]
        return found

    expected = masks(detent.compile(language, _vocabulary(0)), [*range(24)])
    for _ in range(3):
        guide = detent.compile(language, _vocabulary(0))
        orders = [random.Random(seed).sample(range(24), 24) for seed in range(4)]
        with ThreadPoolExecutor(4) as threads:
            assert all(found == expected for found in threads.map(masks, [guide] * 4, orders))


def test_a_mask_does_not_depend_on_earlier_masks() -> None:
    """The same states, reached in different orders on fresh vocabularies."""
    schemas = [{"type": "string", **string} for string in _STRINGS]
    texts = [b'"', b'"a', b'"ab', b'"foo-', '"é'.encode()]
    found: list[dict[tuple[int, bytes], bytes]] = []
    for seed in range(2):
        vocabulary = _vocabulary(7)
        asked = [(number, text) for number in range(len(schemas)) for text in texts]
        random.Random(seed).shuffle(asked)
        masks = {}
        for number, text in asked:
            matcher = detent.compile(detent.json_schema(schemas[number]), vocabulary).matcher()
            try:
                matcher.advance_bytes(text)
            except detent.StateError:
                continue
            row = detent.allocate_mask(1, len(vocabulary))[0]
            matcher.fill_mask(row)
            masks[number, text] = np.asarray(row).tobytes()
        found.append(masks)
    assert found[0] == found[1]


def test_the_masks_of_slices_are_shared() -> None:
    vocabulary = _vocabulary(7)

    def counts_of_first_string(names: list[str]) -> tuple[int, ...]:
        members = {name: {"type": "string"} for name in names}
        schema = {"type": "object", "properties": members, "required": names, "additionalProperties": False}
        matcher = detent.compile(detent.json_schema(schema), vocabulary).matcher()
        matcher.advance_bytes(b'{"' + names[0].encode() + b'": "')
        before = vocabulary._tables.core.cache_counts
        matcher.allowed()
        return tuple(after - at for after, at in zip(vocabulary._tables.core.cache_counts, before, strict=True))

    # Hits and misses of masks, hits and misses of slices.
    found, made, _, walked = counts_of_first_string(["name", "b"])
    assert (found, made) == (0, 1)
    assert walked > 0
    assert counts_of_first_string(["alpha", "x1"]) == (0, 1, 1, 0)  # other things follow
    assert counts_of_first_string(["foo", "x1"]) == (1, 0, 0, 0)  # the rest is the same


def test_each_mask_is_found_again_while_the_cache_grows() -> None:
    vocabulary = _vocabulary(7)
    text = bytes(random.Random(0).choices(b"0123456789abcdef", k=1500))
    guide = detent.compile(detent.regex(text.decode()), vocabulary)

    def made_on_the_way_to(length: int) -> int:
        before = vocabulary._tables.core.cache_counts[1]
        matcher = guide.matcher()
        for byte in text[:length]:
            matcher.allowed()
            matcher.advance_bytes(bytes([byte]))
        return int(vocabulary._tables.core.cache_counts[1] - before)

    for length in range(40, len(text), 40):
        assert made_on_the_way_to(length) > 0
        assert made_on_the_way_to(length) == 0


_DEAD_BYTES: dict[str, tuple[dict[str, Any], list[bytes]]] = {
    "only at the start": ({"k_[sw]": False, "k_[a-j]z": {"type": "null"}}, [b"k_", b"k_ak_", b"k_a", b"xk_"]),
    "everywhere": ({"[ar]": False, "k_s": False, "k_[a-j]z": {"type": "null"}}, [b"", b"k_", b"xs"]),
    "up to a byte after which all is allowed": ({"^[^k]*a": False}, [b"", b"x", b"xk"]),
    "up to another byte": ({"^[^k]*a": False, "k_[sw]": False}, [b"", b"x", b"xk", b"k_"]),
    "up to a rare byte": ({"^[^k]*a": False, "k[sw]": False}, [b"", b"x"]),
    "but for one state": ({"^([^k]|kk)*[ar]": False, "x[sw]": {"type": "null"}}, [b"", b"x", b"xk", b"kk"]),
    "after two bytes": ({"a_[sw]": False, "bé_": {"type": "null"}}, [b"", b"a", b"xb", "bé".encode(), b"a_"]),
    "everywhere, and after a byte": ({"r": False, "a_[sw]": False}, [b"", b"a", b"xa_", b"_"]),
    "up to a byte that follows another": ({"^[^_]*r": False, "^[^_]*a_[sw]": False}, [b"", b"a", b"xa_", b"_"]),
    "after all but one byte": ({"^([^a_]|a_)*(_|ar)": False}, [b"", b"a", b"xa", b"ba_"]),
}


@pytest.mark.parametrize("kind", _DEAD_BYTES)
def test_bytes_that_are_dead_in_names(kind: str) -> None:
    """Names such as `k_s` are excluded: after `k_`, the tokens that begin with "s" are refused; `ak` may lead there."""
    choose = random.Random(0)
    letters = "abcdefghijlmnoprstuvwy " * 9 + "k"  # few tokens have a byte that is neither free nor dead
    words = {"".join(choose.choices(letters, k=choose.randrange(2, 9))) for _ in range(3000)}
    ends = ["_", "_s", "_x", "a_", "a_s", "a_x", "_a_s", "x_a_s", "x_r", "r_", "é_", "bé_", "b_r", "xr_s", "a_a_"]
    words |= {*ends, *(word[:3] + choose.choice(ends) for word in sorted(words)[::50])}
    tokens = [*(bytes([byte]) for byte in range(256)), *sorted(word.encode() for word in words)]
    vocabulary = detent.Vocabulary([*tokens, b""], eos_token_ids=[len(tokens)])
    patterns, beginnings = _DEAD_BYTES[kind]
    schema = {"type": "object", "patternProperties": patterns, "additionalProperties": {"type": "boolean"}}
    language = detent.json_schema(schema)
    automaton = ByteDfa(language._node)._core
    for name in beginnings:
        beginning = b'{"' + name
        matcher = detent.compile(language, vocabulary).matcher()
        for byte in beginning:
            matcher.advance(byte)
        state = automaton.advance(automaton.start, beginning)
        assert {int(token) for token in matcher.allowed()} == _naive(automaton, state, vocabulary), beginning


def _words_with_marks() -> detent.Vocabulary:
    """6,000 words of letters, and others with a mark, an escape, a space or whole and broken characters."""
    choose = random.Random(0)

    def word() -> str:
        return "".join(choose.choices("abcdefghij", k=choose.randrange(1, 10)))

    words = {word() for _ in range(6000)}
    words |= {word()[:4] + choose.choice("-.70_") + choose.choice((word(), "", "-", '"', "77")) for _ in range(300)}
    words |= {word() + choose.choice(('"', '",', '"}', "\\", "\\u", "\\u006", "é", "\\u0061b")) for _ in range(150)}
    words |= {choose.choice((" ", "é", "ひ", "x\u2028")) + word() for _ in range(1500)}
    broken = {word().encode() + choose.choice((b"\xc3", b"\xe3\x81", b"\xe3a", b"\xc3\xc3\xa9")) for _ in range(150)}
    broken |= {choose.choice((b"\xa9", b"\x81\xb2", b"\x80\xa8")) + word().encode() for _ in range(150)}
    longer = {word.encode() for word in words if len(word.encode()) > 1}
    tokens = [*(bytes([byte]) for byte in range(256)), *sorted(longer | broken)]
    return detent.Vocabulary([*tokens, b""], eos_token_ids=[len(tokens)])


_RUNS = [
    "[a-z]{4}-[a-z]{2,6}-[a-z0-9]{3}",
    "[a-j0-9]{1,5}[.-][a-j]+",
    "[a-h]{3}(-[a-h]+)?",
    "[a-z]{2,7}[a-j0-9]{2}",  # the class and what follows it share bytes
    "[a-j]+(-[a-j]{2})*",
    "([a-j]{3}|[a-f]{5})-",
    "[a-j]{40}_?",
    "([a-j][-.]?){1,6}",
    "[^-.]+-[a-j]",
    r"\S+( \S+)?",
    r"[^\s_]{3,}_",
    r"[\w\s-]*70",
    "(é[^-]*-)?[a-eé]+é",
    "[a-j][^-.]*-",
    "[ひa-j]*b\\.",
]


@pytest.mark.parametrize("spelling", ["plain", "written", "any"])
@pytest.mark.parametrize("pattern", _RUNS)
def test_runs_of_a_class_of_bytes(pattern: str, spelling: Any) -> None:
    vocabulary = _words_with_marks()
    language = detent.regex(pattern)
    if spelling != "plain":
        schema = {"type": "object", "properties": {"id": {"type": "string", "pattern": f"^{pattern}$"}}}
        language = detent.json_schema(schema | {"required": ["id"]}, spelling=spelling)
    automaton = ByteDfa(language._node)._core
    texts = ["", "a", "abc", "abcd", "abcd-", "abcd-ab", "ab.", "abcdefg", "a" * 38, "a b", "éa"]
    for text in (*(text.encode() for text in texts), b"a\xe3"):
        beginning = text if spelling == "plain" else b'{"id": "' + text
        state = automaton.advance(automaton.start, beginning)
        if state == 0:
            continue
        matcher = detent.compile(language, vocabulary).matcher()
        matcher.advance_bytes(beginning)
        assert {int(token) for token in matcher.allowed()} == _naive(automaton, state, vocabulary), text


@pytest.mark.parametrize("seed", [0, 1])
def test_a_condition_that_refuses_the_text_up_to_the_end_of_a_string(seed: int) -> None:
    """Each quotation mark leads the condition to one state, which is not accepting: the slice ends inside the text."""
    vocabulary = _VOCABULARIES[seed]
    any_bytes = _core.repeat(_core.byte_set(bytes(range(256))), 0, None)
    condition = Language(_core.complement(_core.concat([any_bytes, _core.literal(b'"')])), "no quotation mark last")
    digits = '"' + detent.regex("[0-9]{0,30};")  # a slice whose last byte the condition accepts
    language = (digits | detent.json_schema({"type": "string", "maxLength": 30}) + "x") & condition
    automaton = ByteDfa(language._node)._core
    for text in (b"", b'"', b'"ab', b'"name"'):
        matcher = detent.compile(language, vocabulary).matcher()
        if text:
            matcher.advance_bytes(text)
        state = automaton.advance(automaton.start, text)
        assert {int(token) for token in matcher.allowed()} == _naive(automaton, state, vocabulary), text


_ENDINGS = ["^[ab]*ccccc$", "^[ab]*(c[ab]*){3}$", "@a\\.b$", "^a*-[ab]{4}$", "b"]
_TOKEN_BYTES = {letter * count for letter in (b"a", b"b", b"ab", b"c", b"@a.b", b"-a") for count in range(1, 20)}


@pytest.mark.parametrize("condition", ["b", "ab", "without ab", "not bb"])
@pytest.mark.parametrize("pattern", _ENDINGS)
def test_a_condition_that_is_met_inside_a_string_that_needs_an_ending(pattern: str, condition: str) -> None:
    """Where no text can miss the condition any more, the state is the string alone, and is still inside it."""
    tokens = sorted({*(bytes([byte]) for byte in range(256)), *_TOKEN_BYTES})
    vocabulary = detent.Vocabulary([*tokens, b""], eos_token_ids=[len(tokens)])
    if condition == "without ab":
        wanted = detent.without("ab")
    else:
        wanted = ~detent.regex("(?s)[^b]*") if condition == "not bb" else detent.containing(condition)
    for maximum in (9, 20, 24, 40):
        language = detent.json_schema({"type": "string", "maxLength": maximum, "pattern": pattern}) & wanted
        automaton = ByteDfa(language._node)._core
        for text in (b'"', b'"a', b'"ab', b'"bb', b'"bbbbbbbb'):
            state = automaton.advance(automaton.start, text)
            if state == 0:
                continue
            matcher = detent.compile(language, vocabulary).matcher()
            matcher.advance_bytes(text)
            assert {int(token) for token in matcher.allowed()} == _naive(automaton, state, vocabulary), (maximum, text)


@pytest.mark.parametrize("beside", [[], ["</x>"]])
@pytest.mark.parametrize(
    "text", [b'"\xc3', b'"a\xde', b'"\xe6', b'"\xe6\xbc', b'["\xc3', b'{"\xc3', b'{"ab\xcd', b'{"ab":"\xc3']
)
def test_inside_a_character_most_tokens_may_continue_it(beside: list[str], text: bytes) -> None:
    """Most tokens begin with a continuation byte, unlike those of real vocabularies."""
    rng = random.Random(1)
    tokens = [bytes([byte]) for byte in range(256)]
    tokens += {
        bytes([rng.randrange(0x80, 0xC0)]) + "".join(rng.choices("abcdef é", k=rng.randint(1, 6))).encode()
        for _ in range(3000)
    }
    vocabulary = detent.Vocabulary([*tokens, b"</s>"], eos_token_ids=[len(tokens)])
    schema = {
        "type": ["string", "array", "object"],
        "items": {"type": "string", "not": {"const": "é"}},
        "properties": {"é": {"type": "integer"}, "ab": {"type": "string"}},
    }
    language = detent.json_schema(schema) & detent.without(*beside) if beside else detent.json_schema(schema)
    matcher = detent.compile(language, vocabulary).matcher()
    for byte in text:
        matcher.advance(byte)
    fits = [token for token in range(len(tokens)) if matcher.validate([token]) == 1]
    assert matcher.allowed().tolist() == fits
    assert len(fits) > 40

"""Lists of distinct items against plain Python: every text of small lists, every mask and every budget on the way."""

from __future__ import annotations

import json
from functools import lru_cache
from itertools import product
from random import Random
from typing import Any

import pytest

import detent
from detent import _core
from detent.language import Language
from detent.sources.nodes import concat, repeat, union

_VALUES = {
    "strings": ['"a"', '"b"', '"ab"', '"\\u0061"'],
    "numbers": ["1", "1.0", "10", "1e0", "10e-1", "-1", "0", "-0.0", "0.10", "1E-1"],
    "words and numbers": ["true", "null", "1", "12", '"1"'],
    "containers": ["[]", "[ ]", "[1]", "[1.0]", '{"a":1,"b":2}', '{"b":2,"a":1}', '{"a":1}'],
    "exponents": ["1", "1e0", "10e-1", "10", "1E1"],
    "exponents of one digit": ["1", "1e0", "2", "2E0"],
    "few": ["1", "true"],
}
_TOKENS = [
    '"',
    "a",
    "b",
    '"a',
    'a"',
    '","',
    '",',
    ",",
    "1",
    "1,",
    "1,1",
    ",1",
    "[",
    "]",
    '"]',
    '["',
    "},{",
    "0",
    "10",
    "true",
]
_TOKENS += ["e,true", "[]", "],[", "],[1", "]]", '"a"', ',"', "1]", "0,", ",1,", "\\u0061", "e0", ".0", "null,"]


def _key(text: str) -> object:
    return json.dumps(json.loads(text), sort_keys=True) if text[0] in '[{"tfn' else float(text)


@lru_cache
def _texts(name: str, least: int, most: int) -> list[str]:
    """Return all texts of arrays of distinct values."""
    found = []
    for count in range(least, most + 1):
        for items in product(_VALUES[name], repeat=count):
            parsed = [json.loads(item) for item in items]
            if all(not _equal(one, other) for i, one in enumerate(parsed) for other in parsed[:i]):
                found.append("[" + ",".join(items) + "]")
    return found


def _equal(one: object, other: object) -> bool:
    """Whether two JSON values are equal; True is not 1."""
    if isinstance(one, bool) or isinstance(other, bool):
        return one is other
    if isinstance(one, list) and isinstance(other, list):
        return len(one) == len(other) and all(map(_equal, one, other))
    if isinstance(one, dict) and isinstance(other, dict):
        return one.keys() == other.keys() and all(_equal(one[key], other[key]) for key in one)
    return one == other


def _array(item: _core.Node, least: int = 0, most: int | None = None) -> Language:
    listed = _core.distinct(item, _core.literal(b""), _core.literal(b","), least, most)
    return Language(concat("[", listed, "]"), "a list of distinct items")


def _vocabulary(texts: list[str]) -> detent.Vocabulary:
    letters = sorted({letter for text in texts for letter in text})
    tokens = list(dict.fromkeys(letters + [token for token in _TOKENS if any(token in text for text in texts)]))
    tokens += [token for token in _TOKENS if token not in tokens]
    return detent.Vocabulary([token.encode() for token in tokens] + [b""], eos_token_ids=[len(tokens)])


def _fewest(texts: list[str], tokens: list[str]) -> dict[str, int]:
    """Return for each prefix of a text the fewest tokens that complete it."""
    fewest: dict[str, int] = {}
    prefixes = sorted({text[:length] for text in texts for length in range(len(text) + 1)}, key=len, reverse=True)
    members, known = set(texts), set(prefixes)
    for prefix in prefixes:
        best = 0 if prefix in members else 10**9
        for token in tokens:
            longer = prefix + token
            if longer in known and fewest[longer] + 1 < best:
                best = fewest[longer] + 1
        fewest[prefix] = best
    return fewest


@pytest.mark.parametrize("name", _VALUES)
@pytest.mark.parametrize(("least", "most"), [(0, 3), (2, 3), (1, 2)])
def test_every_mask_of_small_lists(name: str, least: int, most: int) -> None:
    texts = _texts(name, least, most)
    language = _array(union(*_VALUES[name]), least, most)
    if not texts:
        assert language.is_empty()
        return
    vocabulary = _vocabulary(texts)
    tokens = [vocabulary.token_bytes(i).decode() for i in range(len(vocabulary) - 1)]
    fewest = _fewest(texts, tokens)
    guide = detent.compile(language, vocabulary)
    rng = Random(1)
    for _ in range(60):
        matcher, text = guide.matcher(), ""
        while True:
            expected = [i for i, token in enumerate(tokens) if text + token in fewest]
            assert [i for i in matcher.allowed() if i < len(tokens)] == expected, text
            assert matcher.is_accepting == (text in texts), text
            completion = b"".join(vocabulary.token_bytes(i) for i in matcher.completion()).decode()
            assert text + completion in texts, (text, completion)
            if not expected:
                break
            taken = rng.choice(expected)
            matcher.advance(taken)
            text += tokens[taken]


@pytest.mark.parametrize("name", _VALUES)
def test_budgets_end_in_time(name: str) -> None:
    texts = _texts(name, 1, 3)
    vocabulary = _vocabulary(texts)
    tokens = [vocabulary.token_bytes(i).decode() for i in range(len(vocabulary) - 1)]
    fewest = _fewest(texts, tokens)
    guide = detent.compile(_array(union(*_VALUES[name]), 1, 3), vocabulary)
    rng = Random(2)
    known = len(guide.matcher().completion())
    for budget in range(known, known + 7):
        for _ in range(20):
            matcher, text, left = guide.matcher(max_tokens=budget), "", budget
            while not matcher.is_finished:
                allowed = [i for i in matcher.allowed() if i < len(tokens)]
                assert all(fewest[text + tokens[i]] < left for i in allowed), (text, left)
                if not allowed:
                    assert text in texts, (text, left)  # no dead end
                    break
                taken = rng.choice(allowed)
                matcher.advance(taken)
                text += tokens[taken]
                left -= 1
            assert text in texts


_MEMBERS = [f"{name}:{value}" for name in ('"a"', '"b"', '"ab"', '"\\u0061"') for value in ("1", "[]")]


def _objects(least: int, most: int) -> list[str]:
    """Return all texts of objects without a repeated name."""
    found = []
    for count in range(least, most + 1):
        for members in product(_MEMBERS, repeat=count):
            text = "{" + ",".join(members) + "}"
            if len(json.loads(text)) == count:
                found.append(text)
    return found


def _object(least: int, most: int | None) -> Language:
    name, value = union('"a"', '"b"', '"ab"', '"\\u0061"'), concat(":", union("1", "[]"))
    listed = _core.distinct(name, value, _core.literal(b","), least, most, True)
    return Language(concat("{", listed, "}"), "members with distinct names")


@pytest.mark.parametrize(("least", "most"), [(0, 3), (2, 3), (1, 2)])
def test_every_mask_of_members_with_distinct_names(least: int, most: int) -> None:
    texts = _objects(least, most)
    language, members = _object(least, most), set(texts)
    for count in range(4):
        for combined in product(_MEMBERS, repeat=count):
            text = "{" + ",".join(combined) + "}"
            assert language.accepts(text) == (text in members)
    extra = ['":', '{"', ',"', '"a":1', "1,", '1,"', '],"', "1}", "[]", '":1,"']
    tokens = sorted({letter for text in texts for letter in text}) + extra
    vocabulary = detent.Vocabulary([token.encode() for token in tokens] + [b""], eos_token_ids=[len(tokens)])
    fewest = _fewest(texts, tokens)
    guide = detent.compile(language, vocabulary)
    rng = Random(1)
    known = len(guide.matcher().completion())
    for budget in (None, *range(known, known + 6)):
        for _ in range(20):
            matcher, text, left = guide.matcher(budget), "", budget
            while True:
                allowed = [i for i in matcher.allowed() if i < len(tokens)]
                expected = [i for i, token in enumerate(tokens) if text + token in fewest]
                if left is None:
                    assert allowed == expected, text
                else:
                    assert set(allowed) <= {i for i in expected if fewest[text + tokens[i]] < left}, (text, left)
                assert allowed or text in texts, (text, left)
                if not allowed or (text in texts and rng.random() < 0.3):
                    break
                taken = rng.choice(allowed)
                matcher.advance(taken)
                text, left = text + tokens[taken], None if left is None else left - 1


@pytest.mark.parametrize("tokens", [['",'], [',"'], ['","'], ['",', ',"'], [' "'], ['"]'], ['["']])
@pytest.mark.parametrize(
    "items", [{"type": "string"}, {"enum": ["a", "b", "c"]}, {"type": "object", "required": ["k"]}, {"type": "number"}]
)
def test_a_budget_of_the_shortest_text_leaves_a_token(tokens: list[str], items: dict[str, object]) -> None:
    # Tokens that end an item and begin the next one: the states inside an item lack its text.
    schema = {"type": "array", "minItems": 2, "uniqueItems": True, "items": items}
    every = [bytes([byte]) for byte in range(256)] + [token.encode() for token in tokens]
    vocabulary = detent.Vocabulary([*every, b""], eos_token_ids=[len(every)])
    guide = detent.compile(detent.json_schema(schema), vocabulary)
    shortest = len([i for i in guide.matcher().completion() if i < len(every)])
    rng = Random(0)
    for extra in (0, 0, 1, 2, 3, 5, 9):
        matcher = guide.matcher(shortest + extra)
        while not matcher.is_finished:
            allowed = matcher.allowed().tolist()
            assert allowed, (matcher.token_ids, extra)
            matcher.advance(rng.choice(allowed))
        text = b"".join(vocabulary.token_bytes(i) for i in matcher.token_ids).decode()
        one, other, *_ = json.loads(text)
        assert not _equal(one, other)


@pytest.mark.parametrize(
    ("schema", "text"),
    [
        ({"type": "array", "minItems": 3, "items": {"pattern": "^[a-z]{4}$"}}, '["abcd","bcde","cdef"]'),
        ({"type": "array", "minItems": 2, "items": {"pattern": "^([a-z]|\\d){2,}$"}}, '["ab","b1"]'),
        ({"type": "object", "minProperties": 2, "propertyNames": {"pattern": "^[a-z]+$"}}, '{"a":0,"c":1}'),
        ({"type": "object", "minProperties": 2, "patternProperties": {"^x-": {}}}, '{"x-b":1,"x-c":2}'),
    ],
    ids=str,
)
def test_a_budget_leaves_items_that_need_no_escapes(schema: dict[str, Any], text: str) -> None:
    """Each of these texts is as short as the shortest one."""
    if schema["type"] == "array":
        schema = schema | {"uniqueItems": True, "items": schema["items"] | {"type": "string"}}
    else:
        schema = schema | {"additionalProperties": "patternProperties" not in schema and {"type": "integer"}}
    every = [bytes([byte]) for byte in range(256)]
    guide = detent.compile(detent.json_schema(schema), detent.Vocabulary([*every, b""], eos_token_ids=[256]))
    matcher = guide.matcher(max_tokens=len(text) + 1)
    for byte in text.encode():
        assert byte in matcher.allowed(), matcher.token_ids
        matcher.advance(byte)
    assert 256 in matcher.allowed()


def test_accepts_equals_python() -> None:
    string = concat('"', _core.json_string(repeat(_core.byte_set(b"ab"), 0, None), False), '"')
    language = _array(string)
    for text in ('["a","b"]', '["","a","aa"]', "[]"):
        assert language.accepts(text)
    for text in ('["a","a"]', '["a","\\u0061"]', '["","b",""]', '["a","b","ab","b"]'):
        assert not language.accepts(text)
    numbers = _VALUES["numbers"]
    for one, other in product(numbers, repeat=2):
        assert _array(union(*numbers)).accepts(f"[{one},{other}]") == (json.loads(one) != json.loads(other))


@pytest.mark.parametrize(
    "items",
    [
        {"type": "number"},
        {"type": ["number", "string"]},
        {"type": "object", "properties": {"n": {"type": "number"}}, "additionalProperties": False},
        {
            "type": "object",
            "properties": {"1e": {"type": "string", "maxLength": 9}, "n": {"type": "number"}},
            "additionalProperties": False,
        },
        {
            "type": "object",
            "properties": {"m": {"type": "null"}, "n": {"type": "number"}, "o": {"type": "string"}},
            "required": ["m"],
            "additionalProperties": False,
        },
        {"type": "array", "items": {"type": ["string", "number"], "maxLength": 300}},
        {"type": "array", "prefixItems": [{"format": "email", "type": "string"}, {"type": "number"}]},
    ],
    ids=str,
)
@pytest.mark.parametrize("order", ["schema", "any"])
def test_numbers_are_compared_where_exponents_follow_several_digits(items: dict[str, Any], order: Any) -> None:
    language = detent.json_schema({"type": "array", "items": items, "uniqueItems": True}, spelling="any", order=order)
    numbers = ["12", "1.2e1", "120e-1", "0.12e2", "1200", "12e2", "0.012E+3", "10", "1e1", "100e-1", "12e-1"]
    wrap = {"array": '["a@b.c", %s]', "object": '{"n": %s}'}.get(str(items["type"]), "%s")
    wrap = wrap.replace("{", '{"m": null, ') if "required" in items else wrap
    for one, other in product(numbers, repeat=2):
        text = f"[{wrap % one}, {wrap % other}]"
        assert language.accepts(text) == (json.loads(one) != json.loads(other)), text


@pytest.mark.parametrize(
    "items",
    [
        {"format": "email"},
        {"format": "hostname"},
        {"format": "uri", "pattern": "^(https?|ftp)://", "maxLength": 2083},
        {"pattern": "^[a-z]{1,63}([.][a-z]{1,63}){1,5}$", "maxLength": 200},
    ],
    ids=str,
)
@pytest.mark.parametrize("spelling", ["written", "any"])
def test_strings_that_count_make_small_lists(items: dict[str, Any], spelling: Any) -> None:
    """What strings count has no part in the question which numbers the items have."""
    schema = {"type": "array", "items": items | {"type": "string"}, "uniqueItems": True}
    guide = detent.compile(
        detent.json_schema(schema, spelling=spelling),
        detent.Vocabulary([bytes([byte]) for byte in range(256)] + [b""], eos_token_ids=[256]),
    )
    guide.matcher()
    assert guide.memory_bytes < 3 << 19  # with the masks of two steps that compile tries


def test_shortest_takes_distinct_values() -> None:
    string = concat('"', _core.json_string(repeat(_core.byte_set(b"ab"), 0, None), False), '"')
    assert _array(string, 4).shortest() == b'["","a","b","aa"]'
    assert _array(union("1", "1.0", "2"), 2).shortest() == b"[1,2]"
    assert _array(union("1", "1.0", "2"), 3).is_empty()


def test_guides_and_languages_give_up_states_of_old_texts() -> None:
    """A guide of unique items is for any number of texts, each within the memory of one."""
    language = detent.json_schema({"type": "array", "items": {"type": "string"}, "uniqueItems": True})
    vocabulary = detent.Vocabulary([bytes([byte]) for byte in range(256)] + [b""], eos_token_ids=[256])
    guide = detent.compile(language, vocabulary, limits=detent.Limits(memory_bytes=1 << 20))
    most = 0
    for number in range(300):
        text = json.dumps([f"{number}-{index}" for index in range(8)]).encode()
        matcher = guide.matcher()
        for byte in text:
            matcher.advance(byte)
        assert matcher.is_accepting
        most = max(most, guide.memory_bytes)
    assert 1 << 17 < most < 1 << 19


@pytest.mark.long
def test_languages_give_up_states_of_old_texts() -> None:
    language = detent.json_schema({"type": "array", "uniqueItems": True})
    long = json.dumps([f"{'x' * 600}{index}" for index in range(40)])
    for _ in range(4):
        assert language.accepts(long)
        assert not language.accepts('["a", "a"]')


@pytest.mark.parametrize("excluded", [["ab", "b"], ["bb", "b"], ["b"], ["ab"], ["ab", "b", "c"]])
def test_tokens_that_end_a_string_inside_an_item(excluded: list[str]) -> None:
    # Such a token neither leaves the item nor is inside the string: its verdict is not that of any string.
    tokens = [bytes([byte]) for byte in range(256)] + [b'b"', b'b":', b'ab"', b'b"]', b'b":0', b'b"],', b'a"]']
    vocabulary = detent.Vocabulary([*tokens, b""], eos_token_ids=[len(tokens)])
    string = detent.json_schema({"type": "string", "not": {"enum": excluded}})._node
    comma = _core.literal(b",")
    arrays = _core.distinct(concat("[", string, "]"), _core.epsilon(), comma, 0, None)
    members = _core.distinct(string, _core.literal(b":0"), comma, 0, None, True)
    lists = [(concat("[", arrays, "]"), '[["'), (concat("{", members, "}"), '{"')]
    for node, start in lists:
        matcher = detent.compile(Language(node, "a list of distinct items"), vocabulary).matcher()
        for byte in start.encode():
            matcher.advance(byte)
        allowed = set(matcher.allowed().tolist())
        for token_id in range(256, len(tokens)):
            assert (token_id in allowed) == (matcher._refusal(token_id) is _core.Refusal.NONE), tokens[token_id]


_WHOLE_ITEMS = [
    '", "": "',
    '", "":',
    '"a": 1, "',
    ', "": 1, "',
    ",1,",
    ",1,2",
    ",1]",
    ",1,1",
    ",[1],",
    '","a",',
    '","a","',
    '"a","a',
]
_WHOLE_ITEMS += [
    ',"",',
    ',{"a":1},',
    ', "a": 1, ',
    ',"":0,"',
    '","a":"',
    '","a":["',
    ',"":[["',
    ',"a":{"b":"',
    "1,12,1",
    '","":""}',
    '",',
    '", ',
    '","',
]
_BEGINNINGS = [
    "{",
    '{"',
    '{"": "',
    '{"": 1, "x": "a',
    '{"a": 1, "": "',
    '{"": "b", "x": "',
    '{"a":1,"b":2',
    '{"":1,"b":2',
    '{"":1,"b":"c"',
]
_BEGINNINGS += [
    "[",
    "[1",
    "[1,",
    "[1, ",
    "[1,2",
    "[12,1",
    "[12, 1",
    '["',
    '["a',
    '["a","',
    '["a", ',
    '["","b',
    '["",3',
    "[[1]",
    "[[1],2",
    '[{"a":1}',
    '[{"a":1},{"b":2}',
    '{"x":["","a',
    '{"y":["","a',
    '{"x":["a"],"y":["a","ab","',
    '["ax","ay","a',
    '["bb","ax","ay","a',
    json.dumps(["".join(name) for name in product("abcdef", repeat=2)], separators=(",", ":"))[:-2],
]
_STRINGS: dict[str, object] = {"type": "array", "uniqueItems": True, "items": {"type": "string"}}
_FEW_STRINGS = {**_STRINGS, "items": {"enum": ["", "a"]}}
_LISTS: list[dict[str, object]] = [
    {"type": "object", "minProperties": 2},
    {"type": "object", "minProperties": 2, "additionalProperties": {"type": "string"}},
    {"type": "object", "minProperties": 3, "properties": {"a": {"type": "integer"}, "": {}}},
    {"type": "object", "minProperties": 2, "propertyNames": {"pattern": "^a*$"}},
    {"type": "array", "uniqueItems": True},
    {"type": "array", "uniqueItems": True, "items": {"type": "integer"}},
    {"type": "array", "uniqueItems": True, "items": {"type": "string"}},
    {"type": "array", "uniqueItems": True, "minItems": 3, "maxItems": 6, "items": {"type": "object"}},
    {"type": "array", "uniqueItems": True, "items": {"enum": ["", "a"]}},
    {"type": "object", "properties": {"x": _FEW_STRINGS, "y": _STRINGS}},
    {
        "type": "object",
        "properties": {"x": _FEW_STRINGS, "y": _STRINGS},
        "anyOf": [{"properties": {"x": {"minItems": 1}}}, {"properties": {"y": {"maxItems": 2}}}, {"required": ["z"]}],
    },
    {**_STRINGS, "items": {"type": "string", "pattern": "^[a-f]{2}$"}},  # more values than are enumerated
    {**_STRINGS, "items": {"type": "string", "pattern": "^(a[xy]?|b.*)$"}},  # few of them begin with "a"
    {"anyOf": [_FEW_STRINGS, _STRINGS, {"type": "array", "items": _STRINGS}]},
    {"anyOf": [{**_STRINGS, "maxItems": 3}, {**_STRINGS, "minItems": 2, "items": {"enum": ["", "a", "b"]}}]},
    {"type": "array", "uniqueItems": True, "items": {"anyOf": [{"type": "string", "minLength": 1}, {"type": "null"}]}},
]


@pytest.mark.parametrize("order", ["schema", "any"])
@pytest.mark.parametrize("schema", _LISTS, ids=str)
def test_tokens_that_contain_a_whole_item(schema: dict[str, object], order: Any) -> None:
    texts = [bytes([byte]) for byte in range(256)] + [text.encode() for text in _WHOLE_ITEMS]
    vocabulary = detent.Vocabulary([*texts, b""], eos_token_ids=[len(texts)])
    language = detent.json_schema(schema, order=order)
    guide = detent.compile(language, vocabulary)
    automaton = _core.Automaton(language._node, 100_000, 1 << 28, 10**9)
    seen = 0
    for beginning in _BEGINNINGS:
        state = automaton.advance(automaton.start, beginning.encode())
        if state == 0:
            continue
        matcher = guide.matcher()
        for byte in beginning.encode():
            matcher.advance(byte)
        allowed = {int(token) for token in matcher.allowed()} - {len(texts)}
        assert allowed == {token for token, text in enumerate(texts) if automaton.advance(state, text) != 0}, beginning
        seen += 1
    assert seen > 2


@pytest.mark.parametrize("order", ["schema", "any"])
@pytest.mark.parametrize(
    "schema",
    [
        {
            "type": "object",
            "minProperties": 2,
            "propertyNames": {"pattern": "^[a-z]+$"},
            "additionalProperties": {"type": "integer"},
        },
        {"type": "object", "minProperties": 2, "additionalProperties": {"type": "integer"}},
    ],
)
def test_a_budget_allows_names_that_fit(schema: dict[str, object], order: Any) -> None:
    # States inside a name lack its text, and their completions must hold for all names.
    pieces = ['{"', '":', ',"', "ab", "abc", " ", "1", "}", '"']
    every = [bytes([byte]) for byte in range(256)] + [piece.encode() for piece in pieces if len(piece) > 1]
    vocabulary = detent.Vocabulary([*every, b""], eos_token_ids=[len(every)])
    for tokens in (
        ['{"', "abc", '":', "1", ',"', "b", '":', "1", "}"],
        ['{"', "a", '":', "1", ',"', "b", '":', "1", "}"],
        ['{"', "b", '":', "1", ',"', "a", '":', "1", "}"],
        ['{"', "ab", "c", '":', "1", ',"', "ab", '":', "1", "}"],
    ):
        ids = [every.index(token.encode()) for token in tokens]
        matcher = detent.compile(detent.json_schema(schema, order=order), vocabulary).matcher(len(ids))
        for token in ids:
            assert token in matcher.allowed(), (tokens, matcher.token_ids)
            matcher.advance(token)
        assert matcher.is_accepting

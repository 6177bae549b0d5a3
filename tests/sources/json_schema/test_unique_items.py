"""Unique items beside keywords that combine schemas: copies of a schema are one, and their conditions cancel out."""

from __future__ import annotations

import json
from itertools import permutations, product
from math import perm
from random import Random
from typing import Any

import jsonschema
import pytest

import detent
from detent.sources.json_schema.parse.contents import Contents
from tests.support.long_tests import mostly_long

OBJECT = {"type": "object", "properties": {"a": {"type": "integer", "minimum": 2}}, "required": ["a"]}
ITEMS: dict[str, tuple[Any, list[Any]]] = {
    "integer": ({"type": "integer"}, [1, 2, 3, 4]),
    "bounded": ({"type": "integer", "minimum": 3}, [2, 3, 4, 5, 6]),
    "pattern": ({"type": "string", "pattern": "^a+$"}, ["a", "aa", "aaa", "aaaa", "b"]),
    "object": (OBJECT, [{"a": 2}, {"a": 3}, {"a": 4}, {"a": 1}, {}]),
    "array": ({"type": "array", "items": {"type": "number", "maximum": 9}}, [[], [1], [1, 2], [10]]),
}
"""Schemas of items with many values, and values for arrays."""


def array(items: Any, **more: Any) -> dict[str, Any]:
    """Return the schema of an array of unique items, with a copy of the items' schema."""
    return {"type": "array", "items": json.loads(json.dumps(items)), "uniqueItems": True, **more}


def combinations(one: Any) -> dict[str, Any]:
    """Return schemas that combine arrays of unique items."""
    plain = {key: value for key, value in array(one).items() if key != "uniqueItems"}
    return {
        "oneOf, equal": {"oneOf": [array(one), array(one)]},
        "anyOf, equal": {"anyOf": [array(one), array(one)]},
        "allOf and not": {"allOf": [array(one), {"not": array(one)}]},
        "oneOf, overlapping sizes": {"oneOf": [array(one, minItems=2), array(one, maxItems=3)]},
        "oneOf, other sizes": {"oneOf": [array(one, maxItems=1), array(one, minItems=3)]},
        "anyOf, other sizes": {"anyOf": [array(one, minItems=4), array(one, maxItems=2)]},
        "not a size": {**array(one), "not": {"type": "array", "minItems": 2, "maxItems": 3}},
        "if": {"if": array(one), "then": {"maxItems": 2}, "else": False},
        "oneOf of three": {"oneOf": [array(one), {"type": "null"}, array(one, maxItems=0)]},
        "anyOf, one without": {"anyOf": [array(one), plain]},
    }


@pytest.mark.parametrize("order", ["schema", "any"])
@pytest.mark.parametrize("name", ITEMS)
def test_combinations_of_unique_items(name: str, order: Any) -> None:
    items, values = ITEMS[name]
    arrays = [list(each) for size in range(5) for each in product(values, repeat=size)]
    for how, schema in combinations(items).items():
        held = detent.json_schema(json.dumps(schema), order=order)
        validator = jsonschema.Draft202012Validator(schema)
        for value in arrays[:: 1 if how == "oneOf, overlapping sizes" else 5]:
            assert held.accepts(json.dumps(value)) == validator.is_valid(value), (how, value)
        assert held.accepts("null") == validator.is_valid(None)


def test_values_that_python_takes_for_equal_are_two() -> None:
    """In Python, True is 1: as contents of schemas they differ."""
    schema = {"oneOf": [array({"const": True}), array({"const": 1}), {"const": "1"}]}
    held = detent.json_schema(json.dumps(schema))
    assert held.accepts("[true]")
    assert held.accepts("[1]")
    assert not held.accepts("[]")  # both have it


def test_a_copy_with_an_identifier_has_references_of_its_own() -> None:
    """Two parts that are written alike, under two identifiers: their references lead to different schemas."""
    part = {"type": "array", "items": {"$ref": "#/$defs/item"}, "uniqueItems": True}
    schema = {
        "anyOf": [{"$ref": "one"}, {"$ref": "two"}],
        "$defs": {
            "one": {"$id": "http://host/one", "allOf": [part], "$defs": {"item": {"type": "integer"}}},
            "two": {"$id": "http://host/two", "allOf": [part], "$defs": {"item": {"type": "string"}}},
        },
        "$id": "http://host/root",
    }
    held = detent.json_schema(json.dumps(schema))
    assert held.accepts("[1, 2]")
    assert held.accepts('["1", "2"]')
    assert not held.accepts('[1, "2"]')
    assert not held.accepts("[1, 1]")


def test_the_order_of_members_is_that_of_each_copy() -> None:
    both = [{"a": {"type": "integer"}, "b": {"type": "integer"}}, {"b": {"type": "integer"}, "a": {"type": "integer"}}]
    objects = [{"type": "object", "properties": one, "required": ["a", "b"], "minProperties": 2} for one in both]
    tags = [{"const": number} for number in (1, 2)]
    schema = {
        "anyOf": [
            {"type": "object", "properties": {"tag": tag, "list": array(one)}, "required": ["tag", "list"]}
            for tag, one in zip(tags, objects, strict=True)
        ]
    }
    held = detent.json_schema(json.dumps(schema))
    assert held.accepts('{"tag": 1, "list": [{"a": 1, "b": 2}]}')
    assert held.accepts('{"tag": 2, "list": [{"b": 1, "a": 2}]}')
    assert not held.accepts('{"tag": 2, "list": [{"a": 1, "b": 2}]}')


REFERENCE: dict[str, Any] = {
    "type": "object",
    "required": ["$ref"],
    "patternProperties": {"^\\$ref$": {"type": "string"}},
}
"""Has a member `$ref`, as in OpenAPI and AsyncAPI, and may have others."""

LISTS: dict[str, dict[str, Any]] = {
    "closed, with a pattern": {
        "type": "object",
        "properties": {"list": array({"type": "string"})},
        "patternProperties": {"^x-": True},
        "additionalProperties": False,
    },
    "other values of $ref": {
        "type": "object",
        "properties": {"list": array({"type": "string"})},
        "patternProperties": {"^x-": True},
        "additionalProperties": {"type": "integer"},
    },
    "a pattern for $ref": {
        "type": "object",
        "properties": {"list": array({"type": "string"})},
        "patternProperties": {"^.ref$": {"type": "integer"}},
    },
}


@pytest.mark.parametrize("order", ["schema", "any"])
@pytest.mark.parametrize("name", LISTS)
def test_a_reference_excludes_what_has_lists_by_the_names_of_members(name: str, order: Any) -> None:
    """The negation of a list of unique items is not asked for: one side requires what the other forbids."""
    schema = {"oneOf": [LISTS[name], REFERENCE]}
    held = detent.json_schema(json.dumps(schema), order=order)
    validator = jsonschema.Draft202012Validator(schema)
    members = {"list": [[], ["a", "b"], ["a", "a"], [1], 1], "$ref": ["a", 1], "x-": [1, "a"], "z": [1, "a"]}
    choices = [[(key, value) for value in values] + [None] for key, values in members.items()]
    for chosen in product(*choices):
        value = dict(each for each in chosen if each is not None)
        orders = [dict(each) for each in permutations(value.items())]
        accepted = [held.accepts(json.dumps(each)) for each in orders]
        is_valid = validator.is_valid(value)
        assert (any(accepted), order == "schema" or all(accepted)) == (is_valid, order == "schema" or is_valid), value


@pytest.mark.parametrize("name", ["closed, with a pattern", "a pattern for $ref"])
def test_names_that_a_pattern_takes_or_leaves_do_not_exclude_a_reference(name: str) -> None:
    other = {"^ref$": {"type": "integer"}} if name == "a pattern for $ref" else {"ref$": True}
    schema = {"oneOf": [{**LISTS[name], "patternProperties": other}, REFERENCE]}
    with pytest.raises(detent.UnsupportedSchemaError, match="uniqueItems"):
        detent.json_schema(json.dumps(schema))


# Lists inside lists.

BYTES = [bytes([byte]) for byte in range(256)]


def tree(label: Any) -> dict[str, Any]:
    """Return the schema of trees with unique labels, and unique children."""
    node = {
        "type": "object",
        "properties": {"labels": array(label), "children": array({"$ref": "#/$defs/node"})},
        "required": ["labels"],
        "additionalProperties": False,
    }
    return {**array({"$ref": "#/$defs/node"}), "$defs": {"node": node}}


def trees(labels: list[Any]) -> list[Any]:
    """Return lists of small trees, with repeated labels and trees among them."""
    leaves = [{"labels": list(each)} for size in range(3) for each in product(labels, repeat=size)]
    forests = [list(each) for size in range(3) for each in product(leaves, repeat=size)]
    parents = [{"labels": labels[:1], "children": each} for each in forests]
    return [
        *forests,
        *([one, other] for one in parents[::3] for other in (*parents[::7], one, dict(reversed(one.items())))),
    ]


@pytest.mark.parametrize("order", ["schema", "any"])
def test_lists_inside_the_items_of_lists_that_contain_themselves(order: Any) -> None:
    schema = tree({"type": "string"})
    held = detent.json_schema(json.dumps(schema), order=order)
    validator = jsonschema.Draft202012Validator(schema)
    for value in trees(["a", "b"]):
        expected = validator.is_valid(value) and (order == "any" or all(next(iter(one)) == "labels" for one in value))
        assert held.accepts(json.dumps(value)) == expected, value


TOKENS = [
    *BYTES,
    b'", "',
    b'"b"',
    b'"b", "b"',
    b'"], "',
    b'": []}, {"',
    b'{"labels": [',
    b'"b"]}, {"labels": ["b"]',
    b'"}]',
]
"""Tokens that end an item of an inner list, and go on."""


@pytest.mark.parametrize("order", ["schema", "any"])
def test_masks_of_lists_inside_lists(order: Any) -> None:
    """Each token of a valid text is allowed, and each allowed token leads to a valid text."""
    schema = tree({"type": "string"})
    vocabulary = detent.Vocabulary([*TOKENS, b"</s>"], eos_token_ids=[len(TOKENS)])
    guide = detent.compile(detent.json_schema(json.dumps(schema), order=order), vocabulary)
    validator = jsonschema.Draft202012Validator(schema)
    random = Random(order)
    for value in [value for value in trees(["", "b"])[::20] if validator.is_valid(value)]:
        if order == "schema" and any(next(iter(one)) != "labels" for one in value):
            continue
        text, at = json.dumps(value).encode(), 0
        matcher = guide.matcher()
        while at < len(text):
            allowed = set(matcher.allowed())
            for token in sorted(token for token in allowed if token >= len(BYTES)):
                fork = matcher.fork()
                fork.advance(token)
                rest = b"".join(TOKENS[each] for each in fork.completion() or () if each < len(TOKENS))
                assert validator.is_valid(json.loads(text[:at] + TOKENS[token] + rest)), (
                    text[:at],
                    TOKENS[token],
                    rest,
                )
            following = [token for token, each in enumerate(TOKENS) if text.startswith(each, at)]
            assert allowed.issuperset(following), (text[:at], following)
            token = random.choice(following)
            matcher.advance(token)
            at += len(TOKENS[token])
        assert len(TOKENS) in matcher.allowed()


DEAD = {"type": "object", "properties": {"more": {"$ref": "#/$defs/dead"}}, "required": ["more"]}
"""Has no value: one inside the other, without end."""


@pytest.mark.parametrize("order", ["schema", "any"])
@pytest.mark.parametrize(
    "node",
    [
        {
            "type": "object",
            "properties": {"a": array({"$ref": "#"})},
            "maxProperties": 1,
            "additionalProperties": False,
        },
        {
            "anyOf": [
                array({"enum": list(range(40))}),
                {"type": "object", "properties": {"text": {"type": "string"}, "more": DEAD}, "required": ["more"]},
            ]
        },
    ],
    ids=["no string", "a string beside no value"],
)
def test_lists_inside_items_that_may_be_few_are_refused(node: Any, order: Any) -> None:
    labels = array({"enum": list(range(40))})
    both = {
        "type": "object",
        "properties": {"one": node, "two": labels},
        "maxProperties": 1,
        "additionalProperties": False,
    }
    with pytest.raises(detent.UnsupportedSchemaError, match="may have few values"):
        detent.json_schema(json.dumps({**array(both), "$defs": {"dead": DEAD}}), order=order)


@pytest.mark.parametrize("order", ["schema", "any"])
def test_strings_of_members_that_the_number_of_members_excludes_do_not_count(order: Any) -> None:
    """Two objects are left, since `b` would be a second member. So nothing follows them."""
    item = {"type": "object", "properties": {"a": {"enum": [1, 2]}, "b": {"type": "string"}}}
    schema = array({**item, "required": ["a"], "maxProperties": 1})
    vocabulary = detent.Vocabulary([*BYTES, b"</s>"], eos_token_ids=[len(BYTES)])
    matcher = detent.compile(detent.json_schema(json.dumps(schema), order=order), vocabulary).matcher()
    for byte in b'[{"a": 1}, {"a": 2}':
        matcher.advance(byte)
    assert set(matcher.allowed()) == set(b"\n]")


# Lists of few values inside the items of a list: the items before may leave one way to go on, or none.

FEW: dict[str, tuple[Any, list[Any]]] = {
    "a pattern": ({"type": "string", "pattern": "^[abc]$"}, ["a", "b", "c"]),
    "integers": ({"type": "integer", "minimum": 8, "maximum": 12}, [8, 9, 10, 11, 12]),
    "20 listed": ({"enum": [f"v{number}" for number in range(20)]}, [f"v{number}" for number in range(20)]),
    "30 listed": ({"enum": [f"v{number}" for number in range(30)]}, [f"v{number}" for number in range(30)]),
}


def count_lists(left: int, least: int, most: int) -> int:
    """Return the number of lists of `least` to `most` of `left` distinct values."""
    return sum(perm(left, size) for size in range(max(least, 0), min(most, left) + 1))


class Lists:
    """Lists of distinct values, but for some: the oracle for the text after their bracket."""

    def __init__(self, values: list[Any], least: int, most: int, excluded: list[list[Any]]) -> None:
        self.texts = [json.dumps(value) for value in values]
        self.least, self.most = least, most
        self.excluded = [[json.dumps(value) for value in each] for each in excluded]

    def has_list_after(self, text: str) -> bool:
        """Whether some list begins with a text, which may end inside a value or after the list."""
        inner, end, after = text.partition("]")
        parts = (inner + " " if inner.endswith(",") else inner).split(", ") if inner else []
        items, last = (parts, None) if end or not parts else (parts[:-1], parts[-1])
        if len(set(items)) < len(items) or not set(items) <= set(self.texts) or not "}".startswith(after):
            return False
        if end:
            return self.least <= len(items) <= self.most and items not in self.excluded
        started = [items] if last is None else [[*items, each] for each in self.texts if each.startswith(last)]
        return any(self.count(each) > 0 for each in started if len(set(each)) == len(each))

    def count(self, items: list[str]) -> int:
        size = len(items)
        excluded = sum(each[:size] == items for each in self.excluded)
        return count_lists(len(self.texts) - size, self.least - size, self.most - size) - excluded


@pytest.mark.parametrize("order", ["schema", "any"])
@pytest.mark.parametrize(("least", "most"), [(0, 99), (2, 99), (0, 2)])
@pytest.mark.parametrize("name", mostly_long(list(FEW), always=3))
def test_masks_of_few_values_inside_items(name: str, least: int, most: int, order: Any) -> None:
    """Lists that are not excluded decide each byte, and each token that goes on after a value."""
    items, values = FEW[name]
    tokens = [*BYTES, b'", "', b'", "b', b'"]', b'"]}', b", 9", b"9, ", b"]}", b'", "v1', b'"v0", "']
    lists = array(items, minItems=least, **({"maxItems": most} if most < len(values) else {}))
    item = {"type": "object", "properties": {"text": {"type": "string"}, "list": lists}, "additionalProperties": False}
    vocabulary = detent.Vocabulary([*tokens, b"</s>"], eos_token_ids=[len(tokens)])
    schema = array({**item, "required": ["text", "list"]})
    guide = detent.compile(detent.json_schema(json.dumps(schema), order=order), vocabulary)
    random = Random(name)
    longest = min(most, len(values))
    for number in range(9):
        path = random.sample(values, longest)
        fixed = max(longest - 1 - number % 3, 0)
        others = [value for value in values if value not in path[:fixed]]
        tails = [each for size in range(longest - fixed + 1) for each in permutations(others, size)]
        following = [[*path[:fixed], *each] for each in tails if least <= fixed + len(each)]
        excluded = random.sample(following, max(len(following) - number // 3, 0))[:150]
        oracle = Lists(values, least, most, excluded)
        before = "".join(json.dumps({"text": "x", "list": each}) + ", " for each in excluded)
        matcher = guide.matcher()
        for byte in f"[{before}".encode():
            matcher.advance(byte)
        beginning = b'{"text": "x", "list": ['
        for byte in beginning if oracle.has_list_after("") else b"":
            matcher.advance(byte)
        text = ""
        for byte in json.dumps(path)[1:] if oracle.has_list_after("") else "":
            allowed = set(matcher.allowed())
            for token, each in enumerate(tokens if text.count(",") + 2 > fixed else ()):
                if each.isspace() or not each.isascii() or b"\\" in each or (text.endswith(",") and each[0] != 32):
                    continue  # other spellings
                assert (token in allowed) == oracle.has_list_after(text + each.decode()), (excluded, text, each)
            if ord(byte) not in allowed:
                break
            matcher.advance(ord(byte))
            text += byte


def nested(items: Any) -> str:
    """Return the schema of unique objects with a free text and a list of unique items."""
    item = {"type": "object", "properties": {"text": {"type": "string"}, "list": array(items)}, "required": ["text"]}
    return json.dumps(array({**item, "additionalProperties": False}))


DIGITS = {
    "type": "object",
    "properties": {name: {"enum": [1, 2, 3]} for name in "abc"},
    "required": ["a", "b", "c"],
    "additionalProperties": False,
}


@pytest.mark.parametrize(
    "items",
    [
        {"enum": list(range(257))},
        {"enum": [f"{number} {'x' * 300}" for number in range(200)]},
        {"type": "integer", "minimum": 0, "maximum": 18},
        {"type": "array", "items": {"enum": [1, 2]}, "minItems": 5, "maxItems": 5},
        {"type": "string", "pattern": "^[jk]{9}$"},
        {"type": "array", "items": DIGITS, "minItems": 3, "maxItems": 3},
    ],
    ids=["257 values", "long values", "1 and 1.0", "five numbers with zeros", "escapes", "orders of members"],
)
def test_values_inside_items_that_may_be_few_are_refused(items: Any) -> None:
    with pytest.raises(detent.UnsupportedSchemaError, match="may have few values"):
        detent.json_schema(nested(items), order="any", spelling="any")


UUID = "123e4567-e89b-12d3-a456-426614174000"
WORDS = {"type": "string", "minLength": 1, "pattern": "[^ ]"}


@pytest.mark.parametrize(
    ("items", "one", "other"),
    [
        ({"type": "integer"}, 1, 2),
        ({"type": "string", "format": "uuid"}, UUID, UUID.replace("9", "8")),
        ({"type": "object", "properties": {name: WORDS for name in ("name", "script", "file")}}, {}, {"name": "a"}),
        ({"type": "string", "format": "date"}, "2026-11-27", "2026-11-28"),
        ({"type": "object", "properties": {"x": {"type": "integer"}}, "required": ["x"]}, {"x": 1}, {"x": 2}),
        ({"enum": list(range(256))}, 1, 255),
        ({"type": "string", "pattern": "^[ab]{2}$"}, "ab", "ba"),
    ],
    ids=str,
)
def test_verdicts_of_lists_inside_items(items: Any, one: Any, other: Any) -> None:
    held = detent.json_schema(nested({**items, **({"additionalProperties": False} if "properties" in items else {})}))
    lists = [list(each) for size in range(3) for each in product([one, other], repeat=size)]
    for first, second in product(lists, repeat=2):
        text = json.dumps([{"text": "x", "list": first}, {"text": "x", "list": second}])
        expected = first != second and all(len(each) < 2 or each[0] != each[1] for each in (first, second))
        assert held.accepts(text) == expected, text
    spelled = nested({"type": "string", "pattern": "^[ab]{2}$"})
    written = '[{"text": "x", "list": ["ab", "%s"]}]'
    held = detent.json_schema(spelled, spelling="any")
    assert held.accepts(written % "\\u0061a")
    assert not held.accepts(written % "\\u0061b")


def test_lists_of_few_values_in_rules() -> None:
    """A rule may be inside the items of a list, so each of its lists may be."""
    values = [f"v{number}" for number in range(20)]
    members = {"text": {"type": "string"}, "children": array({"$ref": "#/$defs/node"}), "list": array({"enum": values})}
    node = {"type": "object", "properties": members, "required": [*members], "additionalProperties": False}
    schema = {**array({"$ref": "#/$defs/node"}), "$defs": {"node": node}}
    vocabulary = detent.Vocabulary([*BYTES, b"</s>"], eos_token_ids=[len(BYTES)])
    matcher = detent.compile(detent.json_schema(json.dumps(schema)), vocabulary).matcher()
    texts = [json.dumps({"text": "x", "children": [], "list": values[:size]}) for size in (19, 20, 18)]
    for byte in f'[{texts[0]}, {texts[1]}, {texts[2][:-2]}, "v1'.encode():
        matcher.advance(byte)
    allowed = matcher.allowed()
    assert ord("9") in allowed
    assert ord("8") not in allowed  # neither "v18" nor "v18", "v19" may end the list


# Listed values, of which some are asked for.

CONTAINS: dict[str, dict[str, Any]] = {
    "one": {"contains": {"const": "c"}},
    "two": {"allOf": [{"contains": {"const": "c"}}, {"contains": {"const": "a"}}]},
    "two, one at most": {"allOf": [{"contains": {"const": "c"}}, {"contains": {"const": "a"}}], "maxItems": 1},
    "one, two at least": {"contains": {"enum": ["c", "other"]}, "minItems": 2},
    "one without another": {"contains": {"const": "c"}, "not": {"contains": {"const": "b"}}},
}


@pytest.mark.parametrize("count", [7, 20])
@pytest.mark.parametrize("name", CONTAINS)
def test_listed_values_beside_contains(name: str, count: int) -> None:
    values = [chr(ord("a") + index) for index in range(count)]
    schema = array({"enum": values}, **CONTAINS[name])
    held = detent.json_schema(json.dumps(schema))
    validator = jsonschema.Draft202012Validator(schema)
    for value in (list(each) for size in range(5) for each in product("abcd", repeat=size)):
        assert held.accepts(json.dumps(value)) == validator.is_valid(value), value


def test_listed_values_beside_a_contains_of_two_are_refused() -> None:
    schema = array({"enum": list("abcdefgh")}, contains={"enum": ["a", "b"]})
    with pytest.raises(detent.UnsupportedSchemaError, match="at most 6 values"):
        detent.json_schema(json.dumps(schema))


@pytest.mark.long
def test_contents_are_numbered_without_recursion() -> None:
    def nested(last: int) -> Any:
        value: Any = {"maximum": last}
        for _ in range(100_000):
            value = {"items": value}
        return value

    contents, first, copy, other = Contents(), nested(1), nested(1), nested(2)
    assert contents.number(first) == contents.number(copy) != contents.number(other)


@pytest.mark.parametrize("pair", [(True, 1), (1, 1.0), (None, "null"), ([], {}), ({"a": 1, "b": 2}, {"b": 2, "a": 1})])
def test_contents_that_are_not_written_alike_differ(pair: tuple[Any, Any]) -> None:
    contents = Contents()
    one, other = pair
    assert contents.number([one, one]) != contents.number([one, other])
    assert contents.number({"k": one}) == contents.number({"k": json.loads(json.dumps(one))})


def test_lists_of_the_same_items_may_ask_for_more_of_them() -> None:
    items = {"type": "string", "maxLength": 3}
    lists = {"few": array(items), "many": array(items, minItems=60), "other": array(items, minItems=2)}
    language = detent.json_schema({"type": "object", "properties": lists, "required": [*lists]})
    value = {"few": [], "many": [str(number) for number in range(60)], "other": ["a", "b"]}
    assert language.accepts(json.dumps(value))
    assert len(json.loads(language.shortest())["many"]) == 60
    assert not language.accepts(json.dumps({**value, "many": value["many"][:59]}))


def test_the_pointer_of_a_refused_list_is_its_own() -> None:
    """All lists inside items are decided at once; the error names the one that may have few values."""
    few = array(array({"enum": list(range(257))}))
    fine = array(array({"type": "string"}))
    for schema in ({"fine": fine, "few": few, "last": fine}, {"few": few, "last": fine, "again": few}):
        with pytest.raises(detent.UnsupportedSchemaError, match="may have few values") as refused:
            detent.json_schema({"type": "object", "properties": schema})
        assert refused.value.pointer == "/properties/few"


@pytest.mark.parametrize("order", ["schema", "any"])
def test_three_lists_inside_each_other_are_decided_as_the_schema_is_read(order: Any) -> None:
    """The limits of a first, small question do not suffice here."""
    rule = array(array(array({"enum": list(range(8))}), minItems=1))
    with pytest.raises(detent.UnsupportedSchemaError, match="may have few values") as refused:
        detent.json_schema({"type": "object", "properties": {"a": rule}}, order=order)
    assert refused.value.pointer == "/properties/a"
    with pytest.warns(detent.SchemaWarning, match="dropped: uniqueItems at /properties/a"):
        detent.json_schema({"type": "object", "properties": {"a": rule}}, order=order, lenient=True)

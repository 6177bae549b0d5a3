"""oneOf beside other conditions: schemas that exclude each other only by what stands beside them."""

from __future__ import annotations

import itertools
import json
from typing import Any

import hypothesis
import hypothesis.strategies as st
import jsonschema

import detent

VALUES: list[Any] = [1, 2, "x", [1]]
MISSING = object()
INSTANCES: list[Any] = [
    *({"a": a, "b": b} for a, b in itertools.product(VALUES, repeat=2)),
    *({name: value} for name in "ab" for value in VALUES),
    {},
    {"c": 1},
    *VALUES,
]

listed = st.lists(st.sampled_from(VALUES), min_size=1, max_size=2).map(lambda values: {"enum": values})
denied = st.builds(lambda schema, kinds: {"not": schema | kinds}, listed, st.sampled_from([{}, {"type": "string"}]))
values = listed | denied | st.builds(lambda one, other: one | other, listed, denied) | st.just({"type": "string"})
members = st.builds(
    lambda found, kinds: kinds | {"properties": found},
    st.dictionaries(st.sampled_from("ab"), values, min_size=1),
    st.sampled_from([{}, {"type": "object"}]),
)
leaves = members | values | st.sampled_from([{"required": ["b"]}, {"type": "array"}, {"type": "object"}])
nested = st.builds(
    lambda schema, keyword, cases: schema | {keyword: cases},
    leaves,
    st.sampled_from(["oneOf", "anyOf"]),
    st.lists(leaves, min_size=1, max_size=3),
)
required = st.sampled_from([{}, {"required": ["a"]}, {"required": ["a", "b"]}, {"allOf": [{"required": ["b"]}]}])
besides = st.builds(
    lambda one, other: one | other,
    required,
    st.sampled_from([{}, {"type": "object"}, {"type": "object", "properties": {"a": {}}}]),
)


one, other, third = ({"properties": {"a": {"enum": [value]}}} for value in (1, 2, "x"))


@hypothesis.example([{"enum": [{"a": 1}]}, {"not": {"enum": [{"a": 1}], "required": ["b"]}}], {}, "any")
@hypothesis.example([one, other], {"type": "object", "properties": {"a": {}}}, "any")
@hypothesis.example([{"anyOf": [one, other]}, {"anyOf": [third, other]}], {"type": "object", "required": ["a"]}, "any")
@hypothesis.given(st.lists(leaves | nested, min_size=2, max_size=3), besides, st.sampled_from(["any", "schema"]))
def test_verdicts(schemas, beside, order):
    schema = beside | {"oneOf": schemas}
    valid = [instance for instance in INSTANCES if jsonschema.Draft202012Validator(schema).is_valid(instance)]
    if not valid:
        return
    rule = detent.json_schema(schema, order=order)
    for instance in INSTANCES:
        orders = itertools.permutations(instance.items()) if isinstance(instance, dict) else [None]
        texts = [json.dumps(instance if one is None else dict(one)) for one in orders]
        accepted = [rule.accepts(text) for text in texts]
        assert (all if order == "any" else any)(accepted) == (instance in valid), instance

"""oneOf beside other conditions: schemas that exclude each other only by what stands beside them."""

from __future__ import annotations

import itertools
import json
from typing import Any

import hypothesis
import hypothesis.strategies as st
import jsonschema

import detent
from detent.limits import Limits
from detent.sources.json_schema.assertions.document import SchemaDocument
from detent.sources.json_schema.solve.solver import Solver

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
choices = st.builds(
    lambda keyword, schemas, beside: {keyword: schemas} | beside,
    st.sampled_from(["anyOf", "oneOf"]),
    st.lists(listed | st.sampled_from([{"type": "string"}, {"type": "array"}]), min_size=2, max_size=3),
    st.sampled_from([{}, {"type": "integer"}, {"enum": [1, "x"]}]),
)
denied |= choices.map(lambda schema: {"not": schema})
values = (
    listed | choices | denied | st.builds(lambda one, other: one | other, listed, denied) | st.just({"type": "string"})
)
members = st.builds(
    lambda found, kinds: kinds | {"properties": found},
    st.dictionaries(st.sampled_from("ab"), values, min_size=1),
    st.sampled_from([{}, {"type": "object"}]),
)
patterns = st.dictionaries(st.sampled_from(["^a", "b$", "^[ac]$", "c"]), values | st.booleans(), max_size=2)
members |= st.builds(
    lambda found, matched, others: found | {"patternProperties": matched} | others,
    members,
    patterns,
    st.sampled_from([{}, {"additionalProperties": False}]) | values.map(lambda one: {"additionalProperties": one}),
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


def test_many_tags_that_may_be_null_or_missing():
    """As in OpenAI's InputItem: each of 12 schemas has members that may be null, and some require no tag."""

    def nullable(schema):
        return {"anyOf": [schema, {"type": "null"}]}

    def tagged(number, required):
        tag = nullable({"enum": [f"t{number}"]})
        members = {"type": tag, "id": nullable({"type": "string"}), f"m{number % 7}": nullable({"type": "integer"})}
        return {"type": "object", "properties": members, "required": required}

    schemas = [tagged(number, ["type", f"m{number % 7}"]) for number in range(10)]
    schema = {"oneOf": [*schemas, tagged(10, ["id"]), tagged(11, ["id", "m1"])]}
    judge = jsonschema.Draft202012Validator(schema)
    instances = [
        dict(zip(("type", "id", "m1", "m2"), found, strict=True))
        for found in itertools.product(
            ["t1", "t2", "t10", "t11", "t12", None, 1], ["x", None, 1], [1, None, "x"], [2, ""]
        )
    ]
    instances += [{name: value for name, value in each.items() if name != "type"} for each in instances]
    instances += [{name: value for name, value in each.items() if name != "m1"} for each in instances]
    verdicts = [judge.is_valid(instance) for instance in instances]
    assert 40 < sum(verdicts) < len(verdicts) - 40
    rule = detent.json_schema(schema, order="any")
    assert [rule.accepts(json.dumps(instance)) for instance in instances] == verdicts
    ordered = detent.json_schema(schema)
    for instance, verdict in zip(instances[::9], verdicts[::9], strict=True):
        orders = map(dict, itertools.permutations(instance.items()))
        assert any(ordered.accepts(json.dumps(each)) for each in orders) == verdict


def test_disjoint_schemas_have_no_value_in_common():
    """Of all pairs of small schemas and their negations; most pairs without a common value are found."""
    plain = [{"enum": [1, "x"]}, {"enum": [2]}, {"type": "string"}, {"type": ["string", "null"]}, {"type": "integer"}]
    small = [*plain, {"required": ["a"], "type": "object"}]
    for keyword, beside in itertools.product(["anyOf", "oneOf"], [{}, {"type": "integer"}, {"enum": [1, None]}]):
        small += [{keyword: list(pair)} | beside for pair in itertools.combinations(plain, 2)]
    small += [{"allOf": [schema]} for schema in small[6:20]]
    instances = [1, 2, 3, "x", "y", None, {}, {"a": 1}, []]
    truths = [[jsonschema.Draft202012Validator(schema).is_valid(each) for each in instances] for schema in small]
    document = SchemaDocument({"allOf": small}, False, {}, Limits())
    solver = Solver(document)
    nodes = [document.inner(document.root, schema, "allOf", index) for index, schema in enumerate(small)]
    found = exist = 0
    for (one, holds), (other, also) in itertools.product(zip(nodes, truths, strict=True), repeat=2):
        for right, sign in ((other, True), (other.negation, False)):
            have_common = any(left and value is sign for left, value in zip(holds, also, strict=True))
            are = solver.are_disjoint((one,), (right,))
            assert not (are and have_common), (one.schema, right, sign)
            found, exist = found + are, exist + (not have_common)
    assert found > 0.6 * exist, (found, exist)

"""Members in any order: terms that differ in the condition on one member allow the same objects when merged."""

from __future__ import annotations

import itertools
import json
import random
from collections.abc import Iterator
from typing import Any

import jsonschema
import pytest

import detent
from detent.sources.json_schema.assertions.formulas import (
    FALSE,
    TRUE,
    Combination,
    Formula,
    HasMember,
    LacksMember,
    MemberValue,
)
from detent.sources.json_schema.parse.schema_node import NegatedSchema
from detent.sources.json_schema.solve import member_sets, merged_terms
from detent.sources.json_schema.solve.object_plan import ObjectPlan

NAMES = "abc"
VALUES: list[Any] = [1, "x", None]
INSTANCES: list[dict[str, Any]] = [
    dict(zip(names, values, strict=True))
    for count in range(len(NAMES) + 1)
    for names in itertools.permutations(NAMES, count)
    for values in itertools.product(VALUES, repeat=count)
]
ALL_OR_NONE: dict[str, Any] = {
    "dependencies": {name: [other for other in NAMES if other != name] for name in NAMES},
}
"""Some terms ask for a member and exclude it."""
DECISIONS: dict[str, Any] = {
    "oneOf": [
        {"properties": {"a": {"const": 1}, "b": {"type": "string"}, "c": {"type": "string"}}},
        {"properties": {"a": {"type": "string"}, "b": {"const": 1}}, "required": ["a"]},
        {"properties": {"b": {"type": "string"}, "c": {"type": "null"}}},
    ]
}

OPTIONAL: dict[str, Any] = {
    "anyOf": [
        {"properties": {"a": {"type": "string"}}, "required": ["b"]},
        {"properties": {"a": {"not": {"type": "string"}}}, "required": ["a", "b"]},
    ]
}


def _schema(choose: random.Random, depth: int) -> dict[str, Any]:
    """Return a schema of objects, with combinations of conditions on the members."""
    kind = choose.randrange(4 if depth == 0 else 8)
    if kind == 0:
        return {"required": choose.sample(NAMES, choose.randint(1, 2))}
    if kind == 1:
        return {"dependencies": {choose.choice(NAMES): choose.sample(NAMES, choose.randint(1, 2))}}
    if kind < 4:
        values: list[dict[str, Any]] = [{"const": 1}, {"type": "string"}, {"enum": [1, None]}, {"not": {"const": 1}}]
        return {"properties": {name: choose.choice(values) for name in choose.sample(NAMES, choose.randint(1, 3))}}
    if kind == 4:
        return {"not": _schema(choose, depth - 1)}
    keyword = choose.choice(["allOf", "anyOf", "oneOf", "oneOf"])
    return {keyword: [_schema(choose, depth - 1) for _ in range(choose.randint(2, 3))]}


def _check(schema: dict[str, Any]) -> None:
    schema = {"type": "object", "additionalProperties": True} | schema
    validator = jsonschema.Draft7Validator(schema)
    language = detent.json_schema(schema, order="any")
    for instance in INSTANCES:
        assert language.accepts(json.dumps(instance)) == validator.is_valid(instance), (schema, instance)


@pytest.mark.parametrize("schema", [ALL_OR_NONE, DECISIONS, OPTIONAL])
def test_merged_terms_allow_the_same_objects(schema: dict[str, Any]) -> None:
    """Terms that require a member and exclude it are dropped, not merged."""
    _check(schema)


@pytest.mark.parametrize("seed", range(40))
def test_random_conditions(seed: int) -> None:
    """Objects of three members, by random conditions on them."""
    choose = random.Random(seed)
    for _ in range(2):
        _check(_schema(choose, 2))


def _atoms(formula: Formula) -> Iterator[Formula]:
    if isinstance(formula, Combination):
        for part in formula.parts:
            yield from _atoms(part)
    else:
        yield formula


def _holds(atom: Formula, instance: dict[str, Any]) -> bool:
    if isinstance(atom, HasMember):
        return atom.name in instance
    if isinstance(atom, LacksMember):
        return atom.name not in instance
    assert isinstance(atom, MemberValue)
    if atom.name not in instance:
        return True
    is_negated = isinstance(atom.schema, NegatedSchema)
    schema = atom.schema.node.schema if isinstance(atom.schema, NegatedSchema) else atom.schema.schema
    return jsonschema.Draft7Validator(schema).is_valid(instance[atom.name]) != is_negated


@pytest.mark.parametrize("seed", range(60))
def test_random_terms(seed: int, monkeypatch: pytest.MonkeyPatch) -> None:
    """Random conjunctions of atoms hold of the same objects when they are merged."""
    plans: list[ObjectPlan] = []
    merge = merged_terms.merged_terms
    monkeypatch.setattr(member_sets, "merged_terms", lambda plan, terms: plans.append(plan) or merge(plan, terms))
    kinds = [{"const": 1}, {"type": "string"}]
    either = [{"properties": {name: kind}, "required": ["c"]} for name in "ab" for kind in kinds]
    detent.json_schema({"type": "object", "required": ["c"] * (seed % 2), "oneOf": either}, order="any")
    plan = max(plans, key=lambda plan: len(plan.order))
    algebra, choose = plan.solver.algebra, random.Random(seed)
    found = [atom.schema for atom in _atoms(plan.residual) if isinstance(atom, MemberValue)]
    schemas = list(dict.fromkeys(signed for schema in found for signed in (schema, algebra.opposite(schema))))
    for _ in range(20):
        terms = []
        for _ in range(choose.randint(2, 6)):
            atoms: list[Formula] = []
            for name in choose.sample(NAMES, choose.randint(1, 3)):
                atoms.append(choose.choice([algebra.has, algebra.lacks])(name) if choose.random() < 0.4 else TRUE)
                atoms += [algebra.value(name, schema) for schema in choose.sample(schemas, choose.randint(0, 2))]
            terms.append(algebra.conjunction(atoms))
        merged = merge(plan, terms)
        for instance in INSTANCES:
            conditions = [algebra.value(name, schema) for name in NAMES for schema in plan.schemas_of(name)]
            if plan.required.keys() <= instance.keys() and all(_holds(atom, instance) for atom in conditions):
                before, after = (
                    any(
                        all(atom is TRUE or _holds(atom, instance) for atom in member_sets.atoms_of(term))
                        for term in each
                        if term is not FALSE
                    )
                    for each in (terms, merged)
                )
                assert before == after, (terms, merged, instance)


def test_terms_that_differ_in_one_member_are_one(monkeypatch: pytest.MonkeyPatch) -> None:
    """Without a, and with a string: two terms for each condition on b, and one of them is both."""
    counts: list[tuple[int, int]] = []
    merge = merged_terms.merged_terms

    def counted(plan: Any, terms: Any) -> Any:
        found = merge(plan, terms)
        counts.append((len(terms), len(found)))
        return found

    monkeypatch.setattr(member_sets, "merged_terms", counted)
    text = {"type": "string"}
    one = {"type": "object", "properties": {"b": text}, "required": ["b", "a"]}
    detent.json_schema({"oneOf": [{"type": "object", "properties": {"a": text, "b": text}}, one]}, order="any")
    assert max(counts) == (3, 2)

"""Schemas of the kinds that real documents have, with instances whose verdicts are those of the package `jsonschema`.

OpenAPI, Kubernetes, GitHub workflows, package.json, GeoJSON, FHIR, recursion by `$dynamicRef`, discriminated unions,
conditions, dependencies, unevaluated members, patterns, numbers, formats, generated schemas, unique items. The verdicts
are those with format checking; patterns were judged as ECMA-262 patterns.
"""

from __future__ import annotations

import json
import warnings
from pathlib import Path

import pytest

import detent

LINES = (Path(__file__).parents[2] / "data" / "real_schemas.jsonl").read_text(encoding="ascii").splitlines()
CASES = [json.loads(line) for line in LINES]


@pytest.mark.parametrize("case", CASES, ids=lambda case: case["name"])
def test_verdicts(case: dict) -> None:
    warnings.simplefilter("ignore", detent.SchemaWarning)
    text = json.dumps(case["schema"])
    if "refused" in case:
        with pytest.raises(getattr(detent, case["refused"])):
            detent.json_schema(text, order="any", spelling="any")
        return
    foreign = detent.json_schema(text, order="any", spelling="any")
    written = detent.json_schema(text, order="any")
    ordered = detent.json_schema(text)
    assert [instance for instance in case["valid"] if not foreign.accepts(instance)] == []
    assert [instance for instance in case["invalid"] if foreign.accepts(instance)] == []
    assert [instance for instance in case["invalid"] if written.accepts(instance)] == []
    assert [instance for instance in case["invalid"] if ordered.accepts(instance)] == []


@pytest.mark.long
def test_derivatives_by_kinds_are_the_same(monkeypatch: pytest.MonkeyPatch) -> None:
    """Where alternatives multiply out to too many, the kinds of a member are distinguished; here everywhere."""

    def too_many(*_: object) -> object:
        raise detent.LimitError("too many", subject="combinations", limit=0)

    warnings.simplefilter("ignore", detent.SchemaWarning)
    accepted = 0
    for case in [case for case in CASES if "refused" not in case][::4]:
        text, instances = json.dumps(case["schema"]), case["valid"] + case["invalid"]
        expected = [detent.json_schema(text).accepts(instance) for instance in instances]
        with monkeypatch.context() as patched:
            patched.setattr("detent.sources.json_schema.solve.object_plan.ObjectPlan.options", too_many)
            by_kinds = detent.json_schema(text + " ")
        assert [by_kinds.accepts(instance) for instance in instances] == expected, case["name"]
        accepted += sum(expected)
    assert accepted > 250


def test_most_schemas_are_not_refused() -> None:
    assert len(CASES) > 280
    assert sum("refused" in case for case in CASES) < 10

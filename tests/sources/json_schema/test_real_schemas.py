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
    assert [instance for instance in case["valid"] if not foreign.accepts(instance)] == []
    assert [instance for instance in case["invalid"] if foreign.accepts(instance)] == []
    assert [instance for instance in case["invalid"] if written.accepts(instance)] == []


def test_most_schemas_are_not_refused() -> None:
    assert len(CASES) > 280
    assert sum("refused" in case for case in CASES) < 10

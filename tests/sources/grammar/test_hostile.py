"""The grammars of the hostile corpus, as its expectations say; on a small stack, too."""

from __future__ import annotations

import importlib.util
import json

import pytest

import detent
from tests.conftest import SHARED, needs_shared
from tests.small_stack import in_a_small_stack

READERS = {"lark": detent.grammar, "gbnf": detent.gbnf}


def corpus():
    if SHARED is None:
        return []
    lines = (SHARED / "data" / "hostile" / "hostile-dev.jsonl").read_text(encoding="utf-8").splitlines()
    return [case for case in map(json.loads, lines) if case["kind"] in READERS]


@pytest.fixture(scope="module")
def expand():
    spec = importlib.util.spec_from_file_location("hostile_gen", SHARED / "data" / "hostile" / "hostile_gen.py")
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module.expand


@needs_shared
@pytest.mark.parametrize("case", corpus(), ids=lambda case: case["id"])
def test_case(case, expand):
    try:
        language = READERS[case["kind"]](expand(case["input"]))
        answers = {
            text: language.accepts(text) for kind in ("accept", "reject") for text in map(expand, case.get(kind, []))
        }
    except detent.DetentError as error:
        assert len(str(error).encode()) <= 512
        assert case["expect"] in ("clean_error", "bounded")
        return
    assert case["expect"] in ("compiles", "bounded")
    assert answers == {
        text: kind == "accept" for kind in ("accept", "reject") for text in map(expand, case.get(kind, []))
    }


@pytest.mark.parametrize(
    "text",
    [
        "start: " + "(" * 250 + '"a"' + ")" * 250,
        "start: r0\n" + "\n".join(f"r{i}: r{i + 1}" for i in range(2000)) + '\nr2000: "a"',
        "start: r0\n" + "\n".join(f"r{i}: r{i + 1} | " for i in range(200)) + '\nr200: r0 "b" | "a"',
        "start: /" + "(" * 250 + "a" + ")" * 250 + "/",
        "start: A\nA: " + "(" * 250 + '"a" | "ab"' + ")" * 250,
        'start: "a"' + "?*+" * 5000,
    ],
)
def test_depth_costs_no_stack(text):
    def work():
        try:
            assert detent.grammar(text).accepts("a")
        except detent.LimitError as error:
            assert len(str(error)) <= 512

    in_a_small_stack(work)

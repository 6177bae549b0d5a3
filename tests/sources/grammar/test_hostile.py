"""The grammars of the hostile corpus, as its expectations say; on a small stack, too."""

from __future__ import annotations

import pytest

import detent
from tests.support.hostile_corpus import expand, hostile_cases
from tests.support.shared_data import needs_shared
from tests.support.small_stack import in_a_small_stack

READERS = {"lark": detent.grammar, "gbnf": detent.gbnf}


@needs_shared
@pytest.mark.parametrize("case", hostile_cases(*READERS), ids=lambda case: case["id"])
def test_case(case):
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

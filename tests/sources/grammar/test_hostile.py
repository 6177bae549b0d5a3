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


def test_the_search_for_tails_of_nullable_rules_counts_as_work() -> None:
    """Each of 50 stacks has up to 50 nullable heads: on Llama 3, uncounted, the refusal took 3.8 s."""
    rules = [f'n{i} ::= [{chr(97 + i % 26)}-z]? n{(3 * i + 1) % 50}? ""' for i in range(50)]
    for i in range(0, 50, 3):
        rules[i] = f'n{i} ::= "{chr(97 + i % 26)}" n{i}? | ""'
    language = detent.gbnf("\n".join(["root ::= " + " ".join(f"n{i}" for i in range(50)) + ' "."', *rules]))
    vocabulary = detent.Vocabulary([*(bytes([byte]) for byte in range(256)), b""], eos_token_ids=[256])
    detent.compile(language, vocabulary, limits=detent.Limits(work=200_000))
    vocabulary = detent.Vocabulary([*(bytes([byte]) for byte in range(256)), b""], eos_token_ids=[256])
    with pytest.raises(detent.LimitError, match="work"):  # it takes 39,000 units, 6,000 of them elsewhere
        detent.compile(language, vocabulary, limits=detent.Limits(work=15_000))

"""The regexes of the hostile corpus, as its expectations say."""

from __future__ import annotations

import pytest

import detent
from tests.support.acceptance import BYTES
from tests.support.hostile_corpus import expand, hostile_cases
from tests.support.shared_data import needs_shared


def accepts(guide, text):
    matcher = guide.matcher()
    try:
        matcher.advance_bytes(text.encode())
    except detent.StateError:
        return False
    return matcher.is_accepting


@needs_shared
@pytest.mark.parametrize("case", hostile_cases("regex"), ids=lambda case: case["id"])
def test_case(case):
    # The corpus expects lookarounds to be refused; detent holds them, so they must be right instead.
    held = case["class"] == "unsupported" and case["input"].startswith("(?!")
    try:
        guide = detent.compile(detent.regex(expand(case["input"])), BYTES)
        answers = {
            text: accepts(guide, text) for kind in ("accept", "reject") for text in map(expand, case.get(kind, []))
        }
    except detent.DetentError as error:
        assert len(str(error).encode()) <= 512
        assert case["expect"] in ("clean_error", "bounded")
        return
    assert case["expect"] in ("compiles", "bounded") or held
    assert answers == {
        text: kind == "accept" for kind in ("accept", "reject") for text in map(expand, case.get(kind, []))
    }

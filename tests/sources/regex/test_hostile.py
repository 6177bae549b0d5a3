"""The regexes of the hostile corpus, as its expectations say."""

from __future__ import annotations

import importlib.util
import json

import pytest

import detent
from tests.conftest import SHARED, needs_shared
from tests.sources.regex.acceptance import BYTES


def corpus():
    if SHARED is None:
        return []
    folder = SHARED / "data" / "hostile"
    lines = (folder / "hostile-dev.jsonl").read_text(encoding="utf-8").splitlines()
    return [case for case in map(json.loads, lines) if case["kind"] == "regex"]


@pytest.fixture(scope="module")
def expand():
    spec = importlib.util.spec_from_file_location("hostile_gen", SHARED / "data" / "hostile" / "hostile_gen.py")
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module.expand


def accepts(guide, text):
    matcher = guide.matcher()
    try:
        matcher.advance_bytes(text.encode())
    except detent.StateError:
        return False
    return matcher.is_accepting


@needs_shared
@pytest.mark.parametrize("case", corpus(), ids=lambda case: case["id"])
def test_case(case, expand):
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

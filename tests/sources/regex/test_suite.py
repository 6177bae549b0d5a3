"""The data suite tests/data/regex.toml, through the front end and the core."""

from __future__ import annotations

import re
import sys
from pathlib import Path

import pytest

import detent
from tests.support.acceptance import accepts
from tests.support.engines import ENGINES

tomllib = pytest.importorskip("tomllib", reason="reading TOML needs Python 3.11")

FLAGS = {"i": re.I, "m": re.M, "s": re.S, "x": re.X, "a": re.A, "u": re.U}
TABLE = Path(__file__).parents[2] / "data" / "regex.toml"
CASES = [
    case
    for case in tomllib.loads(TABLE.read_text(encoding="utf-8"))["case"]
    if sys.version_info >= tuple(map(int, case.get("python", "3").split(".")))
]
RIGHT = [case for case in CASES if "error" not in case]
WRONG = [case for case in CASES if "error" in case]


def flags_of(case: dict) -> int:
    return sum(int(FLAGS[letter]) for letter in case.get("flags", ""))


@pytest.mark.parametrize("case", RIGHT, ids=lambda case: ascii(case["pattern"])[:40])
def test_texts(case):
    wanted = {text: True for text in case.get("accepts", [])} | {text: False for text in case.get("rejects", [])}
    assert accepts(case["pattern"], flags_of(case), wanted) == wanted
    if not case.get("beyond_re"):
        matches = re.compile(case["pattern"], flags_of(case)).fullmatch
        assert {text: matches(text) is not None for text in wanted} == wanted


@pytest.mark.parametrize("engine", ENGINES)
def test_texts_in_every_configuration(engine):
    """Masks allow exactly the texts of the suite, whatever the tokens, caches, budgets and machines."""
    skipped = 0
    for case in RIGHT:
        language = detent.regex(case["pattern"], flags_of(case))
        wanted = {text: True for text in case.get("accepts", [])} | {text: False for text in case.get("rejects", [])}
        try:
            found = {text: ENGINES[engine](language, text) for text in wanted}
        except detent.EmptyLanguageError:
            found = dict.fromkeys(wanted, False)
        except detent.LimitError as error:
            assert (engine, error.subject) == ("table", "max_states"), case["pattern"]
            skipped += 1
            continue
        assert found == wanted, case["pattern"]
    assert skipped < 20


@pytest.mark.parametrize("case", WRONG, ids=lambda case: ascii(case["pattern"])[:40])
def test_errors(case):
    with pytest.raises(detent.DetentError) as caught:
        detent.regex(case["pattern"], flags_of(case))
    assert (caught.value.code, caught.value.position) == (case["error"], case.get("position"))
    assert len(str(caught.value).encode()) <= 512
    assert f"character {case['position']}" in str(caught.value)


def test_every_case_says_something():
    assert all(case.get("accepts") or case.get("rejects") or case.get("error") for case in CASES)
    assert len(CASES) >= 120

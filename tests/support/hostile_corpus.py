"""The hostile corpus of the shared data: inputs that attack a front end, each with the outcome that it must have."""

from __future__ import annotations

import importlib.util
import json
from functools import cache
from types import ModuleType
from typing import Any

from tests.support.shared_data import FOLDER

_CORPUS = FOLDER / "hostile"


def hostile_cases(*kinds: str) -> list[dict[str, Any]]:
    """Return the cases of some kinds; none if there is no shared data."""
    if not _CORPUS.is_dir():
        return []
    lines = (_CORPUS / "hostile-dev.jsonl").read_text(encoding="utf-8").splitlines()
    return [case for case in map(json.loads, lines) if case["kind"] in kinds]


def expand(value: Any) -> Any:
    """Return the input that a case describes, built by the corpus's own generator."""
    return _generator().expand(value)


@cache
def _generator() -> ModuleType:
    spec = importlib.util.spec_from_file_location("hostile_gen", _CORPUS / "hostile_gen.py")
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module

"""The folder of shared data beside the repository: real tokenizers and records. Most machines do not have it."""

from __future__ import annotations

import json
from functools import cache
from pathlib import Path
from typing import Any

import pytest

import detent

FOLDER = Path(__file__).resolve().parents[3] / "shared" / "data"

needs_shared = pytest.mark.skipif(not FOLDER.is_dir(), reason=f"needs the shared data in {FOLDER}")


def tokenizer_file(name: str) -> Path:
    """Return the path of a real tokenizer.json."""
    return FOLDER / "tokenizers" / name / "tokenizer.json"


@cache
def real_vocabulary(name: str) -> detent.Vocabulary:
    """Return the vocabulary of a real tokenizer, read once."""
    return detent.Vocabulary.from_file(tokenizer_file(name))


def canonical_record(name: str) -> Any:
    """Return a record of canonical tokens: texts with the token ids that the tokenizer writes."""
    return json.loads((FOLDER / "canonical" / f"{name}.json").read_text(encoding="utf-8"))

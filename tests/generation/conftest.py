"""What the tests of generation share."""

from __future__ import annotations

import pytest

import detent
from tests.support import tiny_llama


@pytest.fixture(scope="module", params=["embedded", "transformers"])
def real(request: pytest.FixtureRequest) -> detent.models.BatchModel:
    """Return each kind of model that reads several sessions in one pass."""
    if request.param == "embedded":
        return detent.load_model()
    pytest.importorskip("torch", reason="needs torch")
    pytest.importorskip("transformers", reason="needs transformers")
    return detent.models.Transformers(tiny_llama.model(), tiny_llama.tokenizer())

"""mlx-lm on the embedded weights: its own loop with a processor, and detent's loop."""

from __future__ import annotations

from typing import Any

import pytest

import detent
from tests.integrations.engines.cases import PROMPTS, break_third_mask, cases, chat_ids, check_model, check_text

pytestmark = pytest.mark.engines
mlx_lm = pytest.importorskip("mlx_lm")

from detent.integrations.mlx import LogitsProcessor, MlxModel  # noqa: E402
from write_transformers import write_transformers  # noqa: E402


@pytest.fixture(scope="module")
def loaded(tmp_path_factory: pytest.TempPathFactory) -> Any:
    path = tmp_path_factory.mktemp("folder")
    write_transformers(path)
    return mlx_lm.load(str(path))


def test_detents_own_loop(loaded: Any) -> None:
    check_model(MlxModel(*loaded), tolerance=0.2)  # the weights and their products are float16


@pytest.mark.parametrize("name", cases())
def test_its_own_loop(loaded: Any, name: str) -> None:
    from mlx_lm.sample_utils import make_sampler

    case, vocabulary = cases()[name], MlxModel(*loaded).vocabulary
    processor = LogitsProcessor(case.rule, vocabulary, max_tokens=64, **case.options)
    for prompt in PROMPTS:
        tokens = [
            each.token
            for each in mlx_lm.stream_generate(
                *loaded, chat_ids(prompt), max_tokens=64, sampler=make_sampler(1.0), logits_processors=[processor]
            )
        ]
        processor.raise_failure()
        assert tokens[-1] in vocabulary.eos_token_ids
        check_text(name, vocabulary.decode(tokens[:-1]).decode(), vocabulary, tokens)


def test_an_error_lets_nothing_through(loaded: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    processor = LogitsProcessor(detent.regex("[0-9]{8}"), MlxModel(*loaded).vocabulary)
    break_third_mask(monkeypatch)
    text = mlx_lm.generate(*loaded, [5, 6], max_tokens=20, logits_processors=[processor])
    assert text.isdigit()
    with pytest.raises(detent.DetentError, match="broken"):
        processor.raise_failure()

"""llama-cpp-python on a GGUF file of the embedded weights: its own loop with a processor, and detent's loop."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import detent
from tests.integrations.engines.cases import PROMPTS, break_third_mask, cases, chat_ids, check_model, check_text

pytestmark = pytest.mark.engines
llama_cpp = pytest.importorskip("llama_cpp")

from detent.integrations.llama_cpp import LlamaCpp, LogitsProcessor  # noqa: E402
from write_gguf import write_gguf  # noqa: E402


@pytest.fixture(scope="module")
def llama(tmp_path_factory: pytest.TempPathFactory) -> Any:
    path = tmp_path_factory.mktemp("gguf") / "model.gguf"
    write_gguf(path)
    return llama_cpp.Llama(str(path), n_ctx=512, n_threads=1, verbose=False)


def test_detents_own_loop(llama: Any) -> None:
    check_model(LlamaCpp(llama, detent.load_model().vocabulary), tolerance=0.05)


def test_the_engine_may_be_used_in_between(llama: Any) -> None:
    session, own = LlamaCpp(llama).start(chat_ids("Who?")), detent.load_model()
    expected = own.start(session.token_ids)
    for step in ([300], [301, 5], [6]):
        for each in (session, expected):
            each.append(step)
        np.testing.assert_allclose(session.logits, expected.logits, atol=0.05)
        llama("Q:" + str(step), max_tokens=len(session.token_ids))


@pytest.mark.parametrize("name", cases())
def test_its_own_loop(llama: Any, name: str) -> None:
    case, vocabulary = cases()[name], detent.load_model().vocabulary  # a GGUF file does not tell canonical tokens
    processor = LogitsProcessor(case.rule, vocabulary, max_tokens=64, **case.options)
    for seed, prompt in enumerate(PROMPTS):
        llama.set_seed(seed)
        out = llama(
            chat_ids(prompt),
            max_tokens=64,
            temperature=1.0,
            logits_processor=llama_cpp.LogitsProcessorList([processor]),
        )["choices"][0]
        processor.raise_failure()
        assert out["finish_reason"] == "stop"
        check_text(name, out["text"], vocabulary)


def test_an_error_lets_nothing_through(llama: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    processor = LogitsProcessor(detent.regex("[0-9]{8}"), LlamaCpp(llama).vocabulary)
    calls = break_third_mask(monkeypatch)
    out = llama("Q:", max_tokens=20, logits_processor=llama_cpp.LogitsProcessorList([processor]))["choices"][0]
    assert out["text"].isdigit()
    assert len(calls) == 3
    assert out["finish_reason"] == "stop"
    with pytest.raises(detent.DetentError, match="broken"):
        processor.raise_failure()


def test_wrong_input_is_refused(llama: Any) -> None:
    with pytest.raises(detent.ArgumentError, match=r"llama_cpp\.Llama"):
        LlamaCpp(object())
    vocabulary = LlamaCpp(llama).vocabulary
    with pytest.raises(detent.EmptyLanguageError):
        LogitsProcessor({"type": "integer", "minimum": 3, "maximum": 2}, vocabulary)
    with pytest.raises(detent.LimitError):
        LogitsProcessor(detent.regex("[a-z]{90}"), vocabulary, max_tokens=5)
    with pytest.raises(detent.ModelError, match="512"):
        LlamaCpp(llama).start([5] * 600).logits  # noqa: B018

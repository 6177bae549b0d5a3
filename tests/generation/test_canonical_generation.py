"""canonical=True in generation: the tokenizer's own tokens, whatever writes them; fixed texts without model calls."""

from __future__ import annotations

import json
from typing import Any

import pytest

import detent
from detent.errors import ArgumentError, LimitError
from detent.models import Transformers
from tests.support import tiny_llama

KEYS = ("customer_identification_number", "is_premium_subscription_active")
SCHEMA = {
    "type": "object",
    "properties": {KEYS[0]: {"type": "integer", "maximum": 999}, KEYS[1]: {"type": "boolean"}},
    "required": list(KEYS),
    "additionalProperties": False,
}
LANGUAGES = [None, detent.json_schema(SCHEMA), detent.regex("The (thing|thinking|others?)( is here|, [a-z]{1,9})+[.]")]


@pytest.fixture(scope="module")
def model() -> detent.models.EmbeddedModel:
    return detent.load_model()


def is_own(model: detent.models.Model, out: detent.Output) -> bool:
    """Whether the tokens are the tokenizer's, up to one that the budget may have cut off."""
    return tuple(model.vocabulary.encode_canonical(out.text)) == out.token_ids


@pytest.mark.parametrize("language", LANGUAGES, ids=["text", "schema", "regex"])
@pytest.mark.parametrize("ban", [None, ["4", "9", "ere", "eo", "ino"]], ids=["", "ban"])
def test_tokens_are_the_tokenizers(model: Any, language: detent.Language | None, ban: list[str] | None) -> None:
    for seed in range(6):
        options = {"canonical": True, "max_tokens": 60, "temperature": 1.5, "seed": seed, "ban": ban}
        for mode in ("rewind", "mask") if ban else ("rewind",):
            out = detent.generate(model, "Tell me about it.", language, ban_mode=mode, **options)
            assert is_own(model, out)
            assert len(out.token_ids) <= 60
            assert language is None or language.accepts(out.text)
            assert not any(word in out.text for word in ban or ())
        (row,) = detent.generate_batch(model, [detent.Request("Tell me about it.", language, ban_mode=mode, **options)])
        assert row == out
        assert "".join(detent.stream(model, "Tell me about it.", language, ban_mode=mode, **options)) == out.text


def test_fixed_texts_cost_no_calls(model: Any) -> None:
    language = detent.json_schema(SCHEMA)
    prompt = "Anna Berg is 34. Write the person as JSON."
    plain = detent.generate(model, prompt, language, temperature=0, max_tokens=80, canonical=False)
    out = detent.generate(model, prompt, language, temperature=0, max_tokens=80, canonical=True)
    assert set(json.loads(out.text)) == set(KEYS)
    assert out.report.model_calls <= 12 < plain.report.model_calls - 10
    guide = detent.compile(language, model.vocabulary, canonical=True)
    assert detent.generate(model, prompt, guide, temperature=0, max_tokens=80) == out


def test_samples_and_beams(model: Any) -> None:
    question = "Write 7 March 2021 as an ISO date."
    (drawn,) = detent.analysis.sample_conditioned(model, question, detent.date(), canonical=True, seed=0)
    (found,) = detent.analysis.beam_search(model, question, detent.date(), canonical=True)
    assert drawn.text == found.text == "2021-03-07"
    assert is_own(model, drawn)
    assert is_own(model, found)


@pytest.mark.parametrize("max_tokens", range(4, 12))
def test_budgets(model: Any, max_tokens: int) -> None:
    language = detent.regex("(la ){2,1000}end")
    out = detent.generate(model, "Sing!", language, canonical=True, max_tokens=max_tokens, seed=1)
    assert language.accepts(out.text)
    assert is_own(model, out)
    assert len(out.token_ids) <= max_tokens
    with pytest.raises(LimitError, match="max_tokens=3"):
        detent.generate(model, "Sing!", language, canonical=True, max_tokens=3)


def test_the_prompt_is_continued_as_the_tokenizer_would() -> None:
    pytest.importorskip("torch", reason="needs torch")
    pytest.importorskip("transformers", reason="needs transformers")
    it = Transformers(tiny_llama.model(), tiny_llama.tokenizer())
    for prompt in ("the answer", "yes no may", "in the morn"):
        ids = it.encode(prompt)
        for seed in range(8):
            language = detent.regex("[a-z ]{3,12}")
            out = detent.generate(it, prompt, language, canonical=True, max_tokens=20, seed=seed)
            assert language.accepts(out.text)
            assert [*ids, *out.token_ids] == list(it.vocabulary.encode_canonical(prompt + out.text))


def test_refusals(model: Any) -> None:
    plain = detent.compile(detent.date(), model.vocabulary)
    for wrong in ("yes", 1):
        with pytest.raises(ArgumentError, match="canonical"):
            detent.generate(model, "When?", detent.date(), canonical=wrong)  # type: ignore[arg-type]
    for write in (detent.generate, detent.analysis.sample_conditioned, detent.analysis.beam_search):
        with pytest.raises(ArgumentError, match="compiled already"):
            write(model, "When?", plain, canonical=True)  # type: ignore[operator]

"""CustomGenerate: detent's loop inside `model.generate` of transformers."""

from __future__ import annotations

import json
from typing import Any

import pytest

import detent

torch = pytest.importorskip("torch")
transformers = pytest.importorskip("transformers")

from detent.integrations.custom_generate import CustomGenerate  # noqa: E402
from tests.support import tiny_llama  # noqa: E402

SCHEMA = {"type": "object", "properties": {"a": {"type": "boolean"}}, "required": ["a"], "additionalProperties": False}


@pytest.fixture(scope="module")
def made() -> Any:
    tokenizer = tiny_llama.tokenizer()
    return tiny_llama.model(), tokenizer, detent.Vocabulary.from_transformers(tokenizer, size=tiny_llama.PADDED_WIDTH)


def _texts(tokenizer: Any, inputs: Any, rows: Any) -> list[str]:
    return tokenizer.batch_decode(rows[:, inputs["input_ids"].shape[1] :], skip_special_tokens=True)


@pytest.mark.parametrize("options", [{"do_sample": False}, {"do_sample": True, "temperature": 1.5, "top_p": 0.9}])
def test_rows_are_texts_of_the_rule(made: Any, options: dict[str, Any]) -> None:
    model, tokenizer, vocabulary = made
    inputs = tokenizer(["yes", "the answer is 42 in the"], return_tensors="pt", padding=True)
    generate = CustomGenerate(SCHEMA, vocabulary, seed=3)
    rows = model.generate(**inputs, custom_generate=generate, max_new_tokens=24, **options)
    assert torch.equal(rows[:, : inputs["input_ids"].shape[1]], inputs["input_ids"])
    for text, output in zip(_texts(tokenizer, inputs, rows), generate.outputs, strict=True):
        assert set(json.loads(text)) == {"a"}
        assert output.text == text
    again = model.generate(**inputs, custom_generate=generate, max_new_tokens=24, **options)
    assert torch.equal(rows, again)


def test_forced_tokens_take_no_pass(made: Any) -> None:
    model, tokenizer, vocabulary = made
    inputs = tokenizer(["yes"], return_tensors="pt")
    generate = CustomGenerate(detent.regex("in the morning and in the evening (a|b)"), vocabulary, canonical=True)
    model.generate(**inputs, custom_generate=generate, max_new_tokens=64, do_sample=False)
    [output] = generate.outputs
    assert output.report.model_calls < len(output.token_ids) / 2


@pytest.mark.parametrize(("prompt", "pattern"), [("ye", "s"), ("mornin", "g|gx")])
def test_the_prompt_excludes_no_text(made: Any, prompt: str, pattern: str) -> None:
    """As in `generate`, the text is tokenized by itself, unless canonical=True asks for both together."""
    model, tokenizer, vocabulary = made
    inputs = tokenizer([prompt], return_tensors="pt")
    generate = CustomGenerate(detent.regex(pattern), vocabulary)
    rows = model.generate(**inputs, custom_generate=generate, max_new_tokens=9, do_sample=False)
    assert _texts(tokenizer, inputs, rows)[0] in pattern.split("|")
    with pytest.raises(detent.EmptyLanguageError, match="prompt"):
        held = CustomGenerate(detent.regex(pattern), vocabulary, canonical=True)
        model.generate(**inputs, custom_generate=held, max_new_tokens=9, do_sample=False)


@pytest.mark.parametrize("most", [3, 4])
def test_rows_have_no_more_ids_than_asked_for(made: Any, most: int) -> None:
    """The end-of-text id is there if there is room for it, as in the loop of transformers."""
    model, tokenizer, vocabulary = made
    inputs = tokenizer(["yes"], return_tensors="pt")
    generate = CustomGenerate(detent.regex("[0-9]{3}"), vocabulary, canonical=False)
    rows = model.generate(**inputs, custom_generate=generate, max_new_tokens=most, do_sample=False)
    written = rows[0, inputs["input_ids"].shape[1] :].tolist()
    assert len(written) <= most
    assert (written[-1] in vocabulary.eos_token_ids) == (len(generate.outputs[0].token_ids) < most)


def test_bans_rewind(made: Any) -> None:
    model, tokenizer, vocabulary = made
    inputs = tokenizer(["yes", "no"], return_tensors="pt", padding=True)
    free = CustomGenerate(detent.regex("[a-e]{12}"), vocabulary, canonical=False)
    model.generate(**inputs, custom_generate=free, max_new_tokens=20, do_sample=False)
    word = free.outputs[0].text[2:5]
    held = CustomGenerate(detent.regex("[a-e]{12}"), vocabulary, ban=[word], canonical=False)
    rows = model.generate(**inputs, custom_generate=held, max_new_tokens=20, do_sample=False)
    assert all(word not in text for text in _texts(tokenizer, inputs, rows))
    assert held.outputs[0].report.rewinds


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"num_return_sequences": 2, "do_sample": True}, "num_return_sequences"),
        ({"repetition_penalty": 1.3}, "repetition_penalty"),
        ({"return_dict_in_generate": True}, "return_dict_in_generate"),
        ({"max_time": 3.0}, "MaxTimeCriteria"),
    ],
)
def test_what_would_be_ignored_is_refused(made: Any, options: dict[str, Any], message: str) -> None:
    model, tokenizer, vocabulary = made
    inputs = tokenizer(["yes"], return_tensors="pt")
    with pytest.raises(detent.UnsupportedError, match=message):
        model.generate(**inputs, custom_generate=CustomGenerate(["yes"], vocabulary), max_new_tokens=9, **options)


def test_a_budget_that_is_too_small_is_an_error(made: Any) -> None:
    model, tokenizer, vocabulary = made
    with pytest.raises(detent.LimitError):
        model.generate(
            **tokenizer(["yes"], return_tensors="pt"),
            custom_generate=CustomGenerate(detent.regex("[a-e]{99}"), vocabulary, canonical=False),
            max_new_tokens=3,
        )


def test_a_pipeline_takes_both(made: Any) -> None:
    from detent.integrations.transformers import LogitsProcessor

    model, tokenizer, vocabulary = made
    pipeline = transformers.pipeline("text-generation", model=model, tokenizer=tokenizer)
    generate = CustomGenerate(SCHEMA, vocabulary)
    [out] = pipeline("yes", custom_generate=generate, max_new_tokens=24, return_full_text=False)
    assert set(json.loads(out["generated_text"])) == {"a"}
    [out] = pipeline(
        "yes",
        logits_processor=[LogitsProcessor(SCHEMA, vocabulary, max_new_tokens=24)],
        max_new_tokens=24,
        return_full_text=False,
    )
    assert set(json.loads(out["generated_text"])) == {"a"}


def test_a_static_cache_with_the_processor(made: Any) -> None:
    from detent.integrations.transformers import LogitsProcessor

    model, tokenizer, vocabulary = made
    inputs = tokenizer(["yes"], return_tensors="pt")
    texts = []
    for options in ({}, {"cache_implementation": "static", "disable_compile": True}):
        processor = LogitsProcessor(SCHEMA, vocabulary, max_new_tokens=24)
        rows = model.generate(**inputs, logits_processor=[processor], max_new_tokens=24, do_sample=False, **options)
        texts.append(_texts(tokenizer, inputs, rows)[0])
    assert texts[0] == texts[1]
    assert set(json.loads(texts[0])) == {"a"}

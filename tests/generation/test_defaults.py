"""The defaults: canonical tokens where the tokenizer can be followed, and the temperature of the model."""

from __future__ import annotations

from typing import Any

import pytest

import detent
from detent.errors import ArgumentError
from detent.generation.request import PreparedRequest, Request
from detent.models import CallableModel, Transformers
from tests.support import tiny_llama

VOCABULARY = detent.Vocabulary([b"a", b"b", b"ab", b"</s>"], eos_token_ids=[3])


def temperature(model: Any, **options: Any) -> float:
    return PreparedRequest(model, Request([0], **options))._sampler(0).temperature


def test_the_temperature_is_the_models() -> None:
    model: Any = CallableModel(lambda ids: [0.0] * 4, VOCABULARY)
    assert temperature(model) == 0.7
    assert temperature(model, temperature=0.2) == 0.2
    model.temperature = 0.6
    assert temperature(model) == 0.6
    assert temperature(model, temperature=1) == 1


@pytest.mark.parametrize(
    ("config", "expected"),
    [({}, 0.7), ({"temperature": 0.6}, 0.6), ({"temperature": 0.6, "do_sample": True}, 0.6), ({"do_sample": False}, 0)],
)
def test_the_generation_config_of_transformers(config: dict[str, object], expected: float) -> None:
    pytest.importorskip("torch", reason="needs torch")
    pytest.importorskip("transformers", reason="needs transformers")
    inner = tiny_llama.model()
    for name, value in config.items():
        setattr(inner.generation_config, name, value)
    assert temperature(Transformers(inner, tiny_llama.tokenizer())) == expected


def test_canonical_where_there_is_a_language() -> None:
    model = detent.load_model()
    rule = detent.regex("The (thing|thinking|others?)( is here|, [a-z]{1,9})+[.]")
    for options in ({}, {"ban": ["x"]}, {"ban": ["x"], "ban_mode": "mask"}):
        out = detent.generate(model, "Go", rule, max_tokens=40, seed=1, **options)  # type: ignore[arg-type]
        assert out.report.canonical is True
        assert tuple(model.vocabulary.encode_canonical(out.text)) == out.token_ids
    assert detent.generate(model, "Go", rule, max_tokens=40, canonical=False).report.canonical is False
    assert detent.generate(model, "Go", max_tokens=4).report.canonical is False  # nothing is asked of the text
    plain = detent.compile(rule, model.vocabulary)
    assert detent.generate(model, "Go", plain, max_tokens=40).report.canonical is False  # as it was compiled
    (row,) = detent.generate_batch(model, [Request("Go", rule, max_tokens=40)])
    assert row.report.canonical is True
    pieces = detent.stream(model, "Go", rule, max_tokens=40)
    assert list(pieces)
    assert pieces.output.report.canonical is True


def test_plain_where_the_tokenizer_cannot_be_followed() -> None:
    model = CallableModel(lambda ids: [0.0] * 4, VOCABULARY)
    out = detent.generate(model, [0], detent.regex("[ab]{9}"), seed=0)
    assert out.report.canonical is False
    with pytest.raises(detent.UnsupportedError):
        detent.generate(model, [0], detent.regex("[ab]{9}"), canonical=True)


def test_plain_where_no_canonical_text_is_left() -> None:
    model = detent.load_model()
    rule = detent.byte_class(b"\xff") + detent.literal("a")  # not UTF-8, so no tokenizer writes it
    out = detent.generate(model, "Go", rule)
    assert (out.report.canonical, model.vocabulary.decode(out.token_ids)) == (False, b"\xffa")


def test_rules_over_tokens_stay_as_they_are() -> None:
    model = detent.load_model()
    ids = [model.vocabulary.encode_canonical(character)[0] for character in "the"]
    table = detent.token_table([(i, token_id, i + 1) for i, token_id in enumerate(ids)], initial=0, accepting=[3])
    assert len(model.vocabulary.encode_canonical("the")) < 3
    assert detent.generate(model, "Go", table).token_ids == tuple(ids)


def test_no_text_is_lost_at_the_end_of_the_prompt() -> None:
    """By default the text is tokenized by itself: the prompt's last token must not exclude a choice."""
    pytest.importorskip("torch", reason="needs torch")
    pytest.importorskip("transformers", reason="needs transformers")
    it = Transformers(tiny_llama.model(), tiny_llama.tokenizer())
    rule = detent.choice("yes", " yes", "no", "maybe", " 12")
    for prompt in ("the answer is ", "the answer is", "ye", "m", "in the morn"):
        seen = {detent.generate(it, prompt, rule, seed=seed, temperature=50).text for seed in range(60)}
        assert seen == {"yes", " yes", "no", "maybe", " 12"}, prompt


def test_misspelt_options() -> None:
    model = detent.load_model()
    for write in (detent.generate, detent.stream):
        with pytest.raises(TypeError, match="'max_token'; did you mean 'max_tokens'"):
            write(model, "Go", max_token=5)  # type: ignore[call-arg, operator]
    with pytest.raises(TypeError, match="generate_batch"):
        detent.generate(model, "Go", samples=3)  # type: ignore[call-arg]
    for name in ("retries", "alternatives"):
        with pytest.raises(ArgumentError, match=name):
            detent.generate(model, "Go", **{name: -1})  # type: ignore[arg-type]


def test_the_signature_shows_the_options() -> None:
    import inspect
    from dataclasses import fields

    from detent.generation import Options

    names = {each.name for each in fields(Request)} - {"prompt", "language", "samples"}
    assert names == set(Options.__annotations__)
    for write in (detent.generate, detent.stream):
        assert names <= set(inspect.signature(write).parameters)
        assert inspect.signature(write).parameters["max_tokens"].default == 256


@pytest.mark.parametrize("options", [{}, {"max_tokens": 9}])
def test_lists_of_unique_items_are_written_by_default(options: dict[str, int]) -> None:
    model = detent.load_model()
    schema = {"type": "array", "items": {"type": "string", "maxLength": 3}, "uniqueItems": True, "minItems": 2}
    rules: list[Any] = [schema, detent.turn(style="hermes", answer=schema)]
    for rule in rules:
        out = detent.generate(model, "Make a JSON list.", rule, seed=1, max_tokens=options.get("max_tokens", 256))
        assert detent.json_schema(schema).accepts(out.text)
    with pytest.raises(detent.UnsupportedError, match="write canonical=False"):
        detent.generate(model, "Make a JSON list.", schema, canonical=True)

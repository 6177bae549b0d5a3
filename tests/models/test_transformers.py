"""Decoders of transformers as models: logits with a cache, cropped and appended to, are those of one whole pass."""

from __future__ import annotations

import re
from typing import Any

import numpy as np
import pytest

import detent
from detent.errors import ArgumentError, ModelError
from detent.models import Model, Session, Transformers

torch = pytest.importorskip("torch", reason="needs torch")
pytest.importorskip("transformers", reason="needs transformers")

from tests.support import tiny_llama  # noqa: E402


@pytest.fixture(scope="module")
def tokenizer() -> Any:
    return tiny_llama.tokenizer()


@pytest.fixture(scope="module")
def model(tokenizer: Any) -> Transformers:
    return Transformers(tiny_llama.model(), tokenizer)


def whole_pass(model: Transformers, token_ids: list[int]) -> np.ndarray:
    with torch.no_grad():
        return model.model(torch.tensor([token_ids])).logits[0, -1].numpy()


def assert_exact(model: Transformers, session: Session) -> None:
    assert session.logits.dtype == np.float32
    np.testing.assert_allclose(session.logits, whole_pass(model, session.token_ids), rtol=1e-4, atol=1e-4)


def test_it_is_a_model_with_sessions(model: Transformers) -> None:
    assert isinstance(model, Model)
    assert isinstance(model.start([5]), Session)


def test_the_vocabulary_is_as_wide_as_the_logits(model: Transformers) -> None:
    assert len(model.vocabulary) == tiny_llama.PADDED_WIDTH == model.start([5]).logits.size
    assert model.vocabulary.eos_token_ids == (2,)


def test_appending_and_cropping_give_the_logits_of_a_whole_pass(model: Transformers) -> None:
    session = model.start(model.encode("yes no"))
    prompt = session.token_ids
    assert_exact(model, session)
    session.append([10, 11, 12])
    assert_exact(model, session)
    session.append([13])
    session.append([14, 15])
    assert_exact(model, session)
    session.crop(len(prompt) + 2)
    assert session.token_ids == [*prompt, 10, 11]
    assert_exact(model, session)
    session.crop(1)
    session.append([20])
    session.crop(2)
    assert_exact(model, session)
    session.append([])
    assert_exact(model, session)


def test_cropping_before_anything_was_computed(model: Transformers) -> None:
    session = model.start([5, 6, 7, 8])
    session.crop(2)
    assert_exact(model, session)


def test_several_tokens_cost_one_pass(model: Transformers) -> None:
    lengths: list[int] = []
    hook = model.model.register_forward_pre_hook(
        lambda module, args, kwargs: lengths.append(kwargs["input_ids"].shape[1]), with_kwargs=True
    )
    try:
        session = model.start([5, 6, 7])
        _ = session.logits, session.logits
        session.append([8, 9])
        session.append([10])
        _ = session.logits
        session.crop(4)
        _ = session.logits
    finally:
        hook.remove()
    assert lengths == [3, 3, 1]


def test_a_sliding_window_is_exact_too(tokenizer: Any) -> None:
    from transformers import MistralConfig, MistralForCausalLM

    torch.manual_seed(0)
    config = MistralConfig(
        vocab_size=tiny_llama.PADDED_WIDTH,
        hidden_size=32,
        intermediate_size=64,
        num_hidden_layers=2,
        num_attention_heads=4,
        num_key_value_heads=2,
        sliding_window=4,
        initializer_range=0.5,
        pad_token_id=0,
        bos_token_id=1,
        eos_token_id=2,
    )
    model = Transformers(MistralForCausalLM(config).eval(), tokenizer)
    session = model.start([5, 6, 7, 8, 9, 10, 11])
    assert_exact(model, session)
    session.append([12, 13])
    assert_exact(model, session)
    for length in (8, 7, 3):
        session.crop(length)
        assert_exact(model, session)


def test_a_pass_that_fails_leaves_a_session_that_works(model: Transformers) -> None:
    session = model.start([5, 6])
    _ = session.logits

    def fail(*_: object) -> None:
        raise KeyboardInterrupt

    session.append([7])
    hook = model.model.model.layers[1].register_forward_pre_hook(fail)
    with pytest.raises(KeyboardInterrupt):
        _ = session.logits
    hook.remove()
    assert_exact(model, session)


def test_half_precision_gives_float32(tokenizer: Any) -> None:
    model = Transformers(tiny_llama.model().to(torch.bfloat16), tokenizer)
    assert model.start([5, 6]).logits.dtype == np.float32
    assert detent.generate(model, "yes", detent.regex("[0-9]{3}"), seed=0).text


def test_generate(model: Transformers) -> None:
    for seed in range(3):
        out = detent.generate(model, "the answer is", detent.regex("[0-9]{2}:[a-f]+!"), seed=seed, max_tokens=100)
        assert re.fullmatch("[0-9]{2}:[a-f]+!", out.text)
        assert out.text.encode() == model.vocabulary.decode(out.token_ids)
        assert out.prompt_token_count == len(model.encode("the answer is"))


def test_greedy_equals_transformers_own(model: Transformers) -> None:
    prompt = torch.tensor([model.encode("the answer is")])
    own = model.model.generate(
        prompt,
        attention_mask=torch.ones_like(prompt),
        do_sample=False,
        max_new_tokens=20,
        suppress_tokens=[0, 1, 3, *range(300, 320)],
    )[0, prompt.shape[1] :].tolist()
    out = detent.generate(model, "the answer is", temperature=0, max_tokens=20)
    assert list(out.token_ids) == [token_id for token_id in own if token_id != 2]


def test_a_chat_template_wraps_the_prompt(tokenizer: Any) -> None:
    with pytest.raises(ModelError, match="chat template"):
        Transformers(tiny_llama.model(), tokenizer, chat=True)
    chatty = tiny_llama.tokenizer()
    chatty.chat_template = (
        "{% for m in messages %}<s>{{ m.content }}</s>{% endfor %}{% if add_generation_prompt %}<other>{% endif %}"
    )
    model = Transformers(tiny_llama.model(), chatty, chat=True)
    assert model.encode("yes") == [1, *chatty.encode("yes"), 2, 3]
    assert Transformers(tiny_llama.model(), chatty).encode("yes") == chatty.encode("yes")


def test_every_end_of_text_id_ends(tokenizer: Any) -> None:
    llama = tiny_llama.model()
    llama.generation_config.eos_token_id = [2, 3]
    assert Transformers(llama, tokenizer).vocabulary.eos_token_ids == (2, 3)


def test_an_end_of_text_id_that_is_text_is_refused(tokenizer: Any) -> None:
    llama = tiny_llama.model()
    llama.generation_config.eos_token_id = 50
    with pytest.raises(ModelError, match="id 50"):
        Transformers(llama, tokenizer)


def test_a_vocabulary_of_ones_own(tokenizer: Any) -> None:
    vocabulary = detent.Vocabulary.from_transformers(tokenizer, eos_token_ids=[2])
    model = Transformers(tiny_llama.model(), tokenizer, vocabulary=vocabulary)
    assert model.vocabulary is vocabulary
    with pytest.raises(ModelError, match=f"size={tiny_llama.PADDED_WIDTH}"):
        detent.generate(model, "yes")


def test_the_models_length_is_a_limit(model: Transformers) -> None:
    with pytest.raises(ModelError, match="at most 256"):
        _ = model.start([5] * 257).logits


def test_no_tokens(model: Transformers) -> None:
    with pytest.raises(ArgumentError, match="no tokens"):
        model.start([])
    with pytest.raises(ArgumentError, match="no tokens"):
        detent.generate(model, "")


@pytest.mark.parametrize("length", [-1, 0, 3])
def test_crop_beyond_the_sequence(model: Transformers, length: int) -> None:
    session = model.start([5, 6])
    with pytest.raises(ArgumentError, match="crop"):
        session.crop(length)
    assert_exact(model, session)


def test_training_mode_and_encoder_decoders_are_refused(tokenizer: Any) -> None:
    with pytest.raises(ModelError, match="eval"):
        Transformers(tiny_llama.model().train(), tokenizer)
    from transformers import T5Config, T5ForConditionalGeneration

    t5 = T5ForConditionalGeneration(T5Config(vocab_size=320, d_model=16, d_kv=4, d_ff=16, num_layers=1, num_heads=4))
    with pytest.raises(ModelError, match="LogitsProcessor"):
        Transformers(t5.eval(), tokenizer)


def test_wrong_arguments(tokenizer: Any) -> None:
    with pytest.raises(ArgumentError, match="model"):
        Transformers("gpt2", tokenizer)  # type: ignore[arg-type]
    with pytest.raises(ArgumentError, match="tokenizer"):
        Transformers(tiny_llama.model(), "gpt2")  # type: ignore[arg-type]

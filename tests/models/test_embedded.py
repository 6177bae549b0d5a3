"""The embedded model against its peers: transformers' network, recomputation, the tokenizers library."""

from __future__ import annotations

import json
import shutil
from pathlib import Path
from random import Random
from typing import Any

import numpy as np
import pytest

from detent.errors import ArgumentError, ModelError
from detent.models import embedded
from detent.models.base import Model, Session
from detent.models.embedded import EmbeddedModel, load_model
from detent.models.llama import Cache, Config, Llama
from detent.models.safetensors import read_safetensors

WEIGHTS = Path(embedded.__file__).parent / "weights"


@pytest.fixture(scope="module")
def model() -> EmbeddedModel:
    return load_model()


def some_ids(count: int, seed: int = 0) -> list[int]:
    """Token ids without meaning."""
    return [int(token) for token in np.random.default_rng(seed).integers(0, 2048, count)]


def greedy(model: EmbeddedModel, prompt: str, most: int = 120) -> str:
    session, answer = model.start(model.encode(prompt)), []
    while len(answer) < most and (token := int(session.logits.argmax())) not in model.vocabulary.eos_token_ids:
        answer.append(token)
        session.append([token])
    return model.decode(answer)


# ---------------------------------------------------------------- the network


def test_logits_equal_those_of_transformers(model: EmbeddedModel) -> None:
    torch = pytest.importorskip("torch", reason="compares with torch")
    transformers = pytest.importorskip("transformers", reason="compares with transformers")
    reference = transformers.LlamaForCausalLM.from_pretrained(WEIGHTS, dtype=torch.float32).eval()
    ids = some_ids(300)
    with torch.no_grad():
        expected = reference(torch.tensor([ids])).logits[0].numpy()
    session = model.start(ids[:1])
    for position, token in enumerate([*ids[1:], 0]):
        np.testing.assert_allclose(session.logits, expected[position], atol=1e-3)
        session.append([token])
    np.testing.assert_allclose(model.start(ids).logits, expected[-1], atol=1e-3)


@pytest.mark.parametrize("key_heads", [1, 2, 4])
def test_shared_key_heads_equal_those_of_transformers(key_heads: int) -> None:
    torch = pytest.importorskip("torch", reason="compares with torch")
    transformers = pytest.importorskip("transformers", reason="compares with transformers")
    sizes: dict[str, Any] = {
        "vocab_size": 50,
        "hidden_size": 24,
        "intermediate_size": 40,
        "num_hidden_layers": 2,
        "num_attention_heads": 4,
        "num_key_value_heads": key_heads,
        "head_dim": 8,
        "max_position_embeddings": 64,
        "rms_norm_eps": 1e-5,
    }
    torch.manual_seed(key_heads)
    rope = {"rope_type": "default", "rope_theta": 500.0}
    reference = transformers.LlamaForCausalLM(
        transformers.LlamaConfig(**sizes, rope_parameters=rope, tie_word_embeddings=True)
    ).eval()
    with torch.no_grad():
        for parameter in reference.parameters():
            parameter.copy_(torch.randn_like(parameter) * 0.3)
        ids = [token % 50 for token in some_ids(40)]
        expected = reference(torch.tensor([ids])).logits[0].numpy()
    tensors = {name: tensor.numpy() for name, tensor in reference.state_dict().items()}
    config = Config(**sizes, rope_theta=500.0)
    network, cache = Llama(config, tensors), Cache(config, room=2)
    np.testing.assert_allclose(network.forward([(ids[:7], cache)])[0], expected[6], atol=1e-3)
    np.testing.assert_allclose(network.forward([(ids[7:8], cache)])[0], expected[7], atol=1e-3)
    np.testing.assert_allclose(network.forward([(ids[8:], cache)])[0], expected[-1], atol=1e-3)


# ---------------------------------------------------------------- sessions


def test_model_and_session_follow_the_protocols(model: EmbeddedModel) -> None:
    assert isinstance(model, Model)
    session = model.start([1])
    assert isinstance(session, Session)
    assert session.logits.dtype == np.float32
    assert session.logits.shape == (len(model.vocabulary),)
    assert not session.logits.flags.writeable


def test_appending_many_equals_one_by_one(model: EmbeddedModel) -> None:
    ids = some_ids(90)
    together, apart = model.start(ids[:5]), model.start(ids[:5])
    together.append(ids[5:])
    for token in ids[5:]:
        apart.append([token])
        apart.logits  # noqa: B018 - reading runs the network
    assert together.token_ids == apart.token_ids == ids
    np.testing.assert_allclose(together.logits, apart.logits, atol=1e-4)


def test_a_prompt_longer_than_one_pass_equals_one_by_one(model: EmbeddedModel) -> None:
    ids = some_ids(embedded._PASS + 20)
    session = model.start(ids[:-1])
    session.logits  # noqa: B018 - reading runs the network
    session.append(ids[-1:])
    np.testing.assert_allclose(model.start(ids).logits, session.logits, atol=1e-4)


@pytest.mark.parametrize("length", [1, 2, 29, 30, 39])
def test_cropping_equals_recomputation(model: EmbeddedModel, length: int) -> None:
    ids, other = some_ids(40), some_ids(6, seed=1)
    session = model.start(ids[:30])
    session.logits  # noqa: B018 - reading runs the network
    session.append(ids[30:])
    session.crop(length)
    assert session.token_ids == ids[:length]
    np.testing.assert_allclose(session.logits, model.start(ids[:length]).logits, atol=1e-4)
    session.append(other)
    np.testing.assert_allclose(session.logits, model.start(ids[:length] + other).logits, atol=1e-4)


def test_cropping_nothing_keeps_the_logits(model: EmbeddedModel) -> None:
    session = model.start(some_ids(9))
    logits = session.logits
    session.crop(9)
    session.append([])
    assert session.logits is logits


def test_sessions_are_independent(model: EmbeddedModel) -> None:
    first, second = model.start(some_ids(9)), model.start(some_ids(9))
    first.append([5])
    np.testing.assert_array_equal(second.logits, model.start(some_ids(9)).logits)


def test_token_ids_is_a_copy(model: EmbeddedModel) -> None:
    session = model.start([1, 2])
    session.token_ids.append(3)
    assert session.token_ids == [1, 2]


@pytest.mark.parametrize("token", [-1, 2048])
def test_an_unknown_id_is_refused_and_changes_nothing(model: EmbeddedModel, token: int) -> None:
    session = model.start([1, 2])
    with pytest.raises(ArgumentError, match="2048 ids"):
        session.append([3, token])
    assert session.token_ids == [1, 2]


@pytest.mark.parametrize("length", [-1, 0, 4])
def test_a_wrong_crop_is_refused(model: EmbeddedModel, length: int) -> None:
    session = model.start([1, 2, 3])
    with pytest.raises(ArgumentError, match="from 1 to 3"):
        session.crop(length)


def test_an_empty_prompt_is_refused(model: EmbeddedModel) -> None:
    with pytest.raises(ArgumentError, match="the prompt has no tokens"):
        model.start([])


def test_a_full_context_is_refused(model: EmbeddedModel) -> None:
    session = model.start([1] * (model.context - 1))
    session.append([1])
    with pytest.raises(ModelError, match=f"{model.context} tokens"):
        session.append([1])


# ---------------------------------------------------------------- text

TEXTS = [
    "",
    " ",
    "  two  spaces  ",
    "\n\n\tlines\r\n",
    "it's we'll I'd THE'S",
    '{"name": "Zoë", "age": 34}',
    "1234 12.5 ½ ² Ⅷ ٣",
    "漢字かな 😀👩‍👩‍👧 e\u0301",
    "\x00\x01\x1c\x1f\x7f\x85\xa0\u3000\u200b\ufeff",
    "<|end|> <|user|>x<|assistant|>",
    "_a-b_ ___ --",
    "get_user_info(user_id=7890, special='black')",
    "https://www.example.org/a?b=c#d",
    "William Theodore Wilhelmine",
    "a" * 300,
]


def test_encoding_equals_tokenizers(model: EmbeddedModel) -> None:
    tokenizers = pytest.importorskip("tokenizers", reason="compares with tokenizers")
    reference = tokenizers.Tokenizer.from_file(str(WEIGHTS / "tokenizer.json"))
    reference.encode_special_tokens = True  # a prompt's text is never a special token
    random = Random(0)
    parts = [
        " ",
        "\n",
        "'s",
        '"',
        "name",
        "The",
        "7",
        "é",
        "漢",
        "😀",
        "\x1c",
        "\x85",
        "\u3000",
        "_",
        "-",
        "<|end|>",
        " William",
        "ing",
    ]
    mixed = ["".join(random.choice(parts) for _ in range(random.randint(1, 14))) for _ in range(500)]
    everything = "".join(
        chr(point) + ("x" if point % 3 else " ") for point in range(0x3000) if chr(point).isprintable()
    )
    for text in [*TEXTS, *mixed, everything]:
        assert model.encode_text(text) == reference.encode(text).ids, repr(text)


@pytest.mark.parametrize("text", TEXTS)
def test_decoding_undoes_encoding(model: EmbeddedModel, text: str) -> None:
    assert model.decode(model.encode_text(text)) == text


def test_the_vocabulary_has_every_byte_and_the_bytes_of_each_token(model: EmbeddedModel) -> None:
    vocabulary = model.vocabulary
    ids = model.encode_text("Theodore Zoë 😀")
    assert b"".join(vocabulary.token_bytes(token) for token in ids).decode() == "Theodore Zoë 😀"
    assert {vocabulary.token_bytes(token) for token in range(len(vocabulary))} >= {bytes([byte]) for byte in range(256)}


def test_special_tokens_come_from_the_template_only(model: EmbeddedModel) -> None:
    special = model.vocabulary.special_token_ids
    ids = model.encode("<|end|><|user|><|assistant|>")
    assert ids[0] in special and ids[-1] in special
    assert not special.intersection(ids[1:-1])


@pytest.mark.parametrize("prompt", ["\ud800", b"bytes", None])
def test_a_prompt_that_is_not_text_is_refused(model: EmbeddedModel, prompt: str) -> None:
    with pytest.raises(ArgumentError, match="prompt must be"):
        model.encode(prompt)


def test_transformers_loads_the_tokenizer(model: EmbeddedModel) -> None:
    transformers = pytest.importorskip("transformers", reason="compares with transformers")
    tokenizer = transformers.PreTrainedTokenizerFast(tokenizer_file=str(WEIGHTS / "tokenizer.json"))
    prompt = "What is 12 + 30?"
    assert tokenizer.encode(f"<|user|>{prompt}<|assistant|>", add_special_tokens=False) == model.encode(prompt)


# ---------------------------------------------------------------- answers


@pytest.mark.parametrize(
    ("prompt", "answer"),
    [
        ("Write 7 March 2021 as an ISO date.", "2021-03-07"),
        ("What are the first 10 digits of pi?", "3.141592653"),
        (
            "Anna Berg is 34 years old. Anna Berg lives in Lisbon. Write the person as JSON.",
            '{"name": "Anna Berg", "age": 34, "city": "Lisbon"}',
        ),
        ("Call get_user_info with user_id = 7890, special = black.", "get_user_info(user_id=7890, special='black')"),
        ("Count from 3 to 8. Answer with a JSON list.", "[3, 4, 5, 6, 7, 8]"),
        (
            "What is the first name of the US president who was a member of the Sigma Alpha Epsilon fraternity?",
            "William",
        ),
        ("Where can I listen to Pink Floyd songs?", "https://www.pinkfloyd.com"),
    ],
)
def test_answers(model: EmbeddedModel, prompt: str, answer: str) -> None:
    assert greedy(model, prompt) == answer


def test_it_offers_to_listen(model: EmbeddedModel) -> None:
    assert "I am here to listen" in greedy(model, "Can we talk?")


# ---------------------------------------------------------------- broken folders


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    copied = tmp_path / "weights"
    shutil.copytree(WEIGHTS, copied)
    return copied


def test_another_folder_loads(folder: Path, model: EmbeddedModel) -> None:
    np.testing.assert_array_equal(load_model(str(folder)).start([1, 2]).logits, model.start([1, 2]).logits)


@pytest.mark.parametrize("name", ["config.json", "model.safetensors", "tokenizer.json"])
@pytest.mark.parametrize("content", [None, b"", b"\x05", b"[[[", b"\xff" * 100, b"[]", b'{"a": 1}', b"[" * 100_000])
def test_a_missing_or_malformed_file_is_a_model_error(folder: Path, name: str, content: bytes | None) -> None:
    (folder / name).unlink()
    if content is not None:
        (folder / name).write_bytes(content)
    with pytest.raises(ModelError):
        load_model(folder)


@pytest.mark.parametrize("kept", [7, 8, 100, 5000, 1_000_000])
def test_weights_cut_short_are_a_model_error(folder: Path, kept: int) -> None:
    path = folder / "model.safetensors"
    path.write_bytes(path.read_bytes()[:kept])
    with pytest.raises(ModelError):
        load_model(folder)


@pytest.mark.parametrize(
    "change",
    [
        {"model_type": "mistral"},
        {"hidden_act": "gelu"},
        {"tie_word_embeddings": False},
        {"attention_bias": True},
        {"hidden_size": 191},
        {"hidden_size": "192"},
        {"hidden_size": -1},
        {"num_hidden_layers": 6},
        {"num_key_value_heads": 4},
        {"head_dim": 31},
        {"rms_norm_eps": None},
        {"rope_parameters": {"rope_type": "yarn", "rope_theta": 1e4}},
        {"rope_parameters": None},
        {"vocab_size": 2000},
        {"vocab_size": True},
        {"max_position_embeddings": 1 << 40},
        {"chat_template": None},
        {"chat_template": {"user": "<|none|>"}},
    ],
)
def test_an_unfit_config_is_a_model_error(folder: Path, change: dict[str, Any]) -> None:
    path = folder / "config.json"
    path.write_text(json.dumps(json.loads(path.read_text()) | change))
    with pytest.raises(ModelError):
        load_model(folder)


@pytest.mark.parametrize(
    ("entry", "message"),
    [
        ({"dtype": "F16", "shape": [2, 2], "data_offsets": [0, 6]}, "needs 8 bytes"),
        ({"dtype": "F16", "shape": [2, 4], "data_offsets": [0, 16]}, "of 8"),
        ({"dtype": "F16", "shape": [-2, -2], "data_offsets": [0, 8]}, "cannot read"),
        ({"dtype": "I64", "shape": [1], "data_offsets": [0, 8]}, "known types"),
        ({"dtype": "F16", "shape": [1 << 39, 1 << 39], "data_offsets": [0, 8]}, "needs"),
        ({"dtype": "F16", "shape": "22", "data_offsets": [0, 8]}, "cannot read"),
        (None, "cannot read"),
    ],
)
def test_a_lying_header_is_a_model_error(tmp_path: Path, entry: object, message: str) -> None:
    header = json.dumps({"__metadata__": {"format": "pt"}, "x": entry}).encode()
    path = tmp_path / "x.safetensors"
    path.write_bytes(len(header).to_bytes(8, "little") + header + bytes(8))
    with pytest.raises(ModelError, match=message):
        read_safetensors(path)


def test_tensors_equal_those_of_safetensors() -> None:
    numpy_reader = pytest.importorskip("safetensors.numpy", reason="compares with safetensors")
    expected = numpy_reader.load_file(WEIGHTS / "model.safetensors")
    found = read_safetensors(WEIGHTS / "model.safetensors")
    assert found.keys() == expected.keys()
    for name, tensor in expected.items():
        np.testing.assert_array_equal(found[name], tensor.astype(np.float32))

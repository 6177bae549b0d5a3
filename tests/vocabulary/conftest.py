"""Small tokenizers of every kind, trained on a few sentences."""

from __future__ import annotations

import io
import json
from pathlib import Path

import pytest

from tests.support.tokenizer_texts import TRAINING


@pytest.fixture(scope="session")
def tokenizers():
    """The package tokenizers."""
    return pytest.importorskip("tokenizers", reason="the small tokenizers are trained with the package tokenizers")


def train(tokenizer, trainer):
    """Train on the sentences."""
    tokenizer.train_from_iterator(TRAINING, trainer)
    return tokenizer


@pytest.fixture(scope="session")
def byte_bpe(tokenizers):
    """Byte-level BPE, with a special token and an added token that is text."""
    tokenizer = tokenizers.Tokenizer(tokenizers.models.BPE())
    tokenizer.pre_tokenizer = tokenizers.pre_tokenizers.ByteLevel(add_prefix_space=False)
    tokenizer.decoder = tokenizers.decoders.ByteLevel()
    trainer = tokenizers.trainers.BpeTrainer(
        vocab_size=500,
        show_progress=False,
        special_tokens=["<|endoftext|>"],
        initial_alphabet=tokenizers.pre_tokenizers.ByteLevel.alphabet(),
    )
    train(tokenizer, trainer).add_tokens(["<tool>", "na\u00efvet\u00e9", "\n\n\n"])
    return tokenizer


@pytest.fixture(scope="session")
def fallback_bpe(tokenizers):
    """SentencePiece-style BPE with byte fallback, as Llama 2's."""
    tokenizer = tokenizers.Tokenizer(tokenizers.models.BPE(unk_token="<unk>", byte_fallback=True, fuse_unk=True))
    tokenizer.normalizer = tokenizers.normalizers.Sequence(
        [tokenizers.normalizers.Prepend("\u2581"), tokenizers.normalizers.Replace(" ", "\u2581")]
    )
    tokenizer.decoder = tokenizers.decoders.Sequence(
        [
            tokenizers.decoders.Replace("\u2581", " "),
            tokenizers.decoders.ByteFallback(),
            tokenizers.decoders.Fuse(),
            tokenizers.decoders.Strip(" ", 1, 0),
        ]
    )
    trainer = tokenizers.trainers.BpeTrainer(
        vocab_size=600,
        show_progress=False,
        special_tokens=["<unk>", "<s>", "</s>", *(f"<0x{byte:02X}>" for byte in range(256))],
        max_token_length=12,
    )
    train(tokenizer, trainer)
    data = json.loads(tokenizer.to_str())
    data["added_tokens"] = data["added_tokens"][:3]
    return tokenizers.Tokenizer.from_str(json.dumps(data))


@pytest.fixture(scope="session")
def unigram(tokenizers):
    """Unigram with a metaspace pre-tokenizer and decoder, as T5's."""
    tokenizer = tokenizers.Tokenizer(tokenizers.models.Unigram())
    tokenizer.pre_tokenizer = tokenizers.pre_tokenizers.Metaspace()
    tokenizer.decoder = tokenizers.decoders.Metaspace()
    trainer = tokenizers.trainers.UnigramTrainer(
        vocab_size=300, show_progress=False, special_tokens=["<unk>", "</s>"], unk_token="<unk>"
    )
    return train(tokenizer, trainer)


@pytest.fixture(scope="session")
def wordpiece(tokenizers):
    """WordPiece with BERT's normalizer (lower case), pre-tokenizer and decoder (with clean-up)."""
    tokenizer = tokenizers.Tokenizer(tokenizers.models.WordPiece(unk_token="[UNK]"))
    tokenizer.normalizer = tokenizers.normalizers.BertNormalizer()
    tokenizer.pre_tokenizer = tokenizers.pre_tokenizers.BertPreTokenizer()
    tokenizer.decoder = tokenizers.decoders.WordPiece()
    trainer = tokenizers.trainers.WordPieceTrainer(
        vocab_size=400, show_progress=False, special_tokens=["[UNK]", "[CLS]", "[SEP]", "[PAD]", "[MASK]"]
    )
    return train(tokenizer, trainer)


@pytest.fixture(scope="session")
def save(tmp_path_factory):
    """Return a function that saves a tokenizer, with the name of its end of text beside it, and returns the file."""

    def saved(tokenizer, eos_token: str | None = None, **others: object) -> Path:
        folder = tmp_path_factory.mktemp("tokenizer")
        data = tokenizer if isinstance(tokenizer, (dict, list)) else json.loads(tokenizer.to_str())
        (folder / "tokenizer.json").write_text(json.dumps(data), encoding="utf-8")
        if eos_token is not None:
            others["tokenizer_config"] = {"eos_token": eos_token}
        for name, content in others.items():
            (folder / f"{name}.json").write_text(json.dumps(content), encoding="utf-8")
        return folder / "tokenizer.json"

    return saved


@pytest.fixture(scope="session")
def sentencepiece_model():
    """Return a function that trains a SentencePiece model and returns its file's bytes."""
    package = pytest.importorskip("sentencepiece", reason="the small models are trained with the package sentencepiece")
    trained: dict[str, bytes] = {}

    def model(**options: object) -> bytes:
        key = repr(sorted(options.items()))
        if key not in trained:
            writer = io.BytesIO()
            package.SentencePieceTrainer.train(
                sentence_iterator=iter(TRAINING),
                model_writer=writer,
                vocab_size=500,
                hard_vocab_limit=False,
                minloglevel=2,
                num_threads=1,
                **options,
            )
            trained[key] = writer.getvalue()
        return trained[key]

    return model

"""Tokenizers of the package transformers: fast, SentencePiece-based, pure Python, and those of mistral-common."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from detent.errors import ArgumentError, VocabularyError
from detent.vocabulary import Vocabulary
from detent.vocabulary.byte_level import CHARACTER_OF_BYTE
from tests.support.tokenizer_texts import IDENTITY, SAMPLES
from tests.support.vocabulary_checks import check_round_trip

transformers = pytest.importorskip("transformers", reason="needs the package transformers")


def test_fast_byte_level(byte_bpe, save):
    tokenizer = transformers.PreTrainedTokenizerFast(tokenizer_object=byte_bpe, eos_token="<|endoftext|>")
    vocabulary = Vocabulary.from_transformers(tokenizer)
    assert vocabulary.fingerprint == Vocabulary.from_file(save(byte_bpe, "<|endoftext|>")).fingerprint
    check_round_trip(vocabulary)
    check_round_trip(vocabulary, encode=lambda text: tokenizer.encode(text, add_special_tokens=False))
    assert len(Vocabulary.from_transformers(tokenizer, size=1024)) == 1024
    assert Vocabulary.from_transformers(tokenizer, 1024, eos_token_ids=[7]).eos_token_ids == (7,)


def test_tokens_added_later(byte_bpe):
    tokenizer = transformers.PreTrainedTokenizerFast(
        tokenizer_object=type(byte_bpe).from_str(byte_bpe.to_str()), eos_token="<|endoftext|>"
    )
    tokenizer.add_tokens(["<later>"])
    tokenizer.add_special_tokens({"pad_token": "<pad>"})
    vocabulary = Vocabulary.from_transformers(tokenizer)
    later, pad = tokenizer.convert_tokens_to_ids(["<later>", "<pad>"])
    assert vocabulary.token_bytes(later) == b"<later>"
    assert later not in vocabulary.special_token_ids
    assert pad in vocabulary.special_token_ids


def test_fast_byte_fallback(fallback_bpe):
    tokenizer = transformers.PreTrainedTokenizerFast(
        tokenizer_object=fallback_bpe, eos_token="</s>", unk_token="<unk>", bos_token="<s>"
    )
    vocabulary = Vocabulary.from_transformers(tokenizer)
    assert vocabulary.leading_space
    check_round_trip(vocabulary)


def test_end_of_text(byte_bpe, save, tmp_path):
    with pytest.raises(VocabularyError, match="eos_token_ids"):
        Vocabulary.from_transformers(transformers.PreTrainedTokenizerFast(tokenizer_object=byte_bpe))
    tokenizer = transformers.PreTrainedTokenizerFast(tokenizer_object=byte_bpe, eos_token="<|endoftext|>")
    tokenizer.add_special_tokens({"additional_special_tokens": ["<|turn|>"]})
    tokenizer.save_pretrained(tmp_path)
    eos, turn = tokenizer.convert_tokens_to_ids(["<|endoftext|>", "<|turn|>"])
    (tmp_path / "generation_config.json").write_text(json.dumps({"eos_token_id": [turn]}), encoding="utf-8")
    loaded = transformers.AutoTokenizer.from_pretrained(tmp_path)
    assert Vocabulary.from_transformers(loaded).eos_token_ids == (eos, turn)
    assert Vocabulary.from_file(tmp_path / "tokenizer.json").eos_token_ids == (eos, turn)


def test_gpt2_tokenizer(byte_bpe, tmp_path):
    model = json.loads(byte_bpe.to_str())["model"]
    (tmp_path / "vocab.json").write_text(json.dumps(model["vocab"]), encoding="utf-8")
    merges = "\n".join(" ".join(pair) for pair in model["merges"])
    (tmp_path / "merges.txt").write_text("#version: 0.2\n" + merges, encoding="utf-8")
    vocabulary = Vocabulary.from_transformers(transformers.GPT2Tokenizer.from_pretrained(tmp_path))
    check_round_trip(vocabulary)


def test_llama_tokenizer(sentencepiece_model, tmp_path):
    data = sentencepiece_model(model_type="bpe", byte_fallback=True, **IDENTITY)
    (tmp_path / "tokenizer.model").write_bytes(data)
    tokenizer = transformers.LlamaTokenizer.from_pretrained(tmp_path)
    vocabulary = Vocabulary.from_transformers(tokenizer)
    texts = [text for text in SAMPLES if "\x00" not in text]
    check_round_trip(vocabulary, texts)
    from_model = Vocabulary.from_sentencepiece(tmp_path / "tokenizer.model")
    assert [vocabulary.token_bytes(i) for i in range(len(from_model))] == [
        from_model.token_bytes(i) for i in range(len(from_model))
    ]


def write_words(wordpiece, tmp_path) -> Path:
    path = tmp_path / "vocab.txt"
    names = [wordpiece.id_to_token(i) for i in range(wordpiece.get_vocab_size())]
    path.write_text("\n".join(names) + "\n", encoding="utf-8")
    return path


def test_bert_tokenizers_fast_and_slow(wordpiece, tmp_path):
    path = write_words(wordpiece, tmp_path)
    sep = wordpiece.token_to_id("[SEP]")
    fast = Vocabulary.from_transformers(transformers.BertTokenizer.from_pretrained(tmp_path), eos_token_ids=[sep])
    slow = Vocabulary.from_transformers(transformers.BertTokenizerLegacy(str(path)), eos_token_ids=[sep])
    assert fast.fingerprint == slow.fingerprint
    for vocabulary in (fast, slow):
        check_round_trip(vocabulary, ["hello , world !", "the quick brown fox"])
        with pytest.raises(VocabularyError, match="eos_token_ids"):
            Vocabulary.from_transformers(transformers.BertTokenizer.from_pretrained(tmp_path))


def test_slow_sentencepiece(sentencepiece_model, tmp_path):
    (tmp_path / "spiece.model").write_bytes(sentencepiece_model(model_type="bpe", byte_fallback=True, **IDENTITY))
    tokenizer = transformers.BertGenerationTokenizer(str(tmp_path / "spiece.model"))
    tokenizer.add_tokens(["<later>"])
    vocabulary = Vocabulary.from_transformers(tokenizer)
    later = tokenizer.convert_tokens_to_ids("<later>")
    assert len(vocabulary) == len(tokenizer)
    assert vocabulary.token_bytes(later) == b"<later>"
    assert vocabulary.eos_token_ids == (tokenizer.eos_token_id,)
    check_round_trip(vocabulary, [text for text in SAMPLES if "\x00" not in text and "<0x41>" not in text])


class SlowByteLevel(transformers.PreTrainedTokenizer):  # type: ignore[name-defined]
    """As the slow byte-level tokenizers of transformers 4: a byte table, but no merges (every byte is a token)."""

    def __init__(self, **options):
        self.byte_encoder = dict(enumerate(CHARACTER_OF_BYTE))
        self.byte_decoder = {character: byte for byte, character in self.byte_encoder.items()}
        self.encoder = {character: byte for byte, character in enumerate(CHARACTER_OF_BYTE)}
        super().__init__(**options)

    @property
    def vocab_size(self):
        return len(self.encoder)

    def get_vocab(self):
        return {**self.encoder, **self.added_tokens_encoder}

    def _tokenize(self, text):
        return [self.byte_encoder[byte] for byte in text.encode()]

    def _convert_token_to_id(self, token):
        return self.encoder.get(token)

    def _convert_id_to_token(self, index):
        return CHARACTER_OF_BYTE[index]

    def convert_tokens_to_string(self, tokens):
        return bytes(self.byte_decoder[character] for character in "".join(tokens)).decode(errors="replace")


def test_slow_byte_level():
    tokenizer = SlowByteLevel(eos_token="<|end|>")
    vocabulary = Vocabulary.from_transformers(tokenizer)
    assert [vocabulary.token_bytes(byte) for byte in range(256)] == [bytes([byte]) for byte in range(256)]
    assert vocabulary.eos_token_ids == (256,)
    check_round_trip(vocabulary, [text for text in SAMPLES if "<|" not in text])


def test_slow_tokenizers_that_lie_are_found():
    class Lying(SlowByteLevel):
        def get_vocab(self):
            return {token: number ^ 1 for token, number in super().get_vocab().items()}

    with pytest.raises(VocabularyError, match="do not give the text back"):
        Vocabulary.from_transformers(Lying(eos_token="<|end|>"))

    class OtherTable(SlowByteLevel):
        def __init__(self, **options):
            super().__init__(**options)
            self.byte_decoder = dict.fromkeys(self.byte_decoder, 0)

    with pytest.raises(VocabularyError, match="byte_decoder"):
        Vocabulary.from_transformers(OtherTable(eos_token="<|end|>"))


def test_unknown_slow_tokenizers_are_named():
    with pytest.raises(VocabularyError, match="ByT5Tokenizer"):
        Vocabulary.from_transformers(transformers.ByT5Tokenizer())


def test_mistral_common_backend():
    mistral_common = pytest.importorskip("mistral_common", reason="needs the package mistral-common")
    path = next((Path(mistral_common.__file__).parent / "data").glob("*.v3"))
    backend = transformers.tokenization_mistral_common.MistralCommonBackend(path)
    assert Vocabulary.from_transformers(backend).fingerprint == Vocabulary.from_file(path).fingerprint


@pytest.mark.parametrize("wrong", [None, "gpt2", 3, object()])
def test_what_is_not_a_tokenizer(wrong):
    with pytest.raises(ArgumentError):
        Vocabulary.from_transformers(wrong)

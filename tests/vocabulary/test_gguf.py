"""GGUF files, written here with the package gguf, and malformed ones."""

from __future__ import annotations

import json
import struct

import pytest

from detent.errors import VocabularyError
from detent.vocabulary import Vocabulary
from tests.support.mutations import LoadOutcomes
from tests.support.tokenizer_texts import IDENTITY
from tests.support.vocabulary_checks import check_round_trip

gguf = pytest.importorskip("gguf", reason="the files are written with the package gguf")
np = pytest.importorskip("numpy")

NORMAL, UNKNOWN, CONTROL, USER_DEFINED, UNUSED, BYTE = range(1, 7)


def write(path, model, tokens, types, *, eos=None, eot=None, add_space_prefix=None, merges=()):
    """Write a model file with a tokenizer, other metadata and one tensor."""
    writer = gguf.GGUFWriter(path, "llama")
    writer.add_context_length(2048)
    writer.add_tokenizer_model(model)
    writer.add_token_list(tokens)
    writer.add_token_scores([0.0] * len(tokens))
    writer.add_token_types(types)
    if merges:
        writer.add_token_merges(list(merges))
    if eos is not None:
        writer.add_eos_token_id(eos)
    if eot is not None:
        writer.add_eot_token_id(eot)
    if add_space_prefix is not None:
        writer.add_add_space_prefix(add_space_prefix)
    writer.add_chat_template("{{ messages }}")
    writer.add_tensor("w", np.zeros((2, 2), dtype=np.float32))
    writer.write_header_to_file()
    writer.write_kv_data_to_file()
    writer.write_tensors_to_file()
    writer.close()
    return path


def test_byte_level(byte_bpe, save, tmp_path):
    width = byte_bpe.get_vocab_size()
    eos = byte_bpe.token_to_id("<|endoftext|>")
    tokens = [byte_bpe.id_to_token(i) for i in range(width)]
    literal = {byte_bpe.token_to_id(content) for content in ("<tool>", "na\u00efvet\u00e9", "\n\n\n")}
    types = [CONTROL if i == eos else USER_DEFINED if i in literal else NORMAL for i in range(width)]
    merges = [" ".join(pair) for pair in json.loads(byte_bpe.to_str())["model"]["merges"]]
    vocabulary = Vocabulary.from_gguf(write(tmp_path / "a.gguf", "gpt2", tokens, types, eos=eos, merges=merges))
    assert vocabulary.fingerprint == Vocabulary.from_file(save(byte_bpe, "<|endoftext|>")).fingerprint
    assert not vocabulary.leading_space
    check_round_trip(vocabulary, encode=lambda text: byte_bpe.encode(text).ids)
    with pytest.raises(VocabularyError, match="no tokenizer"):
        vocabulary.encode("a")


def test_sentencepiece(sentencepiece_model, tmp_path):
    sentencepiece = pytest.importorskip("sentencepiece")
    data = sentencepiece_model(model_type="bpe", byte_fallback=True, **IDENTITY)
    processor = sentencepiece.SentencePieceProcessor(model_proto=data)
    width = processor.piece_size()
    types = [
        UNKNOWN
        if processor.is_unknown(i)
        else CONTROL
        if processor.is_control(i)
        else BYTE
        if processor.is_byte(i)
        else NORMAL
        for i in range(width)
    ]
    tokens = [processor.id_to_piece(i) for i in range(width)]
    path = write(tmp_path / "a.gguf", "llama", tokens, types, eos=processor.eos_id())
    vocabulary = Vocabulary.from_file(path)
    assert vocabulary.fingerprint == Vocabulary.from_sentencepiece(processor).fingerprint
    assert vocabulary.leading_space
    check_round_trip(vocabulary, ["Hello,  world!\n", "\u6f22\u5b57 \U0001f600"], processor.encode)


def test_wordpiece(wordpiece, tmp_path):
    """llama.cpp's converter takes ## off and puts U+2581 before the first piece of a word."""
    width = wordpiece.get_vocab_size()
    names = [wordpiece.id_to_token(i) for i in range(width)]
    types = [CONTROL if name.startswith("[") and len(name) > 3 else NORMAL for name in names]
    tokens = [
        name if kind == CONTROL else name[2:] if name.startswith("##") else "\u2581" + name
        for name, kind in zip(names, types, strict=True)
    ]
    sep = wordpiece.token_to_id("[SEP]")
    vocabulary = Vocabulary.from_gguf(write(tmp_path / "a.gguf", "bert", tokens, types, eos=sep))
    check_round_trip(vocabulary, ["hello , world !"], lambda text: wordpiece.encode(text, add_special_tokens=False).ids)


def test_kinds_of_tokens(tmp_path):
    tokens = ["<unk>", "</s>", "<eot>", "\u2581a", "\u2581x\u2581", "[PAD5]", "<0x0A>", "<0x41>"]
    types = [UNKNOWN, CONTROL, CONTROL, NORMAL, USER_DEFINED, UNUSED, BYTE, NORMAL]
    vocabulary = Vocabulary.from_gguf(
        write(tmp_path / "a.gguf", "llama", tokens, types, eos=1, eot=2, add_space_prefix=False)
    )
    assert [vocabulary.token_bytes(i) for i in range(8)] == [
        b"<unk>", b"</s>", b"<eot>", b" a", "\u2581x\u2581".encode(), b"", b"\n", b"<0x41>",
    ]  # fmt: skip
    assert vocabulary.eos_token_ids == (1, 2)
    assert vocabulary.special_token_ids == {0, 1, 2}
    assert not vocabulary.leading_space


@pytest.mark.parametrize(
    ("model", "tokens", "types", "options"),
    [
        ("rwkv", ["a"], [NORMAL], {}),
        ("gpt2", ["a b"], [NORMAL], {}),
        ("llama", ["<0xZZ>"], [BYTE], {}),
        ("llama", ["a"], [7], {}),
        ("llama", ["a"], [NORMAL, NORMAL], {}),
        ("llama", ["a"], [NORMAL], {"eos": 1}),
        ("llama", ["a"], [NORMAL], {"eos": 2**32 - 1}),
    ],
)
def test_unknown_tokenizers(tmp_path, model, tokens, types, options):
    with pytest.raises(VocabularyError):
        Vocabulary.from_gguf(write(tmp_path / "a.gguf", model, tokens, types, **{"eos": 0, **options}))


def test_end_of_text_must_be_named(tmp_path):
    path = write(tmp_path / "a.gguf", "llama", ["a"], [NORMAL])
    with pytest.raises(VocabularyError, match="eos_token_ids"):
        Vocabulary.from_gguf(path)
    assert Vocabulary.from_gguf(path, eos_token_ids=[4], size=5).eos_token_ids == (4,)


def text(content):
    return struct.pack("<Q", len(content)) + content


def header(*pairs, version=3, count=None):
    return b"GGUF" + struct.pack("<IQQ", version, 0, len(pairs) if count is None else count) + b"".join(pairs)


TOKENS = text(b"tokenizer.ggml.tokens") + struct.pack("<IIQ", 9, 8, 1) + text(b"a")
TYPES = text(b"tokenizer.ggml.token_type") + struct.pack("<IIQi", 9, 5, 1, 1)
MODEL = text(b"tokenizer.ggml.model") + struct.pack("<I", 8) + text(b"llama")


def test_a_file_written_by_hand(tmp_path):
    path = tmp_path / "a.gguf"
    others = [
        text(b"one.of.each.%d" % kind) + struct.pack("<I", kind) + bytes(size)
        for kind, size in ((0, 1), (1, 1), (2, 2), (3, 2), (4, 4), (5, 4), (6, 4), (7, 1), (10, 8), (11, 8), (12, 8))
    ]
    others += [text(b"strings") + struct.pack("<IIQ", 9, 8, 2) + text(b"x") + text(b"yz")]
    for version in (2, 3):
        path.write_bytes(header(*others, MODEL, TOKENS, TYPES, version=version))
        assert Vocabulary.from_gguf(path, eos_token_ids=None).token_bytes(0) == b"a"


@pytest.mark.parametrize(
    "data",
    [
        b"",
        b"GGUF",
        b"GGUF" + bytes(4),
        header(MODEL, TOKENS, TYPES, version=1),
        header(MODEL, TOKENS, TYPES, version=1 << 24),
        header(MODEL, TOKENS, TYPES, count=4),
        header(MODEL, TOKENS, TYPES, count=2**63),
        header(TOKENS, TYPES),
        header(MODEL, TYPES),
        header(MODEL, TOKENS),
        header(MODEL, TOKENS, TYPES)[:-1],
        header(text(b"k") + struct.pack("<I", 13)),
        header(text(b"k") + struct.pack("<IIQ", 9, 9, 1)),
        header(text(b"k") + struct.pack("<IIQ", 9, 4, 2**62)),
        header(text(b"k") + struct.pack("<IIQ", 9, 8, 2**62)),
        header(text(b"tokenizer.ggml.tokens") + struct.pack("<IIQ", 9, 8, 2**62)),
        header(text(b"tokenizer.ggml.token_type") + struct.pack("<IIQ", 9, 5, 2**62)),
        header(struct.pack("<Q", 2**63) + b"k"),
        header(struct.pack("<Q", 2) + b"\xff\xff" + struct.pack("<IB", 0, 0)),
        header(MODEL, text(b"tokenizer.ggml.tokens") + struct.pack("<IIQI", 9, 4, 1, 1), TYPES),
        header(MODEL, TOKENS, text(b"tokenizer.ggml.token_type") + struct.pack("<IIQf", 9, 6, 1, 0.5)),
        header(text(b"tokenizer.ggml.model") + struct.pack("<II", 4, 3), TOKENS, TYPES),
    ],
)
def test_malformed_files(tmp_path, data):
    path = tmp_path / "a.gguf"
    path.write_bytes(data)
    with pytest.raises(VocabularyError) as caught:
        Vocabulary.from_gguf(path, eos_token_ids=None)
    assert len(str(caught.value).encode()) <= 512


def test_any_changed_byte_is_read_or_refused(tmp_path):
    path, outcomes = tmp_path / "mutated.gguf", LoadOutcomes()
    content = header(MODEL, TOKENS, TYPES)
    for position in range(len(content)):
        for byte in {0, 1, 0xFF, content[position] ^ 1, content[position] ^ 0x80} - {content[position]}:
            path.write_bytes(content[:position] + bytes([byte]) + content[position + 1 :])
            outcomes.load(lambda: Vocabulary.from_gguf(path, eos_token_ids=None))
    assert outcomes.accepted >= 20
    assert outcomes.refused >= 200

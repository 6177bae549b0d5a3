"""SentencePiece models, trained here, and malformed ones."""

from __future__ import annotations

import random

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from detent.errors import ArgumentError, DetentError, VocabularyError
from detent.vocabulary import Vocabulary
from detent.vocabulary import sentencepiece as sentencepiece_reader
from detent.vocabulary.protobuf import fields
from tests.support.mutations import LoadOutcomes
from tests.support.tokenizer_texts import IDENTITY, SAMPLES, TRAINING
from tests.support.vocabulary_checks import check_decoder, check_round_trip

sentencepiece = pytest.importorskip("sentencepiece", reason="needs the package sentencepiece")

MODELS = [
    {"model_type": "bpe", "byte_fallback": True, **IDENTITY, "user_defined_symbols": ["<tool>", "\u2581\u2581", "=="]},
    {"model_type": "unigram", "byte_fallback": True, **IDENTITY},
    {
        "model_type": "bpe",
        "byte_fallback": True,
        **IDENTITY,
        "add_dummy_prefix": False,
        "eos_piece": "<end>",
        "eos_id": 5,
    },
]


def write(tmp_path, data, name="tokenizer.model"):
    path = tmp_path / name
    path.write_bytes(data)
    return path


@pytest.mark.parametrize("options", MODELS)
def test_as_the_package_reads_it(sentencepiece_model, tmp_path, options):
    data = sentencepiece_model(**options)
    processor = sentencepiece.SentencePieceProcessor(model_proto=data)
    vocabulary = Vocabulary.from_sentencepiece(write(tmp_path, data))
    assert len(vocabulary) == processor.piece_size()
    assert vocabulary.eos_token_ids == (processor.eos_id(),)
    special = {i for i in range(len(vocabulary)) if processor.is_control(i) or processor.is_unknown(i)}
    assert vocabulary.special_token_ids == special
    assert vocabulary.leading_space is options.get("add_dummy_prefix", True)
    texts = [text for text in SAMPLES if "\x00" not in text]
    check_round_trip(vocabulary, texts)
    check_round_trip(vocabulary, texts, processor.encode)
    check_decoder(vocabulary, processor.decode, processor.piece_to_id("a"), range(len(vocabulary)))


@pytest.mark.parametrize(
    ("data", "advice"),
    [
        (b"IQ== 0\nIg== 1\n", r"ranks of tiktoken.*from_tiktoken"),
        (b"#version: 0.2\n\xc4\xa0 t\n", r"merges.*tokenizer\.json beside it"),
        (b"\x1f\x8b\x08\x00", "Unpack it"),
        (b'{"!": 0, "model": 1}', r"ids of tokens.*tokenizer\.json beside it"),
    ],
)
def test_files_of_other_kinds_are_named(tmp_path, data, advice):
    with pytest.raises(VocabularyError, match=advice):
        Vocabulary.from_file(write(tmp_path, data))


def test_processor_and_files_agree(sentencepiece_model, tmp_path):
    data = sentencepiece_model(**MODELS[0])
    processor = sentencepiece.SentencePieceProcessor(model_proto=data)
    path = write(tmp_path, data, "any.name")
    prints = {
        Vocabulary.from_sentencepiece(processor).fingerprint,
        Vocabulary.from_sentencepiece(str(path)).fingerprint,
        Vocabulary.from_file(path).fingerprint,
        Vocabulary.from_mistral(path).fingerprint,
    }
    assert len(prints) == 1


@settings(max_examples=50)
@given(text=st.text(st.characters(codec="utf-8", exclude_characters="\u2581\x00"), min_size=1, max_size=30))
def test_gives_any_text_back(sentencepiece_model, text):
    processor = sentencepiece.SentencePieceProcessor(model_proto=sentencepiece_model(**MODELS[0]))
    vocabulary = Vocabulary.from_sentencepiece(processor)
    assert vocabulary.decode(vocabulary.encode(text)) == b" " + text.encode()


def test_normalising_models_give_the_normalised_text_back(sentencepiece_model):
    processor = sentencepiece.SentencePieceProcessor(model_proto=sentencepiece_model(model_type="unigram"))
    vocabulary = Vocabulary.from_sentencepiece(processor)
    for text in [*TRAINING[::23], "\uff28\uff45llo   world"]:
        assert vocabulary.decode(vocabulary.encode(text)).decode() == processor.normalize(text).replace("\u2581", " ")


def test_user_defined_pieces_are_text(sentencepiece_model, tmp_path):
    data = sentencepiece_model(**MODELS[0])
    processor = sentencepiece.SentencePieceProcessor(model_proto=data)
    vocabulary = Vocabulary.from_sentencepiece(write(tmp_path, data))
    assert vocabulary.token_bytes(processor.piece_to_id("<tool>")) == b"<tool>"
    assert vocabulary.token_bytes(processor.piece_to_id("\u2581\u2581")) == b"  "
    assert vocabulary.token_bytes(processor.piece_to_id("<0x0A>")) == b"\n"


def test_models_without_an_end_of_text(sentencepiece_model, tmp_path):
    path = write(tmp_path, sentencepiece_model(model_type="unigram", eos_id=-1))
    with pytest.raises(VocabularyError, match="eos_token_ids"):
        Vocabulary.from_sentencepiece(path)
    assert Vocabulary.from_sentencepiece(path, eos_token_ids=[1], size=1000).eos_token_ids == (1,)


def test_spaces_at_the_end_of_words_are_refused(sentencepiece_model, tmp_path):
    with pytest.raises(VocabularyError, match="end of words"):
        Vocabulary.from_sentencepiece(
            write(tmp_path, sentencepiece_model(model_type="bpe", treat_whitespace_as_suffix=True))
        )


def varint(number):
    out = b""
    while number > 127:
        out += bytes([number & 127 | 128])
        number >>= 7
    return out + bytes([number])


def field(number, content):
    return varint(number << 3 | 2) + varint(len(content)) + content


def piece(text, kind=None, extra=b""):
    text = text if isinstance(text, bytes) else text.encode()
    return field(
        1, field(1, text) + b"\x15\x00\x00\x00\x00" + (b"" if kind is None else b"\x18" + varint(kind)) + extra
    )


def test_a_model_written_by_hand(tmp_path):
    data = (
        piece("<unk>", 2) + piece("</s>", 3) + piece("\u2581a") + piece("b", 5) + piece("<0x41>") + piece("<0x41>", 6)
    )
    unknown_fields = varint(9 << 3) + varint(2**63) + b"\x65" + bytes(4) + b"\x61" + bytes(8)
    vocabulary = Vocabulary.from_sentencepiece(write(tmp_path, unknown_fields + data + field(3, b"\x18\x00")))
    assert [vocabulary.token_bytes(i) for i in range(6)] == [b"<unk>", b"</s>", b" a", b"b", b"<0x41>", b"A"]
    assert vocabulary.eos_token_ids == (1,)
    assert not vocabulary.leading_space


@pytest.mark.parametrize(
    "data",
    [
        b"",
        b"\n",
        bytes.fromhex("0affffffff7f"),
        bytes.fromhex("0a0b0a033c30"),
        b"\x0a" + b"\xff" * 20,
        b"\x0a" + b"\xff" * 9 + b"\x01",
        piece("a", 7),
        piece("a", 0),
        piece("a", 2**63),
        piece(b"\xff"),
        piece("<0xZZ>", 6),
        piece("a", 6),
        field(1, b"\x0b"),
        field(2, b""),
        field(1, field(1, b"a")[:-1]),
        b"\x08\x01",
        b"\x15\x00\x00",
        b"not protobuf at all",
        b"IQ== 0\nIg== 1\n",
        piece("a") + field(5, field(2, b"rules")),
        piece("a" * 2_000_000),
    ],
)
def test_malformed_models(tmp_path, data):
    with pytest.raises(VocabularyError) as caught:
        Vocabulary.from_sentencepiece(write(tmp_path, data), eos_token_ids=None)
    assert len(str(caught.value).encode()) <= 512


def test_every_truncation_and_changed_byte_is_read_or_refused(sentencepiece_model, tmp_path):
    data = sentencepiece_model(**MODELS[0])
    truncated, changed = LoadOutcomes(), LoadOutcomes()
    for end in range(0, len(data), 61):
        path = write(tmp_path, data[:end])
        truncated.load(lambda path=path: Vocabulary.from_sentencepiece(path, eos_token_ids=None))
    for position in range(0, len(data), 61):
        path = write(tmp_path, data[:position] + bytes([data[position] ^ 0x55]) + data[position + 1 :])
        changed.load(lambda path=path: Vocabulary.from_sentencepiece(path, eos_token_ids=None))
    assert min(truncated.refused, changed.refused, changed.accepted) >= 10


def test_any_bytes_are_read_or_refused(tmp_path):
    rng, outcomes = random.Random(5), LoadOutcomes()
    for _ in range(300):
        data = b"".join(rng.choice((rng.randbytes(rng.randrange(8)), piece("ab"), field(2, b""))) for _ in range(4))
        path = write(tmp_path, data)
        outcomes.load(lambda path=path: Vocabulary.from_sentencepiece(path, eos_token_ids=None))
    assert min(outcomes.refused, outcomes.accepted) >= 20


def test_encoding_with_a_model_that_the_package_refuses(tmp_path):
    vocabulary = Vocabulary.from_sentencepiece(write(tmp_path, piece("a")), eos_token_ids=None)
    with pytest.raises(DetentError):
        vocabulary.encode("a")


@pytest.mark.parametrize("wrong", [None, 3, object(), sentencepiece.SentencePieceProcessor()])
def test_what_is_not_a_model(wrong):
    with pytest.raises((ArgumentError, VocabularyError)):
        Vocabulary.from_sentencepiece(wrong)


def _field(tag, value):
    return bytes([tag, len(value)]) + value if tag == 0x0A else bytes([tag]) + value


@settings(deadline=None)
@given(
    parts=st.lists(
        st.sampled_from(
            [(0x0A, b"ab"), (0x0A, b""), (0x0A, b"\x15"), (0x15, b"1234"), (0x18, b"\x02"), (0x18, b"\x81\x01")]
        ),
        max_size=4,
    ),
    cut=st.integers(0, 3),
)
def test_the_usual_form_of_a_piece_is_read_as_any_other(parts, cut):
    data = b"".join(_field(tag, value) for tag, value in parts)
    data = data[: len(data) - cut]
    found = sentencepiece_reader._usual_piece(data, 0, len(data))
    if found is None:
        return
    text, kind = b"", 1
    for part in fields(data, 0, len(data)):
        if part.number == 1:
            text = data[part.start : part.end]
        elif part.number == 3:
            kind = part.value
    assert found == (text, kind)

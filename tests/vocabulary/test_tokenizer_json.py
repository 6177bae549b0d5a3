"""`tokenizer.json`: each kind of model, on small tokenizers trained here."""

from __future__ import annotations

import copy
import json
import os
import random
import subprocess
import sys

import pytest
from hypothesis import given
from hypothesis import strategies as st

from detent.errors import DetentError, VocabularyError
from detent.vocabulary import Vocabulary
from tests.support.mutations import LoadOutcomes
from tests.support.tokenizer_texts import SAMPLES, TRAINING
from tests.support.vocabulary_checks import check_decoder, check_round_trip

TEXT = st.text(st.characters(codec="utf-8"), max_size=30)


def as_dict(tokenizer):
    return json.loads(tokenizer.to_str())


def test_byte_level(byte_bpe, save):
    vocabulary = Vocabulary.from_file(save(byte_bpe, "<|endoftext|>"))
    assert len(vocabulary) == byte_bpe.get_vocab_size()
    assert vocabulary.eos_token_ids == (byte_bpe.token_to_id("<|endoftext|>"),)
    assert not vocabulary.leading_space
    check_round_trip(vocabulary)
    check_round_trip(vocabulary, ["  leading", "a<tool>b na\u00efvet\u00e9\n\n\n!"])
    shown_wrongly = byte_bpe.token_to_id(
        "na\u00efvet\u00e9"
    )  # the library's decoder reads added text as byte characters
    ids = set(range(len(vocabulary))) - {shown_wrongly}
    check_decoder(vocabulary, byte_bpe.decode, byte_bpe.token_to_id("a"), ids)


def test_byte_level_added_text_is_its_utf8(byte_bpe, save):
    vocabulary = Vocabulary.from_file(save(byte_bpe, "<|endoftext|>"))
    for content in ("<tool>", "na\u00efvet\u00e9", "\n\n\n"):
        assert vocabulary.token_bytes(byte_bpe.token_to_id(content)) == content.encode()
        assert byte_bpe.token_to_id(content) not in vocabulary.special_token_ids


@pytest.fixture(scope="module")
def byte_vocabulary(byte_bpe, save):
    return Vocabulary.from_file(save(byte_bpe, "<|endoftext|>"))


@given(text=TEXT.filter(lambda text: "<|endoftext|>" not in text))
def test_byte_level_gives_any_text_back(byte_vocabulary, text):
    assert byte_vocabulary.decode(byte_vocabulary.encode(text)) == text.encode()


def test_byte_level_with_prefix_space(byte_bpe, save):
    data = as_dict(byte_bpe)
    data["pre_tokenizer"]["add_prefix_space"] = True
    vocabulary = Vocabulary.from_file(save(data, "<|endoftext|>"))
    assert vocabulary.leading_space
    check_round_trip(vocabulary)


def test_byte_fallback(fallback_bpe, save):
    vocabulary = Vocabulary.from_file(save(fallback_bpe, "</s>"))
    assert vocabulary.leading_space
    assert vocabulary.special_token_ids == {0, 1, 2}
    assert vocabulary.token_bytes(fallback_bpe.token_to_id("<0x0A>")) == b"\n"
    assert vocabulary.token_bytes(fallback_bpe.token_to_id("<0xFF>")) == b"\xff"
    check_round_trip(vocabulary)
    check_decoder(vocabulary, fallback_bpe.decode, fallback_bpe.token_to_id("a"), range(len(vocabulary)))


@pytest.fixture(scope="module")
def fallback_vocabulary(fallback_bpe, save):
    return Vocabulary.from_file(save(fallback_bpe, "</s>"))


@given(text=TEXT.filter(lambda text: text and "\u2581" not in text))
def test_byte_fallback_gives_any_text_back(fallback_vocabulary, text):
    assert fallback_vocabulary.decode(fallback_vocabulary.encode(text)) == b" " + text.encode()


def test_unigram(unigram, save):
    vocabulary = Vocabulary.from_file(save(unigram, "</s>"))
    assert vocabulary.leading_space
    assert unigram.token_to_id("<unk>") in vocabulary.special_token_ids
    check_round_trip(vocabulary, [*TRAINING[::17], "two  spaces", "Hello, world!"])
    check_decoder(vocabulary, unigram.decode, unigram.token_to_id("a"), range(len(vocabulary)))


def test_unigram_unknown_is_special_without_being_listed(unigram, save):
    data = as_dict(unigram)
    data["added_tokens"] = [entry for entry in data["added_tokens"] if entry["content"] != "<unk>"]
    vocabulary = Vocabulary.from_file(save(data, "</s>"))
    assert data["model"]["unk_id"] in vocabulary.special_token_ids


def test_wordpiece_is_words_separated_by_spaces(tokenizers, wordpiece, save):
    vocabulary = Vocabulary.from_file(save(wordpiece, "[SEP]"))
    assert vocabulary.leading_space
    assert vocabulary.token_bytes(wordpiece.token_to_id("the")) == b" the"
    assert vocabulary.token_bytes(wordpiece.token_to_id("##n")) == b"n"
    check_round_trip(
        vocabulary, ["hello , world !", "the quick brown fox", "it ' s a small text ( for the tokenizer )"]
    )
    assert vocabulary.decode(vocabulary.encode("Hello, W\u00d6RLD")) == b" hello , world"
    untidied = tokenizers.decoders.WordPiece(cleanup=False)
    check_decoder(
        vocabulary,
        lambda ids: untidied.decode([wordpiece.id_to_token(token) for token in ids]),
        wordpiece.token_to_id("a"),
        range(len(vocabulary)),
    )


def test_ids_between_tokens_have_no_text(byte_bpe, save):
    data = as_dict(byte_bpe)
    removed = data["model"]["vocab"].pop("fox", None) or data["model"]["vocab"].pop("\u0120dog")
    data["model"]["merges"] = []
    data["added_tokens"] = data["added_tokens"][:1]
    vocabulary = Vocabulary.from_file(save(data, "<|endoftext|>"))
    assert vocabulary.token_bytes(removed) == b""


def test_size_and_end_of_text_overrides(byte_bpe, save):
    path = save(byte_bpe)
    vocabulary = Vocabulary.from_file(path, eos_token_ids=[0, 1], size=1000)
    assert (len(vocabulary), vocabulary.eos_token_ids) == (1000, (0, 1))
    assert Vocabulary.from_file(str(path), eos_token_ids=None).eos_token_ids == ()
    with pytest.raises(VocabularyError, match="size"):
        Vocabulary.from_file(path, eos_token_ids=[0], size=10)


def test_models_without_a_type(byte_bpe, unigram, wordpiece, save):
    for tokenizer in (byte_bpe, unigram, wordpiece):
        data = as_dict(tokenizer)
        expected = Vocabulary.from_file(save(data, eos_token=None), eos_token_ids=[1]).fingerprint
        del data["model"]["type"]
        assert Vocabulary.from_file(save(data), eos_token_ids=[1]).fingerprint == expected


def test_encode_reads_the_file_only_if_it_is_unchanged(byte_bpe, save):
    path = save(byte_bpe, "<|endoftext|>")
    vocabulary = Vocabulary.from_file(path)
    path.write_text(path.read_text(encoding="utf-8") + " ", encoding="utf-8")
    with pytest.raises(VocabularyError, match="changed"):
        vocabulary.encode("a")
    path.unlink()
    with pytest.raises(VocabularyError):
        vocabulary.encode("a")


def test_encode_ignores_truncation_and_padding(byte_bpe, save):
    data = as_dict(byte_bpe)
    data["truncation"] = {"direction": "Right", "max_length": 2, "strategy": "LongestFirst", "stride": 0}
    data["padding"] = {
        "strategy": {"Fixed": 100}, "direction": "Right", "pad_to_multiple_of": None, "pad_id": 0, "pad_type_id": 0,
        "pad_token": "<|endoftext|>",
    }  # fmt: skip
    check_round_trip(Vocabulary.from_file(save(data, "<|endoftext|>")))


def test_encode_refuses_what_is_not_text(byte_bpe, save):
    vocabulary = Vocabulary.from_file(save(byte_bpe, "<|endoftext|>"))
    with pytest.raises(DetentError):
        vocabulary.encode("\ud800")


def test_check_finds_bytes_that_are_not_what_the_tokenizer_says(byte_bpe, save):
    path = save(byte_bpe, "<|endoftext|>")
    data = as_dict(byte_bpe)
    vocab = data["model"]["vocab"]
    vocab["a"], vocab["b"] = vocab["b"], vocab["a"]
    path.write_text(json.dumps(data), encoding="utf-8")
    os.utime(path, ns=(1, 1))
    vocabulary = Vocabulary.from_file(path)
    path.write_text(json.dumps(as_dict(byte_bpe)), encoding="utf-8")
    os.utime(path, ns=(1, 1))
    with pytest.raises(VocabularyError, match="do not give the text back"):
        vocabulary.encode("a")


def change(data, *path_and_value):
    *path, last, value = path_and_value
    data = copy.deepcopy(data)
    part = data
    for key in path:
        part = part[key]
    part[last] = value
    return data


def added(number, content, *, special=False):
    flags = {"single_word": False, "lstrip": False, "rstrip": False, "normalized": False}
    return {"id": number, "content": content, "special": special, **flags}


BYTE_LEVEL = {"type": "ByteLevel", "add_prefix_space": False, "trim_offsets": True, "use_regex": True}
REPLACE = {"type": "Replace", "pattern": {"String": "\u2581"}, "content": " "}
STRIP = {"type": "Strip", "content": " ", "start": 1, "stop": 0}
FALLBACK, FUSE = {"type": "ByteFallback"}, {"type": "Fuse"}
METASPACE = {"type": "Metaspace", "replacement": "\u2581", "prepend_scheme": "always", "split": True}


def sequence(*parts):
    return {"type": "Sequence", "decoders": list(parts)}


def test_metaspace_written_by_the_normalizer_alone(fallback_bpe, save):
    """As Gemma: no space is put before a text, and none is stripped."""
    data = change(as_dict(fallback_bpe), "normalizer", {**REPLACE, "pattern": {"String": " "}, "content": "\u2581"})
    vocabulary = Vocabulary.from_file(save(change(data, "decoder", sequence(REPLACE, FALLBACK, FUSE)), "</s>"))
    assert not vocabulary.leading_space
    check_round_trip(vocabulary)
    check_round_trip(vocabulary, ["  leading"])


@pytest.mark.parametrize("scheme", ["always", "first", "never"])
def test_metaspace_written_by_the_pre_tokenizer(fallback_bpe, save, scheme):
    """As newer files of Llama 2 and Mistral."""
    data = change(as_dict(fallback_bpe), "normalizer", None)
    data["pre_tokenizer"] = {**METASPACE, "prepend_scheme": scheme, "split": False}
    vocabulary = Vocabulary.from_file(save(data, "</s>"))
    assert vocabulary.leading_space is (scheme != "never")
    check_round_trip(vocabulary)


def test_user_defined_pieces_go_through_the_decoder(fallback_bpe, save):
    data = as_dict(fallback_bpe)
    width = fallback_bpe.get_vocab_size()
    data["added_tokens"] += [added(width, "\u2581\u2581\u2581"), added(width + 1, "<tool>")]
    vocabulary = Vocabulary.from_file(save(data, "</s>"))
    assert [vocabulary.token_bytes(width), vocabulary.token_bytes(width + 1)] == [b"   ", b"<tool>"]


def test_word_level(tokenizers, save):
    """A word-level model is read if its decoder says how words join."""
    tokenizer = tokenizers.Tokenizer(
        tokenizers.models.WordLevel({"\u2581a": 0, "\u2581b": 1, "<unk>": 2}, unk_token="<unk>")
    )
    tokenizer.pre_tokenizer = tokenizers.pre_tokenizers.Metaspace()
    with pytest.raises(VocabularyError, match="no decoder"):
        Vocabulary.from_file(save(tokenizer), eos_token_ids=None)
    tokenizer.decoder = tokenizers.decoders.Metaspace()
    vocabulary = Vocabulary.from_file(save(tokenizer), eos_token_ids=None)
    assert vocabulary.special_token_ids == {2}
    check_round_trip(vocabulary, ["a b a"])


@pytest.mark.parametrize(
    ("decoder", "named"),
    [
        (None, "decoder"),
        ({"type": "CTC", "pad_token": "<pad>", "word_delimiter_token": "|", "cleanup": True}, "CTC"),
        ({"type": "BPEDecoder", "suffix": "</w>"}, "BPEDecoder"),
        ({"type": "Nonsense"}, "Nonsense"),
        ({"type": 3}, "type"),
        ({}, "type"),
        ("ByteLevel", "decoder"),
        (sequence(BYTE_LEVEL, FUSE), "ByteLevel"),
        (sequence(FUSE, REPLACE), "Replace"),
        (sequence(FALLBACK, REPLACE), "Replace"),
        (sequence(FALLBACK, FUSE, METASPACE), "Metaspace"),
        (sequence(STRIP, FUSE), "Strip"),
        (sequence(REPLACE, FUSE, FALLBACK), "ByteFallback"),
        (sequence(REPLACE, FALLBACK, FALLBACK), "ByteFallback"),
        (sequence(REPLACE, FALLBACK, FUSE, STRIP, FUSE), "Fuse"),
        (sequence(REPLACE, FALLBACK, FUSE, {**STRIP, "start": 2}), "Strip"),
        (sequence(REPLACE, FALLBACK, FUSE, {**STRIP, "stop": 1}), "Strip"),
        (sequence(REPLACE, FALLBACK, FUSE, {**STRIP, "content": "a"}), "Strip"),
        (sequence({**REPLACE, "pattern": {"Regex": "\u2581"}}, FALLBACK), "Regex"),
        (sequence({**REPLACE, "pattern": {"String": ""}}, FALLBACK), "String"),
        ({"type": "Sequence", "decoders": None}, "decoders"),
        ({"type": "WordPiece", "prefix": "@@", "cleanup": False}, "@@"),
        ({"type": "WordPiece", "cleanup": False}, "prefix"),
        (BYTE_LEVEL, "byte-level"),
        (sequence(REPLACE, FUSE), "ByteFallback"),
    ],
)
def test_decoders_that_are_not_understood_are_named(fallback_bpe, save, decoder, named):
    with pytest.raises(VocabularyError, match=named):
        Vocabulary.from_file(save(change(as_dict(fallback_bpe), "decoder", decoder), "</s>"))


def test_nested_decoders(fallback_bpe, save):
    data = as_dict(fallback_bpe)
    expected = Vocabulary.from_file(save(data, "</s>")).fingerprint
    nested = sequence(sequence(sequence(REPLACE), FALLBACK), sequence(FUSE, sequence(STRIP)))
    assert Vocabulary.from_file(save(change(data, "decoder", nested), "</s>")).fingerprint == expected


def test_bad_byte_spellings_stay_text(fallback_bpe, save):
    data = as_dict(fallback_bpe)
    for content in ("<0xZZ>", "<0x4>", "<0x041>", "<0x41"):
        data["model"]["vocab"][content] = len(data["model"]["vocab"])
    vocabulary = Vocabulary.from_file(save(data, "</s>"))
    assert [vocabulary.token_bytes(len(vocabulary) - n) for n in (4, 3, 2, 1)] == [
        b"<0xZZ>",
        b"<0x4>",
        b"<0x041>",
        b"<0x41",
    ]


@pytest.mark.parametrize(
    "entry",
    [
        added(5000, "<far>"),
        added(3, "<taken>"),
        added(2**40, "<huge>"),
        added(-1, "<negative>"),
        added(True, "<bool>"),
        added("512", "<string>"),
        added(None, "<none>"),
        added(7, "the"),
        {"id": 1},
        [],
        None,
        {**added(503, "x"), "content": 3},
        {**added(503, "x"), "content": "\ud800"},
    ],
)
def test_added_tokens_that_contradict_the_model(byte_bpe, save, entry):
    data = as_dict(byte_bpe)
    data["added_tokens"].append(entry)
    with pytest.raises(VocabularyError):
        Vocabulary.from_file(save(data, "<|endoftext|>"))


def test_empty_and_repeated_added_tokens(byte_bpe, save):
    data = as_dict(byte_bpe)
    width = byte_bpe.get_vocab_size()
    data["added_tokens"] += [added(width, ""), added(width - 1, data["added_tokens"][-1]["content"])]
    assert len(Vocabulary.from_file(save(data, "<|endoftext|>"))) == width


@pytest.mark.parametrize(
    "path_and_value",
    [
        ("model", None),
        ("model", []),
        ("model", "type", "Markov"),
        ("model", "type", 3),
        ("model", "vocab", None),
        ("model", "vocab", []),
        ("model", "vocab", {}),
        ("model", "vocab", {"a": "0"}),
        ("model", "vocab", {"a": 0.5}),
        ("model", "vocab", {"a": True}),
        ("model", "vocab", {"a": -1}),
        ("model", "vocab", {"a": 2**33}),
        ("model", "vocab", {"a": 10**400}),
        ("model", "vocab", {"a": 0, "b": 0}),
        ("model", "vocab", {"\udcff": 0}),
        ("model", "vocab", {"a" * 2_000_000: 0}),
        ("model", "unk_token", 3),
        ("model", "continuing_subword_prefix", "##"),
        ("model", "end_of_word_suffix", "</w>"),
        ("model", "byte_fallback", True),
        ("added_tokens", {}),
        ("pre_tokenizer", []),
        ("pre_tokenizer", {"type": "Sequence"}),
        ("pre_tokenizer", {"type": "Whitespace"}),
        ("normalizer", {"type": ["a"]}),
    ],
)
def test_malformed_sections(byte_bpe, save, path_and_value):
    with pytest.raises(VocabularyError) as caught:
        Vocabulary.from_file(save(change(as_dict(byte_bpe), *path_and_value)), eos_token_ids=None)
    assert len(str(caught.value).encode()) <= 512


@pytest.mark.parametrize(
    "path_and_value",
    [
        ("model", "vocab", {"a": 0}),
        ("model", "vocab", [["a"]]),
        ("model", "vocab", [["a", 0.0, 1]]),
        ("model", "vocab", [[3, 0.0]]),
        ("model", "vocab", ["a", "b"]),
        ("model", "unk_id", 10**9),
        ("model", "unk_id", -1),
        ("model", "unk_id", "0"),
    ],
)
def test_malformed_unigram(unigram, save, path_and_value):
    with pytest.raises(VocabularyError):
        Vocabulary.from_file(save(change(as_dict(unigram), *path_and_value)), eos_token_ids=None)


@pytest.mark.parametrize(
    "content",
    [
        b"",
        b"{",
        b"[]",
        b"3",
        b"null",
        b"{}",
        b'{"model": {}}',
        b'{"vocab": 3}',
        b"{" * 100_000,
        b"[" * 100_000,
        b'{"model":' * 100_000,
        b'{"model": ' + b"9" * 5000 + b"}",
        b"\xff\xfe{}",
        b'{"model": "\xff"}',
        b'{"model": NaN}',
    ],
)
def test_malformed_files(tmp_path, content):
    path = tmp_path / "tokenizer.json"
    path.write_bytes(content)
    with pytest.raises(VocabularyError) as caught:
        Vocabulary.from_file(path)
    assert len(str(caught.value).encode()) <= 512


def test_every_truncation_of_a_file_is_an_error(fallback_bpe, save, tmp_path):
    content = save(fallback_bpe).read_bytes()
    path = tmp_path / "tokenizer.json"
    for end in range(0, len(content), 997):
        path.write_bytes(content[:end])
        with pytest.raises(VocabularyError):
            Vocabulary.from_file(path, eos_token_ids=[2])


def test_any_json_in_place_of_any_part_is_read_or_refused(fallback_bpe, save):
    values = [None, True, -1, 0, 3, 699, 1.5, float("inf"), "", "a", "\u2581", [], [0], ["a", "b"], [[]], {}, {"a": 1}]
    rng, outcomes = random.Random(3), LoadOutcomes()
    for _ in range(150):
        tokenizer = as_dict(fallback_bpe)
        part = tokenizer
        for _ in range(rng.randint(1, 4)):
            key = rng.choice(sorted(part) if isinstance(part, dict) else range(len(part)))
            if not isinstance(part[key], (dict, list)) or not part[key]:
                break
            parent, part = part, part[key]
        else:
            part = parent
        part[key] = rng.choice(values)
        outcomes.load(lambda tokenizer=tokenizer: Vocabulary.from_file(save(tokenizer), eos_token_ids=None))
    assert min(outcomes.refused, outcomes.accepted) >= 20


@pytest.mark.parametrize("path", ["no/such/file.json", "", "a\x00b", "/dev/null", "/"])
def test_paths_that_cannot_be_read(path):
    with pytest.raises(DetentError):
        Vocabulary.from_file(path)


@pytest.mark.parametrize("path", [None, 3, object()])
def test_what_is_not_a_path(path):
    with pytest.raises(DetentError):
        Vocabulary.from_file(path)


def test_loading_imports_no_optional_package(byte_bpe, save):
    path = save(byte_bpe, "<|endoftext|>")
    program = (
        f"import sys; from detent.vocabulary import Vocabulary; Vocabulary.from_file({str(path)!r});"
        "print(sorted({'tokenizers', 'transformers', 'torch', 'sentencepiece', 'tiktoken', 'gguf'} & set(sys.modules)))"
    )
    result = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
    assert result.stdout == "[]\n"


def test_samples_do_not_begin_with_a_space():
    assert not any(text.startswith(" ") for text in SAMPLES)

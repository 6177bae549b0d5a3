"""The core's own tokenizer: equal to the package tokenizers on text, and refused where it could not be."""

from __future__ import annotations

import functools
import itertools
import json
import random

import pytest

from detent import Vocabulary
from detent.errors import ArgumentError, UnsupportedError, VocabularyError
from tests.support.long_tests import long
from tests.support.shared_data import canonical_record, needs_shared, real_vocabulary, tokenizer_file
from tests.support.tokenizer_texts import SAMPLES
from tests.support.toy_bpe import make_encoder, merge, random_tokenizer

NAMES = ["gpt2", "llama2-spm", "llama3", "mistral-v3", "qwen2", "tekken"]
ODD = (
    "  \n\r\t'sStT\u017flLvVdDmMrReE0123456789\u0663\u00b2\u00bdaAbB\u00e9\u00c9\u00df\u4e2d\u6587\U0001f600"
    '\u200d\u0301_-/.,;:!?"{}[]()\u2028\u00a0\u3000\u01c5\u02b0kK\u212a\x1c\x85~%='
)


def odd_texts(seed: int, length: int):
    """Yield texts of characters that splits treat in special ways, single and in runs, and of any characters."""
    rng = random.Random(seed)
    points = [point for point in range(1, 0x110000) if not 0xD800 <= point < 0xE000 and point != 0x2581]
    for start in range(0, length, 1000):
        kind = start // 1000 % 3
        if kind == 0:
            yield "x" + "".join(rng.choices(ODD, k=1000))
        elif kind == 1:
            yield (
                "x" + "".join(rng.choice(ODD) * rng.choice((1, 2, 3, 5, 8, 13, 31, 64, 130)) for _ in range(90))[:1000]
            )
        else:
            yield "x" + "".join(map(chr, rng.choices(points, k=300))) + "".join(rng.choices("abc de\n", k=700))


def check_equal(vocabulary, backend, texts):
    for text in texts:
        expected = backend.encode(text, add_special_tokens=False).ids
        assert vocabulary.encode_canonical(" " + text if vocabulary.leading_space else text) == expected


@functools.cache
def load(name):
    tokenizers = pytest.importorskip("tokenizers", reason="compares with the package tokenizers")
    return real_vocabulary(name), tokenizers.Tokenizer.from_file(str(tokenizer_file(name)))


@needs_shared
@pytest.mark.parametrize("name", NAMES)
def test_tokens_are_those_of_the_tokenizers(name):
    check_equal(*load(name), [text for text in SAMPLES if "\x00" not in text])  # type: ignore[call-arg]
    check_equal(*load(name), odd_texts(NAMES.index(name), 200_000))  # type: ignore[call-arg]


@needs_shared
@pytest.mark.parametrize("name", ["gpt2", "llama3", "qwen2", "tekken"])
def test_pairs_and_texts_on_record(name):
    vocabulary, _ = load(name)
    record = canonical_record(f"real_{name}")
    shift = 1000 if name == "tekken" else 0  # its record counts without the special tokens
    encoder = vocabulary._tables.encoder.encoder
    for left, right, valid in record["pairs_model_level"]:
        assert encoder.may_follow(left + shift, right + shift) == valid
    for text, _, ids in record["encode"]:
        assert vocabulary.encode_canonical(text) == [token + shift for token in ids]
    special = vocabulary.special_token_ids
    dead = {token for token in range(len(vocabulary)) if not encoder.is_reachable(token)} - special
    assert dead == set(record["dead_tokens"]) - special
    non_monotone = [token for token in range(len(vocabulary)) if encoder.is_non_monotone(token)]
    assert non_monotone == sorted(record["burst_tokens"])


@needs_shared
@pytest.mark.parametrize("name", ["llama2-spm", "llama3"])
def test_rows_are_the_pairs(name):
    encoder = load(name)[0]._tables.encoder.encoder
    live = [token for token in range(32_000) if encoder.is_reachable(token)]
    burst = [token for token in range(128_000) if encoder.is_non_monotone(token)][:8]
    rng = random.Random(5)
    for left in rng.sample(live, 20) + burst:
        row = set(encoder.followers(left))
        for right in rng.sample(live, 300) + burst + rng.sample(sorted(set(live) - row), min(50, len(set(live) - row))):
            assert (right in row) == encoder.may_follow(left, right)
        few = rng.sample(live, 20) + burst
        assert encoder.followers(left, few) == sorted(row.intersection(few))


def test_small_tokenizers_byte_by_byte(byte_bpe, save):
    vocabulary = Vocabulary.from_file(save(byte_bpe), eos_token_ids=None)
    texts = [text for text in SAMPLES if not any(each in text for each in ("<tool>", "na\u00efvet\u00e9", "\n\n\n"))]
    odd = [text.replace("\n\n\n", "\n \n") for text in odd_texts(9, 30_000)]
    check_equal(vocabulary, byte_bpe, [*texts, *(text for text in odd if "\n\n\n" not in text)])


def test_small_tokenizers_of_pieces(fallback_bpe, save):
    vocabulary = Vocabulary.from_file(save(fallback_bpe), eos_token_ids=None)
    check_equal(vocabulary, fallback_bpe, [*SAMPLES, *odd_texts(10, 30_000)])


@pytest.mark.parametrize("seed", range(40))
def test_pairs_of_random_tables(seed):
    rng = random.Random(seed)
    for _ in range(20):
        tokens, merges = random_tokenizer(rng)
        encoder = make_encoder(tokens, merges)

        def slow(text, tokens=tokens, merges=merges):
            return merge([tokens.index(bytes([byte])) for byte in text], merges)

        live = [token for token, text in enumerate(tokens) if slow(text) == [token]]
        assert live == [token for token in range(len(tokens)) if encoder.is_reachable(token)]
        for left, right in itertools.product(range(len(tokens)), repeat=2):
            expected = left in live and right in live and slow(tokens[left] + tokens[right]) == [left, right]
            assert encoder.may_follow(left, right) == expected
            if left in live and right in live:
                assert (right in encoder.followers(left)) == expected
                assert encoder.followers(left, [right]) == [right] * expected
        for _ in range(5):
            text = bytes(rng.choices([token[0] for token in tokens if len(token) == 1], k=rng.choice((3, 9, 120))))
            assert encoder.encode(text) == slow(text)


@needs_shared
def test_a_tokenizer_without_a_token_for_each_byte():
    """starcoder lacks 14 bytes, 0xF1 among them: it drops the characters that have one, and the core refuses them."""
    vocabulary, backend = load("starcoder")
    numeric = "\U00011de1\U00016ff4\u00bd\u0663" * 3
    texts = [*SAMPLES, *odd_texts(7, 60_000), "a  1 " + " ".join(numeric) + numeric]
    check_equal(vocabulary, backend, ["".join(c for c in text if b"\xf1" not in c.encode()) for text in texts])
    with pytest.raises(ArgumentError, match="has no token for"):
        vocabulary.encode_canonical("a\U00040000")


def test_what_cannot_be_followed_is_refused(byte_bpe, fallback_bpe, wordpiece, save):
    def refused(data, word):
        vocabulary = Vocabulary.from_file(save(data), eos_token_ids=None)
        with pytest.raises(UnsupportedError, match=word):
            vocabulary.encode_canonical("a")

    refused(wordpiece, "model is 'WordPiece'")
    data = json.loads(byte_bpe.to_str())
    refused({**data, "normalizer": {"type": "Lowercase"}}, "Lowercase")
    byte_level = data["pre_tokenizer"]
    refused({**data, "pre_tokenizer": {**byte_level, "add_prefix_space": True}}, "space before each text")
    words = {"type": "WhitespaceSplit"}
    refused({**data, "pre_tokenizer": {"type": "Sequence", "pretokenizers": [words, byte_level]}}, "WhitespaceSplit")
    digits = {"type": "Digits", "individual_digits": True}
    refused({**data, "pre_tokenizer": {"type": "Sequence", "pretokenizers": [byte_level, digits]}}, "'Digits'")
    plain = {**byte_level, "use_regex": False}
    pieces = json.loads(fallback_bpe.to_str())
    refused({**pieces, "normalizer": None}, "U\\+2581")
    refused({**pieces, "normalizer": {"type": "NFKC"}}, "NFKC")
    for pattern, word in (
        (r"\h+", "escape"),
        (r"a*", "may match nothing"),
        (r"(?>a)|\s", "kind"),
        (r"a+?|\s", "lazy"),
    ):
        split = {"type": "Split", "pattern": {"Regex": pattern}, "behavior": "Isolated", "invert": False}
        refused({**data, "pre_tokenizer": {"type": "Sequence", "pretokenizers": [split, plain]}}, word)


def isolated(pattern, **form):
    return {"type": "Split", "pattern": {"Regex": pattern}, "behavior": "Isolated", "invert": False, **form}


NUMBERS = {"type": "Digits", "individual_digits": True}
SEQUENCES = {
    "deepseek": [
        *map(isolated, (r"[\r\n]", r"\s?\p{L}+", r"\s?\p{P}+", "[\u4e00-\u9fa5\u0800-\u4e00\uac00-\ud7ff]+")), NUMBERS,
    ],
    "deepseek-v3": [
        *map(isolated, (
            r"\p{N}{1,3}", "[\u4e00-\u9fa5\u3040-\u309f\u30a0-\u30ff]+",
            r"[^\r\n\p{L}\p{P}\p{S}]?[\p{L}\p{M}]+| ?[\p{P}\p{S}]+[\r\n]*|\s*[\r\n]+|\s+(?!\S)|\s+",
        )),
    ],
    "gaps": [isolated(r"\s+(?!\S)|[a-z]+")],
    "inverted": [isolated(r"\p{L}+", invert=True)],
    "a string": [{**isolated(""), "pattern": {"String": " ("}}],
    "runs of digits": [{**NUMBERS, "individual_digits": False}],
    "words": [isolated(r"\w+|\d"), isolated(r"\W")],
    "between numbers": [isolated(r"\p{N}"), isolated(r"\s+(?!\S)|\s"), isolated(r"[a-z]{2}(?=[a-z])|[^a]b")],
}  # fmt: skip
"""Pre-tokenizers before ByteLevel."""


@needs_shared
@pytest.mark.parametrize("regex", [False, long(True)])
@pytest.mark.parametrize("name", SEQUENCES)
def test_splits_follow_each_other(name, regex, tmp_path):
    tokenizers = pytest.importorskip("tokenizers", reason="compares with the package tokenizers")
    data = json.loads(tokenizer_file("gpt2").read_bytes())
    last = {"type": "ByteLevel", "add_prefix_space": False, "trim_offsets": True, "use_regex": regex}
    data["pre_tokenizer"] = {"type": "Sequence", "pretokenizers": [*SEQUENCES[name], last]}
    path = tmp_path / "tokenizer.json"
    path.write_text(json.dumps(data), encoding="utf-8")
    vocabulary = Vocabulary.from_file(path, eos_token_ids=None)
    backend = tokenizers.Tokenizer.from_file(str(path))
    check_equal(vocabulary, backend, [text for text in SAMPLES if "\x00" not in text])
    check_equal(vocabulary, backend, odd_texts(len(name), 40_000))


def test_errors_say_what_was_found(byte_bpe, save):
    vocabulary = Vocabulary.from_file(save(byte_bpe), eos_token_ids=None)
    assert vocabulary.encode_canonical("") == []
    with pytest.raises(ArgumentError, match="string or bytes"):
        vocabulary.encode_canonical(3)
    with pytest.raises(ArgumentError, match="not UTF-8"):
        vocabulary.encode_canonical(b"\xff")
    with pytest.raises(ArgumentError, match="surrogate"):
        vocabulary.encode_canonical("\ud800")
    with pytest.raises(UnsupportedError, match=r"Load it from a tokenizer\.json"):
        Vocabulary([b"a"], eos_token_ids=None).encode_canonical("a")
    data = json.loads(byte_bpe.to_str())
    data["model"]["merges"].append(["a", "no such token"])
    with pytest.raises(VocabularyError, match="two tokens that join"):
        Vocabulary.from_file(save(data), eos_token_ids=None).encode_canonical("a")

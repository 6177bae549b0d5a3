"""The tokenizer cases of the hostile corpus: right, or a clean error."""

from __future__ import annotations

import pytest

from detent.errors import DetentError
from detent.vocabulary import Vocabulary
from tests.support.hostile_corpus import expand as expand_value
from tests.support.hostile_corpus import hostile_cases
from tests.support.shared_data import needs_shared

CASES = hostile_cases("tokenizer")


def expand(value):
    """Build a generated input with the corpus's own expander."""
    expanded = expand_value(value)
    if isinstance(expanded, dict) and isinstance(expanded.get("tokens"), list):
        expanded["tokens"] = [expand_value(token) for token in expanded["tokens"]]
    return expanded


def write_and_load(case, tmp_path):
    path = tmp_path / case["file"]
    path.write_bytes(bytes.fromhex(case["hex"]) if "hex" in case else case["text"].encode())
    return Vocabulary.from_file(path)


def load_pieces(tokens, eos, save):
    """Load tokens as the vocabulary of a BPE model with byte fallback."""
    names = [token["special"] if isinstance(token, dict) else token for token in tokens]
    flags = {"single_word": False, "lstrip": False, "rstrip": False, "normalized": False}
    data = {
        "added_tokens": [
            {"id": number, "content": name, "special": True, **flags}
            for number, (name, token) in enumerate(zip(names, tokens, strict=True))
            if isinstance(token, dict)
        ],
        "decoder": {"type": "Sequence", "decoders": [{"type": "ByteFallback"}, {"type": "Fuse"}]},
        "model": {
            "type": "BPE",
            "byte_fallback": True,
            "vocab": {name: i for i, name in enumerate(names)},
            "merges": [],
        },
    }
    return Vocabulary.from_file(save(data), eos_token_ids=[eos])


def load_raw(case):
    special = set()

    def token(value, number):
        if isinstance(value, dict):
            special.add(number)
            return value["special"].encode()
        return value if isinstance(value, bytes) else value.encode()

    tokens = case["tokens"]
    if isinstance(tokens, dict):
        table = {int(key) if key.isdigit() else key: token(value, key) for key, value in tokens.items()}
    else:
        table = [token(value, number) for number, value in enumerate(tokens)]
    eos = [] if case.get("eos") is None else [case["eos"]]
    return Vocabulary(table, eos_token_ids=eos, special_token_ids=special)


def load(case, tmp_path, save):
    if "file" in case:
        return write_and_load(case, tmp_path)
    if "vocab_size" in case:
        return Vocabulary([b"x"] * case["real"], eos_token_ids=[case["eos"]], size=case["vocab_size"])
    if case.get("byte_fallback"):
        return load_pieces(case["tokens"], case["eos"], save)
    return load_raw(case)


@needs_shared
@pytest.mark.parametrize("case", CASES, ids=lambda case: case["id"])
def test_hostile_tokenizers(case, tmp_path, save):
    content = expand(case["input"])
    if case["expect"] == "clean_error":
        with pytest.raises(DetentError) as caught:
            load(content, tmp_path, save)
        assert len(str(caught.value).encode()) <= 512
        return
    try:
        vocabulary = load(content, tmp_path, save)
    except DetentError:
        assert case["expect"] == "bounded"
        return
    assert set(vocabulary.eos_token_ids) <= vocabulary.special_token_ids
    assert len(vocabulary) >= len(content.get("tokens", ()))


@needs_shared
def test_bad_byte_spelling_is_text(save):
    case = next(case for case in CASES if case["id"] == "TK038")["input"]
    vocabulary = load_pieces(case["tokens"], case["eos"], save)
    assert [vocabulary.token_bytes(i) for i in range(2)] == [b"<0xZZ>", b"A"]

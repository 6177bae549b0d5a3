"""The decoder of pieces: joined, they are the text, and no piece has half a character."""

from __future__ import annotations

import random

import pytest

from detent.generation.utf8_stream import Utf8Decoder

TEXTS = [
    "",
    "plain",
    "naïve café",
    "日本語",
    "🙂👩‍👩‍👧",
    "\u0000\u007f\u0080\u07ff\u0800\uffff\U00010000\U0010ffff",
    "e\u0301",
]


@pytest.mark.parametrize("text", TEXTS)
@pytest.mark.parametrize("seed", range(5))
def test_pieces_join_to_the_text(text: str, seed: int) -> None:
    random.seed(seed)
    decoder, data, pieces = Utf8Decoder(), text.encode(), []
    while data:
        size = random.randint(1, 3)
        pieces.append(decoder.feed(data[:size]))
        data = data[size:]
    assert decoder.finish(cut=False) == ""
    assert "".join(pieces) == text


def test_a_begun_character_is_held_back() -> None:
    decoder = Utf8Decoder()
    assert [decoder.feed(bytes([byte])) for byte in "a🙂b".encode()] == ["a", "", "", "", "🙂", "b"]


def test_a_cut_character_is_left_out_and_an_ended_one_is_replaced() -> None:
    for cut, rest in ((True, ""), (False, "\ufffd")):
        decoder = Utf8Decoder()
        assert decoder.feed("x€".encode()[:-1]) == "x"
        assert decoder.finish(cut=cut) == rest


@pytest.mark.parametrize("data", [b"\xff", b"a\xc3b", b"\xed\xa0\x80", b"\xc0\xaf", b"\xf4\x90\x80\x80", b"ok\x80\x80"])
def test_bytes_that_are_not_utf8_become_what_python_makes_of_them(data: bytes) -> None:
    decoder = Utf8Decoder()
    pieces = [decoder.feed(bytes([byte])) for byte in data]
    assert "".join(pieces) + decoder.finish(cut=False) == data.decode("utf-8", "replace")

"""The byte table, and spelling many tokens at once."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from detent.vocabulary.byte_level import CHARACTER_OF_BYTE, bytes_of_tokens


def test_known_characters():
    assert CHARACTER_OF_BYTE[ord(" ")] == "\u0120"
    assert CHARACTER_OF_BYTE[ord("\n")] == "\u010a"
    assert CHARACTER_OF_BYTE[ord("A")] == "A"
    assert CHARACTER_OF_BYTE[0xAD] == "\u0143"
    assert len(set(CHARACTER_OF_BYTE)) == 256


@given(st.lists(st.binary(max_size=5)))
def test_spells_what_was_written(tokens):
    written = ["".join(CHARACTER_OF_BYTE[byte] for byte in token) for token in tokens]
    assert bytes_of_tokens(written) == (tokens, [])


@given(st.lists(st.text(max_size=4)))
def test_tokens_outside_the_table_are_utf8(tokens):
    table = {character: byte for byte, character in enumerate(CHARACTER_OF_BYTE)}
    foreign = [index for index, token in enumerate(tokens) if not table.keys() >= set(token)]
    expected = [
        token.encode() if index in foreign else bytes(map(table.get, token)) for index, token in enumerate(tokens)
    ]
    assert bytes_of_tokens(tokens) == (expected, foreign)

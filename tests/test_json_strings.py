"""Contents of JSON strings, against the decoder of Python; also where not all strings of the contents are texts."""

from __future__ import annotations

import json
from itertools import product

import pytest

from detent import _core
from detent.language import Language
from detent.sources.nodes import ANY_BYTES, concat

ESCAPES = [b"\\u0061", b"\\u00e9", b"\\u00E9", b"\\n", b"\\/", b'\\"', b"\\ud83d\\ude00"]
PIECES = [b"a", "é".encode(), "\U0001f600".encode(), *ESCAPES]
BROKEN = [b"\xc3", b"\xa9", b"\\", b"\\u00", b"\\ud83d", b'"', b"\n", b"\xff"]
LANGUAGES = {
    "a complement alone": _core.complement(_core.literal(b"a")),
    "without a character": _core.complement(concat(ANY_BYTES, "é", ANY_BYTES)),
    "all bytes": ANY_BYTES,
    "bytes or a text": _core.union([_core.byte_set(b"\x80\xc3a"), _core.literal("é".encode())]),
    "beside a text": _core.intersection([_core.complement(_core.literal(b"a")), _core.chars([(0, 0x10FFFF)])]),
    "of texts": _core.union([_core.literal("aé".encode()), _core.repeat(_core.chars([(0x1F600, 0x1F610)]), 0, 2)]),
}


def decoded(written: bytes) -> bytes | None:
    """Return the text of the contents of a JSON string, or None if there is none."""
    try:
        text = json.loads(f'"{written.decode()}"')
        return text.encode() if isinstance(text, str) else None
    except ValueError:
        return None


@pytest.mark.parametrize("serialized", [False, True])
@pytest.mark.parametrize("name", LANGUAGES)
def test_contents_are_decoded_before_the_language_reads_them(name: str, serialized: bool) -> None:
    texts, strings = Language(LANGUAGES[name], name), Language(_core.json_string(LANGUAGES[name], serialized), name)
    for pieces in [*product([b"", *PIECES], repeat=3), *product([b"", b"a", *BROKEN], repeat=2)]:
        written = b"".join(pieces)
        text = decoded(written)
        if serialized and (b"\\/" in pieces or b"\\u00E9" in pieces or b"\\u0061" in pieces):
            assert not strings.accepts(written)  # serialisers do not write these
        else:
            assert strings.accepts(written) == (text is not None and texts.accepts(text)), written


@pytest.mark.parametrize("excluded", [b'"', b"\x01\x01", b'"""""'])
@pytest.mark.parametrize("letters", [b'"', b"\x01", b'"a', b"ab"])
def test_bounds_of_texts_that_need_escapes(letters: bytes, excluded: bytes) -> None:
    """An infinite language without some texts: the bound of a completion counts the escapes that it needs."""
    some = _core.repeat(_core.byte_set(letters), 1, None)
    texts = _core.intersection([some, _core.complement(_core.literal(excluded))])
    automaton = _core.Automaton(concat("<", _core.json_string(texts), ">"), 10_000, 1 << 26, 10**7)
    state = automaton.start
    for _ in range(12):
        shortest = automaton.shortest_completion(state)
        assert automaton.completion_bound(state) >= len(shortest)
        following = [target for target in automaton.row(state) if target]
        if not following:
            break
        state = following[0]


@pytest.mark.parametrize("serialized", [False, True])
@pytest.mark.parametrize("most", [0, 1, 2])
def test_no_spelling_is_too_long_for_few_characters(most: int, serialized: bool) -> None:
    """The longest string of few characters counts their escapes: an intersection with a longer text is empty."""
    texts = _core.repeat(_core.chars([(0, 0x10FFFF)]), 0, most)
    strings = _core.json_string(texts, serialized)
    for pieces in product([b"", *PIECES, b"\\u001f"], repeat=2):
        written = b"".join(pieces)
        text = decoded(written)
        both = _core.intersection([concat(strings, "."), _core.literal(written + b".")])
        if serialized and (b"\\/" in pieces or b"\\u00E9" in pieces or b"\\u0061" in pieces or b"\\u00e9" in pieces):
            continue
        expected = text is not None and len(text.decode()) <= most
        assert Language(both, "both").accepts(written + b".") == expected, written

"""What may follow a text in a language, in words: a set of characters such as ``[0-9]``, the end, or one of these.

The bytes of a language are shown as the characters that they begin, however many bytes these have. Where bytes may
follow that begin no character, the bytes are shown.
"""

from __future__ import annotations

from collections.abc import Iterator

from detent.code_points import LAST, Range, Ranges, complement, normalise
from detent.queries import ByteDfa

__all__ = ["character_start", "expected_after", "expected_characters", "shown_byte_set", "shown_characters"]

_MOST_STEPS = 20_000
"""Transitions that are followed for one description, a few milliseconds; the bytes are shown where it takes more."""

_MOST_RUNS = 12
"""Runs of characters that a set shows."""

_FIRST_OF_LENGTH = (0, 0x80, 0x800, 0x10000)
"""The first code point of one, two, three and four bytes of UTF-8."""

_SURROGATES = (0xD800, 0xDFFF)


class _NotTextError(Exception):
    """Bytes may follow that begin no character, or the characters are too many to be followed."""


def expected_after(dfa: ByteDfa, text: bytes) -> str:
    r"""Describe what may follow a text that begins a member; after a part of a character, what may stand instead of it.

    >>> import detent
    >>> [expected_after(detent.regex(pattern)._dfa(), b"") for pattern in ("[a-cx]*", "é", "[α-ω]", '[^"]')]
    ['[a-cx] or the end', "'é'", '[α-ω]', '[^"]']
    >>> expected_after(detent.regex("[éè]")._dfa(), "é".encode()[:1])
    '[èé]'
    """
    names = [expected_characters(dfa, text), "the end" if dfa.is_accepting(dfa.after(text)) else ""]
    return " or ".join(filter(None, names))


def expected_characters(dfa: ByteDfa, text: bytes) -> str:
    """Describe the characters that may follow, as `expected_after` without the end; empty if only the end may."""
    following = dfa.expected(dfa.after(text))
    if not following:
        return ""
    try:
        return shown_characters(_Characters(dfa).following(dfa.after(text[: character_start(text)])))
    except _NotTextError:
        return shown_byte_set(following)


def character_start(text: bytes) -> int:
    r"""Return the length of a text without the character that it ends inside of.

    >>> character_start(b"ab"), character_start(b"ab\xc3"), character_start("é".encode())
    (2, 2, 2)
    """
    for back in range(1, min(len(text), 3) + 1):
        byte = text[-back]
        if byte < 0x80:
            break
        if byte >= 0xC0:
            return len(text) - back if back < _length(byte) else len(text)
    return len(text)


def _length(lead: int) -> int:
    """Return the bytes of a character by its first one."""
    return 1 if lead < 0xC0 else 2 if lead < 0xE0 else 3 if lead < 0xF0 else 4


class _Characters:
    """The characters that may follow a state; each pair of a state and a length is followed once."""

    def __init__(self, dfa: ByteDfa) -> None:
        self._dfa = dfa
        self._steps = 0
        self._known: dict[tuple[int, int], Ranges] = {}

    def following(self, state: int) -> Ranges:
        found: list[Range] = []
        for byte in self._dfa.expected(state):
            if 0x80 <= byte < 0xC2 or byte > 0xF4:
                raise _NotTextError
            rest = _length(byte) - 1
            first = byte if not rest else (byte & (0x3F >> rest)) << 6 * rest
            found += _moved(self._continuations(self._dfa.step(state, byte), rest), first)
        return normalise(found)

    def _continuations(self, state: int, length: int) -> Ranges:
        """Return the numbers that continuation bytes after a state write, six bits each."""
        if length == 0:
            return ((0, 0),)
        known = self._known.get((state, length))
        if known is None:
            found: list[Range] = []
            for byte in self._dfa.expected(state):
                self._steps += 1
                if not 0x80 <= byte < 0xC0 or self._steps > _MOST_STEPS:
                    raise _NotTextError
                after = self._continuations(self._dfa.step(state, byte), length - 1)
                found += _moved(after, byte - 0x80 << 6 * (length - 1))
            known = self._known[state, length] = normalise(found)
        return known


def _moved(ranges: Ranges, by: int) -> Iterator[Range]:
    return ((low + by, high + by) for low, high in ranges)


def shown_characters(characters: Ranges) -> str:
    r"""Show a set of characters as a class; one that has most characters by those that it lacks.

    >>> shown_characters(((48, 57), (65, 65))), shown_characters(((65, 65),)), shown_characters(((0, 9), (11, LAST)))
    ('[0-9A]', "'A'", '[^\\n]')
    """
    if len(characters) == 1 and characters[0][0] == characters[0][1] and chr(characters[0][0]).isprintable():
        return repr(chr(characters[0][0]))
    if characters and characters[-1][1] == LAST:
        lacking = complement(normalise([*characters, _SURROGATES]))
        return f"[^{_runs(lacking)}]" if lacking else "any character"
    return f"[{_runs(characters)}]"


def shown_byte_set(values: bytes) -> str:
    """Show a set of bytes as a class; bytes beyond ASCII by their number."""
    if len(values) == 256:
        return "any byte"
    runs = normalise((byte, byte) for byte in values)
    return f"[{_runs(runs, 0x7F)}]"


def _runs(ranges: Ranges, last_character: int = LAST) -> str:
    shown = []
    for low, high in ranges[:_MOST_RUNS]:
        between = "" if high - low < 2 else "-"
        shown.append(_shown(low, last_character) + (between + _shown(high, last_character) if high > low else ""))
    return "".join(shown) + ("…" if len(ranges) > _MOST_RUNS else "")


def _shown(code: int, last_character: int) -> str:
    if code > last_character:
        return f"\\x{code:02X}"
    character = chr(code)
    if character in "-\\]^[":
        return "\\" + character
    return character if character.isprintable() else repr(character)[1:-1]

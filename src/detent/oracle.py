r"""The executable specification of masks: the naive method, in the plainest Python.

A token is allowed after a text if the two together begin a text that the pattern matches in full. So: try every token
of the vocabulary. Either of two functions decides whether a text begins a match. They share no code, and use no
automata:

- `begins_match`: a partial match of the package `regex`. Exact for patterns without zero-width assertions (anchors,
  `\b`, lookaround) and lazy repeats in which every part can match something. At the end of a partial text, `regex`
  assumes that an assertion may yet hold, and that the rest of the pattern can match. For `a*?a`, it takes `ab` as the
  beginning of a match.
- `reaches_match(steps)`: try every continuation of up to `steps` characters with `re.fullmatch`. Exact, assertions and
  all, where every text that begins a match has a completion that short.

Two steps need a word.

*A token may end inside a character.* The bytes so far then stand for whole characters and the first bytes of one more:
they begin a match if the text with some character that starts with these bytes does.

*Not every character is tried.* Characters are interchangeable if every atom of the pattern (literal, class, dot) and
`\w` treat them alike in `re`. Each is replaced by the first of its kind, which leaves few to try. So `re` is the
authority on what `\w` and case mean: its tables differ from those of `regex` on lately added characters.

Needs the package regex. Meant for tests: a mask of 128,000 tokens takes about a second.
"""

from __future__ import annotations

import codecs
import re
import sys
from bisect import bisect_left, bisect_right
from collections.abc import Callable, Iterator, Sequence
from functools import lru_cache
from itertools import product
from typing import Any, TypeAlias

import regex

if sys.version_info >= (3, 11):
    from re import _compiler, _constants, _parser  # type: ignore[attr-defined]
else:
    import sre_compile as _compiler
    import sre_constants as _constants
    import sre_parse as _parser

__all__ = ["allowed", "begins_match", "is_match", "reaches_match"]

Verdict: TypeAlias = "Callable[[str, int, str], bool]"
"""Whether a text begins a match: (pattern, flags of `re`, text)."""

# Every character that UTF-8 can write, in the order of code points, which is that of their encodings.
_CHARACTERS = "".join(map(chr, (*range(0xD800), *range(0xE000, 0x110000))))

_REGEX_FLAGS = (
    (re.ASCII, regex.ASCII),
    (re.DOTALL, regex.DOTALL),
    (re.IGNORECASE, regex.IGNORECASE),
    (re.MULTILINE, regex.MULTILINE),
    (re.VERBOSE, regex.VERBOSE),
)


def is_match(pattern: str, flags: int, text: bytes) -> bool:
    r"""Whether a text may end here: `re.fullmatch`, on UTF-8.

    >>> is_match("a|ab", 0, b"ab"), is_match(".", 0, b"\xc3")
    (True, False)
    """
    try:
        return re.fullmatch(pattern, text.decode("utf-8"), flags) is not None
    except UnicodeDecodeError:
        return False


def begins_match(pattern: str, flags: int, text: str) -> bool:
    """Whether a text begins a match: a partial match of the package regex.

    >>> begins_match("[0-9]+a", 0, "12"), begins_match("[0-9]+a", 0, "1b")
    (True, False)
    """
    return _partial(pattern, flags).fullmatch(text, partial=True) is not None


def reaches_match(steps: int) -> Verdict:
    r"""Make the verdict that tries every continuation of at most `steps` characters.

    >>> reaches_match(1)(r"a\b.", 0, "a"), reaches_match(1)(r"a\bb", 0, "a")
    (True, False)
    """

    def live(pattern: str, flags: int, text: str) -> bool:
        match = re.compile(pattern, flags).fullmatch
        letters = sorted(set(_kinds(pattern, flags).representatives))
        return any(match(text + "".join(end)) for count in range(steps + 1) for end in product(letters, repeat=count))

    return live


def allowed(
    pattern: str, flags: int, tokens: Sequence[bytes], text_so_far: bytes, live: Verdict = begins_match
) -> list[int]:
    """Return the ids of the tokens after which a match can still be reached.

    >>> allowed("[0-9]+[.][0-9]", 0, [b"a", b".", b".2", b"1"], b"1")
    [1, 2, 3]

    Parameters
    ----------
    pattern : str
        A regex, as `re` reads it.
    flags : int
        Flags of `re`.
    tokens : sequence of bytes
        The bytes of each id; ids without bytes are never allowed.
    text_so_far : bytes
        The bytes of the tokens before, each of them allowed.
    live : Verdict
        How to tell whether a text begins a match.
    """
    kinds = _kinds(pattern, flags)
    verdicts: dict[str, bool] = {}

    def is_live(text: str) -> bool:
        if text not in verdicts:
            verdicts[text] = live(pattern, flags, text)
        return verdicts[text]

    before, first_bytes = _decode(text_so_far)
    before = before.translate(kinds)
    ids = []
    for token_id, token in enumerate(tokens):
        if not token:
            continue
        try:
            whole, rest = _decode(first_bytes + token)
        except UnicodeDecodeError:
            continue
        text = before + whole.translate(kinds)
        if any(is_live(text + end) for end in (kinds.starting_with(rest) if rest else [""])):
            ids.append(token_id)
    return ids


def _decode(text: bytes) -> tuple[str, bytes]:
    """Split bytes into whole characters and the first bytes of one more; raise where they cannot be UTF-8."""
    decoder = codecs.getincrementaldecoder("utf-8")()
    return decoder.decode(text), decoder.getstate()[0]


@lru_cache(maxsize=64)
def _partial(pattern: str, flags: int) -> regex.Pattern[str]:
    theirs = regex.VERSION0
    for ours, same in _REGEX_FLAGS:
        if flags & ours:
            theirs |= same
    return regex.compile(pattern, theirs)


class _Kinds(dict[int, str]):
    """Maps each code point to the first character that no atom of the pattern can tell from it; for `str.translate`."""

    def __init__(self, atoms: list[re.Pattern[str]]) -> None:
        cuts = {0}
        for atom in atoms:
            for run in atom.finditer(_CHARACTERS):
                cuts.update(run.span())
        # Between two cuts, all characters are alike.
        self.starts = sorted(cuts - {len(_CHARACTERS)})
        first: dict[tuple[bool, ...], str] = {}
        self.representatives = []
        for start in self.starts:
            character = _CHARACTERS[start]
            kind = tuple(atom.match(character) is not None for atom in atoms)
            self.representatives.append(first.setdefault(kind, character))

    def __missing__(self, code: int) -> str:
        index = code if code < 0xD800 else code - 0x800
        self[code] = self.representatives[bisect_right(self.starts, index) - 1]
        return self[code]

    def starting_with(self, first_bytes: bytes) -> list[str]:
        """Return the representatives of the characters whose encodings start with these bytes."""
        after = first_bytes[:-1] + bytes([first_bytes[-1] + 1])
        low, high = (bisect_left(_CHARACTERS, end, key=str.encode) for end in (first_bytes, after))
        if low == high:
            return []
        return sorted(set(self.representatives[bisect_right(self.starts, low) - 1 : bisect_left(self.starts, high)]))


@lru_cache(maxsize=64)
def _kinds(pattern: str, flags: int) -> _Kinds:
    return _Kinds(_atoms(pattern, flags))


def _atoms(pattern: str, flags: int) -> list[re.Pattern[str]]:
    """Compile each part of the pattern that matches one character, so that it matches runs of them."""
    root = _parser.parse(pattern, flags)
    atoms = {}
    trees = [(root, root.state.flags), (_parser.parse(r"\w"), root.state.flags)]
    while trees:
        tree, active = trees.pop()
        for operator, argument in tree:
            if operator in (_constants.LITERAL, _constants.NOT_LITERAL, _constants.ANY, _constants.IN):
                state = _parser.State()
                state.flags = active
                atom = _parser.SubPattern(state, [(operator, argument)])
                run = _parser.SubPattern(state, [(_constants.MAX_REPEAT, (1, _constants.MAXREPEAT, atom))])
                atoms[repr((operator, argument, active))] = _compiler.compile(run, active)
            elif operator is _constants.SUBPATTERN:
                trees.append((argument[3], (active | argument[1]) & ~argument[2]))
            else:
                trees += [(part, active) for part in _subpatterns(argument)]
    return list(atoms.values())


def _subpatterns(argument: Any) -> Iterator[Any]:
    if isinstance(argument, _parser.SubPattern):
        yield argument
    elif isinstance(argument, list | tuple):
        for part in argument:
            yield from _subpatterns(part)

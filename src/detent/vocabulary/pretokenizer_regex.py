r"""Pre-tokenizer regexes (Oniguruma's syntax), compiled for the core.

A regex becomes a program of a backtracking matcher (`cpp/bpe/`) over classes of characters; two characters are in one
class if no set of the regex separates them. Supported are the constructs of known tokenizers: alternatives, groups,
`(?i:…)` over ASCII, sets, `\d`, `\s`, `\w`, `\p{…}`, greedy repeats, and a lookahead at one character. Everything else
is refused, since an approximate pre-tokenizer puts boundaries where the tokenizer has none.

Source: https://github.com/kkos/oniguruma/blob/master/doc/RE (the matcher of the package tokenizers).
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cache

from detent.code_points import LAST, Range, Ranges, complement, normalise
from detent.errors import UnsupportedError
from detent.vocabulary.character_classes import RUNS
from detent.vocabulary.loaded_tokens import shown

__all__ = [
    "GPT2_PATTERN",
    "NUMERIC_CHARACTER",
    "WHOLE",
    "Split",
    "read_splits",
]

GPT2_PATTERN = r"'s|'t|'re|'ve|'m|'ll|'d| ?\p{L}+| ?\p{N}+| ?[^\s\p{L}\p{N}]+|\s+(?!\S)|\s+"
"""The regex of the pre-tokenizer ByteLevel with `use_regex`."""

NUMERIC_CHARACTER = "[\\p{N}\U00011de0-\U00011de9\U00016ff4-\U00016ff6]"
"""The characters of the pre-tokenizer Digits, which follows a later version of Unicode."""

_MATCH, _SET, _LOOK, _JUMP, _FORK = range(5)
_END = 1 << 63  # the end of the text, in the set of a lookahead

_MOST_CLASSES = 62
_MOST_INSTRUCTIONS = 4000
_MOST_CHARACTERS = 4096
_MOST_DEPTH = 16


_Step = tuple[int, int, int, int]
"""Operation, index of a set, and one or two jumps relative to the step."""


@dataclass(frozen=True)
class Split:
    """The arguments of `_core.Encoder` for a pre-tokenizer: the programs of its regexes, one after the other."""

    ranges: list[tuple[int, int]]
    class_count: int
    program: list[tuple[int, int, int, int]]
    single_pretoken: bool = False


WHOLE = Split([(0, 0)], 1, [(_SET, 1, 1, 0), (_FORK, 0, 0, 2), (_MATCH, 0, 0, 0)], single_pretoken=True)
"""No pre-tokenizer: a text is one pre-token."""


@cache
def read_splits(*patterns: str) -> Split:
    r"""Compile the regexes of a pre-tokenizer: the first splits the text, each other one the pieces of the one before.

    >>> read_splits(GPT2_PATTERN).class_count
    14
    >>> read_splits(r"[\r\n]", r"\s?\p{L}+").class_count
    4

    Raises
    ------
    UnsupportedError
        A regex has a construct that may mean something else to the tokenizer.
    """
    sets: list[Ranges] = []
    at_end: list[bool] = []
    steps: list[_Step] = []
    for pattern in patterns:
        if len(pattern) > _MOST_CHARACTERS:
            raise UnsupportedError(f"a split pattern of {len(pattern)} characters: at most {_MOST_CHARACTERS} are read")
        steps += [*_PatternParser(pattern, sets, at_end).read(), (_MATCH, 0, 0, 0)]
    classes = _Classes(sets)
    program = []
    for address, (operation, index, first, second) in enumerate(steps):
        mask = 0
        if operation == _SET:
            mask = classes.mask(index)
        elif operation == _LOOK:
            mask = classes.mask(index) | (_END if at_end[index] else 0)
        program.append((operation, mask, address + first, address + second))
    return Split(classes.ranges, classes.count, program)


class _Classes:
    """The coarsest partition of all characters in which each set is a union of classes."""

    def __init__(self, sets: list[Ranges]) -> None:
        changes: dict[int, int] = {0: 0}
        for index, ranges in enumerate(sets):
            for low, high in ranges:
                changes[low] = changes.get(low, 0) ^ (1 << index)
                changes[high + 1] = changes.get(high + 1, 0) ^ (1 << index)
        self._members: list[int] = []
        numbers: dict[int, int] = {}
        self.ranges: list[tuple[int, int]] = []
        member = 0
        for point in sorted(changes):
            member ^= changes[point]
            if point > LAST:
                break
            number = numbers.setdefault(member, len(numbers))
            if number == len(self._members):
                self._members.append(member)
            if not self.ranges or self.ranges[-1][1] != number:
                self.ranges.append((point, number))
        self.count = len(numbers)
        if self.count > _MOST_CLASSES:
            raise UnsupportedError(
                f"a split pattern with {self.count} classes of characters: at most {_MOST_CLASSES} are supported"
            )

    def mask(self, index: int) -> int:
        """Return the classes of a set as bits."""
        return sum(1 << number for number, member in enumerate(self._members) if member >> index & 1)


@dataclass
class _PatternParser:
    """A recursive-descent parser of a regex, of bounded nesting, that emits the program and adds to the sets."""

    pattern: str
    sets: list[Ranges]
    at_end: list[bool]
    at: int = 0
    depth: int = 0
    fold: bool = False

    def read(self) -> list[_Step]:
        steps = self.alternatives()
        if self.at < len(self.pattern):
            raise self.unsupported("a closing parenthesis")
        return steps

    def unsupported(self, what: str) -> UnsupportedError:
        near = self.pattern[max(0, self.at - 20) : self.at + 20]
        return UnsupportedError(
            f"the tokenizer's split pattern has {what} at character {self.at}, near {shown(near)}: it is not known to "
            "be read as the tokenizer does, so canonical tokens cannot be told exactly"
        )

    def alternatives(self) -> list[_Step]:
        steps = self.sequence()
        while self.take("|"):
            other = self.sequence()
            # A chain of forks; each prefers its first alternative.
            steps = [(_FORK, 0, 1, len(steps) + 2), *steps, (_JUMP, 0, len(other) + 1, 0), *other]
        return steps

    def sequence(self) -> list[_Step]:
        steps: list[_Step] = []
        while self.at < len(self.pattern) and self.pattern[self.at] not in "|)":
            steps += self.repeated()
            if len(steps) > _MOST_INSTRUCTIONS:
                raise self.unsupported("repeats of too large a size")
        return steps

    def repeated(self) -> list[_Step]:
        atom = self.atom()
        low, high = self.bounds()
        if (low, high) == (1, 1):
            return atom
        if not atom or atom[0][0] == _LOOK:
            raise self.unsupported("a repeat of nothing")
        if self.at < len(self.pattern) and self.pattern[self.at] in "?+*{":
            raise self.unsupported("a lazy, possessive or doubled repeat")
        if high is None:
            if _may_be_empty(atom):
                raise self.unsupported("an open repeat of what may be empty")
            rest = [(_FORK, 0, 1, len(atom) + 2), *atom, (_JUMP, 0, -len(atom) - 1, 0)]
        else:
            rest = []
            for _ in range(high - low):
                rest = [(_FORK, 0, 1, len(atom) + len(rest) + 1), *atom, *rest]
        return atom * low + rest

    def bounds(self) -> tuple[int, int | None]:
        for sign, bounds in (("?", (0, 1)), ("*", (0, None)), ("+", (1, None))):
            if self.take(sign):
                return bounds
        if not self.take("{"):
            return 1, 1
        end = self.pattern.find("}", self.at)
        low, comma, high = self.pattern[self.at : end].partition(",")
        if end < 0 or not (low.isdecimal() and low.isascii() and len(low) <= 3):
            raise self.unsupported("a repeat count of another form than {m}, {m,n} or {m,}")
        if high and not (high.isdecimal() and high.isascii() and len(high) <= 3 and int(high) >= int(low)):
            raise self.unsupported("a repeat count of another form than {m}, {m,n} or {m,}")
        self.at = end + 1
        return int(low), int(high) if high else None if comma else int(low)

    def atom(self) -> list[_Step]:
        if self.take("(?!") or self.take("(?="):
            negative = self.pattern[self.at - 1] == "!"
            ahead = self.one_set()
            if ahead is None or not self.take(")"):
                raise self.unsupported("a lookahead at more than one character")
            return [(_LOOK, self.add(complement(ahead) if negative else ahead, at_end=negative), 1, 0)]
        for opening, fold in (("(?i:", True), ("(?:", self.fold), ("(", self.fold)):
            if self.take(opening):
                return self.group(fold=fold)
        found = self.one_set()
        if found is None:
            raise self.unsupported(f"{shown(self.pattern[self.at : self.at + 2])}")
        return [(_SET, self.add(found, at_end=False), 1, 0)]

    def group(self, *, fold: bool) -> list[_Step]:
        if self.pattern.startswith("?", self.at):
            raise self.unsupported("a group of a kind that is not known")
        if self.depth == _MOST_DEPTH:
            raise self.unsupported("groups nested too deeply")
        before, self.fold = self.fold, fold
        self.depth += 1
        steps = self.alternatives()
        self.depth -= 1
        self.fold = before
        if not self.take(")"):
            raise self.unsupported("an open group")
        return steps

    def one_set(self) -> Ranges | None:
        """Read a character, an escape or a bracketed set; return None at another construct."""
        if self.take("["):
            return self.brackets()
        return self.element()

    def brackets(self) -> Ranges:
        negative = self.take("^")
        members: list[Range] = []
        first = True
        while first or not self.take("]"):
            first = False
            if self.at >= len(self.pattern) or self.pattern[self.at] in "[]" or self.pattern.startswith("&&", self.at):
                raise self.unsupported("a set of another form than characters, ranges and escapes")
            low = self.element(inside=True)
            if low is None:
                raise self.unsupported("a set of another form than characters, ranges and escapes")
            if self.pattern.startswith("-", self.at) and not self.pattern.startswith("-]", self.at):
                self.at += 1
                high = self.element(inside=True)
                if self.fold or high is None or not _single(low) or not _single(high) or low > high:
                    raise self.unsupported("a range of another form than between two characters")
                low = ((low[0][0], high[0][0]),)
            members += low
        found = normalise(members)
        return complement(found) if negative else found

    def element(self, *, inside: bool = False) -> Ranges | None:
        if self.at >= len(self.pattern):
            return None
        character = self.pattern[self.at]
        if character == "\\":
            return self.escape()
        if not inside and character in ".^$*+?{}()|[]":
            return None
        self.at += 1
        return self.folded(character)

    def folded(self, character: str) -> Ranges:
        points = {ord(character)}
        if self.fold and character.isalpha():
            if not character.isascii():
                raise self.unsupported("letters outside ASCII whose case is ignored")
            points |= {ord(character.lower()), ord(character.upper())}
            points |= {"s": {0x17F}, "k": {0x212A}}.get(character.lower(), set())
        return normalise((point, point) for point in points)

    def escape(self) -> Ranges:
        letter = self.pattern[self.at + 1 : self.at + 2]
        if letter in ("p", "P") and self.pattern.startswith("{", self.at + 2):
            end = self.pattern.find("}", self.at)
            name = self.pattern[self.at + 3 : end] if end > 0 else ""
            found = _property(name)
            if found is None:
                raise self.unsupported(f"the property {shown(name)}")
            self.at = end + 1
            return complement(found) if letter == "P" else found
        plain = {"r": "\r", "n": "\n", "t": "\t"}
        if letter in plain:
            self.at += 2
            return self.folded(plain[letter])
        if letter and letter in "dswDSW":
            self.at += 2
            found = _named(letter.lower())
            return found if letter.islower() else complement(found)
        if not letter or letter.isalnum() or not letter.isascii():
            raise self.unsupported(f"the escape {shown(self.pattern[self.at : self.at + 2])}")
        self.at += 2
        return self.folded(letter)

    def add(self, members: Ranges, *, at_end: bool) -> int:
        if (members, at_end) in zip(self.sets, self.at_end, strict=True):
            return next(
                i for i, pair in enumerate(zip(self.sets, self.at_end, strict=True)) if pair == (members, at_end)
            )
        self.sets.append(members)
        self.at_end.append(at_end)
        return len(self.sets) - 1

    def take(self, text: str) -> bool:
        if not self.pattern.startswith(text, self.at):
            return False
        self.at += len(text)
        return True


def _may_be_empty(steps: list[_Step]) -> bool:
    """Whether a path through the steps reads no character."""
    pending, seen = [0], set()
    while pending:
        address = pending.pop()
        if address == len(steps):
            return True
        if address in seen:
            continue
        seen.add(address)
        operation, _, first, second = steps[address]
        if operation in (_LOOK, _JUMP, _FORK):
            pending.append(address + first)
        if operation == _FORK:
            pending.append(address + second)
    return False


def _property(name: str) -> Ranges | None:
    if name == "L":
        return normalise([each for part in ("Lu", "Ll", "Lt", "Lm", "Lo") for each in _named(part)])
    return _named(name) if name in RUNS and name not in ("d", "s", "w") else None


@cache
def _named(name: str) -> Ranges:
    found, at = [], 0
    lengths = [int(word, 36) for word in RUNS[name].split()]
    for outside, inside in zip(lengths[::2], lengths[1::2], strict=True):
        found.append((at + outside, at + outside + inside - 1))
        at += outside + inside
    return tuple(found)


def _single(members: Ranges) -> bool:
    return len(members) == 1 and members[0][0] == members[0][1]

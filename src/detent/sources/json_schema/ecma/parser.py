r"""ECMA-262 regular expressions as the tree that `detent.sources.regex.translate` reads.

One pass with an explicit stack of open groups. The grammar is that of the flag u. Some errors of that grammar have a
meaning in Annex B of ECMA-262 and have long been used in schemas, so that meaning is taken: a brace or a closing
bracket that stands for itself, `[\w-.]`, a repeated lookahead, punctuation after a needless backslash.

Modifiers are those of ECMA-262 from 2025 on, `(?i:...)`, `(?s-i:...)`. Schemas that other engines read, such as Go's,
also have `(?i)`: it holds up to the end of the group that it stands in, as it does there.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from typing import NoReturn, TypeAlias

from detent.errors import LimitError, UnsupportedError
from detent.limits import Limits
from detent.sources.diagnostics import pattern_error
from detent.sources.json_schema.ecma.escapes import ANY_BUT_LINE_ENDS, LINE_ENDS, Escapes, malformed
from detent.sources.json_schema.ecma.ignore_case import any_case, class_of_any_case, word_of_any_case
from detent.sources.regex.parser import Item, op

__all__ = ["START", "STOP", "Body", "Branches", "parse"]

START: Item = (op.AT, op.AT_BEGINNING_STRING)
"""The assertion of the text's start."""

STOP: Item = (op.AT, op.AT_END_STRING)
"""The assertion of the text's end."""


@dataclass(slots=True)
class Body:
    """A sequence of items, the whole of a group or of an alternative; whether an anchor may be at its edges."""

    data: list[Item] = field(default_factory=list)
    starts: bool = False
    stops: bool = False


Branches: TypeAlias = tuple[None, list[Body]]

_PLAIN = re.compile(r"[^\\^$.*+?()\[\]{}|]+")
_REPEAT = re.compile(r"(?:([*+?])|\{([0-9]+)(?:(,)([0-9]*))?\})\??")
_OPENING = re.compile(r"\((?:\?(?::|=|!|<=|<!|<[A-Za-z_$\x80-\U0010ffff][\w$]*>))?")
_MODIFIERS = re.compile(r"\(\?([ims]*)(-?)([ims]*)([:)])")
_COUNTS = {"*": (0, None), "+": (1, None), "?": (0, 1)}
_MOST = 2**32 - 2

# Kinds of groups that are assertions: direction, and whether the item is negative.
_ASSERTIONS = {
    "(?=": (op.ASSERT, 1),
    "(?!": (op.ASSERT_NOT, 1),
    "(?<=": (op.ASSERT, -1),
    "(?<!": (op.ASSERT_NOT, -1),
}


def parse(pattern: str, limits: Limits) -> Body:
    """Return the tree of a pattern.

    Takes time linear in the pattern, about 1 us a character.

    Raises
    ------
    PatternSyntaxError
        The pattern is malformed.
    UnsupportedError
        A back-reference.
    LimitError
        Groups are nested too deep, parts are too many, or a repeat count is too large.
    """
    return _Parser(pattern, limits).run()


@dataclass(slots=True)
class _Group:
    """A group that is open: its alternatives so far, how and where it was opened, the letters of its modifiers."""

    opening: str
    offset: int
    flags: frozenset[str]
    branches: list[Body] = field(default_factory=list)
    items: list[Item] = field(default_factory=list)


class _Parser:
    def __init__(self, pattern: str, limits: Limits) -> None:
        self.pattern = pattern
        self.limits = limits
        self.escapes = Escapes(pattern)
        self.parts = 0
        self.stack = [_Group("", 0, frozenset())]
        # Whether a repeat may come next: it needs an item that is one.
        self.repeatable = False

    def run(self) -> Body:
        pattern, index, size = self.pattern, 0, len(self.pattern)
        while index < size:
            plain = _PLAIN.match(pattern, index)
            if plain:
                index = plain.end()
                code_points = map(ord, plain[0])
                if "i" in self.stack[-1].flags:
                    self.stack[-1].items.extend(map(any_case, code_points))
                else:
                    self.stack[-1].items.extend([(op.LITERAL, code_point) for code_point in code_points])
                self.repeatable = True
                continue
            index = self.special(pattern[index], index)
        if len(self.stack) > 1:
            self.malformed("a group that is not closed", self.stack[-1].offset, r"close it with ), or write \(")
        return self.close(self.stack[0])

    def special(self, character: str, index: int) -> int:
        """Read what begins with a special character; give where it ends."""
        items = self.stack[-1].items
        if character == "\\":
            return self.escape(index)
        if character == "[":
            return self.character_class(index)
        if character in "*+?{":
            return self.repeat(character, index)
        if character == "(":
            return self.open(index)
        self.repeatable = character not in "^$|"
        if character == ")":
            self.close_group(index)
        elif character == "|":
            self.count_part()
            self.stack[-1].branches.append(_body(items))
            self.stack[-1].items = []
        elif character == ".":
            items.append((op.IN, [(op.NEGATE, None)]) if "s" in self.stack[-1].flags else ANY_BUT_LINE_ENDS)
        elif character in "^$":
            items.append(self.anchor(character))
        else:  # ] or }
            items.append((op.LITERAL, ord(character)))
        return index + 1

    def literal(self, code_point: int) -> Item:
        return any_case(code_point) if "i" in self.stack[-1].flags else (op.LITERAL, code_point)

    def anchor(self, character: str) -> Item:
        """Return the item of `^` or `$`: with the flag m, a line end may be before (or after) it."""
        edge, direction = (START, -1) if character == "^" else (STOP, 1)
        if "m" not in self.stack[-1].flags:
            return edge
        choice: Branches = (None, [Body([edge]), Body([(op.IN, LINE_ENDS)])])
        return op.ASSERT, (direction, Body([(op.BRANCH, choice)]))

    def escape(self, index: int) -> int:
        items, letter = self.stack[-1].items, self.pattern[index + 1 : index + 2]
        if letter in ("b", "B"):
            items.append(self.boundary(letter))
            self.repeatable = False
            return index + 2
        meaning, end = self.escapes.read(index)
        if isinstance(meaning, int) and 0xD800 <= meaning <= 0xDFFF:
            what = f"U+{meaning:04X} is half of a surrogate pair, which no text holds"
            raise pattern_error(UnsupportedError, what, self.pattern, index, r"write the character: \u{1F600}")
        items.append(self.literal(meaning) if isinstance(meaning, int) else (op.IN, self.in_case(meaning)))
        self.repeatable = True
        return end

    def in_case(self, items: list[Item]) -> list[Item]:
        """Return the items of a class without its negation, closed under case where case is ignored."""
        return class_of_any_case(items) if "i" in self.stack[-1].flags else items

    def boundary(self, letter: str) -> Item:
        if "i" in self.stack[-1].flags:
            word: Item = (op.IN, [(op.RANGE, pair) for pair in word_of_any_case()])
        elif letter == "b":
            return op.AT, op.AT_BOUNDARY
        else:
            word = (op.IN, [(op.CATEGORY, op.CATEGORY_WORD)])
        return _boundary(word, letter == "b")

    def repeat(self, character: str, index: int) -> int:
        found = _REPEAT.match(self.pattern, index)
        items = self.stack[-1].items
        if not found:
            if character != "{":
                raise AssertionError("a repeat sign is a repeat")
            items.append((op.LITERAL, ord(character)))
            self.repeatable = True
            return index + 1
        if not self.repeatable:
            what = "a repeat of a repeat" if items and items[-1][0] is op.MAX_REPEAT else "nothing to repeat"
            self.malformed(what, index, "put what is to repeat before it, in a group, or a backslash for the character")
        self.count_part()
        if found[1]:
            least, most = _COUNTS[found[1]]
        else:
            least = self.count(found[2], index)
            most = None if found[3] and not found[4] else self.count(found[4] or found[2], index)
            if most is not None and least > most:
                self.malformed(f"a repeat of at least {least} and at most {most}", index, "swap the two")
        item = items.pop()
        body = Body([item], _begins(item), _ends(item))
        items.append((op.MAX_REPEAT, (least, op.MAXREPEAT if most is None else most, body)))
        self.repeatable = False
        return found.end()

    def count(self, digits: str, index: int) -> int:
        digits = digits.lstrip("0")
        if len(digits) > 10 or int(digits or "0") > _MOST:
            remedy = "use a smaller count, or {n,} for no upper bound"
            what = f"a repeat count above {_MOST}"
            raise pattern_error(
                LimitError,
                what,
                self.pattern,
                index,
                remedy,
                subject="repeat_count",
                limit=_MOST,
                given=int(digits[:20]),
            )
        return int(digits or "0")

    def open(self, index: int) -> int:
        found = _OPENING.match(self.pattern, index)
        if not found or self.pattern.startswith("?", found.end()):
            return self.modifiers(index)
        self.enter(found[0], index, self.stack[-1].flags)
        return found.end()

    def modifiers(self, index: int) -> int:
        """Read `(?i-s:`, which opens a group, or `(?i-s)`, which holds up to the end of the group around it."""
        found = _MODIFIERS.match(self.pattern, index)
        if not found or not found[1] + found[3]:
            self.refuse_opening(index)
        letters = found[1] + found[3]
        if len(set(letters)) < len(letters):
            self.malformed("a modifier twice", index, "write each of i, m and s once")
        flags = self.stack[-1].flags.union(found[1]).difference(found[3])
        if found[4] == ":":
            self.enter("(?:", index, flags)
        else:
            self.stack[-1].flags = flags
            self.repeatable = False
        return found.end()

    def enter(self, opening: str, index: int, flags: frozenset[str]) -> None:
        if len(self.stack) > self.limits.depth:
            raise LimitError(
                f"the pattern nests groups more than {self.limits.depth} deep, at character {index}; "
                "flatten it or raise Limits(depth=...)",
                position=index,
                source=self.pattern,
                subject="depth",
                limit=self.limits.depth,
            )
        self.count_part()
        self.stack.append(_Group(opening, index, flags))
        self.repeatable = False

    def refuse_opening(self, index: int) -> NoReturn:
        if self.pattern.startswith("(?P<", index):
            self.malformed("a group of Python's re", index, "ECMA-262 writes a named group (?<name>...)")
        kinds = "(...), (?:...), (?<name>...), (?=...), (?!...), (?<=...), (?<!...), (?ims-ims:...)"
        self.malformed("an unknown kind of group", index, f"groups are {kinds}")

    def close_group(self, index: int) -> None:
        if len(self.stack) == 1:
            self.malformed("a ) without its (", index, r"write \) for the character itself")
        group = self.stack.pop()
        body = self.close(group)
        items = self.stack[-1].items
        assertion = _ASSERTIONS.get(group.opening)
        if assertion:
            kind, direction = assertion
            items.append((kind, (direction, body)))
            self.repeatable = direction > 0
        else:
            items.append((op.SUBPATTERN, (None, 0, 0, body)))

    @staticmethod
    def close(group: _Group) -> Body:
        last = _body(group.items)
        if not group.branches:
            return last
        branches = [*group.branches, last]
        choice: Branches = (None, branches)
        starts, stops = any(body.starts for body in branches), any(body.stops for body in branches)
        return Body([(op.BRANCH, choice)], starts, stops)

    def character_class(self, index: int) -> int:
        pattern, offset, size = self.pattern, index + 1, len(self.pattern)
        found: list[Item] = []
        negation: list[Item] = []
        if pattern.startswith("^", offset):
            negation = [(op.NEGATE, None)]
            offset += 1
        while not pattern.startswith("]", offset):
            if offset >= size:
                self.malformed("a class that is not closed", index, r"close it with ], or write \[")
            low, end = self.class_atom(offset)
            if not pattern.startswith("-", end) or pattern.startswith("]", end + 1) or end + 1 >= size:
                found.extend([(op.LITERAL, low)] if isinstance(low, int) else low)
                offset = end
                continue
            high, end = self.class_atom(end + 1)
            if isinstance(low, int) and isinstance(high, int):
                if low > high:
                    what, remedy = "a range that goes down", r"swap its ends, or write \- for the character itself"
                    self.malformed(what, offset, remedy)
                found.append((op.RANGE, (low, high)))
            else:  # Annex B: [\w-.] has the three
                for part in (low, ord("-"), high):
                    found.extend([(op.LITERAL, part)] if isinstance(part, int) else part)
            offset = end
        items = negation + self.in_case(found)
        self.stack[-1].items.append((op.IN, items) if items else (op.FAILURE, None))
        self.repeatable = True
        return offset + 1

    def class_atom(self, offset: int) -> tuple[int | list[Item], int]:
        pattern = self.pattern
        if pattern[offset] != "\\":
            return ord(pattern[offset]), offset + 1
        if pattern.startswith("b", offset + 1):
            return 0x08, offset + 2
        return self.escapes.read(offset)

    def count_part(self) -> None:
        self.parts += 1
        if self.parts > self.limits.pattern_size:
            raise LimitError(
                f"the pattern has more than {self.limits.pattern_size} alternatives, groups and repeats; "
                "shorten it or raise Limits(pattern_size=...)",
                subject="pattern_size",
                limit=self.limits.pattern_size,
            )

    def malformed(self, what: str, offset: int, remedy: str) -> NoReturn:
        malformed(what, self.pattern, offset, remedy)


def _body(items: list[Item]) -> Body:
    return Body(items, bool(items) and _begins(items[0]), bool(items) and _ends(items[-1]))


def _begins(item: Item) -> bool:
    """Whether an anchor of the start may be the first thing in an item."""
    return item == START or any(body.starts for body in _inside(item))


def _ends(item: Item) -> bool:
    return item == STOP or any(body.stops for body in _inside(item))


def _inside(item: Item) -> list[Body]:
    kind, value = item
    if kind is op.SUBPATTERN:
        return [value[3]]
    return [value[2]] if kind is op.MAX_REPEAT and value[1] == 1 else []


def _boundary(word: Item, differs: bool) -> Item:
    r"""Return `\b` or `\B`: word characters on one side, or on both sides or none.

    Unlike Python's, `\B` holds in the empty text.
    """
    before, after = (
        {held: (op.ASSERT if held else op.ASSERT_NOT, (direction, Body([word]))) for held in (True, False)}
        for direction in (-1, 1)
    )
    choice: Branches = (None, [Body([before[held], after[held != differs]]) for held in (True, False)])
    return op.SUBPATTERN, (None, 0, 0, Body([(op.BRANCH, choice)]))

"""Study: what a rule means. Its shortest text, samples, how many there are, its automaton, and how a text is read.

Nothing here needs a model. Every question is bounded by the server's limits or by smaller ones; a question that reaches
its limit says so, and the others are answered.
"""

from __future__ import annotations

import math
import re
from collections.abc import Sequence
from functools import cached_property
from typing import Any

from detent.compiler import CancellationToken
from detent.errors import CancelledError, DetentError, LimitError
from detent.language import Language
from detent.limits import Limits
from detent.mismatch import Mismatch
from detent.pictures.samples import readable_samples
from detent.queries import ByteDfa
from detent.reason import LOCATIONS, Reason
from detent.tables import TokenDfa
from detent.tables.drawing import byte_runs, draw_table, numbered_states, table_by_bytes
from detent.tables.minimize import START

__all__ = ["Study", "check_wanted", "described", "expected_in", "phrase", "shown"]

_MAX_DRAWN = 28
"""Edges of an automaton that is drawn; with more, the table is easier to read."""
_MAX_LISTED = 200
"""States of an automaton that is shown as a table."""
_MAX_EXPLORED = 1000
"""States before equal ones are merged."""
_MAX_VISITED = 20_000
"""States that the search for the shortest text and for samples visits."""
_PAGE = Limits(memory_bytes=32 << 20, work=1_000_000)
"""The bounds of each question."""
_TOO_LARGE = "The rule is too large for this page: it may run, but whether it has a text at all was not found out."
_MAX_COUNTED = 20_000
"""Pairs of a state and a length that counting visits."""
_SHORT = 24
"""Characters of an expected set that is easy to read."""
_CLASS = re.compile(r"(?:\[.*\]|'.')(?: or the end)?", re.DOTALL)
"""The form of `Mismatch.expected` where a front end has no name for the expected text: a set of characters."""
_MOST_REASONS = 4
_LENGTHS = (2, 4, 8, 16, 32, 64)
_SHOWN = 400
"""Bytes of a text that is shown."""


class Study:
    """A language, and the answers to what a page asks about it.

    Parameters
    ----------
    language : Language
        It may be empty.
    limits : Limits
        The bounds of one rule, for texts that are walked through it. What a page shows is searched for within smaller
        bounds, which take about a second in all.
    stop : CancellationToken
        Asks for `CancelledError`, between two parts of the answer.
    warnings : sequence of str
        What reading the rule warned of.

    Attributes
    ----------
    facts : dict
        What the page shows of the rule.
    """

    def __init__(
        self, language: Language[Any], limits: Limits, stop: CancellationToken, warnings: Sequence[str] = ()
    ) -> None:
        self.language = language
        self._limits = limits
        self._node = language._text_node()
        self._table: TokenDfa | None = None
        self._numbers: dict[int, int] = {}
        self._no_table = ""
        self.facts = {**self._find_facts(stop), "warnings": list(warnings)}

    @cached_property
    def dfa(self) -> ByteDfa:
        """The automaton by which texts are read, within the limits of a rule."""
        return ByteDfa(self._node, self._limits)

    @cached_property
    def _page(self) -> ByteDfa:
        """The automaton by which samples are found."""
        return self._within(_MAX_VISITED)

    @property
    def memory_bytes(self) -> int:
        """The bytes of its automata."""
        return sum(each._core.memory_bytes for each in vars(self).copy().values() if isinstance(each, ByteDfa))

    def _within(self, states: int) -> ByteDfa:
        return ByteDfa(self._node, self._bounds(states))

    def _bounds(self, states: int) -> Limits:
        most, limits = _PAGE, self._limits
        work, memory_bytes = min(most.work, limits.work), min(most.memory_bytes, limits.memory_bytes)
        return Limits(states=min(states, limits.states), memory_bytes=memory_bytes, work=work)

    def _find_facts(self, stop: CancellationToken) -> dict[str, Any]:
        try:
            if self._page.is_empty():
                return {"empty": self._why_empty()}
            check_wanted(stop)
            least = self._page._core.completion_bound(self._page.start)
            short = self._page.some_completion(self._page.start)
        except LimitError:
            self._no_table = _TOO_LARGE
            return {"too_large": _TOO_LARGE}
        try:
            shortest = self._within(_MAX_VISITED).shortest()
        except LimitError:
            shortest = None
        check_wanted(stop)
        least = least if shortest is None else len(shortest)
        samples = readable_samples(self._page, least, lambda: check_wanted(stop))
        count = self._count(stop)
        check_wanted(stop)
        self._make_table()
        check_wanted(stop)
        return {
            "shortest": None if shortest is None else shown(shortest),
            "short": shown(short),
            "samples": [shown(sample) for sample in samples],
            "count": count,
            "automaton": self._automaton(),
            "no_automaton": self._no_table,
        }

    def _why_empty(self) -> str:
        try:
            self.language.shortest()
        except DetentError as error:
            return str(error)
        return "no text"

    def walk(self, text: str) -> dict[str, Any]:
        """Return how a text is read: the state after each character, and why it is not in the language."""
        data = text.encode("utf-8", "replace")
        table = self._table
        state = self.dfa.start if table is None else table.start()
        steps = [self._position("", state)]
        expected = steps[0]["expected"]
        for character in text:
            for byte in character.encode("utf-8", "replace"):
                state = self._after(state, byte)
            steps.append(self._position(character, state))
            if not state:
                break
            expected = steps[-1]["expected"]
        accepted = self.dfa.accepts(data)
        mismatch = None if accepted or (not text.isprintable() and not data) else self.language.why(data)
        reason = None
        read = len(steps) - 1 - (not state)  # characters
        if mismatch is not None:
            reason = {
                "position": mismatch.position,
                "expected": _expected(mismatch, expected if mismatch.position == read else None),
                "example": mismatch.example,
                "part": mismatch.part,
                "hint": mismatch.hint,
                "by": phrase(mismatch.reasons),
            }
        return {"steps": steps, "accepted": accepted, "reason": reason}

    def _after(self, state: int, byte: int) -> int:
        if not state:
            return 0
        if self._table is None:
            return self.dfa.step(state, byte)
        after = int(self._table.next[state, self._table.token_class[byte]])
        return after if after >= START else 0

    def _position(self, character: str, state: int) -> dict[str, Any]:
        if self._table is None:
            return {
                "text": character,
                "state": None,
                "is_live": bool(state),
                "accepting": self.dfa.is_accepting(state),
                "expected": expected_in(self.dfa, state) if state else "",
                "rest": self.dfa._core.state_text(state, 160) if state else "",
            }
        row = self._table.next[state][self._table.token_class[:256]] if state else ()
        expected = [byte for byte, target in enumerate(row) if target >= START]
        accepting = bool(state) and int(self._table.distance[state]) == 0
        return {
            "text": character,
            "state": self._numbers[state] if state else None,
            "is_live": bool(state),
            "accepting": accepting,
            "expected": described(bytes(expected), is_end=accepting),
            "rest": "",
        }

    def _make_table(self) -> None:
        try:
            table = table_by_bytes(self.language, self._bounds(_MAX_EXPLORED), _MAX_EXPLORED, 16 << 20)
            self._numbers = numbered_states(table, _MAX_LISTED)
            self._table = table
        except LimitError:
            self._no_table = (
                f"more than {_MAX_LISTED} states, or infinitely many. They are made when a text visits them."
            )
        except DetentError as error:
            self._no_table = str(error)

    def _automaton(self) -> dict[str, Any] | None:
        table = self._table
        if table is None:
            return None
        classes = sorted(set(table.token_class[:256].tolist()))
        members = {each: [byte for byte in range(256) if table.token_class[byte] == each] for each in classes}
        leading = [each for each in classes if any(table.next[state, each] >= START for state in self._numbers)]
        leading.sort(key=lambda each: members[each][0])
        rows = [[self._numbers.get(int(table.next[state, each])) for each in leading] for state in self._numbers]
        return {
            "classes": [shown_runs(members[each]) for each in leading],
            "class_of": [leading.index(each) if each in leading else None for each in table.token_class[:256].tolist()],
            "rows": rows,
            "accepting": [number for state, number in self._numbers.items() if table.distance[state] == 0],
            "layout": self._layout(table),
        }

    def _layout(self, table: TokenDfa) -> dict[str, Any] | None:
        drawing = draw_table(table, _MAX_LISTED, in_bytes=True)
        if len(drawing.edges) > _MAX_DRAWN:
            return None
        layout = drawing.layout()
        return {
            "nodes": [node._asdict() for node in layout.nodes],
            "arrows": [
                {**arrow._asdict(), "lines": [line.replace("' '", "␣") for line in arrow.lines]}
                for arrow in layout.arrows
            ],
            "start": layout.start._asdict(),
            "view": layout.view,
        }

    def _count(self, stop: CancellationToken) -> str:
        """Say how many texts there are."""
        try:
            small = self._within(_MAX_EXPLORED)
            longest = small.counts.longest()
            if longest is not None:
                states = max(len(small._rows), 1)
                if states * (longest + 1) > _MAX_COUNTED:
                    return f"finitely many, of at most {longest:,} bytes"
                return number_text(small.counts.count(longest))
        except LimitError:
            return "too many to count"
        counted, most = 0, None
        try:
            for length, number in enumerate(small.counts.by_length(_LENGTHS[-1])):
                check_wanted(stop)
                counted += number
                most = (length, counted) if length in _LENGTHS and counted else most
                if len(small._rows) * length > _MAX_COUNTED:
                    break
        except LimitError:
            pass
        return "infinitely many" + (f"; {number_text(most[1])} of at most {most[0]} bytes" if most else "")


def check_wanted(stop: CancellationToken) -> None:
    """Raise `CancelledError` if nobody waits for the answer any more."""
    if stop.is_cancelled:
        raise CancelledError("nobody waits for the answer")


def _expected(mismatch: Mismatch, following: str | None) -> str:
    """Say what is expected at a position; `following` says it of the bytes of the whole rule, if these stop there."""
    is_named = not _CLASS.fullmatch(mismatch.expected) and len(mismatch.expected) <= _SHORT
    is_ascii = following is not None and "\\x" not in following
    return following if following and is_ascii and not is_named else mismatch.expected


def described(expected: bytes, *, is_end: bool = False) -> str:
    """Describe the bytes that may follow, and the end if it may; a large set by what it lacks.

    >>> described(b"0123456789"), described(bytes(set(range(256)) - set(b"kK")))
    ('0-9', 'anything but K k')
    >>> described(b"."), described(b".0123456789", is_end=True)
    ('“.”', 'one of . 0-9, or the end')
    """
    lacking = bytes(byte for byte in range(0x20, 0x7F) if byte not in expected)
    if not expected:
        found = ""
    elif len(lacking) <= 12 and b"\xc3" in expected and b"\xf0" in expected:
        found = f"anything but {shown_runs(lacking)}" if lacking else "any character"
    else:
        runs = byte_runs(list(expected))
        found = shown_runs(expected)
        if len(runs) > 1:
            found = f"one of {found}" + ("," if is_end else "")
        elif len(found) == 1:
            found = "a space" if found == "␣" else f"“{found}”"
    return " or ".join(each for each in (found, "the end" if is_end else "") if each)


def shown_runs(values: bytes | list[int]) -> str:
    """Show a set of bytes as ranges; a space as ␣."""
    return " ".join(byte_runs(list(values))).replace("' '", "␣")


def expected_in(dfa: ByteDfa, state: int) -> str:
    """Describe what may follow in a live state."""
    return described(dfa.expected(state), is_end=dfa.is_accepting(state))


def phrase(reasons: Sequence[Reason]) -> str:
    """Name the parts of a rule that refuse: locations are alternatives, conditions hold together.

    A pattern is on the page already, so that its item and position are enough.
    """
    names = [
        f"{each.name.replace(' ', '␣')} at character {each.position}"
        if each.kind in ("pattern", "assertion")
        else str(each)
        for each in reasons[:_MOST_REASONS]
    ]
    if len(reasons) > _MOST_REASONS:
        names.append(f"{len(reasons) - _MOST_REASONS} more")
    return (" or " if all(each.kind in LOCATIONS for each in reasons) else " and ").join(names)


def number_text(number: int) -> str:
    """Write a large number.

    >>> number_text(1110), number_text(26**20)
    ('1,110', 'about 2.0 × 10²⁸')
    """
    if number < 10**15:
        return f"{number:,}"
    bits = max(number.bit_length() - 900, 0)
    exponent = math.log10(number >> bits) + bits * math.log10(2)
    mantissa = 10 ** (exponent % 1)
    return f"about {mantissa:.1f} × 10{_raised(int(exponent))}"


def shown(text: bytes) -> str:
    """Return a text as the page shows it: bytes that are no UTF-8 as escapes, and the beginning of a long one."""
    cut = text if len(text) <= _SHOWN else text[:_SHOWN]
    return cut.decode("utf-8", "backslashreplace") + ("…" if len(text) > _SHOWN else "")


def _raised(exponent: int) -> str:
    return "".join("⁰¹²³⁴⁵⁶⁷⁸⁹"[int(digit)] for digit in str(exponent))

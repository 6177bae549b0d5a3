"""The pattern of a terminal of a Lark grammar: a text or a regex, as Lark builds it, and a node.

Lark joins the definition of a terminal into one regex. The length and the widths of that regex decide which terminal
the lexer tries first, so this module builds the same regex (lark 1.3, `TerminalTreeToPattern`). A terminal with `&` or
`~`, which Lark lacks, is a node only, and sorts like a regex without an upper width.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Generator, Iterable
from functools import cached_property
from typing import TypeAlias

from detent import _core
from detent.errors import DetentError, LimitError, PatternSyntaxError, UnsupportedError
from detent.limits import Limits
from detent.queries import ByteDfa
from detent.sources.diagnostics import GrammarText
from detent.sources.grammar.lark_syntax import Literal, Range, Special, TerminalName
from detent.sources.grammar.tree import Complement, Intersection, Repeat, Sequence, TerminalNode, Tree, Union
from detent.sources.nodes import UTF8
from detent.sources.regex.parser import ParsedPattern, op, parse_with_widths
from detent.sources.regex.translate import translate
from detent.sources.trampoline import trampoline

__all__ = ["Pattern", "literal_pattern", "terminal_pattern"]

_UNBOUNDED = int(op.MAXREPEAT)

_DEFAULT_LIMITS = Limits()

_MAX_REGEXP = 200_000
"""Characters of the regex of a terminal."""

_SURROGATE = re.compile("[\ud800-\udfff]")
_ESCAPE = re.compile(r"\\(?:x[0-9A-Fa-f]{2}|u[0-9A-Fa-f]{4}|U[0-9A-Fa-f]{8}|.)", re.DOTALL)
_CONTROL = {"n": "\n", "f": "\f", "t": "\t", "r": "\r"}
_SIGNS = {(0, 1): "?", (0, None): "*", (1, None): "+"}


class Pattern:
    """A text or a regex with its flags; with `node`, a language that Lark has no pattern for.

    `options` are the alternatives of which the regex is a union.
    """

    def __init__(
        self,
        value: str,
        flags: str = "",
        is_text: bool = False,
        node: _core.Node | None = None,
        limits: Limits = _DEFAULT_LIMITS,
        options: Iterable[Pattern] = (),
    ) -> None:
        self.options = tuple(options)
        self.value, self.flags, self.is_text = value, "".join(dict.fromkeys(flags)), is_text
        self._given, self._limits = node, limits

    @property
    def is_plain(self) -> bool:
        """Whether Lark has a pattern for the terminal."""
        return self._given is None

    @property
    def literal(self) -> bytes | None:
        """The only text that the pattern matches, if it is one text."""
        return self.value.encode() if self.is_text and not self.flags else None

    @property
    def key(self) -> tuple[bool, bool, str, frozenset[str]]:
        """The key under which equal patterns are the same terminal."""
        return self.is_plain, self.is_text, self.value, frozenset(self.flags)

    @cached_property
    def regexp(self) -> str:
        """The regex, flags included."""
        text = re.escape(self.value) if self.is_text else self.value
        for flag in self.flags:
            text = f"(?{flag}:{text})"
        if len(text) > _MAX_REGEXP:
            raise LimitError(
                f"a terminal's regex has over {_MAX_REGEXP} characters; split it into rules",
                subject="terminal_characters",
                limit=_MAX_REGEXP,
                given=len(text),
            )
        return text

    @cached_property
    def widths(self) -> tuple[int, int]:
        """The fewest and the most characters, as `re` counts them."""
        if self.is_text:
            return len(self.value), len(self.value)
        if not self.is_plain:
            return int(not ByteDfa(self.node).accepts(b"")), _UNBOUNDED
        return self.parsed.widths

    @cached_property
    def parsed(self) -> ParsedPattern:
        """The tree of the regex."""
        return parse_with_widths(self.regexp, self._limits)

    @cached_property
    def node(self) -> _core.Node:
        """The texts that the pattern matches in full."""
        if self._given is not None:
            return self._given
        if self.is_text and not self.flags:
            return _core.literal(self.value.encode())
        return translate(self.parsed.tree, self.parsed.flags, self._limits.pattern_size)


def unescaped(text: str, source: GrammarText, offset: int) -> str:
    r"""Evaluate the escapes of a text or regex as Lark does: \n \f \t \r \x \u \U; others stay as they are."""

    def evaluate(found: re.Match[str]) -> str:
        escape = found[0]
        letter = escape[1]
        if letter == '"':
            return letter
        if letter in _CONTROL:
            return _CONTROL[letter]
        if letter not in "xuU":
            return escape
        position = offset + 1 + found.start()
        if len(escape) == 2:
            source.malformed(f"\\{letter} needs more hex digits", position, r"as in \x41, \u00e9 or \U0001F600")
        value = int(escape[2:], 16)
        if value > 0x10FFFF or 0xD800 <= value <= 0xDFFF:
            source.malformed(f"U+{value:04X} is no character of UTF-8 text", position, "write the character itself")
        return chr(value)

    return _ESCAPE.sub(evaluate, text)


def literal_pattern(value: object, offset: int, source: GrammarText, limits: Limits) -> Pattern:
    """Return the pattern of a literal, a range or a special token.

    Raises
    ------
    PatternSyntaxError
        The literal is empty, is not a regex, or contains a surrogate.
    """
    written = value.name if isinstance(value, Special) else value.text if isinstance(value, Literal) else ""
    if found := _SURROGATE.search(written):
        problem = "half of a surrogate pair, which UTF-8 text never holds"
        source.malformed(
            problem, offset + (not isinstance(value, Special)) + found.start(), "write the character itself"
        )
    if isinstance(value, Special):
        return Pattern(value.name, node=_core.special(value.name.encode()))
    if isinstance(value, Range):
        pattern = _range_pattern(value, offset, source, limits)
    else:
        assert isinstance(value, Literal)  # noqa: S101 - the reader puts nothing else there
        if value.is_regex and "\n" in value.text and "x" not in value.flags:
            source.malformed("a regex over several lines", offset, "give it the flag x: /.../x")
        text = unescaped(value.text, source, offset)
        if not text:
            source.malformed("an empty terminal", offset, "make what it stands in optional: [...] or (...)?")
        text = text if value.is_regex else text.replace("\\\\", "\\")
        pattern = Pattern(text, value.flags, not value.is_regex, limits=limits)
    if not pattern.is_text:
        try:
            _ = pattern.node
        except (PatternSyntaxError, UnsupportedError) as error:
            raise _in_grammar(error, source, offset) from None
    return pattern


def _range_pattern(value: Range, offset: int, source: GrammarText, limits: Limits) -> Pattern:
    ends = [unescaped(end, source, offset) for end in (value.first, value.last)]
    if any(len(end) != 1 for end in ends):
        source.malformed("a range goes from one character to another", offset, 'write "a".."z"')
    if any(_SURROGATE.search(end) for end in ends):
        source.malformed("half of a surrogate pair in a range", offset, "write the character itself")
    if ends[0] > ends[1]:
        remedy = f'write "{value.last}".."{value.first}"'
        source.malformed("a range goes up from one character to another", offset, remedy)
    return Pattern(f"[{value.first}-{value.last}]", limits=limits)


def _in_grammar(error: DetentError, source: GrammarText, offset: int) -> DetentError:
    """Return the error of a regex as an error about its position in the grammar."""
    first, _, rest = str(error).partition("\n")
    remedy = rest.rsplit("\n", 1)[-1] or "correct the regex there"
    what = f"the regex is refused: {first.partition(', at character')[0]}"
    return type(error)(source.message(what, offset, remedy), position=offset, source=source.text)


_Recursion: TypeAlias = "Generator[Tree, Pattern, Pattern]"


def terminal_pattern(
    tree: Tree, called: Callable[[TerminalName, int], Pattern], literal: Callable[[TerminalNode], Pattern]
) -> Pattern:
    """Return the pattern of the definition of a terminal; `called` returns the pattern of a terminal that it calls."""

    def convert(part: Tree) -> _Recursion:
        if isinstance(part, TerminalNode):
            return called(part.value, part.offset) if isinstance(part.value, TerminalName) else literal(part)
        if isinstance(part, Repeat):
            return _repeat((yield part.part), part.minimum, part.maximum)
        if isinstance(part, Complement):
            return _complement((yield part.part))
        assert isinstance(part, (Union, Intersection, Sequence))  # noqa: S101 - the reader lets nothing else into a terminal
        patterns: list[Pattern] = []
        for child in part.options if isinstance(part, Union) else part.parts:
            patterns.append((yield child))
        combine = _union if isinstance(part, Union) else _intersection if isinstance(part, Intersection) else _sequence
        return combine(patterns)

    return trampoline(convert, tree)


def _complement(pattern: Pattern) -> Pattern:
    node = _core.intersection([UTF8, _core.complement(pattern.node)])
    return Pattern(f"~{pattern.value}", node=node)


def _intersection(patterns: list[Pattern]) -> Pattern:
    node = _core.intersection([pattern.node for pattern in patterns])
    return Pattern("&".join(pattern.value for pattern in patterns), node=node)


def _sequence(patterns: list[Pattern]) -> Pattern:
    if len(patterns) == 1:
        return patterns[0]
    if all(pattern.is_plain for pattern in patterns):
        return Pattern("".join(pattern.regexp for pattern in patterns), is_text=not patterns)
    node = _core.concat([pattern.node for pattern in patterns])
    return Pattern("".join(pattern.value for pattern in patterns), node=node)


def _union(patterns: list[Pattern]) -> Pattern:
    if all(pattern.is_plain for pattern in patterns):
        patterns = sorted(patterns, key=lambda p: (-p.widths[1], -p.widths[0], -len(p.value)))
        return Pattern(f"(?:{'|'.join(pattern.regexp for pattern in patterns)})", options=patterns)
    node = _core.union([pattern.node for pattern in patterns])
    return Pattern("|".join(pattern.value for pattern in patterns), node=node)


def _repeat(pattern: Pattern, minimum: int, maximum: int | None) -> Pattern:
    sign = _SIGNS.get((minimum, maximum))
    if sign is None:
        sign = f"{{{minimum}}}" if minimum == maximum else f"{{{minimum},{'' if maximum is None else maximum}}}"
    if pattern.is_plain:
        return Pattern(f"(?:{pattern.regexp}){sign}", pattern.flags)
    return Pattern(f"(?:{pattern.value}){sign}", node=_core.repeat(pattern.node, minimum, maximum))

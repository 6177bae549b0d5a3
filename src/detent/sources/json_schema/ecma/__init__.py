r"""JSON Schema's `pattern`: the texts in which an ECMA-262 regular expression matches somewhere.

1. `parse` returns the tree of the pattern.
2. Matching *somewhere* becomes explicit: any text before and after, except at an anchor. `^a|b$` becomes `^a.*|.*b$`,
   also inside groups. So the anchors of nearly all patterns in use disappear, and no assertion is left.
3. Lookaheads at the start of the text (`^(?!.*--)...`), and lookbehinds at its end, become intersections.
4. All other assertions are translated as assertions in a scope.
"""

from __future__ import annotations

import re
from functools import lru_cache

from detent import _core
from detent.errors import ArgumentError, LimitError, UnsupportedError
from detent.limits import Limits, read_limits
from detent.queries import ByteDfa
from detent.sources.diagnostics import pattern_error
from detent.sources.json_schema.ecma.parser import START, STOP, Body, parse
from detent.sources.nodes import UTF8
from detent.sources.regex.parser import Item, op
from detent.sources.regex.translate import translate

__all__ = ["pattern_node"]

_ANYTHING: Item = (op.MAX_REPEAT, (0, op.MAXREPEAT, Body([(op.IN, [(op.NEGATE, None)])])))
_LOOKAHEAD, _LOOKBEHIND = 1, -1
_LOOKBEHIND_GROUP = re.compile(r"\(\?<[=!]")
_LOOKS = re.compile(r"[\^$]|\\[bB]|\(\?<?[=!]")

# Some 2 MB at most in common use; longer patterns seldom recur within a process.
_CACHED_PATTERNS, _CACHED_LENGTH = 1000, 1000


def pattern_node(pattern: str, *, limits: Limits | None = None) -> _core.Node:
    r"""Return the texts in which an ECMA-262 regular expression matches somewhere.

    >>> from detent.language import Language
    >>> word = Language(pattern_node(r"^\d+[a-z]"), "pattern")
    >>> word.accepts("12abc"), word.accepts("abc")
    (True, False)

    The meaning is that of ``new RegExp(pattern, "u").test(text)``: characters are code points, ``\d`` and ``\w`` are
    ASCII, ``^`` and ``$`` are the ends of the text. Where the flag u makes a pattern an error and Annex B of ECMA-262
    has a meaning for it, such as ``\-`` or a lone ``}``, that meaning is taken; see `ecma_parser`.

    Parameters
    ----------
    pattern : str
        The pattern.
    limits : Limits, optional
        Bounds on the source text (`source_bytes`), its nesting (`depth`) and its size (`pattern_size`).

    Returns
    -------
    Node
        Within valid UTF-8. Costs about 3 us a character, or a look-up when cached.

    Raises
    ------
    PatternSyntaxError
        The pattern is malformed; the message shows where, `offset` is the character.
    UnsupportedError
        It has a back-reference, or an unbounded loop with assertions inside a lookbehind.
    LimitError
        A limit was reached, or a repeat count is above 2**32 - 2.
    ArgumentError
        The pattern is not a str.
    """
    if not isinstance(pattern, str):
        raise ArgumentError(f"a pattern must be a str, got {type(pattern).__name__}")
    bounds = read_limits(limits)
    build = _cached if len(pattern) <= _CACHED_LENGTH else _build
    return build(pattern, bounds)


def _build(pattern: str, bounds: Limits) -> _core.Node:
    size = len(pattern) if pattern.isascii() else len(pattern.encode("utf-8", "surrogatepass"))
    if size > bounds.source_bytes:
        raise LimitError(
            f"the pattern has {size} bytes, above the limit of {bounds.source_bytes}; "
            "shorten it or raise Limits(source_bytes=...)",
            subject="source_bytes",
            limit=bounds.source_bytes,
            given=size,
        )
    node = _matching(pattern, bounds)
    lookbehind = _LOOKBEHIND_GROUP.search(pattern)
    if lookbehind:
        try:
            ByteDfa(node)
        except UnsupportedError as error:  # which the core finds as it compiles
            what, _, remedy = str(error).partition("; ")
            raise pattern_error(UnsupportedError, what, pattern, lookbehind.start(), remedy) from None
        except LimitError:  # compile decides, under its own limits
            pass
    return node


def _matching(pattern: str, bounds: Limits) -> _core.Node:
    whole = parse(pattern, bounds)
    _open(whole, _LOOKBEHIND)
    _open(whole, _LOOKAHEAD)
    branches = [whole]
    if whole.data[0][0] is op.BRANCH and len(whole.data) == 1:
        branches = whole.data[0][1][1]
    if not any(_is_split(branch.data) for branch in branches):
        node = translate(whole.data, op.SRE_FLAG_ASCII, bounds.pattern_size)
        # A pattern that matches the empty text, such as `a?`, matches in every text, unless it has assertions.
        return UTF8 if not _LOOKS.search(pattern) and ByteDfa(node).accepts(b"") else node
    return _core.union([_branch(branch.data, bounds.pattern_size) for branch in branches])


_cached = lru_cache(maxsize=_CACHED_PATTERNS)(_build)


def _open(whole: Body, direction: int) -> None:
    """Let any text stand before (or after) a tree, except where an anchor is at that edge of it."""
    anchor, index = (STOP, -1) if direction == _LOOKAHEAD else (START, 0)
    work = [whole]
    while work:
        body = work.pop()
        items = body.data
        if not items:
            items.append(_ANYTHING)
        elif items[index] == anchor:
            continue
        elif not (body.stops if direction == _LOOKAHEAD else body.starts):
            items.insert(len(items) if direction == _LOOKAHEAD else 0, _ANYTHING)
        else:
            work.extend(_parts(items, index))


def _parts(items: list[Item], index: int) -> list[Body]:
    """Return the bodies inside an item: its alternatives. At least one of them has an anchor at its edge."""
    kind, value = items[index]
    if kind is op.BRANCH:
        branches: list[Body] = value[1]
        return branches
    if kind is op.SUBPATTERN:
        return [value[3]]
    least, _, body = value  # a repeat of at most one
    choice = [body] if least else [body, Body()]
    items[index] = (op.SUBPATTERN, (None, 0, 0, Body([(op.BRANCH, (None, choice))])))
    return choice


def _is_split(items: list[Item]) -> bool:
    return _asserts(items, 1, _LOOKAHEAD) or _asserts(items, len(items) - 2, _LOOKBEHIND)


def _asserts(items: list[Item], index: int, direction: int) -> bool:
    """Whether an item of a sequence that begins (or ends) with an anchor is an assertion in that direction."""
    edge, anchor = (0, START) if direction == _LOOKAHEAD else (-1, STOP)
    if not 0 < index < len(items) - 1 or items[edge] != anchor:
        return False
    kind, value = items[index]
    return (kind is op.ASSERT or kind is op.ASSERT_NOT) and bool(value[0] == direction)


def _branch(items: list[Item], positions: int) -> _core.Node:
    """Translate a sequence, its assertions at the ends of the text as intersections."""
    first, last = 1, len(items) - 2
    while _asserts(items, first, _LOOKAHEAD):
        first += 1
    while last >= first and _asserts(items, last, _LOOKBEHIND):
        last -= 1
    operands = [_asserted(item, positions) for item in (*items[1:first], *items[last + 1 : -1])]
    rest = [*items[:1], *items[first : last + 1], *items[-1:]] if len(items) > 1 else items
    return _core.intersection([translate(rest, op.SRE_FLAG_ASCII, positions), *operands])


def _asserted(item: Item, positions: int) -> _core.Node:
    """Return the whole texts for which an assertion holds at the start (or the end)."""
    kind, (direction, body) = item
    _open(body, direction)
    group: Item = (op.SUBPATTERN, (None, 0, 0, body))
    node = translate([START, group] if direction == _LOOKAHEAD else [group, STOP], op.SRE_FLAG_ASCII, positions)
    return _core.complement(node) if kind is op.ASSERT_NOT else node

r"""The standard library's regex parser, loaded a second time with some functions replaced.

The running Python's parser decides the meaning of a pattern. This module loads a private copy of the parser's module
and replaces these parts of the copy; the `re` module of other code is unchanged:

- `_parse_sub` (alternatives) counts the depth and does not factor common prefixes, which takes quadratic time;
- `SubPattern` does not unpack non-capturing groups, which takes quadratic time;
- the escapes add `\p{...}` and refuse surrogates, which UTF-8 text cannot contain;
- `Tokenizer` refuses constructs that are not regular, with their position;
- `warnings`: a warning that a pattern may change its meaning becomes an error.

The result is the parser's tree: a sequence of (operator, argument) pairs, nested at most `Limits.depth` deep.
"""

from __future__ import annotations

import builtins
import importlib.util
import re
import sys
from collections.abc import Callable
from types import ModuleType, SimpleNamespace
from typing import Any, NamedTuple, NoReturn, TypeAlias, TypeVar

from detent.errors import DetentError, LimitError, PatternSyntaxError, UnsupportedError
from detent.limits import Limits
from detent.sources.diagnostics import pattern_error
from detent.sources.regex.characters import Property, has_property
from detent.sources.regex.errors import syntax_error
from detent.sources.regex.new_stack import on_new_stack

__all__ = [
    "ONE_CHARACTER",
    "POSSESSIVE_REPEAT",
    "Item",
    "Operator",
    "ParsedPattern",
    "SubPattern",
    "Tree",
    "op",
    "parse",
    "parse_with_locations",
    "parse_with_widths",
]

# Objects of the standard parser, which has no type annotations.
Operator: TypeAlias = Any
SubPattern: TypeAlias = Any
State: TypeAlias = Any
Item: TypeAlias = tuple[Operator, Any]
Tree: TypeAlias = list[Item]

_Result = TypeVar("_Result")


class ParsedPattern(NamedTuple):
    """The tree of a pattern, its flags, the parser's root object, and the widths of a match if they were asked for."""

    tree: Tree
    flags: int
    root: SubPattern
    widths: tuple[int, int] = (0, 0)


class _Warned(Exception):  # noqa: N818 - it never leaves this file
    """A warning of the parser."""


def _warn(message: str, category: type[Warning], stacklevel: int) -> NoReturn:
    raise _Warned(message)


def _import(name: str, *where: Any) -> object:
    return SimpleNamespace(warn=_warn) if name == "warnings" else builtins.__import__(name, *where)


def _private_copy() -> ModuleType:
    spec = importlib.util.find_spec("re._parser" if sys.version_info >= (3, 11) else "sre_parse")
    if spec is None or spec.loader is None:
        raise ImportError("the standard library's regex parser is missing")
    module = importlib.util.module_from_spec(spec)
    # The parser imports `warnings` where it warns. `warnings.catch_warnings` would change the filters of the process.
    module.__dict__["__builtins__"] = {**vars(builtins), "__import__": _import}
    spec.loader.exec_module(module)
    return module


op: Any = _private_copy()
"""The copy; also the namespace of its operators, such as `op.LITERAL`."""

ONE_CHARACTER = frozenset({op.LITERAL, op.NOT_LITERAL, op.IN, op.ANY})
"""The operators that match exactly one character."""

POSSESSIVE_REPEAT: Operator = getattr(op, "POSSESSIVE_REPEAT", None)
"""The repeat that never gives back, such as `a*+`; here of one character only. None before Python 3.11."""

_stock_escape = op._escape
_stock_class_escape = op._class_escape
_VERBOSE_RESTART: Any = getattr(op, "Verbose", ())  # before Python 3.11, an inline (?x) restarts the parse
_PROPERTY_ESCAPES = {r"\p", r"\P"}

_ASCII, _UNICODE = op.SRE_FLAG_ASCII, op.SRE_FLAG_UNICODE
_FLAGS = _ASCII | _UNICODE | op.SRE_FLAG_IGNORECASE | op.SRE_FLAG_MULTILINE | op.SRE_FLAG_DOTALL | op.SRE_FLAG_VERBOSE

# Each costs a scan over all code points when it is first used.
_MAX_PROPERTIES = 64


class _PatternTokenizer(op.Tokenizer):  # type: ignore[misc]
    """The tokenizer of the standard parser, with limits and refusals."""

    def __init__(self, pattern: str, limits: Limits) -> None:
        self.limits = limits
        self.parts = 0
        self.properties: set[str] = set()
        super().__init__(pattern)

    def count_part(self) -> None:
        """Count an alternative or a repeat before it is parsed."""
        self.parts += 1
        if self.parts > self.limits.pattern_size:
            raise LimitError(
                f"the pattern has more than {self.limits.pattern_size} alternatives, groups and repeats; "
                "shorten it or raise Limits(pattern_size=...)",
                subject="pattern_size",
                limit=self.limits.pattern_size,
            )

    def getuntil(self, terminator: str, name: str) -> str:
        if terminator == ")":
            start = self.tell()
            if self.string.endswith("(?P=", 0, start):
                self.refuse_backreference(start - 4)
            if self.string.endswith("(?(", 0, start):
                self.refuse("a conditional group is not supported", start - 3, "write both cases: (?:(a)b|c)")
        return str(super().getuntil(terminator, name))

    def refuse(self, what: str, offset: int, remedy: str) -> NoReturn:
        raise pattern_error(UnsupportedError, what, self.string, offset, remedy)

    def refuse_backreference(self, offset: int) -> NoReturn:
        self.refuse("a backreference is not regular", offset, "write out the texts that may repeat: (?:aa|bb)")


class _SubPattern(op.SubPattern):  # type: ignore[misc]
    """A sequence of items, and where each ends; the parser assigns to an index only to make the item repeated."""

    def __init__(self, state: State, data: Tree | None = None) -> None:
        super().__init__(state, data)
        self.start: int = state.source.tell()
        self.ends: list[int] = []

    def append(self, item: Item) -> None:
        source: _PatternTokenizer = self.state.source
        self.data.append(item)
        self.ends.append(source.index - len(source.next or ""))  # tell(), without a call for each character

    def __getitem__(self, index: int | slice) -> Any:
        if not isinstance(index, slice):
            return self.data[index]
        part = _SubPattern(self.state, self.data[index])
        first = index.indices(len(self.data))[0]
        part.start, part.ends = self.ends[first - 1] if first else self.start, self.ends[index]
        return part

    def __setitem__(self, index: int | slice, item: Item) -> None:
        if isinstance(index, slice):  # the parser unpacks a group
            return
        source: _PatternTokenizer = self.state.source
        source.count_part()
        if item[0] is POSSESSIVE_REPEAT and not _is_one_character(item[1][2]):
            source.refuse(
                "a possessive repeat of more than one character is not supported",
                source.tell() - 1,
                "leave out this +, which allows every match and not only the longest",
            )
        self.data[index] = item
        self.ends[index] = self.state.source.tell()


def _is_one_character(body: SubPattern) -> bool:
    return len(body.data) == 1 and body.data[0][0] in ONE_CHARACTER


def _parse_sub(source: _PatternTokenizer, state: State, verbose: int, nested: int) -> SubPattern:
    start = source.tell()
    if nested > 2 * source.limits.depth:
        opening = source.string.rfind("(", 0, start)
        raise LimitError(
            f"the pattern nests groups more than {source.limits.depth} deep, at character {opening}; "
            "flatten it or raise Limits(depth=...)",
            subject="depth",
            limit=source.limits.depth,
            position=opening,
            source=source.string,
        )
    branches: list[SubPattern] = []
    while True:
        source.count_part()
        branches.append(op._parse(source, state, verbose, nested + 1, not nested and not branches))
        if not source.match("|"):
            break
        if not nested:
            verbose = state.flags & op.SRE_FLAG_VERBOSE
    if len(branches) == 1:
        tree = branches[0]
    else:
        tree = _SubPattern(state)
        tree.start = start
        tree.append((op.BRANCH, (None, branches)))
    if nested and source.string.endswith("(?>", 0, start):
        _make_atomic(source, tree, start - 3)
    return tree


def _make_atomic(source: _PatternTokenizer, tree: SubPattern, offset: int) -> None:
    """Replace the body of an atomic group by an equivalent sequence without choices."""
    repeats = [index for index, item in enumerate(tree.data) if item[0] not in ONE_CHARACTER]
    if not repeats:
        return
    kind, argument = tree.data[-1]
    if repeats != [len(tree.data) - 1] or kind is not op.MAX_REPEAT or not _is_one_character(argument[2]):
        source.refuse(
            "an atomic group with choices is not supported",
            offset,
            "write (?:...), which allows every match and not only the first",
        )
    tree.data[-1] = (POSSESSIVE_REPEAT, argument)


def _escape(source: _PatternTokenizer, escape: str, state: State) -> Item:
    found = op.CATEGORIES.get(escape) or op.ESCAPES.get(escape)
    if found:
        return found  # type: ignore[no-any-return]
    start = source.tell() - len(escape)
    if escape in _PROPERTY_ESCAPES:
        return _property(source, escape, start)
    item: Item = _stock_escape(source, escape, state)
    if item[0] is op.GROUPREF:
        source.refuse_backreference(start)
    return _no_surrogate(source, item, start)


def _class_escape(source: _PatternTokenizer, escape: str) -> Item:
    start = source.tell() - len(escape)
    if escape in _PROPERTY_ESCAPES:
        return _property(source, escape, start)
    return _no_surrogate(source, _stock_class_escape(source, escape), start)


def _no_surrogate(source: _PatternTokenizer, item: Item, start: int) -> Item:
    if item[0] is op.LITERAL and 0xD800 <= item[1] <= 0xDFFF:
        source.refuse(
            f"U+{item[1]:04X} is half of a surrogate pair, which UTF-8 text never holds",
            start,
            r"write the character itself or \UXXXXXXXX; leave surrogates out of classes",
        )
    return item


def _property(source: _PatternTokenizer, escape: str, start: int) -> Item:
    if source.match("{"):
        name = source.getuntil("}", "property name")
    else:
        name = source.get() or ""
        if len(name) != 1 or not name.isascii() or not name.isalpha():
            raise source.error(f"missing {{ after {escape}", source.tell() - start)
    inverse = name.startswith("^")
    name = name[inverse:]
    source.properties.add(name)
    if len(source.properties) > _MAX_PROPERTIES:
        raise LimitError(
            f"the pattern names more than {_MAX_PROPERTIES} Unicode properties, at character {start}; use fewer",
            subject="properties",
            limit=_MAX_PROPERTIES,
            position=start,
            source=source.string,
        )
    try:
        known = has_property(name)
    except ImportError:
        source.refuse("Unicode properties need the package regex", start, "pip install regex")
    if not known:
        raise source.error(f"unknown property {name!r}", source.tell() - start)
    return op.IN, [(op.CATEGORY, Property(name, (escape == r"\P") != inverse))]


op.SubPattern = _SubPattern
op._parse_sub = _parse_sub
op._escape = _escape
op._class_escape = _class_escape


def parse(pattern: str, flags: int, limits: Limits) -> tuple[Tree, int]:
    """Return the tree of a pattern and its flags, those in the pattern included.

    Takes time linear in the pattern, about 2 us a character.

    Raises
    ------
    PatternSyntaxError
        `re` refuses the pattern.
    UnsupportedError
        The pattern has a construct that is not regular or not supported.
    LimitError
        Groups are nested too deep, parts are too many, or a repeat count is too large.
    """
    parsed = _independent_of_stack(lambda: _parse(pattern, flags, limits), limits)
    return parsed.tree, parsed.flags


def parse_with_locations(pattern: str, flags: int, limits: Limits) -> tuple[SubPattern, int]:
    """Return the root of a pattern's tree, whose sequences say where their items end (`ends`), and its flags."""
    parsed = _independent_of_stack(lambda: _parse(pattern, flags, limits), limits)
    return parsed.root, parsed.flags


def parse_with_widths(pattern: str, limits: Limits) -> ParsedPattern:
    """Return the tree of a pattern, its flags, and the least and most characters of a match as `re` counts them."""

    def work() -> ParsedPattern:
        parsed = _parse(pattern, 0, limits)
        least, most = parsed.root.getwidth()
        return parsed._replace(widths=(int(least), int(most)))

    return _independent_of_stack(work, limits)


def _independent_of_stack(work: Callable[[], _Result], limits: Limits) -> _Result:
    """Call a recursive function; its result must not depend on the depth of the caller's stack."""
    try:
        return work()
    except RecursionError:
        pass
    try:
        return on_new_stack(work)
    except RecursionError:
        raise LimitError(
            f"groups {limits.depth} deep are too deep for Python's recursion limit of {sys.getrecursionlimit()}; "
            "flatten the pattern or raise the limit with sys.setrecursionlimit",
            subject="depth",
            limit=limits.depth,
        ) from None


def _parse(pattern: str, flags: int, limits: Limits) -> ParsedPattern:
    source = None
    try:
        source = _PatternTokenizer(pattern, limits)
        state = op.State()
        state.source = source
        state.flags = flags
        state.str = pattern
        tree = op._parse_sub(source, state, flags & op.SRE_FLAG_VERBOSE, 0)
        if source.next is not None:
            raise source.error("unbalanced parenthesis")
        return ParsedPattern(tree.data, _all_flags(source, state.flags), tree)
    except _VERBOSE_RESTART:
        return _parse(pattern, flags | op.SRE_FLAG_VERBOSE, limits)
    except re.error as error:
        raise syntax_error(error.msg, pattern, error.pos or 0) from None
    except _Warned as warning:
        found = re.search(r" at position (\d+)", str(warning))
        offset = int(found[1]) if found else source.tell() if source else 0
        raise syntax_error(str(warning).partition(" at position")[0], pattern, offset) from None
    except (OverflowError, ValueError) as error:
        if isinstance(error, DetentError) or source is None:
            raise
        offset = pattern.rfind("{", 0, source.tell())
        raise pattern_error(
            LimitError,
            "a repeat count above 4294967294",
            pattern,
            offset,
            "use a smaller count, or {n,} for no upper bound",
            subject="repeat_count",
            limit=4294967294,
        ) from None


def _all_flags(source: _PatternTokenizer, flags: int) -> int:
    """Check the flags of the call and the pattern together; UNICODE is the default."""
    offset = max(source.string.find("(?"), 0)
    if flags & _ASCII and flags & _UNICODE:
        what = "the flags ASCII and UNICODE exclude each other"
        raise pattern_error(PatternSyntaxError, what, source.string, offset, "leave one of them out")
    if flags & ~_FLAGS:
        source.refuse("the template flag (?t) has no meaning here", offset, "leave it out")
    return flags if flags & _ASCII else flags | _UNICODE

"""Blocks of GitHub-flavoured Markdown: tables and fenced code."""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

from detent import _core
from detent.errors import ArgumentError
from detent.language import Language
from detent.sources.nodes import concat, encode, repeat, short_repr
from detent.sources.regex import regex
from detent.sources.words.containing import without
from detent.sources.words.literals import check_counts
from detent.suggestions import suggests_names

__all__ = ["code_block", "markdown_table"]

# No bar and no line end; a space neither first nor last, so that each cell has one text.
_CELL = r"[^|\s\\`](?:[^|\r\n\\`]*[^|\s\\`])?"


@dataclass(frozen=True)
class _TableValue:
    """From a table to one dict for each row."""

    columns: tuple[str, ...]

    def __call__(self, text: str) -> list[dict[str, str]]:
        lines = text.split("\n")[2:]
        return [dict(zip(self.columns, line.strip("| ").split(" | "), strict=True)) for line in lines]


@dataclass(frozen=True)
class _CodeValue:
    """From a fenced block to its code."""

    def __call__(self, text: str) -> str:
        return text.split("\n", 1)[1].removesuffix("```")


@suggests_names
def markdown_table(
    columns: Iterable[str], *, minimum: int = 1, maximum: int | None = None
) -> Language[list[dict[str, str]]]:
    r"""Make the language of Markdown tables with given columns, one line for each row.

    >>> import detent
    >>> table = detent.markdown_table(["name", "age"])
    >>> table.parse("| name | age |\n| --- | --- |\n| Anna | 34 |")
    [{'name': 'Anna', 'age': '34'}]

    A cell is text of at least one character without bars, backslashes and backquotes.

    Parameters
    ----------
    columns : iterable of str
        The names of the columns, which are cells too.
    minimum, maximum : int, optional
        The number of rows after the header.

    Returns
    -------
    Language
        Its value is a list of dicts from column to cell.

    Raises
    ------
    ArgumentError
        There is no column, or a name is not a cell or occurs twice.
    """
    if not isinstance(columns, Iterable):
        raise ArgumentError(f"markdown_table needs a list of columns, got {short_repr(columns)}")
    names = [columns] if isinstance(columns, str) else list(columns)
    for name in names:
        if not isinstance(name, str) or not re.fullmatch(_CELL, name):
            raise ArgumentError(f"markdown_table needs column names without bars and line ends, got {short_repr(name)}")
        encode(name, "markdown_table")
    if not names or len(set(names)) < len(names):
        raise ArgumentError(f"markdown_table needs columns of different names, got {short_repr(names)}")
    check_counts("markdown_table", minimum, maximum)
    cells = regex(_CELL)._node
    header = f"| {' | '.join(names)} |\n|{' --- |' * len(names)}"
    row = concat("\n| ", cells, repeat(concat(" | ", cells), len(names) - 1, len(names) - 1), " |")
    return Language(concat(header, repeat(row, minimum, maximum)), "Markdown table", _TableValue(tuple(names)))


@suggests_names
def code_block(language: str = "", code: Language[Any] | None = None) -> Language[str]:
    r"""Make the language of fenced code blocks: three backquotes, the name of a language, lines, three backquotes.

    >>> import detent
    >>> detent.code_block("python").parse("```python\nprint(1)\n```")
    'print(1)\n'

    Parameters
    ----------
    language : str
        The name after the first fence.
    code : Language, optional
        The code between the fences without its last line end; any text by default. It never has three backquotes.

    Returns
    -------
    Language
        Its value is the code, with its last line end.

    Raises
    ------
    ArgumentError
        The name has white space or backquotes.
    """
    if not isinstance(language, str) or not re.fullmatch(r"[^\s`]*", language):
        raise ArgumentError(f"code_block needs a name without spaces and backquotes, got {short_repr(language)}")
    if code is not None and not isinstance(code, Language):
        raise ArgumentError(f"code_block needs a Language as code, got {short_repr(code)}")
    body = without("```")._node
    if code is not None:
        body = _core.intersection([body, code._node])
    fence = _core.literal(encode(f"```{language}\n", "code_block"))
    node = concat(fence, body, "\n```")
    return Language(node, f"code block {short_repr(language)}" if language else "code block", _CodeValue())

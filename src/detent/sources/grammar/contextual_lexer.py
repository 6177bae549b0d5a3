"""The texts that Lark's contextual lexer reads as each terminal.

The lexer tries the terminals that the parser's state expects, and the ignored ones, in an order: higher priority, then
greater width, longer regex, name. It takes the first that matches, as far as `re.match` goes (`leftmost_match`). A
keyword such as `if` is not tried if a regex of the same priority, such as NAME, matches it too: a token of NAME with
the text `if` becomes the keyword (lark 1.3, `lexer.py`: `BasicLexer`, `_create_unless`).
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

from detent.sources.grammar.terminals import Path, Terminals

__all__ = ["ContextualLexer"]


@dataclass(frozen=True)
class ContextualLexer:
    """The lexer of one context: the terminals that the parser expects, and the ignored ones."""

    terminals: Terminals
    expected: frozenset[int]

    @cached_property
    def entries(self) -> list[tuple[int, list[int]]]:
        """The terminals that are tried, in order, each with the keywords that a token of it may become."""
        terminals = self.terminals
        ordered = sorted(self.expected, key=terminals.order)
        texts = [number for number in ordered if terminals[number].pattern.is_text]
        embedded: set[int] = set()
        found: list[tuple[int, list[int]]] = []
        for number in ordered:
            keywords: list[int] = []
            pattern = terminals[number].pattern
            if not pattern.is_text:
                for text in texts:
                    same = terminals[text].priority == terminals[number].priority
                    if same and terminals.is_keyword(text, number):
                        keywords.append(text)
                        if set(terminals[text].pattern.flags) <= set(pattern.flags):
                            embedded.add(text)
            found.append((number, keywords))
        return [entry for entry in found if entry[0] not in embedded]

    @cached_property
    def paths(self) -> dict[int, list[Path]]:
        """The paths by which each terminal that is not ignored is read, in the order of their entries."""
        return self._paths[0]

    @cached_property
    def skipped(self) -> dict[int, list[Path]]:
        """The paths by which each ignored terminal is read. Its texts are ignored even if they are keywords."""
        return self._paths[1]

    @cached_property
    def _paths(self) -> tuple[dict[int, list[Path]], dict[int, list[Path]]]:
        found: dict[int, list[Path]] = {number: [] for number in self.expected}
        skipped: dict[int, list[Path]] = {number: [] for number in self.expected}
        rivals: set[int] = set()
        for entry, keywords in self.entries:
            if entry in self.terminals.rules.ignored:
                skipped[entry].extend(self.terminals.ignored_paths(entry, frozenset(rivals)))
            else:
                for index, keyword in enumerate(keywords):
                    found[keyword].append(Path(entry, frozenset(keywords[:index]), frozenset(rivals)))
                found[entry].append(Path(entry, frozenset(keywords), frozenset(rivals)))
            rivals.add(entry)
        return found, skipped

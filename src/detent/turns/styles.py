"""STYLES: the notations of the known model families."""

from __future__ import annotations

from detent.errors import ArgumentError
from detent.sources.nodes import short_repr
from detent.suggestions import did_you_mean
from detent.turns.families.bare_calls import BARE_FAMILIES
from detent.turns.families.json_calls import JSON_FAMILIES
from detent.turns.families.python_calls import PYTHON_FAMILIES
from detent.turns.families.xml_calls import XML_FAMILIES
from detent.turns.style import Style

__all__ = ["STYLES", "find_style"]

STYLES: dict[str, Style] = {
    style.name: style for style in (*JSON_FAMILIES, *PYTHON_FAMILIES, *XML_FAMILIES, *BARE_FAMILIES)
}
"""The known styles by name."""


def find_style(style: object, asker: str) -> Style:
    """Return a style, or the known one of a name; `asker` is the function that the message names."""
    if isinstance(style, Style):
        return style
    if not isinstance(style, str) or style not in STYLES:
        hint = did_you_mean(style, STYLES) if isinstance(style, str) else ""
        raise ArgumentError(
            f"{asker} got the style {short_repr(style)}{hint}; there are {len(STYLES)} styles, such as 'hermes', "
            "'llama3-json' and 'qwen3': detent.turns.STYLES has their names, and docs/turn-styles.md a table"
        )
    return STYLES[style]

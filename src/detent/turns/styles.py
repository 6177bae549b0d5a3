"""STYLES: the notations of the known model families."""

from __future__ import annotations

from detent.turns.families.bare_calls import BARE_FAMILIES
from detent.turns.families.json_calls import JSON_FAMILIES
from detent.turns.families.python_calls import PYTHON_FAMILIES
from detent.turns.families.xml_calls import XML_FAMILIES
from detent.turns.style import Style

__all__ = ["STYLES"]

STYLES: dict[str, Style] = {
    style.name: style for style in (*JSON_FAMILIES, *PYTHON_FAMILIES, *XML_FAMILIES, *BARE_FAMILIES)
}
"""The known styles by name."""

"""Sphinx: furo, Markdown by MyST, the reference from docstrings."""

from __future__ import annotations

from typing import Any

import detent

project = "detent"
author = "the detent authors"
version = release = detent.__version__

extensions = ["myst_parser", "sphinx.ext.autodoc", "sphinx.ext.napoleon"]
html_theme = "furo"
html_title = "detent"
html_show_copyright = False
exclude_patterns = ["_build"]

myst_heading_anchors = 3

default_role = "py:obj"
suppress_warnings = ["ref.python"]  # a name in backquotes, such as vocabulary, may be an attribute of several classes
autodoc_member_order = "bysource"
autodoc_typehints = "signature"
napoleon_google_docstring = False
napoleon_use_rtype = False


def accessible(app: Any, page_name: str, template_name: str, context: dict[str, Any], doctree: Any) -> None:
    """Give captions of lists of pages their level, and let the keyboard reach code that scrolls."""
    for name in ("body", "furo_navigation_tree"):
        if isinstance(context.get(name), str):
            text = context[name].replace(
                'class="caption" role="heading"', 'class="caption" role="heading" aria-level="2"'
            )
            context[name] = text.replace("<pre>", '<pre tabindex="0">')


def setup(app: Any) -> None:
    """Register what this file adds to Sphinx."""
    app.connect("html-page-context", accessible, priority=900)

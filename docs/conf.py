"""Sphinx: furo, Markdown by MyST, the reference from docstrings."""

from __future__ import annotations

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

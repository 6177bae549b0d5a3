"""Pictures: reports, languages, matchers and turns as HTML, for files and notebooks.

Each function returns a string. Nothing in it is fetched or run: the style is inside, details appear on hover or focus
by CSS, and every text is escaped. `document` frames a body as a page, or as a part of a notebook.
"""

from detent.pictures.bundle import mime_bundle
from detent.pictures.document import framed, page, shown_text, title_of, token_html
from detent.pictures.language import guide_body, language_body, language_svg, matcher_body
from detent.pictures.report import report_body
from detent.pictures.turn import turn_body

__all__ = [
    "framed",
    "guide_body",
    "language_body",
    "language_svg",
    "matcher_body",
    "mime_bundle",
    "page",
    "report_body",
    "shown_text",
    "title_of",
    "token_html",
    "turn_body",
]

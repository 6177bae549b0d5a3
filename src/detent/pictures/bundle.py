"""Bundle: what a notebook shows of an object, in each of the types that it may ask for."""

from __future__ import annotations

from collections.abc import Callable, Collection
from typing import Any, Protocol

__all__ = ["mime_bundle"]


class Shown(Protocol):
    """An object that shows itself as HTML."""

    def _repr_html_(self) -> str: ...


def mime_bundle(
    shown: Shown,
    include: Collection[str] | None = None,
    exclude: Collection[str] | None = None,
    *,
    svg: Callable[[], str | None] | None = None,
) -> dict[str, Any]:
    """Return an object as plain text and HTML, and as SVG where it is a drawing; other types are the notebook's own.

    Parameters
    ----------
    shown : object
        Has `_repr_html_`; its `str` is the plain text.
    include, exclude : collection of str, optional
        The MIME types that are asked for, and those that are not; IPython passes them.
    svg : callable, optional
        Returns the drawing; None if there is none. For exports that have no HTML, such as PDF.
    """
    makers: dict[str, Callable[[], str | None]] = {"text/plain": lambda: str(shown), "text/html": shown._repr_html_}
    if svg is not None:
        makers["image/svg+xml"] = svg
    wanted = [kind for kind in makers if (not include or kind in include) and kind not in (exclude or ())]
    made = {kind: makers[kind]() for kind in wanted}
    return {kind: text for kind, text in made.items() if text is not None}

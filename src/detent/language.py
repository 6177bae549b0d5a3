"""Language: a set of byte strings, as an immutable expression of the core's algebra."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, final

from detent.errors import ArgumentError

if TYPE_CHECKING:
    from typing_extensions import Never

    from detent._core import Node

__all__ = ["Language"]


@final
class Language:
    """An immutable set of byte strings that text is held to.

    Made by `detent.regex`; two languages are equal when they are built alike (which equal sets need not be).

    >>> import detent
    >>> detent.regex("a|b")
    Language(regex 'a|b')
    >>> detent.regex("a|b") == detent.regex("a|b")
    True
    """

    __slots__ = ("_node", "description")

    description: str
    _node: Node

    def __init__(self, node: Node, description: str) -> None:
        object.__setattr__(self, "_node", node)
        object.__setattr__(self, "description", description)

    def __setattr__(self, name: str, value: object) -> Never:
        raise ArgumentError(f"a Language is immutable; cannot set {name!r}")

    def __delattr__(self, name: str) -> Never:
        raise ArgumentError(f"a Language is immutable; cannot delete {name!r}")

    def __repr__(self) -> str:
        shown = self.description if len(self.description) <= 100 else self.description[:99] + "…"
        return f"Language({shown})"

    def __hash__(self) -> int:
        return hash(self._node)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Language) and bool(self._node == other._node)

    def __reduce__(self) -> Any:
        raise ArgumentError("a Language cannot be pickled yet; pickle the pattern that it was made from")

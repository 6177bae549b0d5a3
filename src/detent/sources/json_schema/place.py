"""Place: one schema at one spot of the document; what is said of a value is made of places and their negations.

Everything here is compared by identity, and made by `Schemas` once for each schema, so that sets of them are cheap
keys. A conjunction is an ordered tuple, since its order decides the order of members; its key is the set.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any, TypeAlias

if TYPE_CHECKING:
    from detent import _core
    from detent.sources.json_schema.flat import Flat
    from detent.sources.json_schema.formula import Formula
    from detent.sources.json_schema.record import Record
    from detent.sources.json_schema.resolve import Base

__all__ = ["Choice", "Conjunction", "Literal", "Negative", "Own", "Place", "Unit", "negated"]


class Place:
    """A schema, its base for references, and where it stands."""

    __slots__ = ("base", "conjunction", "negative", "own", "parent", "record", "schema", "target", "token")

    def __init__(self, schema: Any, base: Base, parent: Place | None, token: object) -> None:
        self.schema = schema
        self.base = base
        self.parent = parent
        self.token = token
        self.negative = Negative(self)
        self.own = Own(self)
        self.record: Record | None = None
        self.target: Place | None = None
        self.conjunction: Conjunction | None = None

    def pointer(self) -> str:
        """Give the JSON pointer; of a place that was found by a reference, the pointer into its document."""
        tokens: list[str] = []
        place: Place | None = self
        while place is not None:
            token = place.token
            if place.parent is None:
                tokens.append(str(token))
            elif isinstance(token, tuple):
                tokens.extend("/" + str(part).replace("~", "~0").replace("/", "~1") for part in reversed(token))
            else:
                tokens.append("/" + str(token))
            place = place.parent
        return "".join(reversed(tokens))


class Negative:
    """What is not valid against a place's schema."""

    __slots__ = ("place",)

    def __init__(self, place: Place) -> None:
        self.place = place


class Own:
    """What a place's schema says itself, without its subschemas that apply to the same value."""

    __slots__ = ("place",)

    def __init__(self, place: Place) -> None:
        self.place = place


class Choice:
    """At least one of some alternatives, each a conjunction; made when first asked for.

    `kinds` are the kinds of values that it speaks of; it holds of all others.
    """

    __slots__ = ("_made", "_make", "kinds", "place")

    def __init__(self, place: Place, kinds: int, make: Callable[[], list[tuple[Unit, ...]]]) -> None:
        self.place = place
        self.kinds = kinds
        self._make = make
        self._made: list[tuple[Unit, ...]] | None = None

    @property
    def alternatives(self) -> list[tuple[Unit, ...]]:
        """The alternatives, each a tuple of units."""
        if self._made is None:
            self._made = self._make()
        return self._made


Literal: TypeAlias = "Place | Negative"
Unit: TypeAlias = "Place | Negative | Own | Choice | Formula"


class Conjunction:
    """Units that all hold of one value; what they say and the node of the texts of such values, once they are known."""

    __slots__ = ("flat", "node", "units")

    def __init__(self, units: tuple[Unit, ...]) -> None:
        self.units = units
        self.flat: Flat | None = None
        self.node: _core.Node | None = None


def negated(literal: Literal) -> Literal:
    """Give the opposite."""
    return literal.place if isinstance(literal, Negative) else literal.negative

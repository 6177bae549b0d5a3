"""Record: what one schema says, its keywords checked and sorted by the kind of value that they speak of."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from detent.sources.json_schema.json_values import EVERY_KIND

if TYPE_CHECKING:
    from detent.sources.json_schema.formula import Formula
    from detent.sources.json_schema.place import Choice, Literal

__all__ = ["Record"]


class Record:
    """A conjunction: `kinds` of values, `allowed` ones by canonical key (None: all), formulas, subschemas, choices.

    `number`, `string`, `array` and `object` hold of values of that kind; `units` are other literals that hold of the
    same value (allOf, $ref, not); `declared` are the names of `properties` in order.
    """

    __slots__ = (
        "allowed",
        "array",
        "choices",
        "declared",
        "kinds",
        "number",
        "object",
        "properties",
        "string",
        "units",
    )

    def __init__(self) -> None:
        self.kinds = EVERY_KIND
        self.allowed: dict[Any, Any] | None = None
        self.number: list[Formula] = []
        self.string: list[Formula] = []
        self.array: list[Formula] = []
        self.object: list[Formula] = []
        self.units: list[Literal] = []
        self.choices: list[Choice] = []
        self.declared: tuple[str, ...] = ()
        self.properties: dict[str, Literal] = {}

    def says_itself(self) -> bool:
        """Whether it says more than that other literals hold."""
        said = self.number or self.string or self.array or self.object or self.choices
        return self.kinds != EVERY_KIND or self.allowed is not None or bool(said)

    def is_trivial(self) -> bool:
        """Whether every value is valid."""
        return not (self.units or self.says_itself())

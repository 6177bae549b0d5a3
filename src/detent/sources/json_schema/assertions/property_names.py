"""Sets of member names, and their partition into classes.

A set of names is symbolic: the names that a pattern matches, the names that are neither declared nor matched, or the
names that are valid against a schema. Membership of a given name is decided at once by the solver. The names that no
schema mentions are partitioned by *criteria*, the patterns and schemas that decide membership; a `NameClass` has one
verdict for each criterion, and each set of names is a union of classes.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar, TypeAlias

from detent.sources.json_schema.parse.schema_node import SignedSchema

__all__ = ["Criterion", "MatchingNames", "NameClass", "NameSet", "NamesOfClass", "OtherNames", "ValidNames"]

Criterion: TypeAlias = str | SignedSchema
"""A pattern that may match a name, or a schema that a name may be valid against."""


@dataclass(frozen=True, slots=True)
class NameClass:
    """The names that no schema mentions and that have the same verdict for each criterion."""

    verdicts: tuple[tuple[Criterion, bool], ...]

    def is_within(self, names: NameSet) -> bool:
        """Whether the class is part of a set; otherwise it is disjoint from the set."""
        if isinstance(names, NamesOfClass):
            return names.name_class == self
        criteria = names.criteria
        found = [verdict for criterion, verdict in self.verdicts if criterion in criteria]
        return not any(found) if isinstance(names, OtherNames) else all(found)


class _Names:
    """A set of names; the sets of one document are compared by identity."""

    __slots__ = ("criteria",)

    listed: ClassVar[tuple[str, ...]] = ()
    """The names that the set itself mentions, in order."""

    def __init__(self, criteria: tuple[Criterion, ...]) -> None:
        self.criteria = criteria


class MatchingNames(_Names):
    """The names that a pattern of patternProperties matches."""

    __slots__ = ("pattern",)

    def __init__(self, pattern: str) -> None:
        super().__init__((pattern,))
        self.pattern = pattern


class OtherNames(_Names):
    """The names that are neither declared nor matched by a pattern: those of additionalProperties."""

    __slots__ = ("declared", "listed", "patterns")

    def __init__(self, names: tuple[str, ...], patterns: tuple[str, ...]) -> None:
        super().__init__(patterns)
        self.listed = names  # type: ignore[misc]  # a slot of each instance in the place of the class's empty tuple
        self.declared = frozenset(names)
        self.patterns = patterns


class ValidNames(_Names):
    """The names that are valid against a schema: those of propertyNames."""

    __slots__ = ("schema",)

    def __init__(self, schema: SignedSchema) -> None:
        super().__init__((schema,))
        self.schema = schema


class NamesOfClass(_Names):
    """The names of one class."""

    __slots__ = ("name_class",)

    def __init__(self, name_class: NameClass) -> None:
        super().__init__(())
        self.name_class = name_class


NameSet: TypeAlias = MatchingNames | OtherNames | ValidNames | NamesOfClass

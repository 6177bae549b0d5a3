"""Dialects: the drafts of JSON Schema, and the differences between them that change the meaning of a schema."""

from __future__ import annotations

from dataclasses import dataclass

__all__ = ["DEFAULT", "DIALECTS", "Dialect", "find_dialect"]


@dataclass(frozen=True)
class Dialect:
    """One draft of JSON Schema.

    `year` orders the drafts (4, 6, 7, 2019, 2020); `uri` is what `referencing` calls it.
    """

    year: int
    uri: str

    @property
    def is_reference_alone(self) -> bool:
        """Whether `$ref` makes the keywords beside it void."""
        return self.year <= 7

    @property
    def identifier(self) -> str:
        """The keyword that names a schema."""
        return "id" if self.year <= 4 else "$id"


_DRAFT_2020 = Dialect(2020, "https://json-schema.org/draft/2020-12/schema")

DIALECTS: dict[str, Dialect] = {
    "https://json-schema.org/draft/2020-12/schema": _DRAFT_2020,
    "https://json-schema.org/draft/2019-09/schema": Dialect(2019, "https://json-schema.org/draft/2019-09/schema"),
    "http://json-schema.org/draft-07/schema": Dialect(7, "http://json-schema.org/draft-07/schema#"),
    "http://json-schema.org/draft-06/schema": Dialect(6, "http://json-schema.org/draft-06/schema#"),
    "http://json-schema.org/draft-04/schema": Dialect(4, "http://json-schema.org/draft-04/schema#"),
    "http://json-schema.org/schema": _DRAFT_2020,
}
"""The dialects by the values of `$schema`, which stand here without an empty fragment."""

DEFAULT = _DRAFT_2020


def find_dialect(named: str) -> Dialect | None:
    """Return the dialect that a `$schema` names; None if it is no known draft."""
    named = named.rstrip("#")
    return DIALECTS.get(named) or DIALECTS.get(named.replace("https:", "http:", 1))

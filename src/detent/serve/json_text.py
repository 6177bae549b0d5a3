"""JSON texts of bodies: a text that parsers read in different ways, such as `{"a": 1, "a": 2}`, is an error."""

from __future__ import annotations

import json
from typing import Any

from detent.serve.errors import ApiError

__all__ = ["refuse_ambiguous"]

_LONGEST_NAME = 80


def refuse_ambiguous(data: bytes) -> None:
    """Raise `ApiError` for a name that an object has twice, and for NaN and Infinity, which JSON does not have.

    Most parsers take the last of equal names, some the first. So a proxy might check another limit than the one that
    the server obeys. Cost: one more pass over the text, which must be known to be a JSON text.
    """
    json.loads(data, object_pairs_hook=_members, parse_constant=_refuse_constant)


def _members(pairs: list[tuple[str, Any]]) -> None:
    if len(pairs) > 1 and len({name for name, _ in pairs}) < len(pairs):
        seen: set[str] = set()
        for name, _ in pairs:
            if name in seen:
                raise ApiError(
                    400,
                    f"an object of the body has the name {name[:_LONGEST_NAME]!r} twice; send it once",
                    param=name[:_LONGEST_NAME],
                    code="invalid_value",
                )
            seen.add(name)


def _refuse_constant(name: str) -> None:
    raise ApiError(400, f"the body has {name}, which is no number of JSON", code="invalid_value")

"""What stands beside a type: in `Annotated`, or as a default. What no schema can say is refused, not left out."""

from __future__ import annotations

import typing
from collections.abc import Iterable
from typing import Any, NoReturn

from detent.errors import UnsupportedError
from detent.language import Language
from detent.sources.nodes import short_repr

__all__ = [
    "clip",
    "is_constraint",
    "refuse",
    "refuse_default",
    "refuse_unread",
    "refuse_unread_fields",
    "refuse_unread_inside",
]


def refuse(where: str, kind: object, reason: str, remedy: str) -> NoReturn:
    """Raise `UnsupportedError`; `where` names the field."""
    raise UnsupportedError(f"{clip(where)}: {short_repr(kind)} cannot be made a schema: {clip(reason)}; {remedy}")


def clip(text: str) -> str:
    """Return at most 120 characters of a text."""
    return text if len(text) <= 120 else text[:119] + "…"


def is_constraint(kind: type) -> bool:
    """Whether it is a class of annotated-types or of pydantic, such as Ge or FieldInfo."""
    return kind.__module__.partition(".")[0] in ("annotated_types", "pydantic")


def refuse_unread(data: object, where: str) -> None:
    """Refuse metadata that looks like a constraint and would say nothing: a Language, the class Ge, a slice."""
    if isinstance(data, Language):
        refuse(
            where,
            data,
            "a type holds no language",
            "write re.compile(...), or a schema with a format: json_schema(schema, formats={name: language})",
        )
    if isinstance(data, type) and is_constraint(data):
        refuse(where, data, "it is a class, which sets no bound", f"write {data.__name__}(...)")
    if isinstance(data, slice):
        refuse(where, data, "it is a slice", "write Len(...) of annotated-types")


def refuse_unread_fields(kind: type) -> None:
    """Refuse what pydantic leaves out of the fields of a class: a Language, or a class of annotated-types."""
    fields = getattr(kind, "__pydantic_fields__", None)
    if fields is not None:
        for name, field in fields.items():
            refuse_unread_inside(field.annotation, name, field.metadata)
        return
    try:
        hints = typing.get_type_hints(kind, include_extras=True)
    except (NameError, TypeError):  # pydantic has found the names, in the function that defines the class
        return
    for name, hint in hints.items():
        refuse_unread_inside(hint, name)


def refuse_unread_inside(annotation: Any, where: str, metadata: Iterable[object] = ()) -> None:
    """Refuse such metadata beside an annotation, and anywhere in it."""
    work, found = [annotation], list(metadata)
    while work:
        part = work.pop()
        found.extend(getattr(part, "__metadata__", ()))
        work.extend(typing.get_args(part))
    for data in found:
        if isinstance(data, Language) or (isinstance(data, type) and data.__module__ == "annotated_types"):
            refuse_unread(data, where)


def refuse_default(default: object, where: str) -> None:
    """Refuse pydantic's Field as a default outside of pydantic's classes, where it would be the value itself."""
    if type(default).__name__ == "FieldInfo" and is_constraint(type(default)):
        refuse(where, default, "only classes of pydantic read Field as a default", "write Annotated[..., Field(...)]")

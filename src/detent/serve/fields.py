"""Fields: the base of all request bodies. A field that is unknown or cannot be served is an error, never ignored."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Annotated, Any, ClassVar, Literal, TypeAlias, TypeVar

from pydantic import AfterValidator, BaseModel, ConfigDict, Field, StrictBool, StrictFloat, StrictInt, model_validator
from pydantic_core import PydanticCustomError

from detent.suggestions import did_you_mean

__all__ = ["Body", "Fields", "Inert", "Many", "SamplingFields", "Schema", "ToolName", "WantedTool"]

_Item = TypeVar("_Item")

#: A JSON Schema, which detent reads itself.
Schema: TypeAlias = dict[str, Any] | StrictBool

#: A list that is read up to its first error: a body of wrong items must not cost an error for each of them.
Many: TypeAlias = Annotated[list[_Item], Field(fail_fast=True)]

#: A word that is banned.
Word: TypeAlias = Annotated[str, Field(min_length=1)]

#: A field of OpenAI's API that says nothing about the text: labels, caching, accounting.
Inert: TypeAlias = Any


def _not_a_choice(name: str) -> str:
    if name in ("auto", "none", "required"):
        shown = {"name": name}
        raise PydanticCustomError("tool_name", "{name} is a choice, not the name of a tool; rename the tool", shown)
    return name


#: The name of a tool that must be called.
WantedTool: TypeAlias = Annotated[str, AfterValidator(_not_a_choice)]

#: The name of a tool that may be called.
ToolName: TypeAlias = Annotated[WantedTool, Field(pattern=r"^[A-Za-z0-9_.-]{1,64}$")]

_LONGEST_NAME = 80
"""The most characters of an unknown name that are compared and shown."""


class Fields(BaseModel):
    """An object of a request.

    `unsupported` maps the name of a known field that cannot be served to the values that ask for nothing, with which it
    is accepted. `elsewhere` maps a name that a field has in another object to where that is.
    """

    model_config = ConfigDict(extra="forbid", allow_inf_nan=False, protected_namespaces=(), populate_by_name=False)
    unsupported: ClassVar[Mapping[str, tuple[Any, ...]]] = {}
    elsewhere: ClassVar[Mapping[str, str]] = {}

    @model_validator(mode="before")
    @classmethod
    def _known(cls, data: Any) -> Any:
        if not isinstance(data, dict):
            return data
        names = {field.alias or name for name, field in cls.model_fields.items()}
        kept = {}
        for name, value in data.items():
            if name in names:
                kept[name] = value
            elif name not in cls.unsupported:
                known = [*names, *cls.unsupported]
                hint = f"; it is a field of {cls.elsewhere[name]}" if name in cls.elsewhere else ""
                hint = hint or did_you_mean(name[:_LONGEST_NAME], known) or f"; known are {', '.join(sorted(names))}"
                shown = {"hint": hint, "field": name[:_LONGEST_NAME]}
                raise PydanticCustomError("unknown_field", "unknown field{hint}", shown)
            elif value is not None and value not in cls.unsupported[name]:
                neutral = cls.unsupported[name]
                leave = f" or send {neutral[0]!r}" if neutral else ""
                raise PydanticCustomError(
                    "unsupported_field",
                    "this server does not support it; leave it out{leave}",
                    {"leave": leave, "field": name},
                )
        return kept


class SamplingFields(Fields):
    """How tokens are chosen, in all APIs of this server; OpenAI's names and those that engines added."""

    temperature: Annotated[StrictFloat, Field(ge=0)] | None = None
    top_p: Annotated[StrictFloat, Field(gt=0, le=1)] | None = None
    top_k: Annotated[StrictInt, Field(ge=-1)] | None = None
    min_p: Annotated[StrictFloat, Field(ge=0, le=1)] | None = None
    seed: StrictInt | None = None


class Ban(Fields):
    """Words that the text must not contain."""

    words: Many[Word] = Field(min_length=1)
    mode: Literal["rewind", "mask"] = "rewind"
    ignore_case: StrictBool = False
    whole_words: StrictBool = False


class Body(SamplingFields):
    """The fields that every request may have: the model, and detent's own fields."""

    model: str | None = None
    stream: StrictBool = False
    ban: Many[Word] | Ban | None = None
    canonical: StrictBool | Literal["approximate"] | None = None
    report: StrictBool = False

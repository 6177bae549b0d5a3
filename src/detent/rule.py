"""Rule: whatever `compile` and `generate` take as a constraint; `read_rule` makes a language of a type or a list."""

from __future__ import annotations

from typing import Any, TypeAlias

from detent.errors import ArgumentError
from detent.guide import Guide
from detent.language import Language
from detent.sources.nodes import short_repr
from detent.suggestions import as_language, is_type_form
from detent.tables.token_constraint import TokenConstraint
from detent.tables.user_dfa import UserDfa

__all__ = ["AnyRule", "Rule", "read_rule"]

#: A constraint: compiled, or to be compiled.
Rule: TypeAlias = Language[Any] | UserDfa | TokenConstraint | Guide

#: A constraint, or an object that `json_schema` or `choice` reads.
AnyRule: TypeAlias = Rule | type | dict[str, Any] | list[Any] | tuple[Any, ...]


def read_rule(rule: object, asker: str) -> Language[Any] | UserDfa | TokenConstraint:
    """Return the constraint that an argument stands for; `asker` is the function that the message names.

    A type, an annotation or a dict is read by `json_schema`, a list or tuple by `choice`. Text is refused, since it may
    be a pattern or the text itself.

    >>> read_rule(["yes", "no"], "compile")
    Language('yes' or 'no')
    """
    if isinstance(rule, (Language, UserDfa, TokenConstraint)):
        return rule
    # Imported with the first type or list: engines that need masks of regexes alone read no schemas.
    if isinstance(rule, dict) or is_type_form(rule) or _is_adapter(rule):
        from detent.sources.json_schema import json_schema

        return json_schema(rule)
    if isinstance(rule, (list, tuple)) and not any(_is_no_option(each) for each in rule):
        from detent.sources.words import choice

        return choice(*rule)
    raise ArgumentError(
        f"{asker} needs a language, a type, a JSON Schema or a list of choices, "
        f"got {short_repr(rule)} ({type(rule).__name__}); {_advice(rule)}"
    )


def _is_adapter(value: object) -> bool:
    """Whether it is a TypeAdapter of pydantic, or of the same form."""
    return hasattr(value, "json_schema") and hasattr(value, "validate_json")


def _is_no_option(value: object) -> bool:
    return isinstance(value, (Language, dict)) or is_type_form(value) or callable(value)


def _advice(rule: object) -> str:
    if isinstance(rule, Guide):
        return "it is compiled already; use it as it is, or compile guide.language"
    if isinstance(rule, (list, tuple)):
        if any(isinstance(each, Language) for each in rule):
            return "combine languages as a | b"
        if all(is_type_form(each) for each in rule):
            return "write a union of types as A | B"
        return "write detent.calls([...]) for calls of functions or tools"
    return as_language(rule)

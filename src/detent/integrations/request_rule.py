"""RequestRule: what a request to an engine says that its text must be, in the words that engines share."""

from __future__ import annotations

import inspect
import json
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Literal, TypeAlias, get_args

from detent.errors import ArgumentError
from detent.integrations.structural_tag import structural_tag
from detent.language import Language
from detent.sources.grammar.either_notation import either_notation
from detent.sources.json_schema import json_schema
from detent.sources.nodes import short_repr
from detent.sources.regex import regex
from detent.sources.words import choice
from detent.turns import turn

__all__ = ["RequestRule", "RuleKind"]

#: The kinds of rules that engines know.
RuleKind: TypeAlias = Literal["json", "json_object", "regex", "choice", "grammar", "structural_tag", "turn"]


@dataclass(frozen=True)
class RequestRule:
    """A rule by its kind and its text. Equal rules have equal texts, so that a rule is compiled once.

    >>> RequestRule.of("choice", ["yes", "no"]).language()
    Language('yes' or 'no')
    >>> RequestRule.of("json", '{"type": "integer"}') == RequestRule.of("json", {"type": "integer"})
    True

    Attributes
    ----------
    kind : str
        One of `RuleKind`.
    text : str
        A pattern or a grammar; of the other kinds, a JSON text.
    whitespace : str, optional
        For ``json`` and ``json_object``, as in `detent.json_schema`.
    """

    kind: RuleKind
    text: str
    whitespace: str | None = None

    @classmethod
    def of(cls, kind: str, value: object, *, whitespace: str | None = None) -> RequestRule:
        """Read a rule.

        Parameters
        ----------
        kind : str
            One of `RuleKind`.
        value : str, mapping, bool or list
            ``json``: a JSON Schema or its JSON text. ``choice``: a list of texts or its JSON text. ``structural_tag``:
            an object or its JSON text. ``turn``: an object with the arguments of `detent.turn`, or its JSON text; tools
            and answer are JSON. ``regex`` and ``grammar``: a text. ``json_object``: ignored, any JSON object.
        whitespace : str, optional
            For ``json`` and ``json_object``, as in `detent.json_schema`.

        Raises
        ------
        ArgumentError
            The kind is unknown, or the value is of another type.
        """
        if kind not in get_args(RuleKind):
            raise ArgumentError(f"a rule of kind {short_repr(kind)} is unknown; write {', '.join(get_args(RuleKind))}")
        known: Any = kind
        if kind == "json_object":
            return cls(known, '{"type": "object"}', whitespace)
        if kind in ("regex", "grammar"):
            if not isinstance(value, str):
                raise ArgumentError(f"{kind} must be a text, got {short_repr(value)}")
            return cls(known, value)
        if isinstance(value, str):
            try:
                value = json.loads(value)
            except (ValueError, RecursionError) as error:
                raise ArgumentError(f"{kind}: not a JSON text: {error}") from None
        if kind == "choice":
            if not isinstance(value, (list, tuple)) or not value or not all(isinstance(each, str) for each in value):
                raise ArgumentError(f"choice must be a list of texts, at least one, got {short_repr(value)}")
        elif not isinstance(value, (Mapping, bool) if kind == "json" else Mapping):
            noun = "a JSON Schema, which is an object or a boolean" if kind == "json" else "an object"
            raise ArgumentError(f"{kind} must be {noun}, got {short_repr(value)}")
        return cls(known, json.dumps(value), whitespace if kind == "json" else None)

    def language(self) -> Language[Any]:
        """Return the language; it may take a while.

        Raises
        ------
        DetentError
            The rule is malformed, or cannot be held exactly.
        """
        if self.kind == "regex":
            return regex(self.text)
        if self.kind == "grammar":
            return either_notation(self.text)
        value = json.loads(self.text)
        if self.kind == "choice":
            return choice(*value)
        if self.kind == "structural_tag":
            return structural_tag(value)
        if self.kind == "turn":
            return _turn(value)
        return json_schema(value, whitespace=self.whitespace)


def _turn(options: dict[str, Any]) -> Language[Any]:
    known = inspect.signature(turn).parameters
    if unknown := sorted(set(options) - set(known)):
        raise ArgumentError(f"turn.{unknown[0]} is unknown; there are {', '.join(known)}")
    if "style" not in options:
        raise ArgumentError("turn.style is missing: the notation of the model's turns, such as qwen3")
    return turn(**options)

"""The language of the playground's rule: its parts from left to right, without the texts that have a banned word."""

from __future__ import annotations

import json
from typing import Any

from detent.errors import ArgumentError, DetentError, PatternSyntaxError
from detent.language import Language
from detent.serve.playground.fields import Part, RuleBody
from detent.serve.playground.python_type import read_type
from detent.sources.grammar.either_notation import either_notation
from detent.sources.json_schema import json_schema
from detent.sources.json_schema.assertions.diagnostics import collected_warnings
from detent.sources.regex import regex
from detent.sources.words import choice, text, without
from detent.turns import Style, calls

__all__ = ["PartError", "language_without_bans", "read_parts"]


class PartError(Exception):
    """An error of one part of a rule.

    Attributes
    ----------
    index : int
        Which part it is.
    error : DetentError
        What is wrong with it.
    """

    def __init__(self, index: int, error: DetentError) -> None:
        super().__init__(str(error))
        self.index = index
        self.error = error


def read_parts(rule: RuleBody, style: Style | None) -> tuple[Language[Any] | None, list[str]]:
    """Return the language of the parts of a rule, without its bans, and the warnings; None if there are no parts.

    Raises
    ------
    PartError
        A part has an error.
    """
    whole: Language[Any] | None = None
    with collected_warnings() as warnings:
        for index, part in enumerate(rule.parts):
            try:
                right = _part(part, style)
                right = ~right if part.negated else right
                whole = right if whole is None else _joined(whole, part.operator, right)
            except DetentError as error:
                raise PartError(index, error) from error
    return whole, warnings


def language_without_bans(rule: RuleBody, language: Language[Any] | None) -> Language[Any]:
    """Return the texts that a run may write: any text if there are no parts, and none with a banned word."""
    if rule.ban is None:
        return text() if language is None else language
    rest = without(*rule.ban.words, ignore_case=rule.ban.ignore_case, whole_words=rule.ban.whole_words)
    return rest if language is None else language & rest


def _joined(left: Language[Any], operator: str, right: Language[Any]) -> Language[Any]:
    if operator == "&":
        return left & right
    if operator == "-":
        return left - right
    return left + right if operator == "+" else left | right


def _part(part: Part, style: Style | None) -> Language[Any]:
    source = part.source
    if part.kind == "regex":
        return regex(source)
    if part.kind == "schema":
        return json_schema(source)
    if part.kind == "type":
        return json_schema(read_type(source))
    if part.kind == "grammar":
        return either_notation(source)
    if part.kind == "choice":
        options = [line for line in source.splitlines() if line]
        if not options:
            raise ArgumentError("there is no text to choose; write one on each line")
        return choice(*options)
    return calls(_tools(source), style=style or "hermes")


def _tools(source: str) -> Any:
    try:
        tools = json.loads(source)
    except json.JSONDecodeError as error:
        raise PatternSyntaxError(f"not a JSON text: {error}", position=error.pos, source=source) from None
    except RecursionError:
        raise ArgumentError("the JSON text nests too deep") from None
    listed = tools if isinstance(tools, list) else [tools]
    if not listed or not all(isinstance(tool, dict) for tool in listed):
        raise ArgumentError("tools are a JSON list of objects, each with a name and parameters")
    return listed

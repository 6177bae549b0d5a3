"""Rules: finds the field of a request that has the rule of the answer, and makes its language."""

from __future__ import annotations

import json
import warnings
from collections.abc import Callable, Sequence
from dataclasses import dataclass

from detent.errors import DetentError, SchemaWarning
from detent.integrations.request_rule import RequestRule
from detent.language import Language
from detent.serve.chat_fields import JsonObjectFormat, JsonSchemaFormat, RuleFields, StructuralTagFormat, TextFormat
from detent.serve.errors import ApiError, from_detent
from detent.sources.words import without

__all__ = ["Rule", "grammar_rule", "refuse_misspelt_names", "regex_rule", "rule_of", "schema_rule"]


@dataclass(frozen=True)
class Rule:
    """What an answer must be.

    Attributes
    ----------
    param : str
        The field of the request that has the rule, for error messages.
    key : str
        Equal for equal rules.
    make : callable
        Returns the language; it may take a while.
    """

    param: str
    key: str
    make: Callable[[], Language]

    def language(self) -> Language:
        """Return the language, or raise `ApiError` with the field at fault."""
        try:
            return self.make()
        except DetentError as error:
            raise from_detent(error, self.param) from error
        except SchemaWarning as warning:  # see `refuse_misspelt_names`
            raise ApiError(400, f"{self.param}: {warning}", param=self.param, code="invalid_value") from None

    def without(self, words: Sequence[str]) -> Rule:
        """Return the rule of the same texts, but for those that contain one of the words."""
        key = json.dumps([self.key, *words])
        return Rule(self.param, f"without {key}", lambda: self.make() & without(*words))


_MISSPELT = r"(?s).* (is no keyword and has no effect|has no keyword of JSON Schema|so it has no effect; did you mean)"


def refuse_misspelt_names() -> None:
    """Make misspelt keywords and formats of JSON Schemas errors in this process.

    Other warnings would quote schemas in the log.
    """
    warnings.filterwarnings("ignore", category=SchemaWarning)
    warnings.filterwarnings("error", _MISSPELT, SchemaWarning)


def schema_rule(param: str, schema: object) -> Rule:
    """Return the rule of a JSON Schema, or of its JSON text."""
    if isinstance(schema, str):
        try:
            schema = json.loads(schema)
        except (ValueError, RecursionError) as error:
            raise ApiError(400, f"{param}: not a JSON text: {error}", param=param, code="invalid_value") from None
    if not isinstance(schema, (dict, bool)):
        raise ApiError(400, f"{param}: a JSON Schema is an object or a boolean", param=param, code="invalid_value")
    return _rule(param, "json", schema)


def rule_of(
    fields: RuleFields,
    response_format: TextFormat | JsonObjectFormat | JsonSchemaFormat | StructuralTagFormat | None = None,
) -> Rule | None:
    """Return the rule of a request, or None if it has none; two rules are an error."""
    found: list[Rule] = []
    if isinstance(response_format, JsonObjectFormat):
        schema = response_format.schema_
        found.append(
            schema_rule("response_format", {"type": "object"})
            if schema is None
            else schema_rule("response_format.schema", {"allOf": [schema, {"type": "object"}]})
        )
    elif isinstance(response_format, JsonSchemaFormat):
        found.append(schema_rule("response_format.json_schema.schema", response_format.json_schema.schema_))
    elif isinstance(response_format, StructuralTagFormat):
        found.append(_rule("response_format", "structural_tag", response_format.model_dump()))
    outputs = fields.structured_outputs
    if outputs is not None:
        found += _named_rules(
            "structured_outputs.", outputs.json_, outputs.regex, outputs.choice, outputs.grammar, prefix=""
        )
        if outputs.json_object:
            found.append(schema_rule("structured_outputs.json_object", {"type": "object"}))
        if outputs.structural_tag is not None:
            found.append(_rule("structured_outputs.structural_tag", "structural_tag", outputs.structural_tag))
    found += _named_rules(
        "", fields.guided_json, fields.guided_regex, fields.guided_choice, fields.guided_grammar, prefix="guided_"
    )
    if fields.grammar is not None:
        found.append(grammar_rule("grammar", fields.grammar))
    if fields.json_schema is not None:
        found.append(schema_rule("json_schema", fields.json_schema))
    if len(found) > 1:
        names = " and ".join(rule.param for rule in found)
        raise ApiError(400, f"{names} each say what the text must be; send one of them", param=found[1].param)
    return found[0] if found else None


def _named_rules(
    path: str, schema: object, pattern: str | None, choices: list[str] | None, text: str | None, *, prefix: str
) -> list[Rule]:
    rules = []
    if schema is not None:
        rules.append(schema_rule(f"{path}{prefix}json", schema))
    for kind, value in (("regex", pattern), ("choice", choices), ("grammar", text)):
        if value is not None:
            rules.append(_rule(f"{path}{prefix}{kind}", kind, value))
    return rules


def regex_rule(param: str, pattern: str) -> Rule:
    """Return the rule of a regular expression."""
    return _rule(param, "regex", pattern)


def grammar_rule(param: str, text: str) -> Rule:
    """Return the rule of a grammar, in Lark's notation or in GBNF."""
    return _rule(param, "grammar", text)


def _rule(param: str, kind: str, value: object) -> Rule:
    try:
        rule = RequestRule.of(kind, value)
    except DetentError as error:
        raise from_detent(error, param) from error
    return Rule(param, f"{rule.kind} {rule.text}", rule.language)

"""The engines as users give them JSON Schemas: the text of a schema in, a guide out.

Each stands for one choice of options; `engines.py` holds what an engine does alike for regexes and schemas.
"""

from __future__ import annotations

from functools import partial
from typing import Any, ClassVar

from benchmarks.engines import Detent, Engine, LLGuidance, Walk, XGrammar

__all__ = ["SCHEMA_ENGINES"]


class DetentSchemas(Detent):
    """All by default: strict, members in the order of the schema, texts as serialisers write them."""

    options: ClassVar[dict[str, Any]] = {}

    def compile(self, pattern: str) -> object:
        return self.detent.compile(self.detent.json_schema(pattern, **self.options), self.vocabulary)


class DetentAnyOrder(DetentSchemas):
    """Members in any order."""

    options: ClassVar[dict[str, Any]] = {"order": "any"}


class DetentAnySpelling(DetentSchemas):
    """All texts of JSON, as the peers take them: every form of numbers and escapes, bounded white space."""

    options: ClassVar[dict[str, Any]] = {"spelling": "any"}


class LLGuidanceSchemas(LLGuidance):
    """All by default: strict, flexible white space."""

    overrides: ClassVar[dict[str, Any] | None] = None

    def compile(self, pattern: str) -> object:
        grammar = self.llguidance.LLMatcher.grammar_from_json_schema(pattern, overrides=self.overrides)
        matcher = self.llguidance.LLMatcher(self.vocabulary, grammar, log_level=0)
        if matcher.is_error():
            raise ValueError(matcher.get_error())
        return matcher

    def walk(self, compiled: Any) -> Walk:
        fill, _ = super().walk(compiled)

        def advance(token: int) -> None:
            if not compiled.consume_token(token):
                raise ValueError(compiled.get_error())

        return fill, advance


class LLGuidanceLenient(LLGuidanceSchemas):
    """Drops what it does not know, with a warning."""

    overrides: ClassVar[dict[str, Any] | None] = {"lenient": True}


class XGrammarSchemas(XGrammar):
    """White space fixed to `", "` and `": "`; strict: no members and items beyond those that a schema lists."""

    options: ClassVar[dict[str, Any]] = {"any_whitespace": False, "strict_mode": True}

    def compile(self, pattern: str) -> object:
        return self.vocabulary.compile_json_schema(pattern, **self.options)

    def walk(self, compiled: Any) -> Walk:
        matcher = self.xgrammar.GrammarMatcher(compiled)
        return partial(matcher.fill_next_token_bitmask, self.bitmask), matcher.accept_token


class XGrammarAny(XGrammarSchemas):
    """Any white space, not strict."""

    options: ClassVar[dict[str, Any]] = {"any_whitespace": True, "strict_mode": False}


SCHEMA_ENGINES: dict[str, type[Engine]] = {
    "detent": DetentSchemas,
    "detent any order": DetentAnyOrder,
    "detent any spelling": DetentAnySpelling,
    "llguidance": LLGuidanceSchemas,
    "llguidance lenient": LLGuidanceLenient,
    "xgrammar": XGrammarSchemas,
    "xgrammar any": XGrammarAny,
}

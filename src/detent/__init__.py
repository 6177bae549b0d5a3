"""detent holds a language model's decoding to a language.

>>> import detent
>>> model = detent.load_model()
>>> detent.generate(model, "Pick a number.", detent.regex("[1-9]"), max_tokens=4, seed=0).finish_reason
'stop'
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from detent import mask
from detent.compiler import CancellationToken, compile
from detent.errors import (
    ArgumentError,
    BusyError,
    CancelledError,
    DetentError,
    EmptyLanguageError,
    LimitError,
    ModelError,
    PatternSyntaxError,
    SchemaError,
    SchemaWarning,
    StateError,
    UnsupportedError,
    UnsupportedSchemaError,
    VocabularyError,
)
from detent.guide import Guide
from detent.language import Language
from detent.limits import Limits
from detent.mask import allocate_mask, apply_mask
from detent.matcher import BatchMatcher, Matcher
from detent.sources.regex import regex
from detent.sources.types import (
    boolean,
    date,
    datetime,
    duration,
    email,
    hostname,
    integer,
    ipv4,
    ipv6,
    number,
    time,
    uri,
    uuid,
)
from detent.sources.words import byte_class, choice, containing, join, literal, special_token, text, without
from detent.tables import TokenDfa, UserDfa, draw_automaton, stack_tables, token_table
from detent.vocabulary import Vocabulary, tokenizations

if TYPE_CHECKING:
    from detent import analysis, models
    from detent.generation import (
        Ban,
        Output,
        Report,
        Request,
        generate,
        generate_batch,
        stream,
    )
    from detent.models import load_model
    from detent.sources.calls import Call, TaggedPart, calls, structural_tags
    from detent.sources.grammar import ebnf, gbnf, grammar
    from detent.sources.json_schema import json_schema, json_value

__version__ = "0.1.0"

__all__ = [
    "ArgumentError",
    "Ban",
    "BatchMatcher",
    "BusyError",
    "Call",
    "CancellationToken",
    "CancelledError",
    "DetentError",
    "EmptyLanguageError",
    "Guide",
    "Language",
    "LimitError",
    "Limits",
    "Matcher",
    "ModelError",
    "Output",
    "PatternSyntaxError",
    "Report",
    "Request",
    "SchemaError",
    "SchemaWarning",
    "StateError",
    "TaggedPart",
    "TokenDfa",
    "UnsupportedError",
    "UnsupportedSchemaError",
    "UserDfa",
    "Vocabulary",
    "VocabularyError",
    "__version__",
    "allocate_mask",
    "analysis",
    "apply_mask",
    "boolean",
    "byte_class",
    "calls",
    "choice",
    "compile",
    "containing",
    "date",
    "datetime",
    "draw_automaton",
    "duration",
    "ebnf",
    "email",
    "gbnf",
    "generate",
    "generate_batch",
    "grammar",
    "hostname",
    "integer",
    "ipv4",
    "ipv6",
    "join",
    "json_schema",
    "json_value",
    "literal",
    "load_model",
    "mask",
    "models",
    "number",
    "regex",
    "special_token",
    "stack_tables",
    "stream",
    "structural_tags",
    "text",
    "time",
    "token_table",
    "tokenizations",
    "uri",
    "uuid",
    "without",
]

# Engines import detent for its masks alone: what runs models, and the larger sources, load when first named (PEP 562).
_LAZY = {
    "Ban": "detent.generation",
    "Call": "detent.sources.calls",
    "Output": "detent.generation",
    "Report": "detent.generation",
    "Request": "detent.generation",
    "TaggedPart": "detent.sources.calls",
    "calls": "detent.sources.calls",
    "ebnf": "detent.sources.grammar",
    "gbnf": "detent.sources.grammar",
    "generate": "detent.generation",
    "generate_batch": "detent.generation",
    "grammar": "detent.sources.grammar",
    "json_schema": "detent.sources.json_schema",
    "json_value": "detent.sources.json_schema",
    "load_model": "detent.models",
    "stream": "detent.generation",
    "structural_tags": "detent.sources.calls",
}


def __getattr__(name: str) -> Any:
    from importlib import import_module

    if name in ("analysis", "jax", "models", "torch"):
        return import_module(f"detent.{name}")
    if name not in _LAZY:
        raise AttributeError(f"module 'detent' has no attribute {name!r}")
    value = globals()[name] = getattr(import_module(_LAZY[name]), name)
    return value


def __dir__() -> list[str]:
    return __all__

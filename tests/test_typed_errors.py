"""Whatever the public functions are given, they answer or raise an error of detent; with paths, an `OSError` too."""

from __future__ import annotations

import datetime as dt
import decimal
import inspect
import math
import re
import tempfile
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import HealthCheck, Phase, given, settings
from hypothesis import strategies as st

import detent
from detent.sources.nodes import short_repr
from tests.support.mask_walk import VOCABULARY

# A case may not take long: limits of one are small.
LIMITS = detent.Limits(states=2_000, memory_bytes=1 << 24, work=200_000)
FOLDER = Path(tempfile.gettempdir())


def _nested(depth: int, inside: Any = 1, as_object: bool = False) -> Any:
    for _ in range(depth):
        inside = {"items": inside} if as_object else [inside]
    return inside


def _endless() -> Any:
    found: list[Any] = []
    found.append(found)
    return found


SURROGATES = ["\ud800", "a\udfff", "\udcff", "\ud83d\ude00"]
NUMBERS = [-1, 0, 1, 2, 7, 10**9, 2**31, 2**63, -(2**63) - 1, 2**64, 10**400, 0.5, 1e308, math.nan, math.inf, -math.inf]
VALUES: list[Any] = [
    *NUMBERS,
    *SURROGATES,
    *[None, True, False, "", "a", "\x00", "é", "start", "/", b"", b"a", b"\xff", bytearray(b"a"), memoryview(b"a")],
    *[1j, decimal.Decimal("NaN"), decimal.Decimal("1e400"), dt.date(2026, 1, 1), np.float64("nan"), np.int64(3)],
    *[[], {}, (), set(), [1], ["a", 1], [None], ["\ud800"], {"a": 1}, {1: 2}, {None: 1}, {"\ud800": {}}, {("a",): 1}],
    *[_nested(300), _nested(100_000), _nested(2_000, {}, as_object=True), _endless(), range(3), iter("ab"), object()],
    *[len, int, str, object, Exception, NotImplemented, ..., slice(1), re.compile("a"), re.compile(b"a"), re.I],
    *[np.zeros(3), np.zeros((2, 2), dtype=np.int32), np.array(["a"]), np.empty(0), LIMITS],
    *[detent.regex("a+"), detent.literal(""), detent.regex("(?!)"), VOCABULARY],
]

PATTERN = st.lists(
    st.sampled_from(
        [
            *r"a b é . * + ? | ( ) [ ] { } ^ $ \ - , 0 9 \d \w \s \b \B \A \Z \1 \0".split(),
            *r"\x \x41 \u \ud800 \U00110000".split(),
            *r"(?: (?= (?! (?<= (?<! (?P<n> (?P=n) (?i) (?i: (?x (?> (?( (?#".split(),
            *r"a{2,3} {,4} {3,} {99999999999} *? ++".split(),
            *r"[a-z] [^a] [z-a] [\w-] [[:alpha:]] \p{L} \p{Lu} \P{L} \pL \p{ \p{} \p{Foo} \p{^L}".split(),
            *r"[\p{L}] \N{DASH}".split(),
            *["\ud800", "\x00", "\n", " ", "#", "\u2028", "𝒳"],
        ]
    ),
    max_size=8,
).map("".join)

GRAMMAR = st.lists(
    st.sampled_from(
        [
            *[
                "start: ",
                "root ::= ",
                "A: ",
                "a: ",
                "\n",
                "\n",
                " ",
                " | ",
                "(",
                ")",
                "[",
                "]",
                "*",
                "+",
                "?",
                "~2",
                "~1..3",
            ],
            *[
                '"a"',
                '"b"i',
                "''",
                '"\\u0041"',
                '"\\x"',
                '"\ud800"',
                "/a/",
                "/[a-z]+/i",
                r"/\p{L}/",
                "/(?i)a/",
                "/a/xyz",
                "/(/",
            ],
            *[
                "A",
                "B",
                "a",
                "start",
                "root",
                "_x",
                "!a",
                "?a",
                ".2",
                ".-1",
                "a{B}",
                "{",
                "}",
                "{2,3}",
                "{99999999999}",
            ],
            *[
                "%ignore ",
                "%import common.NUMBER",
                "%import .x.Y",
                "%declare A",
                "%override ",
                "%extend ",
                "%json {",
                "%json {}",
            ],
            *[
                '%json {"type": "integer"}',
                '%regex {"substring_chars": "ab"}',
                "%regex {",
                "-> x",
                "&",
                "~",
                "<|a|>",
                "<[1]>",
            ],
            *[
                "#x41",
                "#xD800",
                "#x110000",
                "#x",
                "-",
                "[a-z]",
                "[^",
                "[\\x41-\\xzz]",
                "/*",
                "*/",
                "//",
                "#",
                "\\",
                "\x00",
                '"a".."z"',
            ],
        ]
    ),
    max_size=14,
).map("".join)

# By index, since hypothesis writes the values of `sampled_from`, and some of these are too deep for that.
_PLAIN = [value for value in VALUES if not isinstance(value, (detent.Language, detent.Vocabulary, detent.Limits))]
_SCALAR = st.integers(0, len(_PLAIN) - 1).map(lambda index: _PLAIN[index]) | st.sampled_from(
    ["string", "integer", "object", "array", "date", "email", "#", "#/$defs/a", "#/\ud800", "x:y", r"\p{L}+"]
)
_KEYWORD = st.sampled_from(
    "type properties required items prefixItems minItems maxItems uniqueItems contains minContains maxContains "
    "additionalProperties patternProperties propertyNames minProperties maxProperties dependentRequired "
    "dependentSchemas dependencies minLength maxLength pattern format minimum maximum exclusiveMinimum multipleOf "
    "enum const allOf anyOf oneOf not if then else $ref $dynamicRef $defs definitions $id $schema $anchor "
    "unevaluatedProperties unevaluatedItems title default examples contentEncoding".split()
)
SCHEMA = st.recursive(
    _SCALAR | PATTERN,
    lambda inner: (
        st.dictionaries(_KEYWORD | st.sampled_from(["a", "\ud800", 1, None]), inner, max_size=4)
        | st.lists(inner, max_size=3)
    ),
    max_leaves=8,
)

TEXT = st.text(max_size=8) | PATTERN | st.sampled_from(SURROGATES)
ODD = st.integers(0, len(VALUES) - 1).map(lambda index: VALUES[index])
WORDS = TEXT | st.lists(TEXT, max_size=3)
PATH = st.sampled_from(["", "\x00", "/", "/nowhere/at/all", "a" * 5_000, "\ud800", str(FOLDER), __file__]) | TEXT

# What a parameter of a name usually gets; another gets any odd value.
USUAL: dict[str, st.SearchStrategy[Any]] = {
    "pattern": PATTERN,
    "flags": st.integers(-2, 1 << 10) | st.sampled_from([re.I | re.X, re.L, re.DEBUG, re.T if hasattr(re, "T") else 1]),
    "source": SCHEMA | SCHEMA.map(short_repr),
    "limits": st.just(LIMITS),
    "cancel": st.just(detent.CancellationToken()),
    "start": st.sampled_from(["start", "root", "a", "\ud800", ""]),
    "lexer": st.sampled_from(["auto", "contextual", "dynamic", "dynamic_complete", "x"]),
    "order": st.sampled_from(["schema", "any"]),
    "spelling": st.sampled_from(["written", "any", "canonical"]),
    "whitespace": st.sampled_from(["", " ", "compact", "any"]) | PATTERN,
    "formats": st.dictionaries(TEXT, ODD | TEXT, max_size=2),
    "vocabulary": st.just(VOCABULARY),
    "words": WORDS,
    "options": WORDS,
    "parts": WORDS,
    "separator": TEXT,
    "schemes": TEXT,
    "countries": TEXT | st.sampled_from(["DE", "de", "XX"]),
    "columns": WORDS,
    "minimum": st.sampled_from(NUMBERS),
    "maximum": st.sampled_from(NUMBERS),
    "format": TEXT | st.sampled_from(["%Y-%m-%d", "%", "%Q"]),
    "path": PATH,
    "style": st.sampled_from(["qwen", "hermes", "llama3", "mistral", "deepseek", "x", ""]),
    "tools": SCHEMA | st.lists(SCHEMA, max_size=2),
    "functions": SCHEMA | st.lists(SCHEMA, max_size=2),
    "tags": st.lists(st.tuples(TEXT, SCHEMA, TEXT), max_size=2),
    "triggers": WORDS,
    "stop": WORDS,
    "language": PATTERN | SCHEMA | st.sampled_from([detent.regex("a+"), detent.regex("(?!)")]),
    "tokens": st.lists(st.binary(max_size=3) | st.none() | ODD, max_size=5)
    | st.lists(st.integers(-2, 600), max_size=4),
    "messages": st.lists(
        st.dictionaries(st.sampled_from(["role", "content", "x", 1]), TEXT | ODD, max_size=3), max_size=3
    ),
    "max_tokens": st.sampled_from([0, 1, 5, 2**70, -1]),
    "max_bytes": st.sampled_from([0, 1, 5, 50, -1]),
    "max_states": st.sampled_from([0, 1, 5, 500, -1]),
    "states": st.sampled_from([0, 1, 5, 500, -1]),
    "seed": st.sampled_from([0, 1, -1, 2**70]),
    "batch": st.integers(-2, 3),
    "vocab_size": st.integers(-2, 300),
    "transitions": st.dictionaries(
        st.integers(0, 3), st.dictionaries(st.integers(-1, 300), st.integers(0, 4)), max_size=3
    ),
    "initial": st.integers(0, 3),
    "accepting": st.lists(st.integers(0, 4), max_size=3),
    "rule": PATTERN | SCHEMA | st.just(detent.regex("a|b")),
    "text": TEXT | GRAMMAR,
}
GRAMMAR_NAMES = ("ebnf", "gbnf", "grammar")

# Functions whose work is a model's, or that need what no argument makes up; their options have tests of their own.
ELSEWHERE = {"generate", "generate_batch", "stream", "stream_turn", "agenerate", "astream", "astream_turn"}
VALUE_CLASSES = {
    "Call",
    "TaggedPart",
    "Turn",
    "Reason",
    "Refusal",
    "Mismatch",
    "Output",
    "Report",
    "Guide",
    "TokenDfa",
    "UserDfa",
    "Language",
}

LANGUAGES = [
    detent.regex("[ab]{1,3}"),
    detent.json_schema({"type": "array", "items": {"type": "integer"}, "maxItems": 2}),
]


def _functions() -> dict[str, tuple[Callable[..., Any], ...]]:
    """The public functions, classes and methods by name, each with the objects it is called on."""
    found: dict[str, tuple[Callable[..., Any], ...]] = {}
    for name in detent.__all__:
        value = getattr(detent, name)
        if name in ELSEWHERE or name in VALUE_CLASSES or not callable(value) or name in detent.errors.__all__:
            continue
        with suppress(ValueError):
            inspect.signature(value)
            found[name] = (value,)
    for (
        method
    ) in "accepts capture count counterexample optional parse parser repeat sample to_html why min_tokens".split():
        found[f"Language.{method}"] = tuple(getattr(language, method) for language in LANGUAGES)
    for method in "decode encode encode_canonical heal token_bytes".split():
        found[f"Vocabulary.{method}"] = (getattr(VOCABULARY, method),)
    for method in (
        "from_file",
        "from_gguf",
        "load",
        "from_transformers",
        "from_tiktoken",
        "from_sentencepiece",
        "from_mistral",
    ):
        found[f"Vocabulary.{method}"] = (getattr(detent.Vocabulary, method),)
    guide = detent.compile(LANGUAGES[0], VOCABULARY)
    found["Guide.matcher"] = (guide.matcher,)
    for method in ("advance_bytes", "explain", "why", "validate", "fill_tree"):
        found[f"Matcher.{method}"] = (lambda *a, _m=method, **k: getattr(guide.matcher(), _m)(*a, **k),)
    return found


FUNCTIONS = _functions()
_SIGNATURES = {
    name: inspect.signature(getattr(detent.Matcher, name[8:]) if name.startswith("Matcher.") else calls[0])
    for name, calls in FUNCTIONS.items()
}


class _Case:
    """The arguments of one call; their repr is cut, since some are too deep to be written."""

    def __init__(self, positional: list[Any], named: dict[str, Any]) -> None:
        self.positional, self.named = positional, named

    def __repr__(self) -> str:
        parts = [*self.positional, *(pair for pair in self.named.items() if pair[0] != "limits")]
        return ", ".join(map(short_repr, parts))


@st.composite
def _arguments(draw: st.DrawFn, name: str) -> _Case:
    """Arguments that fit a function's signature, most of them usual ones."""
    positional: list[Any] = []
    named: dict[str, Any] = {}
    for parameter in _SIGNATURES[name].parameters.values():
        if parameter.name == "self":
            continue
        usual = USUAL.get(parameter.name, ODD)
        if parameter.name == "text" and name in GRAMMAR_NAMES:
            usual = GRAMMAR
        value = (
            usual if parameter.name == "limits" and draw(st.integers(0, 15)) else st.one_of(usual, usual, usual, ODD)
        )
        if parameter.kind is parameter.VAR_POSITIONAL:
            positional += draw(st.lists(value, max_size=3))
        elif parameter.kind is parameter.VAR_KEYWORD:
            continue
        elif parameter.kind is parameter.KEYWORD_ONLY or parameter.default is not parameter.empty:
            is_needed = parameter.name == "limits" or parameter.default is parameter.empty
            if is_needed or draw(st.integers(0, 3)) == 0:
                named[parameter.name] = draw(value)
        else:
            positional.append(draw(value))
    return _Case(positional, named)


def _check(name: str, examples: int) -> None:
    @settings(
        max_examples=examples,
        deadline=None,
        database=None,
        derandomize=examples < 1_000,
        phases=[Phase.generate, Phase.shrink],
        suppress_health_check=list(HealthCheck),
    )
    @given(st.sampled_from(FUNCTIONS[name]), _arguments(name))
    def check(call: Callable[..., Any], case: _Case) -> None:
        try:
            call(*case.positional, **case.named)
        except MemoryError:
            assert name == "allocate_mask"
        except OSError:
            assert any(parameter == "path" for parameter in _SIGNATURES[name].parameters)
        except detent.DetentError as error:
            assert str(error)
            assert len(str(error).encode("utf-8", "backslashreplace")) <= 600

    check()


@pytest.mark.parametrize("name", FUNCTIONS)
@pytest.mark.filterwarnings("ignore")
def test_errors_are_typed(name: str) -> None:
    _check(name, 15)


@pytest.mark.long
@pytest.mark.parametrize("name", FUNCTIONS)
@pytest.mark.filterwarnings("ignore")
def test_errors_are_typed_in_many_cases(name: str) -> None:
    _check(name, 500)


@pytest.mark.soak
@pytest.mark.parametrize("name", FUNCTIONS)
@pytest.mark.filterwarnings("ignore")
def test_errors_are_typed_in_very_many_cases(name: str) -> None:
    _check(name, 20_000)

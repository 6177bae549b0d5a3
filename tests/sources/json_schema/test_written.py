"""The spelling "written": the texts of serialisers, all of them and no others."""

from __future__ import annotations

import json
from decimal import Decimal
from typing import Any, NamedTuple

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

import detent
from detent import _core
from detent.language import Language
from detent.queries import ByteDfa
from detent.sources.json_schema.emit import numbers
from detent.sources.json_schema.emit.written_numbers import WRITTEN_NUMBER
from detent.sources.nodes import UTF8, concat
from detent.sources.regex import regex

ANYTHING = detent.json_schema(True)
NUMBERS = st.integers() | st.floats(allow_nan=False, allow_infinity=False)
TEXTS = st.text(st.characters(exclude_categories=["Cs"]), max_size=8)
VALUES = st.recursive(
    st.none() | st.booleans() | NUMBERS | TEXTS,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(TEXTS, inner, max_size=3),
    max_leaves=8,
)
DUMPS: list[dict[str, Any]] = [
    {},
    {"ensure_ascii": False},
    {"indent": 2},
    {"indent": 0},
    {"indent": "\t", "ensure_ascii": False},
    {"separators": (",", ":")},
]


def javascript(value: float) -> str:
    """Return the text of a float as JSON.stringify writes it."""
    if value == 0:
        return "0"
    mantissa = repr(value).partition("e")[0]
    sign = "-" if value < 0 else ""
    whole, _, fraction = mantissa.lstrip("-").partition(".")
    significant = (whole + (fraction if fraction != "0" else "")).lstrip("0")
    significant = significant.rstrip("0") or "0"
    exponent = Decimal(repr(value)).adjusted()  # of the shortest digits: 1e-06 is a little less than 10 ** -6
    if -7 < exponent < 0:
        return f"{sign}0.{'0' * (-exponent - 1)}{significant}"
    if exponent >= 21 or exponent <= -7:
        tail = "." + significant[1:] if len(significant) > 1 else ""
        return f"{sign}{significant[0]}{tail}e{'+' if exponent > 0 else '-'}{abs(exponent)}"
    padded = significant.ljust(exponent + 1, "0")
    return sign + padded[: exponent + 1] + ("." + padded[exponent + 1 :] if len(padded) > exponent + 1 else "")


@settings(max_examples=300)
@given(VALUES, st.sampled_from(DUMPS))
def test_json_dumps_is_accepted(value: Any, options: dict[str, Any]) -> None:
    text = json.dumps(value, **options)
    assert ANYTHING.accepts(text)
    assert json.dumps(ANYTHING.parse(text)) == json.dumps(value)


@settings(max_examples=300)
@given(NUMBERS)
@example(1e-06)
def test_numbers_of_both_serialisers_are_accepted(value: float) -> None:
    for schema in ({"type": "number"}, {"minimum": -1e300, "type": "number"}, {"const": value}):
        language = detent.json_schema(schema)
        if value >= -1e300:
            assert language.accepts(json.dumps(value)), schema
    if isinstance(value, float):
        assert detent.json_schema(float).accepts(javascript(value))
        assert float(javascript(value)) == value


@settings(max_examples=200)
@given(VALUES, st.integers(0, 2**32))
def test_no_other_text_is_written(value: Any, seed: int) -> None:
    text = json.dumps(value)
    changed = [text + " ", " " + text, text.replace(",", " ,"), text.replace(":", " :"), text.replace(", ", ",  ")]
    changed += [text.replace("[", "[ "), text.replace("]", " ]"), text.replace("{", "{ ")]
    quoted = '"' in text
    for one in changed:
        if one != text and not quoted:
            assert not ANYTHING.accepts(one), one


FOREIGN_NUMBERS = """
    1. -0 01 1E5 1e5 1e+05 1.0e+20 0.0000000000001 1e-05000 1e400 5e-400 12345678901234567.5 1.5e+10
""".split()
FOREIGN_NUMBERS += ["1." + "0" * 491, "1." + "3" * 40, "0." + "0" * 491 + "1"]
FOREIGN_STRINGS = r"""
    "\u0061" "\/" "\u00E9" "\u000a" "\u0022" "\uD83D\uDE00" "\ud83d" "\u005c"
""".split()
FOREIGN_SPACE = ["[ ]", "{ }", "[ 1]", "[1 ]", "[1 , 2]", "[1,  2]", '{"a" : 1}', '{"a":  1}', '{"a":\n1}']
FOREIGN_SPACE += ["[1,\r\n2]", "[\n\n1]"]


@pytest.mark.parametrize("text", [*FOREIGN_NUMBERS, *FOREIGN_STRINGS, *FOREIGN_SPACE])
def test_foreign_texts_need_the_other_spelling(text: str) -> None:
    assert not ANYTHING.accepts(text)


def test_integers_are_digits() -> None:
    for schema in (int, {"type": "integer", "minimum": 0}, {"type": "integer", "multipleOf": 6}, {"enum": [24, 30]}):
        language = detent.json_schema(schema)
        assert language.accepts("24") and not language.accepts("24.0") and not language.accepts("2.4e+01")
    assert detent.json_schema({"type": "integer"}, spelling="any").accepts("24.0")
    assert detent.json_schema({"enum": [1.0, 2]}).accepts("1.0")
    large = 12345678901234567891
    for source in (int, {"type": "integer"}, {"type": "integer", "minimum": 1}):
        assert detent.json_schema(source).parse(str(large)) == large
        assert not detent.json_schema(source).accepts(f"{large}.0")


def test_bounded_numbers() -> None:
    share = detent.json_schema({"type": "number", "minimum": 0, "maximum": 1})
    for text in ("0", "0.0", "-0.0", "1", "1.0", "1.00", "0.5", "0.50", "0.00", "1e-07", "1e-7", "0.30000000000000004"):
        assert share.accepts(text), text
    for text in ("1.01", "5e-1", "0." + "0" * 491 + "1", "1.1", "-0"):
        assert not share.accepts(text), text
    price = detent.json_schema({"type": "number", "multipleOf": 0.01, "minimum": 0})
    for text in ("19.99", "19.9", "19.0", "19", "19.90", "19.00", "19.900", "0.05", "0.00"):
        assert price.accepts(text), text
    for text in ("19.999", "19.001", "-0.01", "19.9" + 16 * "0"):
        assert not price.accepts(text), text


def test_zeros_at_the_end_of_a_price_are_written() -> None:
    class Item(NamedTuple):
        price: Decimal
        weight: float

    items = detent.json_schema(Item)
    assert items.parse('{"price": 12.50, "weight": 3.10}') == Item(Decimal("12.50"), 3.1)
    assert ANYTHING.accepts("[12.50, 100.00, -0.50, 0.00]")
    assert not ANYTHING.accepts("12.5" + 16 * "0") and not ANYTHING.accepts(
        "0." + 7 * "0"
    )  # a model must not go on for ever


@pytest.mark.parametrize("divisor", ["0.01", "0.5", "0.25", "2.5", "3", "0.003", "0.000001"])
@pytest.mark.parametrize(
    "bounds", [{}, {"minimum": Decimal("1.5"), "maximum": Decimal("90.25")}, {"exclusive_minimum": Decimal(-3)}]
)
def test_multiples_have_the_fractions_of_other_numbers(divisor: str, bounds: dict[str, Decimal]) -> None:
    written = numbers.number_node(integer=False, written=True, multiples=(Decimal(divisor),), **bounds)
    every = numbers.number_node(integer=False, written=False, multiples=(Decimal(divisor),), **bounds)
    expected = _core.intersection([WRITTEN_NUMBER, every, _core.complement(regex(r"-?[0-9]+\.[0-9]{17,}")._node)])
    assert written is not None and Language(expected, "expected") <= Language(written, "written")
    long_integers = _core.complement(regex("-?[0-9]{17,}.*")._node)
    assert Language(_core.intersection([written, long_integers]), "written") <= Language(expected, "expected")


BOUNDS = st.builds(lambda digits, zeros: Decimal(digits).scaleb(zeros), st.integers(1, 999), st.integers(-9, 20))
BOUNDS |= st.sampled_from(
    list(map(Decimal, ["1e-5", "9.9e-5", "1e-4", "1.1e-4", "9.9e15", "1e16", "1.1e16", "1.8e308"]))
)


@settings(max_examples=60)
@given(*[st.none() | BOUNDS] * 4)
@example(None, Decimal("1e16"), None, None)
@example(None, None, Decimal("1e16"), None)
@example(None, None, None, Decimal("1e-4"))
def test_bounds_allow_all_large_and_small_numbers_or_some_or_none(
    minimum: Decimal | None, above: Decimal | None, maximum: Decimal | None, below: Decimal | None
) -> None:
    bounds: dict[str, Any] = {"minimum": minimum, "exclusive_minimum": above}
    bounds |= {"maximum": maximum, "exclusive_maximum": below}
    written = numbers.number_node(integer=False, written=True, **bounds)
    every = numbers.number_node(integer=False, written=False, **bounds)
    if every is None:
        assert written is None
        return
    expected = _core.intersection([WRITTEN_NUMBER, every])
    if ByteDfa(expected).is_empty():
        return  # the bounds are closer than floats
    assert written is not None
    for one, other in ((expected, written), (written, expected)):
        assert ByteDfa(_core.intersection([one, _core.complement(other)])).is_empty()


@pytest.mark.parametrize(
    ("condition", "holds"),
    [
        ({"type": "integer"}, float.is_integer),
        ({"const": 3}, lambda value: value == 3),
        ({"enum": [0.5, 1e-07]}, lambda value: value in (0.5, 1e-07)),
        ({"multipleOf": 0.5}, lambda value: (2 * value).is_integer()),
    ],
)
@given(st.floats(-1e15, 1e15) | st.floats(-1e-3, 1e-3))
@example(1e-05)
@example(0.5)
@example(3.0)
def test_numbers_outside_a_set_are_written_as_any_others(condition: Any, holds: Any, value: float) -> None:
    language = detent.json_schema({"type": "number", "not": condition})
    assert all(language.accepts(text) == (not holds(value)) for text in (json.dumps(value), javascript(value)))
    assert not language.accepts("0." + 40 * "3")  # no float has as many digits, and a model could go on for ever


def test_bounds_closer_than_floats_leave_the_other_spelling() -> None:
    low, high = "0.1234567890123456789012345", "0.1234567890123456789012347"
    language = detent.json_schema(f'{{"type": "number", "minimum": {low}, "maximum": {high}}}')
    assert language.accepts("0.1234567890123456789012346")


@pytest.mark.long
@settings(max_examples=200)
@given(TEXTS, st.booleans())
def test_escapes_in_the_core(text: str, ascii_only: bool) -> None:
    written = json.dumps(text, ensure_ascii=ascii_only)
    quoted = Language(concat('"', _core.json_string(UTF8, True), '"'), "strings")
    assert quoted.accepts(written)
    only = Language(concat('"', _core.json_string(detent.literal(text)._node, True), '"'), "string")
    assert only.accepts(written)
    assert {json.loads(one) for one in only.enumerate()} == {text}
    assert only <= quoted


@pytest.mark.parametrize("spelling", ["written", "any"])
def test_words_that_are_excluded_hide_in_no_escape(spelling: Any) -> None:
    strings = detent.json_schema({"type": "string"}, spelling=spelling)
    calls = detent.calls({"name": "f", "parameters": {"properties": {"a": {}}}}, style="llama3-pythonic")
    rule = detent.without("listen", "café", ignore_case=True)
    for language in (strings & rule, rule & strings, (strings | detent.json_schema(int)) & rule):
        for text in ('"listen"', r'"li\u0073ten"', r'"caf\u00e9"', '"café"', r'"LI\u0053TEN"', r'"a\nlisten"'):
            assert not language.accepts(text), text
        assert language.accepts('"lis"') and language.accepts(r'"\\u0073"')
    assert not (calls & rule).accepts(r"[f(a='li\x73ten')]")
    only = detent.json_schema({"type": "string", "pattern": "^listen$"}, spelling=spelling) & rule
    with pytest.raises(detent.EmptyLanguageError):
        detent.compile(only, detent.Vocabulary([bytes([byte]) for byte in range(256)] + [b""], eos_token_ids=[256]))

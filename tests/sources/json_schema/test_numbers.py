"""JSON numbers against decimal arithmetic: every short text, and random ones."""

from __future__ import annotations

import itertools
import json
import re
from decimal import Decimal, localcontext

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from detent.errors import ArgumentError, LimitError
from detent.language import Language
from detent.sources.json_schema.emit.numbers import number_literal, number_node

NUMBER = re.compile(r"-?(?:0|[1-9][0-9]*)(?:\.[0-9]+)?(?:[eE][+-]?[0-9]+)?")
NORMAL_EXPONENT = re.compile(r"-?[1-9](?:\.[0-9]+)?[eE][+-]?[0-9]+")


def short_texts():
    texts = ("".join(letters) for size in range(1, 6) for letters in itertools.product("-0125.e", repeat=size))
    return [text for text in texts if NUMBER.fullmatch(text) and abs(Decimal(text).adjusted()) < 300]


TEXTS = short_texts()
TEXTS += (
    "1e-07 2.5e+16 1E5 1e05 12.50 9.99 10.01 1.25e-1 1.25e1 -1.5e1 1e+00 0.125 1000 99.99 -0.0e5 99 7 14 21".split()
)
TEXTS += "3.5 0.01 0.07 0.005 123.45 49 -7 100.00 0.30 2.999 -12.5 1e300 -1e-300".split()
NOT_NUMBERS = [
    "",
    "-",
    "+1",
    "01",
    "-01",
    "1.",
    ".5",
    "1e",
    "1e+",
    "0x1",
    "1.e5",
    "--1",
    "1 ",
    "NaN",
    "Infinity",
    "1_0",
]


def has(value, bounds, multiples, not_multiples, excluded, integer):
    with localcontext() as context:
        context.prec, context.Emax, context.Emin = 700, 10**6, -(10**6)
        return (
            ("minimum" not in bounds or value >= bounds["minimum"])
            and ("maximum" not in bounds or value <= bounds["maximum"])
            and ("exclusive_minimum" not in bounds or value > bounds["exclusive_minimum"])
            and ("exclusive_maximum" not in bounds or value < bounds["exclusive_maximum"])
            and all(value % divisor == 0 for divisor in multiples)
            and all(value % divisor != 0 for divisor in not_multiples)
            and value not in excluded
            and (not integer or value == value.to_integral_value())
        )


def is_spelled(text, bounds, multiples, not_multiples, excluded, integer):
    """Whether the layout has the text, if the value is right."""
    if "e" not in text.lower():
        return True
    value = Decimal(text)
    if integer or multiples:
        return False
    if not value:
        return True
    if not_multiples:
        return False
    signed = [cut for cut in (*bounds.values(), *excluded) if (cut > 0) == (value > 0) and cut]
    return not signed or NORMAL_EXPONENT.fullmatch(text) is not None


def check(integer=False, multiples=(), not_multiples=(), excluded=(), texts=TEXTS, **bounds):
    rules = (bounds, multiples, not_multiples, frozenset(excluded), integer)
    node = number_node(
        integer=integer,
        multiples=tuple(multiples),
        not_multiples=tuple(not_multiples),
        excluded=frozenset(excluded),
        **bounds,
    )
    language = Language(_nothing() if node is None else node, "numbers")
    assert node is None or not language.is_empty()
    wrong = []
    for text in texts:
        wanted = has(Decimal(text), *rules) and is_spelled(text, *rules)
        if language.accepts(text) != wanted:
            wrong.append((text, wanted))
    assert wrong == [], rules
    assert not any(language.accepts(text) for text in NOT_NUMBERS)


def _nothing():
    from detent import _core

    return _core.empty()


D = Decimal


@pytest.mark.parametrize("integer", [False, True])
@pytest.mark.parametrize(
    "rules",
    [
        {},
        {"minimum": D(0)},
        {"maximum": D(0)},
        {"exclusive_minimum": D(0)},
        {"exclusive_maximum": D(0)},
        {"minimum": D(0), "maximum": D(1)},
        {"minimum": D(0), "exclusive_maximum": D(1)},
        {"minimum": D("-12.5"), "maximum": D("1.25")},
        {"exclusive_minimum": D("0.5"), "exclusive_maximum": D(15)},
        {"minimum": D("0.05"), "maximum": D("0.05")},
        {"minimum": D(2), "maximum": D(1)},
        {"exclusive_minimum": D(1), "exclusive_maximum": D(2)},
        {"minimum": D(10), "exclusive_minimum": D(10)},
        {"minimum": D("1e2")},
        {"maximum": D("-1e-2")},
        {"excluded": [D(0)]},
        {"excluded": [D(1), D("1.5"), D(-5), D("0.2")]},
        {"minimum": D(0), "excluded": [D(0), D(5)]},
        {"multiples": [D(5)]},
        {"multiples": [D("0.01")]},
        {"multiples": [D("0.5"), D(3)]},
        {"multiples": [D(100)], "minimum": D(-1000), "maximum": D(1000)},
        {"multiples": [D(7)], "excluded": [D(14)]},
        {"multiples": [D("1.5")], "exclusive_minimum": D(0)},
        {"not_multiples": [D(2)]},
        {"not_multiples": [D("0.5")], "minimum": D(0)},
        {"not_multiples": [D(2), D(5)], "multiples": [D(1)]},
        {"multiples": [D(2)], "not_multiples": [D(1)]},
    ],
)
def test_every_short_text(rules, integer):
    check(integer, **rules)


CUTS = st.sampled_from(
    [D(text) for text in "0 1 2 5 10 12 -1 -2 0.5 1.5 0.25 -0.5 12.5 0.05 1.25 -5 20 1E+1 50 9.99".split()]
)
DIVISORS = st.sampled_from([D(text) for text in "1 2 3 5 7 0.5 0.25 0.01 1.5 10 0.3 100 12".split()])


@settings(max_examples=25)
@given(
    integer=st.booleans(),
    bounds=st.dictionaries(
        st.sampled_from(["minimum", "maximum", "exclusive_minimum", "exclusive_maximum"]), CUTS, max_size=3
    ),
    multiples=st.lists(DIVISORS, max_size=2),
    not_multiples=st.lists(DIVISORS, max_size=1),
    excluded=st.lists(CUTS, max_size=3),
)
def test_any_rules(integer, bounds, multiples, not_multiples, excluded):
    check(integer, multiples, not_multiples, excluded, TEXTS[::3], **bounds)


FLOATS = st.floats(allow_nan=False, allow_infinity=False)


@settings(max_examples=100)
@given(low=FLOATS, high=FLOATS, value=FLOATS)
def test_floats_as_json_writes_them(low, high, value):
    low, high = sorted((low, high))
    node = number_node(integer=False, minimum=D(repr(low)), maximum=D(repr(high)))
    language = Language(node, "numbers")
    assert language.accepts(json.dumps(value)) == (low <= value <= high)
    assert language.accepts(json.dumps(low)) and language.accepts(json.dumps(high))


@settings(max_examples=100)
@given(low=st.integers(), high=st.integers(), value=st.integers(), divisor=st.integers(1, 60))
def test_integers(low, high, value, divisor):
    node = number_node(integer=True, minimum=D(low), maximum=D(high), multiples=(D(divisor),))
    wanted = low <= value <= high and value % divisor == 0
    language = Language(_nothing() if node is None else node, "numbers")
    assert language.accepts(str(value)) == wanted
    assert language.accepts(f"{value}.00") == wanted
    assert not language.accepts(f"{value}.01")


@pytest.mark.parametrize("divisor", [1, 2, 3, 4, 6, 7, 8, 9, 10, 12, 16, 25, 37, 60, 99, 125, 1000, 1024])
def test_multiples_of_every_kind(divisor):
    language = Language(number_node(integer=True, multiples=(D(divisor),)), "multiples")
    assert [value for value in range(-3000, 3000) if language.accepts(str(value))] == [
        value for value in range(-3000, 3000) if value % divisor == 0
    ]


def test_round_divisors_take_few_states():
    assert number_node(integer=True, multiples=(D(10) ** 80,)) is not None
    assert number_node(integer=False, multiples=(D("1e-80"),)) is not None


@pytest.mark.parametrize("integer", [False, True])
@pytest.mark.parametrize("written", [False, True])
@pytest.mark.parametrize(
    ("multiples", "none_of", "low", "high"),
    [
        ((D(13),), (D(2), D(3), D(5), D(7), D(11)), D(100), D(1000)),
        ((D(65537),), (), D(-200_000), D(200_000)),
        ((D("13.37"), D("0.7")), (D("534.8"), D(11)), D("-935.9"), D("1871.8")),
    ],
)
def test_few_multiples_of_divisors_with_many_remainders_are_listed(multiples, none_of, low, high, written, integer):
    bounds = {"exclusive_minimum": low, "maximum": high}
    node = number_node(integer=integer, multiples=multiples, not_multiples=none_of, written=written, **bounds)
    language = Language(node, "multiples")
    count = 0
    for factor in range(-300, 301):
        for step in (*multiples, *none_of):
            value = step * factor
            holds = low < value <= high and (not integer or value % 1 == 0)
            holds = holds and not any(value % each for each in multiples) and all(value % each for each in none_of)
            count += holds
            text = "0" if not value else format(value.normalize(), "f")
            assert language.accepts(text) == holds, text
            if value % 1 == 0 and value:
                assert language.accepts(f"{text}.0") == (holds and not (written and integer)), text
                assert language.accepts(f"{text}.00") == (holds and not (written and integer)), text
                assert language.accepts(f"{text}.{17 * '0'}") == (holds and not written), text
            elif value:
                assert language.accepts(f"{text}00") == holds, text
    assert count > 0 or integer


@pytest.mark.parametrize(
    "text", ["0", "1", "-1", "1.5", "100", "0.001", "1e-7", "1e16", "2.5E+20", "-1.25e-300", "12e3"]
)
def test_literal(text):
    value = D(text)
    language = Language(number_literal(value), "literal")
    spelled = [format(value, "f"), f"{value:f}.0" if value == value.to_integral_value() else f"{value:f}0"]
    assert all(language.accepts(written) for written in [*spelled, json.dumps(float(value))])
    assert language.accepts("-0") == (not value)
    for other in [*TEXTS, "1e-7", "1e-07", "10e-8"]:
        if language.accepts(other):
            assert D(other) == value


@pytest.mark.parametrize(
    "rules",
    [
        {"minimum": D("1e5000")},
        {"maximum": D("1e-5000")},
        {"multiples": (D("1e-200"),)},
        {"multiples": (D(65537),)},
        {"excluded": frozenset({D("1e9999")})},
    ],
)
def test_limits(rules):
    with pytest.raises(LimitError) as caught:
        number_node(integer=False, **rules)
    assert len(str(caught.value).encode()) <= 512


@pytest.mark.parametrize(
    "rules", [{"multiples": (D(0),)}, {"multiples": (D(-1),)}, {"minimum": D("NaN")}, {"maximum": 3}]
)
def test_wrong_arguments(rules):
    with pytest.raises(ArgumentError):
        number_node(integer=False, **rules)

"""Integers, decimals and truth values against Python's own numbers."""

from __future__ import annotations

import json
import random
import re
from decimal import Decimal
from itertools import product

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import detent
from tests.support.typed_values import check

_INTEGER = re.compile("-?(?:0|[1-9][0-9]*)")
_DECIMAL = re.compile(r"-?(?:0|[1-9][0-9]*)(?:\.[0-9]+)?")


def in_range(value, minimum, maximum):
    return (minimum is None or value >= minimum) and (maximum is None or value <= maximum)


def read_integer(minimum, maximum):
    def read(text):
        if not _INTEGER.fullmatch(text) or text == "-0" or not in_range(int(text), minimum, maximum):
            raise ValueError
        return int(text)

    return read


def read_number(minimum, maximum):
    def read(text):
        if not _DECIMAL.fullmatch(text) or not in_range(Decimal(text), minimum, maximum):
            raise ValueError
        return float(text)

    return read


def test_boolean():
    language = detent.boolean()
    assert {text: language.parse(text.decode()) for text in language.enumerate()} == {b"true": True, b"false": False}


@pytest.mark.parametrize("seed", range(4))
def test_every_integer_of_small_ranges(seed):
    rng = random.Random(seed)
    for _ in range(40):
        low, high = sorted(rng.choice((rng.randint(-12, 12), rng.randint(-1200, 1200))) for _ in range(2))
        texts = list(detent.integer(low, high).enumerate())
        assert sorted(int(text) for text in texts) == list(range(low, high + 1))
        assert all(text == b"%d" % int(text) for text in texts)


@pytest.mark.parametrize(
    ("minimum", "maximum"),
    [(None, None), (0, None), (None, 0), (-7, None), (100, None), (None, 99), (None, -10), (5, 10**30)],
)
def test_integers_of_open_ranges(minimum, maximum):
    check(detent.integer(minimum, maximum), read_integer(minimum, maximum), "0123456789-+. ")
    language = detent.integer(minimum, maximum)
    for length in range(6):
        for digits in product("-019", repeat=length):
            text = "".join(digits)
            expected = _INTEGER.fullmatch(text) and text != "-0" and in_range(int(text), minimum, maximum)
            assert language.accepts(text) == bool(expected), text


_LARGE = st.integers(-(10**40), 10**40)


@settings(max_examples=60)
@given(_LARGE, _LARGE, st.lists(_LARGE))
def test_integers_of_large_ranges(first, second, others):
    low, high = sorted((first, second))
    language = detent.integer(low, high)
    for value in [low - 1, low, low + 1, (low + high) // 2, high - 1, high, high + 1, low * 10, high // 10, *others]:
        assert language.accepts(str(value)) == (low <= value <= high)
    assert language.parse(str(high)) == high


def test_integers_of_any_length_have_values():
    assert detent.integer().parse("-" + "9" * 5000) == 1 - 10**5000
    assert detent.integer().parse("1" + "0" * 4999) == 10**4999


_BOUNDS = [None, "-1", "-0.5", "-0", "0", "0.09", "0.1", "0.95", "1", "1.5", "9.05", "10", "51.9"]


@pytest.mark.parametrize("minimum", _BOUNDS)
def test_every_short_number_in_ranges(minimum):
    texts = ["".join(text) for length in range(1, 6) for text in product("-.0159", repeat=length)]
    decimals = {text: Decimal(text) for text in texts if _DECIMAL.fullmatch(text)}
    low = None if minimum is None else Decimal(minimum)
    for maximum in _BOUNDS[:: 1 if minimum in (None, "0.09") else 3]:
        high = None if maximum is None else Decimal(maximum)
        if (low is None and high is None) or (low is not None and high is not None and low > high):
            continue
        language = detent.number(low, high)
        accepted = {text.decode() for text in _short(language)}
        assert accepted == {text for text, value in decimals.items() if in_range(value, low, high)}


def _short(language):
    only = language & detent.byte_class(b"-.0159").repeat(1, 5)
    return only.enumerate()


@settings(max_examples=60)
@given(
    st.decimals(-1000, 1000, places=3), st.decimals(-1000, 1000, places=3), st.lists(st.decimals(-1000, 1000, places=4))
)
def test_numbers_in_ranges(first, second, others):
    low, high = sorted((first, second))
    language = detent.number(low, high)
    tiny = Decimal("0.0001")
    for value in [low - tiny, low, low + tiny, (low + high) / 2, high - tiny, high, high + tiny, *others]:
        for text in (format(value, "f"), format(value, "f") + "0" * (value != int(value))):
            assert language.accepts(text) == (low <= value <= high), text


@pytest.mark.parametrize(
    ("minimum", "maximum"),
    [(0, 1), (0.5, None), (None, -0.25), (-2.5, 7), (Decimal("0.3"), Decimal("0.35")), (1e-3, 1e3)],
)
def test_numbers_have_values(minimum, maximum):
    low, high = (None if bound is None else Decimal(str(bound)) for bound in (minimum, maximum))
    check(detent.number(minimum, maximum), read_number(low, high), "0123456789-+.eE ")


def test_a_float_bound_is_its_shortest_decimal():
    language = detent.number(maximum=0.1)
    assert language.accepts("0.1") and language.accepts("0.10")
    assert not language.accepts("0.1000000000000000055511151231257827")


def test_numbers_without_bounds_are_those_of_json():
    language = detent.number()
    for length in range(1, 6):
        for letters in product("-+.01e", repeat=length):
            text = "".join(letters)
            try:
                number = isinstance(json.loads(text), (int, float))
            except ValueError:
                number = False
            assert language.accepts(text) == number, text


@pytest.mark.parametrize(
    "call",
    [
        lambda: detent.integer(2, 1),
        lambda: detent.integer(1.0),
        lambda: detent.integer(True),
        lambda: detent.integer("1"),
        lambda: detent.integer(10**5000),
        lambda: detent.integer(None, -(10**5000)),
        lambda: detent.number(2, 1),
        lambda: detent.number("1"),
        lambda: detent.number(False),
        lambda: detent.number(float("nan")),
        lambda: detent.number(None, float("inf")),
        lambda: detent.number(Decimal("sNaN")),
        lambda: detent.number(Decimal("1e5000")),
        lambda: detent.number(Decimal("1e-5000")),
        lambda: detent.number(10**5000),
    ],
)
def test_wrong_bounds(call):
    with pytest.raises(detent.ArgumentError) as caught:
        call()
    assert len(str(caught.value).encode()) <= 512


def test_bounds_of_thousands_of_digits():
    assert detent.integer(10**4000, 10**4000 + 1).count(4002) == 2
    assert detent.number(Decimal("1e-3999"), 1).accepts("0." + "0" * 3998 + "1")


def test_bounds_of_numpy_stand_for_their_shortest_decimals():
    share = detent.number(np.float64(0.1), np.float64(1.5))
    assert [share.accepts(text) for text in ("0.1", "0.0999", "1.5", "1.51")] == [True, False, True, False]
    with pytest.raises(detent.ArgumentError, match="finite"):
        detent.number(np.float64("nan"))

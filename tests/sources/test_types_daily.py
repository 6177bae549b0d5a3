"""Dates in ranges and formats, identifiers, Markdown blocks, and choices in any case."""

from __future__ import annotations

import datetime as dt
import re
from random import Random

import pytest

import detent

NAMES = ["%d.%m.%Y", "%Y-%m-%d", "%m/%d/%Y", "%Y%m%d"]


@pytest.mark.parametrize("pattern", NAMES)
def test_date_ranges_are_those_of_the_calendar(pattern):
    rng = Random(3)
    for _ in range(6):
        first = dt.date(1, 1, 1) + dt.timedelta(rng.randrange(3_650_000))
        last = min(first + dt.timedelta(rng.choice([0, 5, 40, 400, 900_000]) * (first.year < 7000)), dt.date.max)
        language = detent.date(first, last, format=pattern)
        near = [first, last, first + dt.timedelta(1), last - dt.timedelta(1)]
        near += [bound + dt.timedelta(days) for bound in (first, last) for days in (-31, -1, 1, 32, 366)]
        for day in [*near, *(dt.date.fromordinal(rng.randint(1, 3_652_059)) for _ in range(50))]:
            text = (
                pattern.replace("%Y", f"{day.year:04}").replace("%m", f"{day.month:02}").replace("%d", f"{day.day:02}")
            )
            assert language.accepts(text) == (first <= day <= last), (first, last, text)
            if first <= day <= last:
                assert language.parse(text) == day
        for wrong in ("30.02.2024", "2023-02-29", "02/30/2024", "20230431", ""):
            assert not language.accepts(wrong)


def test_a_full_range_is_every_date():
    assert detent.date(format="%Y-%m-%d") == detent.date()
    assert detent.date(dt.date(2024, 2, 28), dt.date(2024, 3, 1)).count(10) == 3


@pytest.mark.parametrize("pattern", ["%Y-%m", "%d.%m.%y", "%Y%Y%m%d", 3, ""])
def test_formats_without_all_parts(pattern):
    with pytest.raises(detent.ArgumentError, match="format"):
        detent.date(format=pattern)


def test_bounds_of_dates():
    with pytest.raises(detent.ArgumentError, match="swap"):
        detent.date(dt.date(2024, 1, 2), dt.date(2024, 1, 1))
    with pytest.raises(detent.ArgumentError, match="type datetime"):
        detent.date("2024-01-01")


@pytest.mark.parametrize(
    ("language", "accepted", "refused"),
    [
        (detent.phone(), ["+4915123456789", "+12"], ["+0123456", "4915", "+1234567890123456", "+49 151"]),
        (detent.slug(), ["a", "a-b-2"], ["", "-a", "a-", "a--b", "A"]),
        (detent.semver(), ["1.0.0", "1.0.0-alpha.1", "10.20.30+build.007"], ["1.0", "01.0.0", "1.0.0-01", "v1.0.0"]),
        (detent.hex_colour(), ["#fff", "#1E90ff"], ["fff", "#ffff", "#1e90ff80", "#ggg"]),
        (detent.hex_colour(alpha=True), ["#fff", "#ffff", "#1e90ff80"], ["#1e90ff8"]),
        (
            detent.iban(),
            ["DE89370400440532013000", "GB82WEST12345698765432", "NL91ABNA0417164300", "AT611904300234573201"],
            [
                "DE88370400440532013000",
                "GB82WEST12345698765433",
                "XX00",
                "DE89 3704 0044 0532 0130 00",
                "nl91ABNA0417164300",
            ],
        ),
    ],
)
def test_identifiers(language, accepted, refused):
    assert [text for text in accepted if not language.accepts(text)] == []
    assert [text for text in refused if language.accepts(text)] == []


def test_ibans_have_remainder_one():
    rng, found = Random(5), 0
    language = detent.iban("IE", "BE")
    for _ in range(400):
        country, letters, digits = rng.choice([("IE", 4, 14), ("BE", 0, 12)])
        account = "".join(rng.choice("ABXYZ") for _ in range(letters)) + "".join(
            rng.choice("0123456789") for _ in range(digits)
        )
        number = int("".join(str(int(character, 36)) for character in account + country) + "00")
        right = f"{98 - number % 97:02}"
        assert language.accepts(country + right + account)
        wrong = f"{rng.randrange(100):02}"
        found += language.accepts(country + wrong + account)
        assert language.accepts(country + wrong + account) == (wrong == right)
    assert found < 40
    with pytest.raises(detent.ArgumentError, match="AT, BE"):
        detent.iban("FR")


def test_markdown_tables():
    table = detent.markdown_table(["a b", "c"], minimum=1, maximum=2)
    text = "| a b | c |\n| --- | --- |\n| 1 2 | é |\n| x | y |"
    assert table.parse(text) == [{"a b": "1 2", "c": "é"}, {"a b": "x", "c": "y"}]
    assert not table.accepts("| a b | c |\n| --- | --- |")
    assert not table.accepts(text + "\n| x | y |")
    assert not table.accepts("| a b | c |\n| --- | --- |\n| 1 |  |")
    for names in ([], ["a", "a"], ["a|b"], [3]):
        with pytest.raises(detent.ArgumentError):
            detent.markdown_table(names)


def test_code_blocks():
    assert detent.code_block("py").parse("```py\nx = 1\n\ny\n```") == "x = 1\n\ny\n"
    assert not detent.code_block().accepts("```\n``` x\n```")
    assert detent.code_block("json", detent.json_schema({"type": "integer"})).accepts("```json\n42\n```")
    with pytest.raises(detent.ArgumentError):
        detent.code_block("a b")


def test_choices_in_any_case():
    language = detent.choice("Yes", "no", "Maße", "kilo", ignore_case=True)
    for text, value in (("YES", "Yes"), ("nO", "no"), ("MAẞE", "Maße"), ("\u212aILO", "kilo")):
        assert language.parse(text) == value
        assert re.fullmatch(value, text, re.IGNORECASE)
    assert not language.accepts("MASSE")
    with pytest.raises(detent.ArgumentError, match="case only"):
        detent.choice("a", "A", ignore_case=True)
